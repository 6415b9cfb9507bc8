"""MicroPython packages of models that read raw windows: the features of the host, bit by bit."""

import json

import numpy as np
import pytest

from ethereal import WindowFeatures, export
from ethereal.export.mpy import runtime
from ethereal.export.mpy.tables import micropython_tables
from ethereal.model.needs import NotSupported
from micropython_shim import load_runtime
from windows import everything, hard_windows, model_of


def whole(n=64, n_axes=3, **keywords):
    windows = hard_windows(n, n_axes=n_axes)
    return model_of(everything(n_axes, rate=50, hop=n // 2, **keywords).fit(windows), windows), windows


def sound():
    rng = np.random.default_rng(0)
    loud = rng.normal(0, 1, (12, 1100, 1)) * np.exp(-(((np.arange(1100) - 500) / 200) ** 2))[:, None] * 9000
    windows = np.concatenate([loud, hard_windows(1100, n_axes=1, n_random=1)]).astype(np.int16)
    return model_of(WindowFeatures(["mel"], rate=8000).fit(windows), windows, n_clauses=9), windows


def board_of(model, code="plain"):
    return load_runtime(code, model=model)["Model"](micropython_tables(model))


@pytest.mark.parametrize("n", [64, 100, 128], ids=str)
def test_features_are_those_of_the_host(n):
    model, windows = whole(n)
    board = board_of(model)
    expected = model.drop_unused_kernels().front_end.transform(windows).tolist()
    assert [board.features(window.tolist()) for window in windows] == expected
    assert [board.window(window.tolist()) for window in windows] == model.predict(windows).tolist()


def test_sound_too():
    model, windows = sound()
    board = board_of(model)
    expected = model.drop_unused_kernels().front_end.transform(windows).tolist()
    assert [board.features(window.tolist()) for window in windows] == expected


@pytest.mark.parametrize("margin", [None, 9], ids=["answers", "unknown"])
def test_a_stream_gives_the_answers_of_its_windows(margin):
    model, _ = whole(64)
    model = model.with_unknown(margin)
    stream = np.random.default_rng(1).integers(-3000, 3000, (500, 3)).astype(np.int16)
    board = board_of(model)
    answers = [label for sample in stream.tolist() if (label := board.push(sample)) is not None]
    expected = model.predict(model.front_end.windows(stream)).tolist()
    assert answers == expected
    assert len(answers) == (500 - 64) // 32 + 1
    board.reset()
    assert board.push(stream[0]) is None
    with pytest.raises(ValueError, match=r"\b64\b.*\b3\b"):
        board.window(stream[:10].tolist())


def test_kernels_that_a_model_does_not_use_are_not_there():
    windows = hard_windows(64, n_axes=3)
    model = model_of(WindowFeatures({"stats": ["ax"]}, axes=["ax", "ay", "az"]).fit(windows), windows)
    text = runtime("plain", model)
    assert "def stats(" in text
    assert not any(f"def {name}(" in text for name in ("fft", "haar", "squash", "mel", "corr"))
    assert "KERNELS = {2: stats}" in text
    with pytest.raises(NotSupported, match="layout redress does not take a front end"):
        micropython_tables(model, layout="redress")


def test_a_package_runs_in_micropython(tmp_path, micropython):
    """In the interpreter, from the file that a user copies."""
    model, windows = whole(64)
    some = windows[[0, 3, 8, 30, 50, 70]]
    folder = export.micropython(model.with_unknown(5), tmp_path / "out", rows=windows)
    script = (
        "import json, model, ethereal_check\n"
        f"windows = json.loads({json.dumps(some.tolist())!r})\n"
        "print(json.dumps([model.features(w) for w in windows]))\n"
        "print(json.dumps([model.window(w) for w in windows]))\n"
        "print(json.dumps([a for a in map(model.push, windows[2] + windows[3]) if a is not None]))\n"
        'print(ethereal_check.check(model.model, "model.gold")[1], '
        'ethereal_check.check_many(model.model, "model.gold")[1], '
        'ethereal_check.check_windows(model.model, "model.goldw"))\n'
    )
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    features, labels, stream, wrong = micropython.run(files, [script])[0].splitlines()
    assert json.loads(features) == model.drop_unused_kernels().front_end.transform(some).tolist()
    guarded = model.with_unknown(5)
    assert json.loads(labels) == guarded.predict(some).tolist()
    assert (
        json.loads(stream) == guarded.predict(guarded.front_end.windows(np.concatenate(some[2:4]))).tolist()
    )
    assert wrong == "0 0 (4, 0)"
