"""The host, the exported C and MicroPython give one answer for every row of a CSV, as the CSV has it.

The C reads the text of the file with `strtof`, as a firmware would, so nothing is rounded on the way that a
user would not round.
"""

import csv
import json
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from ethereal import Booleanizer, EtherealClassifier, Model, export
from ethereal.cli import app
from ethereal.device import measure
from ethereal.export import LAYOUTS
from ethereal.features.feature_map import FeatureMap
from ethereal_study.micropython import Interpreter, InterpreterMissingError
from kept_builds import build
from thinned import examples, few, thinned

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror", "-std=c99"]
# All exports of a folder in one program: a line of answers for each row.
DRIVER = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
@headers@
int main(void)
{
    static float row[@features@];
    unsigned f = 0;
    char word[64];

    while (scanf("%63s", word) == 1) {
        row[f++] = word[0] == '?' ? NAN : strtof(word, 0);
        if (f == @features@) {
@answers@
            printf("\n");
            f = 0;
        }
    }
    return 0;
}
"""
ANSWER = r"""            printf("%u ", @_predict(row));
"""
CONVERTED = r"""            {
                static @_input whole[sizeof row / sizeof row[0]];
                @_convert(row, whole);
                printf("%u ", @_predict(whole));
            }
"""
# A Cortex-M3 without an operating system: newlib reads and writes through the emulator (semihosting).
VECTORS = """
__asm__(".section .vectors, \\"a\\"\\n.word 0x20100000, _start\\n.text");
"""
ROWS = 240


def columns(kind, rng):
    """Four columns of text and what they mean as numbers; some tables have empty cells."""
    normal = rng.normal(0, 1, (ROWS, 4))
    formats = {
        "tenths": (20 + 3 * normal, "{:.1f}"),
        "thousandths": (1 + 0.01 * normal, "{:.3f}"),
        "missing": (20 + 3 * normal, "{:.2f}"),
        "large": (1e7 * (2 + normal), "{:.2f}"),
        "tiny": (1e-5 * normal, "{:.4g}"),
        "integers": (50 * normal, "{:.0f}"),
        "mixed": (normal * [1, 100, 1e4, 1e-3] + [0, 1000, 0, 5], "{:.5g}"),
        "bytes": (np.clip(128 + 60 * normal, 0, 255), "{:.0f}"),
    }
    values, form = formats[kind]
    text = [[form.format(v) for v in row] for row in values]
    if kind == "missing":
        for row in text:
            for f in (1, 2):
                row[f] = "" if rng.random() < 0.1 else row[f]
    score = normal @ [1, 1, -1, 0.5]
    return text, np.where(score > 0.8, "high", np.where(score < -0.8, "low", "mid"))


TABLES = ["tenths", "thousandths", "missing", "large", "tiny", "integers", "mixed", "bytes"]


@pytest.fixture(scope="module", params=few(TABLES, 3))
def table(request, tmp_path_factory):
    """A model trained by the command line, the rows as text, the labels that `ethereal predict` gives, and a
    folder with the model's exports."""
    folder = tmp_path_factory.mktemp(request.param)
    text, labels = columns(request.param, np.random.default_rng(TABLES.index(request.param)))
    with open(folder / "t.csv", "w", newline="") as file:
        csv.writer(file).writerows(
            [["a", "b", "c", "d", "y"], *([*r, y] for r, y in zip(text, labels, strict=True))]
        )
    for command in ("train t.csv --label y --out m.etm --epochs 5 --clauses 20",
                    "predict m.etm t.csv --label y --out answers.csv"):  # fmt: skip
        words = [str(folder / word) if "." in word else word for word in command.split()]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
    model = Model.load(folder / "m.etm")
    answers = (folder / "answers.csv").read_text().split()[1:]
    return model, text, [line.split(",")[0] for line in answers], written(model, folder / "c")


def words(text):
    """Rows of text for the C program, "?" for an empty cell."""
    return "\n".join(" ".join(cell or "?" for cell in row) for row in text)


def written(model, folder, layouts=LAYOUTS, numbers=("float", "int16")):
    """A folder with exports, named by layout and number type, and a driver that calls them all."""
    names = [f"{layout}_{number}" for layout in layouts for number in numbers]
    for name in names:
        layout, number = name.split("_")
        export.c(model, folder / name, name=name, layout=layout, input=number)
    answers = [(ANSWER if "float" in name else CONVERTED).replace("@", name) for name in names]
    (folder / "driver.c").write_text(
        DRIVER.replace("@headers@", "\n".join(f'#include "{name}/{name}.h"' for name in names))
        .replace("@features@", str(model.n_features))
        .replace("@answers@", "".join(answers))
    )
    return folder


def built(folder, compiler, *flags):
    """The program of all exports in a folder, compiled without a warning."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed; `make system` installs it where it may")
    exported = [path.relative_to(folder) for path in sorted(folder.glob("*_*/*_*.c"))]
    sources = [path for path in exported if not path.stem.endswith("_test")]
    command = [compiler, *WARNINGS, "-O1", *flags, *sources, "driver.c", "-o", compiler]
    done = build(command, folder, compiler)
    assert done.returncode == 0, done.stderr
    return folder / compiler


def assert_all(model, answers, expected):
    """Every export gave the labels that are expected."""
    labels = [[str(model.classes[int(answer)]) for answer in line.split()] for line in answers.splitlines()]
    assert len(labels) == len(expected)
    assert labels == [[label] * len(labels[0]) for label in expected]
    assert labels[0]


def assert_same_in_c(model, text, folder, expected):
    """The exported C answers on this computer as expected."""
    done = subprocess.run([built(folder, "gcc")], input=words(text), capture_output=True, text=True)
    assert_all(model, done.stdout, expected)


def test_c_answers_like_predict_on_every_row(table):
    model, text, expected, folder = table
    assert_same_in_c(model, text, folder, expected)


def test_an_arm_core_answers_like_predict_on_every_row(table):
    model, text, expected, folder = table
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("qemu-system-arm is not installed; `make system` installs it where it may")
    (folder / "vectors.c").write_text(VECTORS)
    flags = ["-mcpu=cortex-m3", "-mthumb", "--specs=rdimon.specs", "-Wno-pedantic"]
    link = "-Wl,--section-start=.vectors=0,-Tdata=0x20000000"
    program = built(folder, "arm-none-eabi-gcc", *flags, link, "vectors.c")
    quiet = ["-display", "none", "-monitor", "none", "-serial", "none"]
    machine = ["qemu-system-arm", "-M", "mps2-an385", *quiet]
    done = subprocess.run(
        [*machine, "-semihosting-config", "enable=on,target=native", "-kernel", program],
        input=words(text), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert_all(model, done.stdout, expected)


def test_an_avr_answers_like_predict_on_every_row(table, request):
    model, text, expected, _ = table
    if any(shutil.which(tool) is None for tool in ("avr-gcc", "simavr")):
        pytest.skip("no gcc-avr, avr-libc or simavr; `make system` installs them where it may")
    X = np.array([[cell or "nan" for cell in row] for row in text], dtype=np.float64)
    assert [str(label) for label in model.predict(X)] == expected
    # The other cores have every layout on every table. Here each table has two, in turn, floats and integers.
    first = TABLES.index(request.node.callspec.params["table"])
    for layout, number in (
        (LAYOUTS[first % len(LAYOUTS)], "float"),
        (LAYOUTS[-first % len(LAYOUTS)], "int16"),
    ):
        some = X[::10] if layout == "compact" else X[::3]  # the first takes this core a second for ten rows
        assert measure(model, some, "atmega2560", layout, input=number).agreement == 1.0


def run_micropython(model, text, folder):
    """Labels by the exported MicroPython in its interpreter."""
    try:
        interpreter = Interpreter()
    except InterpreterMissingError as error:
        pytest.skip(str(error))
    files = {p.name: p.read_bytes() for p in export.micropython(model, folder / "py", name="m").iterdir()}
    rows = [[cell or "nan" for cell in row] for row in text]
    script = (
        f"import m, json\nrows = json.loads('''{json.dumps(rows)}''')\n"
        "print(json.dumps([m.predict([float(c) for c in row]) for row in rows]))\n"
    )
    return [str(label) for label in json.loads(interpreter.run(files, [script])[0])]


def test_micropython_answers_like_predict_on_every_row(table, tmp_path):
    model, text, expected, _ = table
    assert run_micropython(model, text, tmp_path) == expected


@pytest.mark.parametrize("number, encoding", thinned(["float", "int16", "uint8"], [None, "onehot"]))
def test_a_value_that_was_never_missing_in_training_is_answered_like_the_host(number, encoding, tmp_path):
    """Where another value was missing, such a value is ignored: all Booleans of the feature are false."""
    X, y = load_iris(return_X_y=True)
    X = np.rint(10 * X - 30)  # whole numbers on both sides of zero
    X[0, 3] = np.nan
    clf = EtherealClassifier(20, 10, 3.0, epochs=5, random_state=0)
    if encoding is not None:
        clf.set_params(booleanizer__encoding=encoding)
    model = clf.fit(X, y).model_
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    text = [["" if np.isnan(v) else f"{v:.0f}" for v in row] for row in rows]
    rows = np.array([[float(cell or "nan") for cell in row] for row in text])
    expected = [str(label) for label in model.predict(rows)]
    assert_same_in_c(model, text, written(model, tmp_path / "c", numbers=[number]), expected)
    if number == "float":
        assert run_micropython(model, text, tmp_path) == expected


def test_a_table_of_text_gaps_groups_and_units(tmp_path, call):
    """What people have: the file is taken as it is by every command, and the C answers like the host."""
    rng = np.random.default_rng(3)
    rate, temperature = rng.normal(20, 3, ROWS), rng.normal(5, 1, ROWS)
    colours, person = rng.choice(["red", "dark blue", "größer", ""], ROWS), np.arange(ROWS) // 20
    y = np.where((colours == "red") | (rate > 23), "yes", "no")
    cells = [[f"{r:.1f}", c, "" if t < 4 else f"{t:.2f}", "on" if t > 5 else "off"]
             for r, c, t in zip(rate, colours, temperature, strict=True)]  # fmt: skip
    head = ["rate [/s]", "colour", "T (°C)", "valve", "person", "y"]
    with open(tmp_path / "t.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *([*r, p, k] for r, p, k in zip(cells, person, y, strict=True))])
    call("train", "t.csv", "--label", "y", "--group", "person", "-o", "m.etm", "--epochs", 9, "--clauses", 40)
    call("predict", "m.etm", "t.csv", "--out", "answers.csv")
    expected = (tmp_path / "answers.csv").read_text().split()[1:]
    model = Model.load("m.etm")
    assert model.categories == {"colour": ("dark blue", "größer", "red"), "valve": ("off", "on")}
    assert "colour is red" in model.describe()
    assert "colour is" in str(model.explain([20.0, "red", 5.0, "on"]))
    assert "colour is" in call("explain", "m.etm", "t.csv", "--row", 3).stdout
    call("measure", "m.etm", "t.csv", "--layout", "compact")
    call("export", "m.etm", "--rows", "t.csv", "--to", "c", "--name", "m", "--out", "exported")
    header = (tmp_path / "exported" / "m.h").read_text()
    assert "#define M_COLOUR_RED 2 /* red */" in header
    numbers = {"": "?", "off": "0", "on": "1"} | {
        name: str(i) for i, name in enumerate(model.categories["colour"])
    }
    text = [[r, numbers[c], t, numbers[v]] for r, c, t, v in cells]
    text[0][1] = "?"
    expected[0] = str(
        model.predict([[float(cells[0][0]), None, float(cells[0][2] or "nan"), cells[0][3]]])[0]
    )
    assert_same_in_c(model, text, written(model, tmp_path / "c"), expected)
    module = export.micropython(model, tmp_path / "py", name="m") / "m.py"
    assert "categories = {'colour': ('dark blue', 'gr\\xf6\\xdfer', 'red')" in module.read_text()


@pytest.mark.parametrize("seed", few([0, 1, 2]))
def test_the_example_of_the_readme(seed, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = EtherealClassifier.paper(random_state=seed).fit(X, y).model_
    text = [[f"{v:.1f}" for v in row] for row in X]
    folder = written(model, tmp_path / "c", ["auto"], ["float", "uint8"])
    assert_same_in_c(model, text, folder, [str(label) for label in model.predict(X)])


@examples(15, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(
    seed=st.integers(0, 9999),
    digits=st.integers(0, 5),
    spread=st.sampled_from([0.01, 1.0, 300.0]),
    n_bins=st.integers(2, 12),
    layout=st.sampled_from(LAYOUTS),
    number=st.sampled_from(["float", "int16"]),
)
def test_random_decimal_tables(tmp_path_factory, seed, digits, spread, n_bins, layout, number):
    rng = np.random.default_rng(seed)
    cells = [[f"{v:.{digits}f}" for v in row] for row in rng.normal(1, 1, (150, 3)) * [spread, 10, 3]]
    X = np.array(cells, dtype=np.float64)
    y = X[:, 1] + X[:, 2] > 12
    machine = EtherealClassifier.paper(20, 10, 3.0, epochs=2, booleanizer=Booleanizer(n_bins), random_state=0)
    model = machine.fit(X, y.astype(int)).model_
    folder = written(model, tmp_path_factory.mktemp("c") / "out", [layout], [number])
    assert_same_in_c(model, cells, folder, [str(label) for label in model.predict(X)])


def test_a_model_of_an_older_file_keeps_its_answers_and_says_that_exports_may_differ(tmp_path, call):
    feature_map = FeatureMap([0.1], [0, 1], [False], precision="float64")
    old = Model(
        [0],
        [0, 1],
        [[1, 0]],
        n_booleans=1,
        classes=[0, 1],
        booleanizer=Booleanizer.from_feature_map(feature_map),
    )
    old.save(tmp_path / "old.etm")
    again = Model.load(tmp_path / "old.etm")
    assert again.class_sums([[0.1], [0.1 + 1e-12]])[:, 0].tolist() == [0, 1]
    with pytest.warns(UserWarning, match=r"compares in float64.*ethereal convert"):
        export.c(again, tmp_path / "c")
    call("convert", "old.etm", "--out", "new.etm")
    new = Model.load(tmp_path / "new.etm")
    assert new.feature_map.precision == "float32"
    assert new.class_sums([[0.1], [0.1 + 1e-12], [0.1001]])[:, 0].tolist() == [0, 0, 1]


def test_measure_compares_with_the_rows_as_they_were_read():
    # In float64 the value is above the threshold, in float32 it is not: an older model differs on the device.
    feature_map = FeatureMap([0.1], [0, 1], [False], precision="float64")
    booleanizer = Booleanizer.from_feature_map(feature_map)
    model = Model([0], [0, 1], [[0, 1]], n_booleans=1, classes=[0, 1], booleanizer=booleanizer)
    rows = np.array([[0.1], [0.5]])
    assert measure(model, rows).agreement == 0.5  # float32(0.1) is above 0.1 rounded down
    assert measure(model.in_float32(), rows).agreement == 1.0


@pytest.mark.parametrize(
    "values, words_",
    [
        (1.7e12 + 20.0 * np.arange(100), "feature 'ms'.*float32"),
        (np.where(np.arange(100) % 2, 1e300, 2e300), "feature 'ms'.*float32"),
    ],
)
def test_a_feature_of_which_float32_leaves_nothing_is_refused(values, words_):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": np.arange(100) % 7, "ms": values})
    with pytest.raises(ValueError, match=words_):
        EtherealClassifier.paper(20, epochs=1).fit(frame, np.arange(100) % 2)


@pytest.mark.parametrize(
    "values, words_",
    [
        (1.7e12 + 2e4 * np.arange(100), r"x1.*\b100 different.*\d+"),
        (2**60 + (np.arange(100) << 33), r"x1.*\b100 different.*\d+"),
        (np.r_[np.arange(99.0), 1e300], "x1 has 1 values beyond 3.4e38"),
    ],
)
def test_a_feature_that_float32_rounds_is_named(values, words_):
    X = np.column_stack([np.arange(100) % 7, values])
    with pytest.warns(UserWarning, match=words_):
        Booleanizer(10).fit(X)


def test_ordinary_columns_are_not_named(recwarn):
    rng = np.random.default_rng(0)
    noise = 1 + 1e-16 * rng.integers(0, 3, 1000)  # a computed constant
    X = np.column_stack([rng.normal(size=1000), 1e3 + rng.random(1000), rng.integers(0, 9, 1000), noise])
    Booleanizer(32).fit(X)
    assert not recwarn.list


def test_integers_that_are_too_coarse_are_counted(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)) * [1, 1000]
    y = (X[:, 0] + X[:, 1] / 1000 > 0).astype(int)
    model = EtherealClassifier.paper(40, 10, 3.0, epochs=3, random_state=0).fit(X, y).model_
    with pytest.warns(UserWarning, match=r"int8.*\d+.*\b500\b"):
        folder = export.c(model, tmp_path / "c", name="m", input="int8", rows=X)
    done = subprocess.run(["make", "-s"], cwd=folder, capture_output=True, text=True)  # golden rows agree
    assert done.returncode == 0, done.stderr
    assert " 0 failures" in done.stdout
