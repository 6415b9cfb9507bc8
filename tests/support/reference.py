"""The machine in plain Python, written for reading; the fast code is tested against it."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence


def round_to_float32(value: float) -> float:
    """A value as a device holds it, rounded by C."""
    return ctypes.c_float(value).value


def booleanize_value(
    value: float, thresholds: Sequence[float], encoding: str, has_missing: bool
) -> list[bool]:
    """Booleans of one raw value: its bin is the number of thresholds strictly below it."""
    if math.isnan(value):
        n_values = len(thresholds)
        if encoding == "onehot" and n_values > 1:
            n_values += 1
        return [False] * n_values + [True] * has_missing
    index = sum(threshold < value for threshold in thresholds)
    if encoding == "onehot" and len(thresholds) > 1:
        bits = [index == j for j in range(len(thresholds) + 1)]
    else:
        bits = [index > j for j in range(len(thresholds))]
    return bits + [False] * has_missing


def booleanize_row(
    row: Sequence[float],
    thresholds: Sequence[Sequence[float]],
    encodings: Sequence[str],
    has_missing: Sequence[bool],
) -> list[bool]:
    """Booleans of one raw row, feature after feature."""
    bits: list[bool] = []
    for value, of_feature, encoding, flag in zip(row, thresholds, encodings, has_missing, strict=True):
        bits += booleanize_value(value, of_feature, encoding, flag)
    return bits


def clause_fires(literals: Sequence[int], booleans: Sequence[bool]) -> bool:
    """AND of the literals; an empty clause does not fire when predicting."""
    n = len(booleans)
    return len(literals) > 0 and all(booleans[k] if k < n else not booleans[k - n] for k in literals)


def class_sums(
    clauses: Sequence[tuple[Sequence[int], dict[int, int]]], n_classes: int, booleans: Sequence[bool]
) -> list[int]:
    """Votes per class of one Boolean row; a clause is (literals, {class: weight})."""
    sums = [0] * n_classes
    for literals, weights in clauses:
        if clause_fires(literals, booleans):
            for c, weight in weights.items():
                sums[c] += weight
    return sums


def winner(sums: Sequence[int]) -> int:
    """Class with the most votes, the lower one on a tie."""
    return max(range(len(sums)), key=lambda c: (sums[c], -c))
