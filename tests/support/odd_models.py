"""Random models of every kind that a user can make, odd ones above all, with rows that are hard on them.

Some have classes without a clause, with the same sum in every row, above or below all others. Some have one
class, hundreds of classes, votes of one sign, votes that come close to 32 bits, or were read from words or
codes. Some answer with a number.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import Booleanizer, Model
from ethereal.features.feature_map import FeatureMap
from ethereal.model import Clauses, Number
from ethereal.model.codes import redress
from ethereal.model.linear import MOST_FINE, MOST_PLACE, Linear, Slope
from ethereal.model.output import MOST_SUM, LinearNumber
from foreign_words import foreign_machine, toggled_on_empty_clauses
from random_models import random_clauses

MOST_VOTES = 2**31 - 1  # that the weights of a class may add up to
N_ROWS = 40
_LOWEST = np.float32(np.finfo(np.float32).tiny)  # that is not a denormal
_NAMES = (
    "a", "A", "int", "class", "*/ x /*", "??/", "größer", "x" * 300, "", "two\nlines", "\u202eabc", "CLASSES",
    "FEATURES", "UNKNOWN", "a b", "a-b", "1", "-1", "1.5", "\\", '"', "%s", "日本",
)  # fmt: skip


def odd_model(seed: int) -> tuple[Model, NDArray[Any]]:
    """A model and rows of its features. The same seed gives the same model."""
    rng = np.random.default_rng([seed, 36])
    feature_map = None if rng.random() < 0.2 else _feature_map(rng)
    n_booleans = int(rng.choice([1, 2, 3, 5, 9, 40])) if feature_map is None else feature_map.n_booleans
    model = _made(rng, feature_map, n_booleans)
    if rng.random() < 0.15 and model.n_classes > 1:
        model = model.with_unknown(int(rng.choice([1, 2, 5, 1000, MOST_VOTES])))
    rows = _rows(rng, model)
    of_numbers = np.random.default_rng([seed, 39])  # of its own, so that the other models stay what they were
    return (as_number(model, of_numbers) if of_numbers.random() < 0.25 else model), rows


def as_number(model: Model, rng: np.random.Generator) -> Model:
    """The model whose first column of votes is a number, with an odd scale, offset and unit."""
    votes = model.weights[:, :1].astype(np.int64)
    most = int(np.abs(votes).sum())
    votes = votes // (most // MOST_SUM + 1) if most > MOST_SUM else votes
    texts = [text for text in _NAMES if text.isprintable()]
    number = Number(
        scale=2.0 ** int(rng.choice([-100, -40, -12, -7, -3, 0, 1, 5, 30, 100])),
        offset=float(rng.choice([0.0, -0.0, 0.1, -273.15, 1e10, -1e-20, 2.0**125, -(2.0**-100), 16777215.0])),
        half_width=float(rng.choice([0.0, 0.3, 1e9])) if rng.random() < 0.5 else None,
        unit=str(rng.choice(texts)),
        name=str(rng.choice(texts)),
    )
    clauses = Clauses(model.literals, model.offsets, votes.astype(np.int32), model.n_booleans)
    line = _line(model, rng) if model.fitted is not None and rng.random() < 0.4 else None
    if line is not None and np.abs(votes).sum() < MOST_SUM // 2:
        parts = vars(number) | {"scale": 2.0 ** int(rng.choice([8, 12, 30])), "offset": 0.1}
        number = LinearNumber(**parts, linear=line)
    return Model.of(
        clauses,
        output=number,
        booleanizer=model.fitted,
        feature_names=model.feature_names,
        typical_rows=model.typical_rows,
    )


def _line(model: Model, rng: np.random.Generator) -> Linear | None:
    """Return slopes of some features, with ranges near zero and far from it."""
    of, slopes, left = model.feature_map, [], MOST_FINE
    for f in sorted(set(range(of.n_features)) - set(of.categories)):
        low, span = int(rng.choice([0, -3, 1000, -8_000_000, 8_000_000])), int(rng.choice([1, 7, 300, 65535]))
        weight = int(rng.integers(-left // span, left // span + 1) // rng.choice([1, 9, 1000]))
        if rng.random() < 0.7 and low + span <= MOST_PLACE:
            exponent = int(rng.choice([-100, -20, -9, -2, 0, 3, 100]))
            slopes.append(Slope(f, weight, exponent, low, low + span))
            left -= abs(weight) * span
    return Linear(1.0, tuple(slopes)) if slopes else None


def _made(rng: np.random.Generator, feature_map: FeatureMap | None, n_booleans: int) -> Model:
    """Return a model, made in one of the ways there are."""
    booleanizer = None if feature_map is None else Booleanizer.from_feature_map(feature_map)
    n_features = n_booleans if feature_map is None else feature_map.n_features
    names = [str(rng.choice(_NAMES)) for _ in range(n_features)] if rng.random() < 0.5 else None
    known: dict[str, Any] = {"booleanizer": booleanizer, "feature_names": names}
    how = rng.choice(["arrays", "arrays", "arrays", "includes", "words", "code"])
    if how == "words" and feature_map is None:
        machine, n_booleans = foreign_machine(int(rng.integers(1 << 30)))
        return redress.read_words(
            *toggled_on_empty_clauses(machine, n_booleans), n_booleans=n_booleans, lenient=True
        )
    if how == "includes":
        n_classes = int(rng.integers(1, 5))
        includes = rng.random((n_classes, rng.integers(1, 9), 2 * n_booleans)) < rng.choice([0.05, 0.3])
        return Model.from_includes(includes, classes=_labels(rng, n_classes), **known)
    n_classes = int(rng.choice([1, 2, 3, 5, 17, 257], p=[0.1, 0.3, 0.3, 0.24, 0.05, 0.01]))
    literals, offsets, votes = random_clauses(
        rng,
        n_booleans,
        n_classes,
        int(rng.choice([0, 1, 2, 5, 12, 30], p=[0.02, 0.1, 0.14, 0.24, 0.3, 0.2])),
        longest=int(rng.choice([1, 3, 8])),
        contradictions=bool(rng.random() < 0.2),
        zeros=float(rng.choice([0.0, 0.6, 0.9])),
        one_class=bool(rng.random() < 0.3),
    )
    clauses = [literals[a:b].tolist() for a, b in itertools.pairwise(offsets)]
    votes = _of_a_kind(rng, votes.astype(np.int64))
    for _ in range(rng.integers(0, 4) if n_booleans else 0):
        clauses, votes = _with_a_constant(rng, clauses, votes, n_booleans)
    known["typical_rows"] = rng.integers(0, 256, (3, (n_booleans + 7) // 8), dtype=np.uint8)
    known["typical_rows"][:, -1:] &= 0xFF >> (-n_booleans % 8)
    if rng.random() < 0.5:
        known["typical_rows"] = None
    model = Model(
        np.array([x for clause in clauses for x in clause], dtype=np.int32),
        np.cumsum([0, *map(len, clauses)]),
        _bounded(votes).astype(np.int32),
        n_booleans=n_booleans,
        classes=_labels(rng, n_classes),
        **known,
    )
    return Model.from_bytes(model.to_bytes()) if how == "code" else model


def _of_a_kind(rng: np.random.Generator, votes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return votes of one sign, without some classes, or very large ones."""
    kinds = ["plain", "positive", "negative", "gaps", "large", "huge"]  # the last are more than C takes
    kind = rng.choice(kinds, p=[0.32, 0.17, 0.17, 0.17, 0.14, 0.03])
    if kind == "positive":
        return np.abs(votes)
    if kind == "negative":
        return -np.abs(votes)
    if kind == "gaps":
        return np.where(rng.random(votes.shape[1]) < 0.5, votes, 0)
    if kind == "large":
        return votes * rng.integers(1, 10_922, votes.shape)  # up to 32,766
    if kind == "huge":
        return votes * (MOST_VOTES // 3 // max(1, len(votes)))
    return votes


def _with_a_constant(
    rng: np.random.Generator, clauses: list[list[int]], votes: NDArray[np.int64], n_booleans: int
) -> tuple[list[list[int]], NDArray[np.int64]]:
    """Return clauses with two more, of which one fires in every row: a class gets the same votes in each."""
    b, n_classes = int(rng.integers(n_booleans)), votes.shape[1]
    row = np.zeros(n_classes, dtype=np.int64)
    row[rng.integers(n_classes)] = rng.choice([-30_000, -50, -2, -1, 1, 2, 50, 30_000])
    if rng.random() < 0.3:
        row[:] = row.sum()
    only = rng.random() < 0.5  # the class has no other clause
    kept = np.where((row != 0) & only, 0, votes)
    return [*clauses, [b], [b + n_booleans]], np.vstack([kept, row, row])


def _bounded(votes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return votes that add up to what a class may have."""
    most = int(np.abs(votes).sum(axis=0).max(initial=0))
    return votes // (most // MOST_VOTES + 1) if most > MOST_VOTES else votes


def _labels(rng: np.random.Generator, n_classes: int) -> list[Any]:
    kind = rng.choice(["names", "numbers", "floats"])
    if kind == "names" and n_classes <= len(_NAMES):
        return [str(x) for x in rng.choice(_NAMES, n_classes, replace=False)]
    numbers = np.sort(rng.choice(3 * n_classes, n_classes, replace=False)) - n_classes
    return (numbers / (2 if kind == "floats" else 1)).tolist() if kind == "floats" else numbers.tolist()


def _feature_map(rng: np.random.Generator) -> FeatureMap:
    n_features = int(rng.choice([1, 2, 3, 5, 9]))
    thresholds = [_thresholds(rng) for _ in range(n_features)]
    missing = (rng.random(n_features) < 0.5) & bool(rng.random() < 0.4)
    if not any(thresholds) and not missing.any():
        thresholds[0] = [0.0]
    encoding: Any = [str(rng.choice(["thermometer", "onehot"])) for _ in range(n_features)]
    policy: Any = "ignore" if rng.random() < 0.2 else "raise"
    return FeatureMap(
        [t for of_feature in thresholds for t in of_feature],
        np.cumsum([0, *map(len, thresholds)]),
        missing.tolist(),
        encoding,
        policy,
    )


def _thresholds(rng: np.random.Generator) -> list[float]:
    n, kind = int(rng.integers(0, 5)), rng.integers(8)
    values = [
        rng.integers(-40, 40, n),
        rng.integers(-40, 40, n) + 0.25,
        rng.integers(0, 255, n),
        rng.integers(-99, 99, n) / 10,
        rng.normal(0, 1, n),
        rng.choice([0.0, 1.0, 2.0**90, -(2.0**90), 3e38, -3e38], n),
        rng.choice([0.0, 1e-45, -1e-45, 1e-40, float(_LOWEST), -float(_LOWEST), 1e-30], n),
        1000 + rng.integers(0, 9, n) / 8,
    ][kind]
    return sorted((np.asarray(values, dtype=np.float32) + 0.0).tolist())


def _rows(rng: np.random.Generator, model: Model) -> NDArray[Any]:
    """Return rows on and beside the thresholds, infinite, denormal, missing where that is allowed."""
    if model.fitted is None:
        return rng.random((N_ROWS, model.n_features)) < rng.random(model.n_features)
    feature_map, columns = model.feature_map, []
    anywhere = np.array(
        [
            -np.inf,
            np.inf,
            0.0,
            -0.0,
            1e-45,
            -1e-45,
            _LOWEST,
            -_LOWEST,
            1,
            -1,
            7.5,
            300,
            -300,
            3.4e38,
            -3.4e38,
        ],
        dtype=np.float32,
    )
    for f in range(feature_map.n_features):
        limits = feature_map.thresholds_of(f).astype(np.float32)
        beside = [np.nextafter(limits, np.float32(end)) for end in (-np.inf, np.inf)]
        values = rng.choice(np.concatenate([limits, limits, *beside, anywhere]), N_ROWS)
        if feature_map.accepts_missing(f):
            values[rng.random(N_ROWS) < 0.2] = np.nan
        columns.append(values)
    return np.stack(columns, axis=1)
