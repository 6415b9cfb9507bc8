"""Names that users give: of classes and features as they are, of exports only such as compile."""

import re
import subprocess

import numpy as np
import pytest

from ethereal import Model, export
from ethereal.export.names import check_identifier

HOSTILE = [
    "et_class_sums",
    "ET_X",
    "a`b",
    "<b>x</b>",
    "a | b",
    "two\nlines",
    "/* et_y */",
    'q"et_z"',
    "@name@",
]


def model(classes=HOSTILE, features=None):
    n = len(classes)
    return Model(
        np.arange(n),
        np.arange(n + 1),
        np.eye(n, dtype=int),
        n_booleans=n,
        classes=classes,
        feature_names=features or [f"et_{label}" for label in classes],
    )


@pytest.mark.parametrize("layout", ["fast", "compact", "straight"])
def test_one_header_has_the_names_as_they_are(tmp_path, layout):
    small = model()
    folder = export.c(small, tmp_path / "c", single_header=True, with_names=True, layout=layout, name="m")
    program = (
        '#include <stdio.h>\n#include "m.h"\nint main(void) { unsigned i;\n'
        f"for (i = 0; i < {small.n_classes}; i++) {{ fputs(m_class_name(i), stdout); putchar(0);\n"
        "fputs(m_feature_name(i), stdout); putchar(0); } return 0; }\n"
    )
    (folder / "main.c").write_text(program)
    subprocess.run(["cc", "-o", "main", "main.c"], cwd=folder, check=True)
    shown = subprocess.run([folder / "main"], capture_output=True, check=True).stdout.decode().split("\0")
    assert shown[:-1] == [
        text for pair in zip(small.classes, small.feature_names, strict=True) for text in pair
    ]


@pytest.mark.parametrize(
    "name",
    [
        "et",
        "ET",
        "et_x",
        "stdint",
        "String",
        "features",
        "test",
        "int",
        "constinit",
        "Arduino",
        "zephyr",
        "2d",
    ],
)
def test_names_that_cannot_compile_are_refused_with_another(name):
    with pytest.raises(ValueError, match=f"name is '{name}'") as caught:
        check_identifier(name)
    proposal = re.search(r"How about '(\w+)'\?", str(caught.value))[1]
    assert check_identifier(proposal) == proposal


def test_a_name_of_a_file_of_the_project_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"file 'startup.c'.*How.*'model_startup'"):
        export.stm32f746g_disco(model(["a", "b"]), tmp_path / "s", name="startup")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["time", "utime", "lambda", "ethereal_x", "2d", "microbit"])
def test_modules_of_micropython_are_refused_with_another(name, tmp_path):
    with pytest.raises(ValueError, match=f"name is '{name}'") as caught:
        export.micropython(model(["a", "b"]), tmp_path / "p", name=name)
    proposal = re.search(r"How about '(\w+)'\?", str(caught.value))[1]
    export.micropython(model(["a", "b"]), tmp_path / "p", name=proposal)


@pytest.mark.parametrize("write", [export.c, export.arduino, export.zephyr, export.micropython])
def test_readme_shows_names_as_code(write, tmp_path):
    text = (write(model(), tmp_path / "out") / "README.md").read_text()
    outside = re.sub(r"(?s)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "<b>" not in outside
    for name in ("et_<b>x</b>", "et_a | b", r"et_two\nlines", "et_@name@"):
        assert f"`{name}`" in text
    assert "``et_a`b``" in text


def test_a_name_that_c_would_cut_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"'a\\x00b'.*\b0\b"):
        export.c(model(["a\0b", "c"]), tmp_path / "c", with_names=True)
    assert not list(tmp_path.iterdir())
    text = (export.c(model(["a\0b", "c"]), tmp_path / "d") / "README.md").read_text()
    assert r"`a\x00b`" in text
