"""Which features and rules decide, and a model as a notebook shows it."""

import numpy as np
import pytest

from ethereal import Model
from ethereal.model.rules import feature_importances
from random_models import random_model


def by_definition(model):
    """Votes that move when a feature takes its Booleans from another typical row, clause by clause."""
    rows = np.unpackbits(model.typical_rows, axis=1, bitorder="little")[:, : model.n_booleans].astype(bool)
    moved = np.zeros(model.n_features)
    votes = np.ptp(model.weights, axis=1)
    now = model.clauses.fires(rows)
    for f in range(model.n_features):
        of_feature = model.feature_map.feature == f
        for other in rows:
            changed = rows.copy()
            changed[:, of_feature] = other[of_feature]
            moved[f] += ((model.clauses.fires(changed) != now) * votes).sum()
    return moved / moved.sum()


@pytest.mark.parametrize(
    "options", [{}, {"encoding": "onehot"}, {"encoding": None, "n_features": 12}, {"missing": "some"}]
)
def test_importances_are_the_votes_that_move(options):
    model, rows = random_model(seed=3, n_features=options.pop("n_features", 5), **options)
    booleans = rows[:20] if model.fitted is None else model.booleanizer.transform(rows[:20])
    bits = np.packbits(np.asarray(booleans, dtype=bool), axis=1, bitorder="little")
    model = model.with_typical_rows(bits)
    np.testing.assert_allclose(feature_importances(model), by_definition(model))


def test_importances_without_rows_or_votes():
    model = Model([0, 1, 2], [0, 1, 3], [[2, 0], [1, -1]], n_booleans=3, classes=[0, 1])
    np.testing.assert_allclose(model.feature_importances(), [2 / 6, 2 / 6, 2 / 6])
    alike = model.with_clauses([0], [0, 1], [[2, 2]])
    np.testing.assert_array_equal(alike.feature_importances(), [0, 0, 0])
    np.testing.assert_array_equal(model.with_clauses([], [0, 0], [[1, 0]]).feature_importances(), [0, 0, 0])


def test_rules_whose_votes_differ_most_come_first_and_those_that_always_fire_last():
    rows = np.packbits([[0, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 1]], axis=1, bitorder="little")
    model = Model(
        [0, 1, 2], [0, 1, 2, 3], [[1], [1], [-1]], n_booleans=3, classes=["c"], feature_names=["a", "b", "c"]
    )
    assert model.describe(1).splitlines()[1] == "  +1 IF a"
    assert model.with_typical_rows(rows).describe().splitlines()[1:] == [
        "  +1 IF b",
        "  +1 IF a",
        "  -1 IF c",
    ]


def test_a_notebook_shows_classes_and_rules_escaped():
    model = Model(
        [0, 1] + [0] * 7, list(range(10)), [[1, 0], [0, -2], *[[1, 0]] * 7], n_booleans=2,
        classes=["<b>", "no"], feature_names=["x & <script>", "long" * 100],
    )  # fmt: skip
    page = model._repr_html_()
    assert "2 classes, 9 clauses" in page
    assert "&lt;b&gt;" in page
    assert "+1 IF x &amp; &lt;script&gt;" in page
    assert "... and 3 more" in page
    assert "<script>" not in page
    assert "<b>'" not in page
    assert len(page) < 2000
