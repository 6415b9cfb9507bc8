"""An isolation forest and one Gaussian on the same normal rows, compiled and executed for the same core."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.datasets.rows import Rows
from ethereal.normal import separation
from ethereal.runs.watched import Curve, Scored

_TREES = 25
_MOST_FEATURES = 150  # of a Gaussian, which has a number for each pair
_CURVE = 60  # points at most


def scored(
    name: str,
    normal: NDArray[Any],
    odd: NDArray[Any],
    wanted: float,
    flash: int | None = None,
    instructions: float | None = None,
) -> Scored:
    """Return figures of scores, which are larger for abnormal rows. There may be no abnormal ones."""
    if len(odd) == 0:
        return Scored(name, None, None, (), flash, instructions)
    detected = float((odd > np.quantile(normal, 1 - wanted)).mean())
    return Scored(name, separation(normal, odd), detected, _curve(normal, odd), flash, instructions)


def _curve(normal: NDArray[Any], odd: NDArray[Any]) -> Curve:
    """Return shares of normal and abnormal rows that are above some limits."""
    every = np.unique(np.concatenate([normal, odd]))
    at = np.concatenate([np.linspace(0, 1, _CURVE // 2), 1 - np.geomspace(1 / len(normal), 1, _CURVE // 2)])
    limits = np.unique(np.concatenate([np.quantile(normal, np.sort(at)), every[-1:]]))
    points = {(float((normal > limit).mean()), float((odd > limit).mean())) for limit in limits.tolist()}
    return tuple(sorted({(0.0, 0.0), (1.0, 1.0), *points}))


def others_beside(
    rows: Rows, held_out: NDArray[np.bool_], other: Rows | None, wanted: float, target: str, seed: int
) -> Iterator[Scored]:
    """Yield what other detectors tell of the same features, and what they take with them."""
    from sklearn.covariance import EmpiricalCovariance
    from sklearn.ensemble import IsolationForest

    from ethereal.device.detectors import gaussian_program, isolation_program

    def features(X: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(X if rows.front_end is None else rows.front_end.transform(X), dtype=np.float64)

    train, test = features(rows.X[~held_out]), features(rows.X[held_out])
    odd = test[:0] if other is None else features(other.X)
    some = np.linspace(0, len(test) - 1, min(len(test), 50)).astype(int)
    windows = rows.X[held_out][some]
    forest = IsolationForest(n_estimators=_TREES, random_state=seed).fit(train)
    size = _on_board(lambda: isolation_program(forest, test[some]), rows, windows, target)
    normal, abnormal = (-forest.score_samples(each) if len(each) else np.zeros(0) for each in (test, odd))
    yield scored("isolation forest", normal, abnormal, wanted, *size)
    varies = train.std(axis=0) > 0
    if not 0 < varies.sum() <= _MOST_FEATURES:
        return
    train, test, odd = train[:, varies], test[:, varies], odd[:, varies]
    gaussian = EmpiricalCovariance().fit(train)
    limit = float(np.quantile(gaussian.mahalanobis(train), 1 - wanted))
    size = _on_board(
        lambda: gaussian_program(gaussian.location_, gaussian.covariance_, limit, test[some]),
        rows, windows, target,
    )  # fmt: skip
    normal, abnormal = (gaussian.mahalanobis(each) if len(each) else np.zeros(0) for each in (test, odd))
    yield scored("one Gaussian", normal, abnormal, wanted, *size)


def _on_board(
    program: Callable[[], Any], rows: Rows, windows: NDArray[Any], target: str
) -> tuple[int, float] | tuple[()]:
    """Return flash and instructions from sample to answer, nothing where that cannot be measured."""
    from ethereal.chips.targets import find_target
    from ethereal.chips.toolchain import missing_tools
    from ethereal.device import measure_program
    from ethereal.device.measurement import from_samples
    from ethereal.export.c99.choose import ModelTooLarge

    if missing_tools() or find_target(target).isa == "avr":
        return ()
    try:
        measured = measure_program(program(), target)
        if rows.front_end is not None:
            measured = from_samples(measured, rows.front_end.front_end_, windows)
    except ModelTooLarge:
        return ()
    return measured.flash_bytes, measured.total_instructions
