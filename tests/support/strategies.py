"""Hypothesis draws feature maps, raw rows that fit them, and models with weights; other clauses for tests."""

import itertools
import math

import numpy as np
from hypothesis import strategies as st

from ethereal import Booleanizer, Model
from ethereal.features.feature_map import FeatureMap
from reference import booleanize_row, round_to_float32

SMALL = st.integers(-3, 3).map(float)
FINITE = {
    "float32": st.one_of(SMALL, st.floats(allow_nan=False, allow_infinity=False, width=32)),
    "float64": st.one_of(SMALL, st.floats(allow_nan=False, allow_infinity=False)),  # of older files
}
ENCODINGS = st.sampled_from(["thermometer", "onehot"])
POLICIES = st.sampled_from(["raise", "ignore"])


@st.composite
def feature_maps(draw, max_features=4, max_thresholds=4, missing_policy=POLICIES):
    n_features = draw(st.integers(1, max_features))
    precision = draw(st.sampled_from(["float32", "float32", "float64"]))
    finite = FINITE[precision].map(lambda t: t + 0.0)  # no negative zero
    of_feature = st.lists(finite, max_size=max_thresholds).map(sorted)  # some of them equal
    thresholds = [draw(of_feature) for _ in range(n_features)]
    missing = draw(st.lists(st.booleans(), min_size=n_features, max_size=n_features))
    offsets = np.cumsum([0, *map(len, thresholds)])
    flat = [t for of_feature in thresholds for t in of_feature]
    each = st.lists(ENCODINGS, min_size=n_features, max_size=n_features)
    return FeatureMap(
        flat, offsets, missing, draw(st.one_of(ENCODINGS, each)), draw(missing_policy), precision
    )


def reference_booleans(feature_map, rows):
    """Booleans of raw rows by the plain reference."""
    thresholds = [feature_map.thresholds_of(f).tolist() for f in range(feature_map.n_features)]
    encoding = feature_map.encoding
    encodings = [encoding] * feature_map.n_features if isinstance(encoding, str) else encoding
    as_compared = [
        [round_to_float32(v) for v in row] if feature_map.precision == "float32" else row
        for row in rows.tolist()
    ]
    return [booleanize_row(row, thresholds, encodings, feature_map.missing.tolist()) for row in as_compared]


@st.composite
def raw_rows(draw, feature_map, max_rows=5):
    """Raw rows that the Booleanizer takes: on, beside and far from thresholds, infinite, missing."""
    values = []
    for f in range(feature_map.n_features):
        of_feature = feature_map.thresholds_of(f).tolist()
        ends = {
            *of_feature,
            *feature_map.cuts[
                feature_map.threshold_offsets[f] : feature_map.threshold_offsets[f + 1]
            ].tolist(),
        }
        near = [v for t in ends for v in (t, math.nextafter(t, math.inf), math.nextafter(t, -math.inf))]
        kinds = [st.floats(allow_nan=False), st.sampled_from([-np.inf, np.inf, 0.0, *near])]
        if feature_map.accepts_missing(f):
            kinds.append(st.just(np.nan))
        values.append(st.one_of(kinds))
    rows = draw(st.lists(st.tuples(*values), min_size=1, max_size=max_rows))
    return np.array(rows, dtype=np.float64).reshape(len(rows), feature_map.n_features)


def all_bins(feature_map):
    """A raw row for every combination of bins and missing values: all that can reach the clauses."""
    per_feature = [
        [*feature_map.thresholds_of(f).tolist(), np.inf] + [np.nan] * feature_map.accepts_missing(f)
        for f in range(feature_map.n_features)
    ]
    return np.array(list(itertools.product(*per_feature)), dtype=np.float64)


LABELS = st.one_of(
    st.lists(st.text(max_size=4).filter(lambda t: not t.endswith("\0")), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4, unique=True),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=4, unique=True),
    st.just([False, True]),
)


def models():
    """Models of any feature map, or of Boolean input."""
    return st.one_of(feature_maps().flatmap(models_of), models_of(None))


@st.composite
def models_of(draw, feature_map, max_clauses=6, max_literals=6):
    """A model of the given feature map (None: Boolean input) with clauses of any kind, absurd ones too."""
    n_booleans = draw(st.integers(0, 5)) if feature_map is None else feature_map.n_booleans
    n_features = n_booleans if feature_map is None else feature_map.n_features
    classes = draw(LABELS)
    clause = (
        st.sets(st.integers(0, 2 * n_booleans - 1), max_size=max_literals) if n_booleans else st.just(set())
    )
    clauses = draw(st.lists(clause, max_size=max_clauses))
    clauses += draw(st.lists(st.sampled_from(clauses), max_size=2)) if clauses else []  # equal ones to merge
    weight = st.one_of(st.sampled_from([-1, 0, 1]), st.integers(-1000, 1000))
    row = st.lists(weight, min_size=len(classes), max_size=len(classes))
    weights = draw(st.lists(row, min_size=len(clauses), max_size=len(clauses)))
    names = None
    if draw(st.booleans()):
        names = draw(st.lists(st.text(max_size=3), min_size=n_features, max_size=n_features))
    return Model(
        np.array([v for c in clauses for v in sorted(c)], dtype=np.int32),
        np.cumsum([0, *map(len, clauses)]),
        np.array(weights, dtype=np.int32).reshape(len(clauses), len(classes)),
        n_booleans=n_booleans,
        classes=classes,
        booleanizer=None if feature_map is None else Booleanizer.from_feature_map(feature_map),
        feature_names=names,
        boolean_rates=np.linspace(0, 1, n_booleans) if draw(st.booleans()) else None,
        typical_rows=np.zeros((2, (n_booleans + 7) // 8), np.uint8) if draw(st.booleans()) else None,
        provenance=draw(st.sampled_from([{}, {"seed": 7, "parameters": {"T": 15, "s": 3.5}}])),
    )


def model_of_one_clause(literals, feature_map, names=None):
    """One clause over the given feature map."""
    return Model(
        sorted(literals),
        [0, len(literals)],
        [[1]],
        n_booleans=feature_map.n_booleans,
        classes=["x"],
        booleanizer=Booleanizer.from_feature_map(feature_map),
        feature_names=names,
    )
