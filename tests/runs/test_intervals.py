"""Intervals of accuracies hold the true accuracy as often as they say, and tables print both ends."""

import re
from math import comb

import numpy as np
import pytest

from ethereal.runs.scores import scores
from finished_runs import run_of


def ends(n_right, n_rows):
    """Return the interval that the table of a run prints for so many right answers."""
    y = np.zeros(n_rows, dtype=int)
    scored = scores(np.where(np.arange(n_rows) < n_right, 0, 1), y)
    (cell,) = dict_of(scored)["accuracy"]
    _, low, high = (float(number) / 100 for number in re.findall(r"[0-9.]+", cell))
    return low, high


def dict_of(scored):
    table = run_of(scored).table
    return {name: cells for name, *cells in table.rows} | {"notes": table.notes}


@pytest.mark.parametrize(("n", "p"), [(30, 0.9), (48, 0.95), (100, 0.98), (100, 0.7), (500, 0.98)])
def test_the_interval_of_rows_holds_the_true_accuracy_in_95_of_100_cases(n, p):
    """Fault F9: 86.6 % at 100 rows and 98 %."""
    within = 0.0
    for k in range(n + 1):
        chance = comb(n, k) * p**k * (1 - p) ** (n - k)
        if chance > 1e-6:
            low, high = ends(k, n)
            within += chance * (low - 5e-4 <= p <= high + 5e-4)  # a table rounds
    assert within >= 0.92


@pytest.mark.parametrize("n_right", [0, 47, 48])
def test_no_interval_leaves_the_range_of_an_accuracy(n_right):
    low, high = ends(n_right, 48)
    assert 0 <= low <= n_right / 48 <= high <= 1
    assert high - low > 0.02


@pytest.mark.parametrize(("p", "correlation"), [(0.75, 0.02), (0.9, 0.1), (0.97, 0.05), (0.9, 0.0)])
@pytest.mark.parametrize("n_groups", [5, 12])
def test_the_interval_of_groups_holds_the_accuracy_of_new_groups(n_groups, p, correlation):
    """Fault F10. Windows of one person are alike, so that 150 windows tell less than 150 people."""
    rng = np.random.default_rng(1)
    within, of_rows = [], []
    for _ in range(300):
        sizes = rng.integers(30, 200, n_groups)
        spread = 1 / correlation - 1 if correlation else 1e9
        right = rng.random(sizes.sum()) < np.repeat(rng.beta(p * spread, (1 - p) * spread, n_groups), sizes)
        groups = np.repeat(np.arange(n_groups), sizes)
        y = np.zeros(len(right), dtype=int)
        for kept, which in ((within, groups), (of_rows, None)):
            low, high = scores(np.where(right, 0, 1), y, which).interval
            kept.append(low <= p <= high)
    assert np.mean(within) >= 0.92
    if correlation >= 0.05:
        assert np.mean(of_rows) < 0.85  # what treating rows as independent would give


def test_few_groups_have_no_interval_and_the_table_says_how_many_there_are():
    """Fault F10: "93.7 % ± 2.8, 300 test rows" was one person."""
    y = np.zeros(300, dtype=int)
    scored = scores(np.where(np.arange(300) < 281, 0, 1), y, np.full(300, "p1"))
    table = dict_of(scored)
    assert table["accuracy"] == ["93.7 %"]
    assert any("300 test rows of 1 group" in note and "too few" in note for note in table["notes"])
    scored = scores(np.where(np.arange(300) < 281, 0, 1), y, np.arange(300) % 9)
    assert any("of 9 groups" in note for note in dict_of(scored)["notes"])


@pytest.mark.parametrize(
    ("n_missed", "is_balanced", "hint"), [(23, False, True), (23, True, False), (3, False, False)]
)
def test_a_rare_class_that_is_missed_brings_up_balanced(n_missed, is_balanced, hint):
    """Fault F33: 46 % of rare failures were missed without a word on --balanced."""
    y = np.array(["ok"] * 950 + ["fault"] * 50)
    predicted = np.where(np.arange(1000) >= 1000 - n_missed, "ok", y)
    notes = run_of(scores(predicted, y), is_balanced=is_balanced).table.notes
    assert any("balanced=True" in note for note in notes) is hint
