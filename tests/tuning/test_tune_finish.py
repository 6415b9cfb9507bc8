"""The model that `tune` hands over: its epoch, its check against the trial, and what is chosen of equals."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import ethereal
from ethereal import EtherealClassifier
from ethereal.cli import app
from ethereal.compress.curve import PruneRows
from ethereal.tuning import Budget, Footprint, Search, Setup, Trial, front_of
from ethereal.tuning.footprint import Disagreement, on_device
from ethereal.tuning.search import Check, _task, compare, evaluate, finish, rows_to_set_aside

SETUP = Setup((4,), ("thermometer",), 10, 3, 3.0, None, None, 1, "votes", 0.0)
QUICK = {"folds": 1, "epochs": 3, "max_clauses": 12, "trials": 1, "flash": "2k"}


def made_up(rows=1200):
    """Whole numbers, which a device rounds like the host, and a class that depends on two of them."""
    rng = np.random.default_rng(7)
    X = rng.integers(0, 50, (rows, 4)).astype(float)
    return X, ((X[:, 0] > 25) ^ (X[:, 1] > 20) ^ (rng.random(rows) < 0.1)).astype(int)


X, Y = made_up()


def task(epochs=6, instructions=None, learner="auto"):
    budget = Budget(flash="2k", instructions=instructions).on_chip()
    return _task(X, Y, None, None, budget, Search(folds=1, epochs=epochs, max_clauses=12, learner=learner))


def test_the_epoch_is_chosen(monkeypatch):
    """A last epoch that is bad is not what is handed over."""
    fitted = []
    real = EtherealClassifier.fit

    def fit(self, X, y, **keywords):
        fitted.append((len(X), keywords.get("validation_set"), self))
        return real(self, X, y, **keywords)

    monkeypatch.setattr(EtherealClassifier, "fit", fit)
    finished = task(learner="machine")
    finish(finished, SETUP)
    rows, validation, machine = fitted[-1]
    assert rows == len(finished.y)
    assert validation is not None
    best = max(r["validation_accuracy"] for r in machine.history_ if r["phase"] == "train")
    assert (machine.model_.predict(finished.X) == finished.y).mean() == best


def test_rows_are_set_aside_and_chose_nothing():
    finished = task(learner="machine")
    assert len(finished.y_check) == 120
    assert len(finished.y) == 1080
    assert finished.y_check.mean() == pytest.approx(Y.mean(), abs=0.01)
    left = {tuple(row) for row in finished.X}
    assert sum(tuple(row) in left for row in finished.X_check) <= 2  # equal by chance
    done, tried = finish(finished, SETUP), evaluate(finished, SETUP)
    assert done.trial_model == tried.model
    assert done.check == compare(tried.model, done.model, finished.X_check, finished.y_check)
    assert done.check.rows == 120


def test_a_final_model_that_is_worse_is_not_handed_over(monkeypatch):
    """The machine of all rows is spoilt: its trial's model is handed over, and both figures are told."""
    real = EtherealClassifier.fit

    def fit(self, X, y, **keywords):
        spoilt = len(X) == 1080
        return real(self, X, 1 - y if spoilt else y, **keywords)

    monkeypatch.setattr(EtherealClassifier, "fit", fit)
    # Accuracies on training rows would find a model that the descent has mended, so they are not looked at.
    monkeypatch.setattr(PruneRows, "accuracy", lambda self, model: 1.0)
    # With a bound, the teacher "labels" is not preferred for its few instructions. It mends the machine.
    done = finish(task(instructions="100M", learner="machine"), SETUP)
    assert done.model == done.trial_model
    assert done.check.is_worse
    assert done.check.final < done.check.trial - 0.1
    assert done.fits
    limits = {"instructions": "100M", "learner": "machine"}
    tuned = ethereal.tune(X, Y, test=(X[:200], Y[:200]), **limits, **QUICK)
    assert tuned.is_trials
    assert tuned.check.is_worse
    assert tuned.test_accuracy == tuned.trial_test_accuracy


def test_what_counts_as_worse():
    assert Check(100, 0.9, 0.85, 0.03).is_worse
    assert not Check(100, 0.9, 0.88, 0.03).is_worse
    assert compare(None, None, X[:0], Y[:0]) is None


def test_few_rows_and_few_groups_are_not_set_aside():
    assert len(rows_to_set_aside(Y[:900], 0)) == 0
    assert len(rows_to_set_aside(np.zeros(2000, int), 0)) == 0  # one class: the search says so itself
    assert len(rows_to_set_aside(np.arange(50_000) % 2, 0)) == 2000
    groups = np.arange(len(Y)) // 300  # four groups: one would be a quarter of the rows
    assert len(rows_to_set_aside(Y, 0, groups)) == 0
    groups = np.arange(len(Y)) // 30
    aside = rows_to_set_aside(Y, 0, groups)
    assert len(aside) == 120
    assert not set(groups[aside]) & set(np.delete(groups, aside))


def trial(number, accuracy, instructions, rows, flash=4000):
    took = Footprint(flash, instructions)
    return Trial(accuracy, 0.5, took, 0.9, 1, 1, rows, cost=instructions, number=number, setup=SETUP)


def test_the_cheaper_of_equal_trials_is_chosen():
    """331,639 instructions for the last tenth of a point."""
    trials = [trial(0, 0.8763, 331_639.0, 990), trial(1, 0.8750, 4_000.0, 990), trial(2, 0.80, 900.0, 990)]
    assert [t.number for t in front_of(trials)] == [1, 0, 2]
    many = [trial(t.number, t.accuracy, t.footprint.instructions, 10**6) for t in trials]
    assert [t.number for t in front_of(many)] == [0, 1, 2]  # so many rows tell the two apart
    assert front_of(many, Budget(flash=9000))[0].number == 1  # 1/80 of the instructions may cost 0.9 points
    close = [trial(0, 0.8763, 4_400.0, 990), trial(1, 0.8750, 4_000.0, 990)]
    assert front_of(close)[0].number == 0  # a tenth of the instructions is not worth a tenth of a point


@pytest.mark.slow
def test_the_command_tells_both_models(tmp_path):
    path, out = tmp_path / "rows.csv", tmp_path / "best.etm"
    lines = [",".join([*map(str, row), f"kind {y}"]) for row, y in zip(X.tolist(), Y, strict=True)]
    path.write_text("\n".join(["a,b,c,d,kind", *lines]) + "\n")
    options = [path, "--label", "kind", "--out", out, "--folds", 1, "--epochs", 3, "--max-clauses", 6]
    options += ["--flash", "2k", "--trials", 1, "--test", 0.1]
    done = CliRunner().invoke(app, ["tune", *map(str, options), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["check"]["rows"] == 108
    assert {"trial", "final", "error"} <= set(told["check"])
    assert 0 < told["trial_test_accuracy"] <= 1
    shown = CliRunner().invoke(app, ["tune", *map(str, options)])
    assert f"of {told['check']['rows']} rows set aside, so the " in shown.stdout
    assert "rows set aside" in out.with_suffix(".html").read_text()


def test_a_program_that_disagrees_with_the_model_is_refused(monkeypatch):
    from ethereal.device import EmulatedCore

    model = EtherealClassifier.paper(10, 3, 3.0, epochs=3, random_state=0).fit(X, Y).model_
    assert [f.layout for f in on_device(X)(model)] == ["straight", "fast", "fast", "compact"]
    real = EmulatedCore.call_by_row

    def wrong(self, function, rows):
        classes, counts = real(self, function, rows)
        classes[5] = 1 - classes[5]
        return classes, counts

    monkeypatch.setattr(EmulatedCore, "call_by_row", wrong)
    with pytest.raises(Disagreement, match=r"layout 'straight'.*cortex-m7.*\b1\b.*\b64\b"):
        list(on_device(X)(model))


def test_trees_alone_are_one_trial(monkeypatch, tmp_path):
    def refuse(self, X, y, **keywords):
        raise AssertionError("a machine was trained")

    monkeypatch.setattr(EtherealClassifier, "fit", refuse)
    given = {"folds": 1, "flash": "2k", "learner": "trees", "storage": str(tmp_path / "kept.db")}
    tuned = ethereal.tune(X[200:350], Y[200:350], test=(X[:200], Y[:200]), **given)
    assert tuned.setup.describe() == "boosted trees"
    assert "trees" in tuned.way
    assert len(tuned.trials) == 1
    assert tuned.footprint.bytes <= 2048
    assert tuned.test_accuracy > 0.8
    with pytest.raises(ethereal.tuning.BudgetNotMet, match="None of 1 trials kept"):
        ethereal.tune(X[200:350], Y[200:350], **{**given, "flash": 30})
