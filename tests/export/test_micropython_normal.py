"""MicroPython packages that tell what is normal: the host's scores, and its own normal after random calls."""

import json
import types

import numpy as np
import pytest

from ethereal import EtherealDetector, WindowFeatures, export
from ethereal.adapt import Normal
from ethereal.export.mpy.tables import micropython_tables
from ethereal.model.needs import NotSupported
from micropython_shim import load_runtime
from random_models import random_model
from thinned import few
from windows import hard_windows

RNG = np.random.default_rng(3)
FLEET = RNG.normal([3.0, -200, 0.001, 5], [9.0, 90, 0.002, 4], (300, 4))
MACHINE = RNG.normal([3.0, -200, 0.001, 5], [1.0, 20, 0.0001, 0.5], (80, 4))
WILD = np.array([[np.inf, -np.inf, 1e39, 1e-45], [-0.0, 0, 3.4e38, -3e38], [9e6, -9e6, 1, 5.1]])
ROWS = np.concatenate([MACHINE, FLEET[:20], WILD[1:]])

# What the board does. It runs in MicroPython and in this interpreter, with the package as `m`.
BOARD = """
def answers(m, rows, calls):
    saved = b""
    given = []
    for name, i in calls:
        row = rows[i]
        if name == "drift":
            given.append(m.normal_drift(m.score(row)))
        elif name == "save":
            saved = m.normal_save()
            given.append(m.crc32(saved, 0))
        elif name == "restore":
            given.append(m.normal_restore(saved))
        elif name == "damaged":
            given.append(m.normal_restore(saved[:20] + bytes([saved[20] ^ 4]) + saved[21:]) if saved else 0)
        elif name in ("learn", "begin", "end", "limit"):
            given.append(getattr(m, "normal_" + name)(*([row] if name == "learn" else [])) or 0)
        else:
            given.append(int(getattr(m, name)(row)))
    return given
"""
RATES = {"learn": 70, "score": 10, "is_normal": 5, "end": 2, "begin": 0.4, "drift": 7, "save": 2,
         "restore": 1.2, "damaged": 1, "limit": 1}  # fmt: skip


class Host:
    """The host's side under the names of a package."""

    def __init__(self, model, n_centres, crc32):
        self.board, self.crc32 = Normal(model, n_centres), crc32
        for name in ("begin", "learn", "end", "drift", "save", "restore"):
            setattr(self, f"normal_{name}", getattr(self.board, name))

    def score(self, row):
        return int(self.board.score([row])[0])

    def is_normal(self, row):
        return self.board.is_normal([row])[0]

    def normal_limit(self):
        return self.board.limit if self.board.is_own else self.board.general.limit


def package(folder, name="model"):
    module = types.ModuleType(name)
    exec((folder / f"{name}.py").read_text(), module.__dict__)
    return module


def kinds():
    whole = np.rint(RNG.normal(120, 30, (200, 5))).clip(0, 255)
    beside, X = random_model(31, missing="some")
    words, Y = random_model(22, encoding=None, n_features=20)
    return {
        "floats": (EtherealDetector(0.05).fit(FLEET).model_, np.concatenate([FLEET, WILD])),
        "whole": (EtherealDetector().fit(whole).model_, whole),
        "beside": (beside.with_normal(np.nan_to_num(X)), X),
        "unknown": (beside.with_normal(np.nan_to_num(X)).with_unknown(2), X),
        "Booleans": (words.with_normal(Y), Y),
    }


@pytest.mark.filterwarnings("ignore:Later rows differ")
def test_scores_and_answers_are_those_of_the_host():
    for name, (model, X) in kinds().items():
        for code in ("plain",) if model.output.kind == "normal" else ("plain", "viper"):
            board = load_runtime(code, model=model)["Model"](micropython_tables(model))
            rows = X.astype(np.uint8).tolist() if model.fitted is None else X.tolist()
            assert [board.score(row) for row in rows] == model.novelty(X).tolist(), name
            assert [board.predict(row) for row in rows] == model.predict(X).tolist(), name
            assert board.predict_many(rows) == model.predict(X).tolist()
            assert [board.is_normal(row) for row in rows] == (model.novelty(X) <= model.normal.limit).tolist()


@pytest.mark.parametrize("n_calls", few([1200, 10_000]))
def test_random_calls_return_what_they_return_on_the_host(n_calls, tmp_path, micropython):
    model = EtherealDetector(0.05).fit(FLEET).model_
    folder = export.micropython(model, tmp_path / "out", own_normal=3)
    p = np.array(list(RATES.values()))
    names = RNG.choice(list(RATES), n_calls, p=p / p.sum()).tolist()
    calls = list(zip(names, RNG.integers(0, len(ROWS), n_calls).tolist(), strict=True))
    scope = {}
    exec(BOARD, scope)
    board = package(folder)
    expected = scope["answers"](Host(model, 3, board.crc32), ROWS.tolist(), calls)
    assert scope["answers"](board, ROWS.tolist(), calls) == expected
    assert sum(name == "end" and given for (name, _), given in zip(calls, expected, strict=True))
    script = (
        f"import json, model\n{BOARD}\n"
        f"print(answers(model, json.loads({json.dumps(ROWS.tolist())!r}), json.loads({json.dumps(calls)!r})))"
    )
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert json.loads(micropython.run(files, [script])[0]) == expected


def test_windows_and_self_test_in_micropython(tmp_path, micropython):
    windows = np.concatenate([hard_windows(32, 2, 10, seed) for seed in range(2)])
    front_end = WindowFeatures(["std", "haar"], axes=["a", "b"], hop=32)
    model = EtherealDetector(0.1, front_end=front_end).fit(windows).model_
    folder = export.micropython(model, tmp_path / "out", own_normal=2, rows=windows)
    assert "@" not in (folder / "README.md").read_text()
    script = (
        "import json, model, ethereal_check\n"
        f"windows = json.loads({json.dumps(windows[:6].tolist())!r})\n"
        "said = [model.push(sample) for window in windows[:2] for sample in window]\n"
        "print([label for label in said if label], model.score(model.last_features()))\n"
        "print([model.score(model.features(window)) for window in windows])\n"
        'print(ethereal_check.check(model.model, "model.gold")[1], '
        'ethereal_check.check_many(model.model, "model.gold")[1], '
        'ethereal_check.check_windows(model.model, "model.goldw")[1])\n'
    )
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    said, scores, wrong = micropython.run(files, [script])[0].splitlines()
    assert said == f"{model.predict(windows[:2]).tolist()} {model.novelty(windows[1:2])[0]}"
    assert json.loads(scores) == model.novelty(windows[:6]).tolist()
    assert wrong == "0 0 0"


def test_what_cannot_be_is_refused(tmp_path):
    model = EtherealDetector().fit(FLEET).model_
    with pytest.raises(NotSupported, match="code is 'viper', but a detector has no clauses"):
        export.micropython(model, tmp_path / "out", code="viper")
    with pytest.raises(NotSupported, match="layout redress does not take output of the kind 'normal'"):
        export.micropython(model, tmp_path / "out", layout="redress")
    with pytest.raises(ValueError, match="own_normal is 4, but the model does not know what is normal"):
        export.micropython(random_model(31)[0], tmp_path / "out", own_normal=4)
    with pytest.raises(ValueError, match="no tables of this format"):
        load_runtime("plain", model=random_model(21)[0])["Model"](micropython_tables(model))
    with pytest.raises(ValueError, match="a row has 4 features"):
        load_runtime("plain", model=model)["Model"](micropython_tables(model)).score([1.0])
