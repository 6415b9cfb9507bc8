"""MicroPython packages of numbers: the sums and, in single precision, the bits of the host."""

import json
import struct

import numpy as np
import pytest

from ethereal import export
from ethereal.export.mpy.tables import micropython_tables
from micropython_shim import load_runtime
from odd_models import odd_model
from random_models import number_model, random_model
from windows import number_of_windows

MODELS = {
    "raw": {"seed": 21},
    "Booleans": {"seed": 22, "encoding": None, "n_features": 20},
    "missing": {"seed": 24, "missing": "some", "encoding": "mixed"},
}


def bits(values):
    return np.array(values, dtype=np.float32).view(np.uint32).tolist()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("code", ["plain", "viper", "words"])
def test_the_runtime_gives_the_numbers_of_the_host(name, code):
    model, X = number_model(**MODELS[name])
    layout = "redress" if code == "words" else "auto"
    board = load_runtime(code, model=model)["Model"](micropython_tables(model, layout=layout))
    rows = X.astype(np.uint8).tolist() if model.fitted is None else X.tolist()
    assert [board.class_sums(row) for row in rows] == model.class_sums(X).tolist()
    assert bits([board.predict(row) for row in rows]) == bits(model.predict(X))
    assert bits(board.predict_many(rows)) == bits(model.predict(X))
    assert board.half_width == 1.5
    assert load_runtime(code, model=model)["Model"](
        micropython_tables(model.with_number(half_width=None), layout=layout)
    ).half_width is None  # fmt: skip


def test_odd_numbers_too():
    seen = 0
    for seed in range(60):
        model, X = odd_model(seed)
        if not model.is_number or model.output.line is not None or model.needs.heaviest_vote >= 2**15:
            continue
        board = load_runtime("plain", model=model)["Model"](micropython_tables(model))
        rows = X.astype(np.uint8) if model.fitted is None else X
        assert bits([board.predict(row) for row in rows.tolist()]) == bits(model.predict(X))
        seen += 1
    assert seen > 5


def test_a_runtime_for_classes_refuses_the_tables_of_a_number():
    number, classes = number_model(21)[0], random_model(21)[0]
    for model, of_runtime in ((number, classes), (classes, number)):
        with pytest.raises(ValueError, match="no tables of this format"):
            load_runtime("plain", model=of_runtime)["Model"](micropython_tables(model))


def test_packages_speak_of_a_number(tmp_path):
    model, X = number_model(21)
    folder = export.micropython(model, tmp_path / "out", rows=X)
    text = (folder / "README.md").read_text()
    assert text.splitlines()[2].startswith('A number, "temperature" in "degC", ')
    assert "label" not in text
    assert "@" not in text
    assert '# A number, "temperature" in "degC", ' in (folder / "model.py").read_text()


@pytest.mark.parametrize("of_windows", [False, True])
def test_a_package_runs_in_micropython(of_windows, tmp_path, micropython):
    """In the interpreter, whose floats have double precision, from the file that a user copies."""
    model, X = number_of_windows() if of_windows else number_model(21)
    folder = export.micropython(model, tmp_path / "out", rows=X)
    some, call = X[:10], "window" if of_windows else "predict"
    script = (
        "import json, model, ethereal_check\n"
        "from struct import pack, unpack\n"
        f"rows = json.loads({json.dumps(some.tolist())!r})\n"
        f'print([unpack("<I", pack("<f", model.{call}(row)))[0] for row in rows])\n'
        'print(ethereal_check.check(model.model, "model.gold")[1], '
        'ethereal_check.check_many(model.model, "model.gold")[:2])\n'
    )
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    gold = bytearray(files["model.gold"])
    told, wrong = micropython.run(files, [script])[0].splitlines()
    assert json.loads(told) == bits(model.predict(some))
    n = struct.unpack_from("<H", gold, 8)[0]
    assert wrong == f"0 ({n}, 0)"
    gold[-1] ^= 1  # a number that is another one
    assert micropython.run(files | {"model.gold": bytes(gold)}, [script])[0].splitlines()[1] == f"0 ({n}, 1)"
