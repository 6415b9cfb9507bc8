"""A run with another budget takes over what another one trained, and finds what it would have found."""

import json
from dataclasses import replace

import numpy as np
import pytest

import ethereal
from ethereal.runs.folder import RunFolder
from ethereal.runs.reuse import digest_of, same_training
from ethereal.tuning.kept import read_curves, write_curves

ASKED = {"label": "y", "quick": True, "learner": "machine", "n_clauses": 6, "epochs": 3, "forest": False}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.random((1400, 3)).round(3)
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.8, "high", "low")
    path = tmp_path_factory.mktemp("reuse") / "t.csv"
    path.write_text("\n".join(["a,b,c,y", *(",".join(map(str, [*r, t])) for r, t in zip(X, y, strict=True))]))
    return path


@pytest.fixture(scope="module")
def first(table):
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ETHEREAL_PROGRESS", str(table.parent / "runs" / "progress.json"))
        patched.setattr("ethereal.runs.pipeline.missing_tools", lambda *names: ["ziglang"])
        return ethereal.run(table, out=table.parent / "runs", **ASKED)


def files_of(run, *names):
    return [(run.folder / name).read_bytes() for name in names]


def results_of(run, stage):
    """What a stage found, without the seconds that it took."""
    result = RunFolder(run.folder).result(stage)
    return {name: value for name, value in result.items() if name not in ("seconds", "history")}


def test_another_budget_is_the_model_that_training_again_would_give(table, first, monkeypatch):
    monkeypatch.setattr("ethereal.runs.pipeline._CURVE_POINTS", 1)
    fresh = ethereal.run(table, out=table.parent / "fresh", flash=300, **ASKED)
    monkeypatch.setattr("ethereal.train.classifier.EtherealClassifier.fit", None)  # nothing is trained
    again = ethereal.run(table, out=first.folder.parent, flash=300, **ASKED)
    assert again.folder != first.folder
    assert files_of(again, "model.etm", "host.etm", "machine.etm") == files_of(
        fresh, "model.etm", "host.etm", "machine.etm"
    )
    for stage in ("learn", "prune", "board"):
        assert results_of(again, stage) == results_of(fresh, stage)
    assert again.learned == first.learned


@pytest.mark.parametrize("other", [{"random_state": 1}, {"n_clauses": 8}, {"balanced": True}])
def test_other_training_is_not_taken_over(first, other):
    parameters = RunFolder(first.folder).parameters()
    changed = {"n_clauses": "clauses", "random_state": "seed"}
    assert not same_training(parameters, {**parameters, **{changed.get(k, k): v for k, v in other.items()}})
    assert same_training(parameters, {**parameters, "flash": 900, "target": "pico", "novelty": True})


def test_a_table_that_was_changed_is_another_run(first):
    rows, parameters = first.rows(), RunFolder(first.folder).parameters()
    digest = RunFolder(first.folder).rows
    assert digest_of(rows) == digest
    others = {"X": rows.X + 1}, {"y": rows.y[::-1].copy()}, {"test": ~rows.test}
    changed = [replace(rows, **other) for other in others]
    assert len({digest, *map(digest_of, changed)}) == 4
    assert RunFolder.open(first.folder.parent, "t", parameters, digest).path == first.folder
    assert RunFolder.open(first.folder.parent, "t", parameters, "of others").path != first.folder


def test_curves_come_back_as_they_were_written(first, tmp_path):
    kept = first.folder / "curves.xz"
    rows = first.rows()
    ways = ethereal.tuning.sources.ways_of("machine", ["votes", "unseen"])
    curves = read_curves(kept, ways, rows.X_train, None)
    write_curves(tmp_path / "again.xz", curves)
    assert (tmp_path / "again.xz").read_bytes() == kept.read_bytes()
    assert read_curves(kept, ways[:0], rows.X_train, None) is None  # curves of other ways
    for damaged in (b"", kept.read_bytes()[:200], b"\xfd7zXZ\x00" + bytes(50)):
        (tmp_path / "bad.xz").write_bytes(damaged)
        assert read_curves(tmp_path / "bad.xz", ways, rows.X_train, None) is None


def test_a_watcher_is_told(first):
    progress = json.loads((first.folder.parent / "progress.json").read_text())
    assert 0 <= progress["share"] <= 1
    assert len(progress["points"]["held out"]) > 3
