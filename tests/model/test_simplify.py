"""simplify(): the same class sums on everything that can come, and nothing left to shorten."""

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethereal import Booleanizer, Model
from ethereal.features.feature_map import FeatureMap
from ethereal.model.simplify import PASSES
from reference import class_sums
from strategies import all_bins, feature_maps, models_of, raw_rows, reference_booleans
from thinned import examples

SMALL = feature_maps(max_features=3, max_thresholds=3)


def reference_sums(model, rows):
    """Class sums by the plain reference, raw rows in."""
    clauses = [(clause.literals, clause.weights) for clause in model]
    return [
        class_sums(clauses, model.n_classes, bits) for bits in reference_booleans(model.feature_map, rows)
    ]


@examples(300)
@given(SMALL.flatmap(models_of))
def test_class_sums_are_equal_for_every_combination_of_bins(model):
    rows = all_bins(model.feature_map)
    smaller = model.simplify()
    expected = reference_sums(model, rows)
    assert reference_sums(smaller, rows) == expected
    assert smaller.class_sums(rows).tolist() == expected
    assert np.array_equal(smaller.predict(rows), model.predict(rows))


@pytest.mark.parametrize("one", PASSES)
@given(model=SMALL.flatmap(models_of))
def test_every_pass_keeps_the_class_sums(one, model):
    rows = all_bins(model.feature_map)
    smaller = model._with(clauses=one(model.clauses, model.feature_map))
    assert reference_sums(smaller, rows) == reference_sums(model, rows)
    assert smaller.n_includes <= model.n_includes


@given(st.data())
def test_class_sums_are_equal_on_raw_rows(data):
    feature_map = data.draw(feature_maps())
    model = data.draw(models_of(feature_map, max_clauses=12, max_literals=12))
    rows = data.draw(raw_rows(feature_map))
    assert np.array_equal(model.simplify().class_sums(rows), model.class_sums(rows))
    assert model.class_sums(rows).tolist() == reference_sums(model, rows)


@given(models_of(None))
def test_class_sums_are_equal_on_every_boolean_row(model):
    rows = np.array(list(itertools.product([False, True], repeat=model.n_booleans)), dtype=bool)
    rows = rows.reshape(2**model.n_booleans, model.n_booleans)
    smaller = model.simplify()
    assert np.array_equal(smaller.class_sums(rows), model.class_sums(rows))
    assert all(
        not {literal, literal + model.n_booleans} <= set(c.literals)
        for c in smaller
        for literal in c.literals
    )


@pytest.mark.slow
@examples(300)
@given(SMALL.flatmap(models_of))
def test_nothing_is_left_to_drop_merge_or_shorten(model):
    smaller = model.simplify()
    assert smaller.simplify() == smaller
    assert smaller.n_includes <= model.n_includes
    outputs = smaller.clause_outputs(all_bins(model.feature_map))
    assert outputs.any(axis=0).all()  # every clause can fire
    assert len({column.tobytes() for column in outputs.T}) == smaller.n_clauses  # no two say the same
    assert smaller.weights.any(axis=1).all()  # every clause votes
    for clause in smaller:
        assert len(clause.literals) == fewest_literals(model.feature_map, clause.literals)


def fewest_literals(feature_map, literals):
    """By trying all sets of literals, feature by feature."""
    n, total = feature_map.n_booleans, 0
    for f in range(feature_map.n_features):
        start, end = feature_map.boolean_offsets[f], feature_map.boolean_offsets[f + 1]
        of_feature = [(k % n - start, k < n) for k in literals if start <= k % n < end]
        total += fewest(tuple(map(tuple, feature_map.states(f).tolist())), tuple(of_feature))
    return total


@cache
def fewest(states, literals):
    """Least number of literals (Boolean, value) that are true in the same states as the given ones."""

    def allowed(chosen):
        return [all(state[b] == value for b, value in chosen) for state in states]

    everything = [(b, value) for b in range(len(states[0])) for value in (False, True)]
    return next(
        size
        for size in range(len(literals) + 1)
        if any(allowed(chosen) == allowed(literals) for chosen in itertools.combinations(everything, size))
    )


def one_clause(feature_map, literals):
    booleanizer = Booleanizer.from_feature_map(feature_map)
    n = feature_map.n_booleans
    model = Model(
        sorted(literals), [0, len(literals)], [[1]], n_booleans=n, classes=["x"], booleanizer=booleanizer
    )
    return [clause.literals for clause in model.simplify()]


THERMOMETER = FeatureMap([1.0, 2.0, 3.0], [0, 3], [False])
BINS = FeatureMap([1.0, 2.0, 3.0], [0, 3], [False], "onehot")
MISSING_BINS = FeatureMap([1.0, 2.0], [0, 2], [True], "onehot")  # Booleans: 3 bins, missing
IGNORING_BINS = FeatureMap([1.0, 2.0], [0, 2], [False], "onehot", "ignore")


@pytest.mark.parametrize(
    "feature_map, literals, expected",
    [
        (THERMOMETER, [1, 2], [(2,)]),  # x>3 makes x>2 redundant
        (THERMOMETER, [3, 4], [(3,)]),  # NOT x>1 makes NOT x>2 redundant
        (THERMOMETER, [0, 1, 5], [(1, 5)]),
        (THERMOMETER, [2, 4], []),  # x>3 and not x>2
        (BINS, [1, 4, 6, 7], [(1,)]),  # one bin true makes the other negations redundant
        (BINS, [4, 5, 7], [(2,)]),  # all bins but one negated is the remaining one
        (BINS, [4, 5], [(4, 5)]),
        (BINS, [1, 2], []),  # two bins at once
        (BINS, [4, 5, 6, 7], []),  # no bin at all
        (MISSING_BINS, [4, 5], [(4, 5)]),  # the last bin or missing
        (MISSING_BINS, [4, 5, 7], [(2,)]),
        (MISSING_BINS, [4, 5, 6], [(3,)]),  # no bin at all: missing
        (MISSING_BINS, [3, 4], [(3,)]),
        (MISSING_BINS, [0, 3], []),
        (IGNORING_BINS, [3, 4], [(3, 4)]),
        (IGNORING_BINS, [3, 4, 5], [(3, 4, 5)]),  # only a missing value is in no bin
    ],
)
def test_the_rules_one_by_one(feature_map, literals, expected):
    assert one_clause(feature_map, literals) == expected


def test_equal_clauses_merge_into_weights_and_opposites_cancel():
    model = Model(
        [0, 1, 0, 1, 0],
        [0, 1, 2, 3, 4, 5, 5],
        [[1, 0], [1, 0], [0, -1], [-1, 0], [2, 0], [7, 7]],
        n_booleans=2,
        classes=["a", "b"],
    )
    smaller = model.simplify()
    assert [(c.literals, dict(c.weights)) for c in smaller] == [((0,), {0: 3, 1: -1})]


def test_a_model_without_clauses():
    model = Model([], [0], np.zeros((0, 2), int), n_booleans=3, classes=[0, 1])
    assert model.simplify() == model
    assert model.predict([[0, 1, 0]]).tolist() == [0]


def test_everything_else_stays():
    booleanizer = Booleanizer(2).fit([[1.0], [2.0]])
    model = Model(
        [0],
        [0, 1],
        [[1]],
        n_booleans=1,
        classes=["x"],
        booleanizer=booleanizer,
        feature_names=["width"],
        boolean_rates=[0.5],
        typical_rows=[[1]],
        provenance={"seed": 3},
    )
    smaller = model.simplify()
    assert smaller == model
    assert smaller.provenance == {"seed": 3}
    assert smaller.boolean_rates.tolist() == [0.5]
    assert smaller.typical_rows.tolist() == [[1]]
