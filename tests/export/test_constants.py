"""Names in C for the numbers of classes and features, whatever names the user gave."""

import re
import subprocess

import numpy as np
import pytest

from c_on_host import compiler
from ethereal import Model, export
from ethereal.export.c99.program import make_program

NAMES = ["a", "A", "a 2", "int", "class", "*/ x /*", "??/", "größer", "日本", "", "x" * 300, "x" * 301, "-1",
         "1", "S", "two\nlines", "\\", "CLASSES"]  # fmt: skip


def hostile(n=None):
    names = NAMES[:n]
    n = len(names)
    return Model(
        [0, n + 1], [0, 1, 2], np.eye(2, n, dtype=int), n_booleans=n, classes=names, feature_names=names
    )


def constants(header, what):
    return {name: int(value) for name, value in re.findall(rf"^    (MODEL_{what}_\w+) = (\d+)", header, re.M)}


@pytest.mark.parametrize("standard", ["c99", "c++98", "c++20"])
@pytest.mark.parametrize("single_header", [False, True])
def test_hostile_names_become_numbers_in_c_and_cpp(standard, single_header, tmp_path):
    folder = export.c(hostile(), tmp_path / "c", single_header=single_header)
    names = constants((folder / "model.h").read_text(), "CLASS")
    places = constants((folder / "model.h").read_text(), "FEATURE")
    assert list(names.values()) == list(places.values()) == list(range(len(NAMES)))
    assert {"MODEL_CLASS_A", "MODEL_CLASS_A_2", "MODEL_CLASS_INT", "MODEL_CLASS_MINUS_1"} <= names.keys()
    assert len({name[:63] for name in (*names, *places)}) == 2 * len(NAMES)
    checks = " && ".join(f"{name} == {number}" for name, number in (names | places).items())
    (folder / "main.c").write_text(
        f'#include "model.h"\nint main(void)\n{{\n    return ({checks}) ? 0 : 1;\n}}\n'
    )
    driver = compiler("gcc" if standard == "c99" else "g++")
    kind = "c" if standard == "c99" else "c++"
    warnings = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-function"]
    command = [driver, f"-std={standard}", *warnings, "-x", kind, "main.c", "-o", "main"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([folder / "main"], check=False).returncode == 0


def test_features_that_no_clause_asks_for_are_marked():
    header = make_program(hostile(4), "fast").files["model.h"]
    told = re.findall(r"MODEL_FEATURE_\w+ = \d+,? /\* (.*) \*/", header)
    used = {slot.feature for slot in make_program(hostile(4), "fast").slots.slots}
    assert [("unused" in text) for text in told] == [f not in used for f in range(4)]


@pytest.mark.parametrize("n_used", [3, 3000])
def test_headers_of_thousands_of_features_stay_small(n_used):
    n = 3000
    model = Model(np.arange(n_used), np.arange(n_used + 1), np.ones((n_used, 2), int) * [1, 2], n_booleans=n,
                  classes=["a", "b"])  # fmt: skip
    header = make_program(model, "compact").files["model.h"]
    assert len(constants(header, "FEATURE")) == (n_used if n_used <= 500 else 0)
    assert len(header) < 8000


def test_an_answer_that_is_unknown_is_no_class():
    model = Model([0, 1], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"]).with_unknown(1)
    header = make_program(model, "fast").files["model.h"]
    assert constants(header, "CLASS") == {"MODEL_CLASS_A": 0, "MODEL_CLASS_B": 1}
    assert "#define MODEL_UNKNOWN 2u" in header


def test_the_contract_of_an_export_that_learns_says_who_may_be_called_from_several_tasks():
    model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    header = export.choose(model, learn="votes", margin=1).files["model.h"]
    assert "All other functions may be called from several tasks" in header
    assert "They may be called" not in header
