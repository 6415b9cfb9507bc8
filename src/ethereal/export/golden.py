"""Golden rows: rows with the host's class sums, for the self-test on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.export import ctext
from ethereal.export.program import Program
from ethereal.export.slots import may_miss
from ethereal.export.texts import fill
from ethereal.export.thresholds import InputType
from ethereal.model import Model

_N_ROWS = 16


def self_test(program: Program, rows: ArrayLike | None) -> str:
    """C program that compares golden rows; `rows` to choose them from, or rows near the thresholds."""
    features = golden_rows(program, rows)
    sums = program.model.class_sums(program.host_features(features))
    return fill(
        "test.c",
        {
            "name": program.name,
            "NAME": program.name.upper(),
            "n_rows": str(len(features)),
            "rows": table(features),
            "sums": table(sums),
        },
    )


def golden_rows(program: Program, rows: ArrayLike | None) -> NDArray[Any]:
    """Some of `rows` as the device reads them; without any, rows near the thresholds."""
    if rows is None or len(np.asarray(rows)) == 0:
        rows = rows_near_thresholds(program.model, program.input)
    features = program.features(rows)
    return features[:: max(1, len(features) // _N_ROWS)][:_N_ROWS]


def table(rows: NDArray[Any]) -> str:
    """Rows of numbers in C."""
    return ",\n".join(ctext.wrap([_literal(x) for x in row]) for row in rows.tolist())


def _literal(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    if np.isnan(value):
        return "0.0f / 0.0f"
    text = f"{np.clip(value, -3e38, 3e38):.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def rows_near_thresholds(model: Model, kind: InputType, n_rows: int = _N_ROWS) -> NDArray[Any]:
    """Rows of features on, just above and just below the thresholds, some missing."""
    rng = np.random.default_rng(0)
    shape = (n_rows, model.n_features)
    if model.booleanizer is None:
        return rng.integers(0, 2, shape).astype(bool)
    rows = np.zeros(shape)
    missing = np.zeros(shape, dtype=bool)
    for f in range(model.n_features):
        thresholds = model.layout.thresholds_of(f)
        if len(thresholds):
            rows[:, f] = rng.choice(thresholds, n_rows)
        missing[:, f] = (rng.random(n_rows) < 0.1) & may_miss(model.layout, f)
    side = rng.integers(-1, 2, shape)
    if kind.ctype == "float":
        exact = rows.astype(np.float32)
        with np.errstate(all="ignore"):  # the neighbours of zero are very small
            beside = np.nextafter(exact, np.where(side < 0, np.float32(-3e38), np.float32(3e38)))
        return np.where(missing, np.float32(np.nan), np.where(side == 0, exact, beside))
    # The ends of the range are left out: one of them may stand for a missing value.
    whole = np.clip(np.floor(rows) + side, kind.low + 1, kind.high - 1)
    return np.where(missing, np.nan, whole)
