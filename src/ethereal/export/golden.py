"""Golden rows: rows with the host's class sums, for the self-test on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.export import ctext
from ethereal.export.program import Program
from ethereal.export.texts import fill

_N_ROWS = 16


def self_test(program: Program, rows: ArrayLike | None) -> str:
    """C program that compares golden rows; `rows` to choose them from, or rows near the thresholds."""
    features = program.features(rows) if rows is not None else np.zeros((0, 0))
    if len(features):
        features = features[:: max(1, len(features) // _N_ROWS)][:_N_ROWS]
    else:
        features = _near_thresholds(program)
    sums = program.model.class_sums(program.host_features(features))
    return fill(
        "test.c",
        {
            "name": program.name,
            "NAME": program.name.upper(),
            "n_rows": str(len(features)),
            "rows": ",\n".join(ctext.wrap([_number(x) for x in row]) for row in features.tolist()),
            "sums": ",\n".join(ctext.wrap([str(x) for x in row]) for row in sums.tolist()),
        },
    )


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    if np.isnan(value):
        return "0.0f / 0.0f"
    text = f"{np.clip(value, -3e38, 3e38):.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def _near_thresholds(program: Program) -> NDArray[Any]:
    """Rows with values on, just above and just below the thresholds, some missing."""
    model, rng = program.model, np.random.default_rng(0)
    shape = (_N_ROWS, model.n_features)
    if model.booleanizer is None:
        return rng.integers(0, 2, shape).astype(np.uint8)
    rows = np.zeros(shape)
    for f in range(model.n_features):
        thresholds = model.layout.thresholds_of(f)
        if len(thresholds):
            rows[:, f] = rng.choice(thresholds, _N_ROWS)
        can_miss = program.can_miss and model.layout.can_be_missing(f)
        rows[rng.random(_N_ROWS) < (0.1 if can_miss else 0.0), f] = np.nan
    side = rng.integers(-1, 2, shape)
    if program.input.ctype == "float":
        exact = rows.astype(np.float32)
        beside = np.where(
            side < 0, np.nextafter(exact, np.float32(-3e38)), np.nextafter(exact, np.float32(3e38))
        )
        return np.where(side == 0, exact, beside)
    low, high = program.input.low, program.input.high
    if program.can_miss:  # the value that stands for a missing one is not an ordinary one
        low, high = low + (program.input.missing == low), high - (program.input.missing == high)
    whole = np.clip(np.floor(np.nan_to_num(rows)) + side, low, high)
    return np.where(np.isnan(rows), program.input.missing, whole).astype(program.input.dtype)
