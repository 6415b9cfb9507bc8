"""What pruning learns from: rows that are held out, blends of rows, and the scale of votes."""

import numpy as np
import pytest

from ethereal.compress.curve import PruneRows, _blends
from ethereal.model.calibration import vote_scale


def test_held_out_rows_have_every_class_in_proportion():
    def rows(*counts):
        codes = np.repeat(np.arange(len(counts)), counts)
        return PruneRows(codes[:, None], codes[:, None] > 0, codes)

    for seed in (0, 2**63 - 1):
        kept, held_out = rows(40, 20, 4).split(seed)
        assert np.bincount(kept.codes).tolist() == [30, 15, 3]
        assert np.bincount(held_out.codes).tolist() == [10, 5, 1]
        assert sorted([*kept.codes, *held_out.codes]) == [0] * 40 + [1] * 20 + [2] * 4
    # A class of one row, or more classes than rows to hold out: any rows are held out.
    assert len(rows(11, 1).split(0)[1].codes) == 3
    assert len(rows(2, 2, 2, 2).split(0)[1].codes) == 2


def test_a_blend_takes_whole_features_from_one_other_row():
    """Features 0 and 2 have two Booleans each: both come from the same row."""
    rows = np.array([[0, 0, 0, 0, 0], [1, 1, 1, 1, 1]] * 500, dtype=bool)
    features = np.array([0, 0, 1, 2, 2], dtype=np.int32)
    blended = _blends(rows, features, 0.1, seed=3)
    assert np.array_equal(blended[:, 0], blended[:, 1])
    assert np.array_equal(blended[:, 3], blended[:, 4])
    changed = (blended != rows)[:, [0, 2, 3]]
    assert 0.03 < changed.mean() < 0.07  # a tenth of the features, half of the other rows are the same
    assert abs(np.corrcoef(changed[:, 0], changed[:, 1])[0, 1]) < 0.15
    assert np.array_equal(blended, _blends(rows, features, 0.1, seed=3))
    assert _blends(rows[:, :0], features[:0], 0.1, seed=3).shape == (1000, 0)


@pytest.mark.parametrize("true_scale", [0.004, 0.05, 0.6])
def test_the_scale_of_votes_fits_the_labels(true_scale):
    """Labels drawn with known odds: no scale near the true one fits them better."""
    rng = np.random.default_rng(2)
    sums = np.round(rng.normal(0, 2 / true_scale, (4000, 3))).astype(np.int32)
    odds = np.exp(true_scale * sums)
    codes = (rng.random((4000, 1)) > np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)

    def loss(scale):
        logits = scale * sums
        return (np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(4000), codes]).sum()

    for expected in (true_scale / 3, 3 * true_scale):  # which hardly counts against so many rows
        assert 0.9 < vote_scale(sums, codes, expected) / true_scale < 1.1
    scale = vote_scale(sums, codes, true_scale)
    assert loss(scale) <= min(loss(s) for s in np.geomspace(true_scale / 3, 3 * true_scale, 400)) + 0.01
