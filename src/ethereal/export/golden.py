"""Golden rows: rows with the host's class sums, for the self-test on the device."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.export.c99.ctext import float_literal, wrap
from ethereal.export.c99.device_rows import NumberType
from ethereal.export.c99.parts.windows import windows_for
from ethereal.export.c99.program import Program
from ethereal.features.rounding import to_float32
from ethereal.model import Model

_N_ROWS = 16


def golden_rows(program: Program, rows: ArrayLike | None) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return some of `rows` as the device reads them, and the host's class sums for them.

    Without `rows`, rows near the thresholds are made. Where integers are too coarse, the device may answer
    rows differently. These rows are left out, and a warning counts them.
    """
    rows = None if rows is None else program.read_columns(rows)
    warn_of_float64(program.model)
    _warn_of_coarse_integers(program, rows)
    if rows is None or len(np.asarray(rows)) == 0:
        rows = _near_thresholds(program.model, program.input, _N_ROWS)
    features, sums = program.features(rows), program.model.class_sums(rows)
    is_same = (program.device_sums(features) == sums).all(axis=1)
    if program.model.early:  # the self-test looks for the largest sum
        is_same &= program.model._engine.winners(rows) == program.model.output.indices(sums)
    same = np.flatnonzero(is_same)
    if len(same) == 0:
        same = np.arange(len(sums))  # no row agrees, and the self-test will say so
    some = same[:: max(1, len(same) // _N_ROWS)][:_N_ROWS]
    return features[some], sums[some]


def warn_of_float64(model: Model) -> None:
    """Warn that a model of an older file may answer otherwise on the device."""
    if model.fitted is not None and model.feature_map.precision == "float64":
        warnings.warn(
            "The model comes from an older file and compares in float64. The device has float32, so values "
            "next to a threshold may be answered differently. Convert it with `ethereal convert OLD.etm "
            "--out NEW.etm` or Model.in_float32(), and look at its accuracy again.",
            UserWarning,
            stacklevel=4,
        )


def _warn_of_coarse_integers(program: Program, rows: ArrayLike | None) -> None:
    model = program.model
    coarse = [
        f"{name!r} to steps of {1 / scale.factor:g}"
        for name, scale in zip(model.input_names, program.scales, strict=False)
        if not scale.is_exact
    ]
    if coarse:
        more = f" and {len(coarse) - 5} more" if len(coarse) > 5 else ""
        warnings.warn(
            f"{program.input.name} rounds thresholds of {', '.join(coarse[:5])}{more}. "
            f"{_changes(program, rows)} A wider number type has more room.",
            UserWarning,
            stacklevel=4,
        )


def _changes(program: Program, rows: ArrayLike | None) -> str:
    """Return how many rows have another class on the device, as a sentence."""
    if rows is None or len(np.asarray(rows)) == 0:
        return "Values on these steps are answered like on the host. Give typical rows to count the others."
    host = program.model.output.indices(program.model.class_sums(rows))  # without early answers
    device = program.model.output.indices(program.device_sums(program.features(rows)))
    n = int((device != host).sum())
    return f"{n} of the {len(host)} rows given get another class than on the host."


def table(rows: NDArray[Any]) -> str:
    """Return rows of numbers in C."""
    return ",\n".join(
        wrap([str(x) if isinstance(x, int) else float_literal(x) for x in row]) for row in rows.tolist()
    )


def rows_near_thresholds(model: Model, kind: NumberType, n_rows: int = _N_ROWS) -> NDArray[Any]:
    """Return rows of features on, just above and just below the thresholds, some missing.

    For a model of windows these are a few windows instead.
    """
    if model.front_end is not None:
        return windows_for(model.front_end, None)
    return _near_thresholds(model, kind, n_rows)


def _near_thresholds(model: Model, kind: NumberType, n_rows: int) -> NDArray[Any]:
    rng = np.random.default_rng(0)
    shape = (n_rows, model.n_features)
    if model.fitted is None:
        return rng.integers(0, 2, shape).astype(bool)
    rows = np.zeros(shape)
    missing = np.zeros(shape, dtype=bool)
    for f in range(model.n_features):
        thresholds = model.feature_map.thresholds_of(f)
        if len(thresholds):
            rows[:, f] = rng.choice(thresholds, n_rows)
        missing[:, f] = (rng.random(n_rows) < 0.1) & model.feature_map.accepts_missing(f)
    side = rng.integers(-1, 2, shape)
    exact = to_float32(rows)
    if kind.ctype != "float":  # integers are made of whole numbers first of all
        return np.where(missing, np.nan, np.floor(exact) + side)
    with np.errstate(all="ignore"):  # the neighbours of zero are very small
        beside = np.nextafter(exact, np.where(side < 0, np.float32(-3e38), np.float32(3e38)))
    return np.where(missing, np.float32(np.nan), np.where(side == 0, exact, beside))
