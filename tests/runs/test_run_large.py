"""Large tables: which rows a run learns from, and what it says of the time."""

from functools import partial

import numpy as np
import pytest

from ethereal.datasets.rows import Rows
from ethereal.device import measure
from ethereal.runs import duration, sample
from ethereal.runs.duration import Duration, Trial
from ethereal.runs.folder import RunFolder
from ethereal.runs.options import Settings
from ethereal.runs.run import read_rows
from ethereal.runs.sample import sampled
from random_models import random_model

QUICK = ("--label", "kind", "--quick", "--clauses", 4, "--epochs", 3, "--no-forest")


def numbered(counts, n_test):
    """Rows that have their number as feature, with so many of each class, the last ones for the test."""
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    return Rows(np.arange(float(len(y)))[:, None], y, test=np.arange(len(y)) >= len(y) - n_test)


def test_a_part_has_the_shares_of_the_classes_and_all_test_rows():
    rows = numbered([6000, 3000, 1000, 40], 40)
    some = sampled(rows, 3, most=2000, least_of_class=30)
    assert np.array_equal(some.X_test, rows.X_test)
    assert np.array_equal(some.y_test, rows.y_test)
    counts = np.bincount(some.y_train)
    assert np.abs(counts[:3] - np.bincount(rows.y_train)[:3] / 5).max() <= 1
    assert counts[3] == 30
    numbers = some.X_train[:, 0].astype(int)
    assert len(set(numbers)) == len(numbers)
    assert np.array_equal(rows.y[numbers], some.y_train)
    again, other = (sampled(rows, seed, most=2000, least_of_class=30).X_train[:, 0] for seed in (3, 4))
    assert np.array_equal(again, numbers)
    assert not np.array_equal(other, numbers)


def test_tables_up_to_the_limit_are_taken_as_they_are():
    rows = numbered([50, 50], 20)
    assert sampled(rows, 0, most=80) is rows
    assert sampled(numbered([sample.MOST_ROWS, 10], 10), 0).y.size == sample.MOST_ROWS + 10


@pytest.mark.parametrize("more", [(), ("--all-rows",)])
def test_a_run_says_what_it_learns_from_and_how_long_it_takes(call, no_board, tmp_path, monkeypatch, more):
    monkeypatch.setattr(sample, "sampled", partial(sampled, most=150, least_of_class=5))
    monkeypatch.setattr(duration, "_MANY_CELLS", 0)
    lines = [f"{i % 17},{i * 7 % 11},{'x' if i % 17 > 8 else 'y'}" for i in range(300)]
    (tmp_path / "own.csv").write_text("\n".join(["a,b,kind", *lines]) + "\n")
    said = call("run", "own.csv", *QUICK, *more).stderr
    assert "split: 240 rows to learn from, 60 to test" in said
    assert ("learns from 150 of 240 rows. --all-rows takes all" in said) == (not more)
    assert "time: about " in said
    rows = read_rows(Settings.from_parameters(RunFolder(tmp_path / "runs" / "own").parameters()))
    assert (len(rows.y_train), len(rows.y_test)) == (240 if more else 150, 60)
    assert "time: about" not in call("run", "own.csv", *QUICK, *more).stderr  # everything is there


def test_time_grows_with_the_rows_and_pruning_with_those_that_it_looks_at():
    trial = Trial(1e-5, 2000, 3, 1.0)
    small, large, huge = (Duration.of(trial, n, 50, 40) for n in (30_000, 60_000, 240_000))
    assert small.learn == pytest.approx(large.learn / 2) == pytest.approx(huge.learn / 8)
    assert large.prune < huge.prune < 4 * large.prune
    assert Duration.of(trial, 500, 5, 40).prune > Duration.of(trial, 500, 5, 40).learn  # five splits


def test_long_code_is_followed_for_so_many_steps_only():
    model, X = random_model(3, n_clauses=25)
    assert measure(model, X[:2], layout="straight", worst=True).worst_instructions is not None
    ended = measure(model, X[:2], layout="straight", worst=50)
    assert ended.worst_instructions is None
    assert "too long to follow" in ended.worst_why_not
    assert ended.worst_stack_bytes is not None
