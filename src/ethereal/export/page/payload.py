"""What a page is made of: one HTML text, and the record of a model that runs in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.ctext import read
from ethereal.features.front_end import FrontEnd, plain_words
from ethereal.model import Model
from ethereal.model.output import ClassesOrUnknown, Number

MOST_ROWS, _MOST_VALUES = 200, 60_000  # that a page offers to answer


def page_of(html: str, style: str, scripts: str, data: Mapping[str, Any]) -> str:
    """Return the page: `html` with its style, its scripts and its data, as one text.

    "<" is never written into the data, so that no text in it can end the script element.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    text = re.sub(
        "[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text
    )  # which UTF-8 does not have
    for mark, content in (("{{css}}", style), ("{{js}}", scripts), ("{{data}}", text)):
        before, after = html.split(mark)
        html = before + content + after
    return html


def shared(name: str) -> str:
    """Return a file that the page of an export and the page of a report have in common."""
    return read(f"page/{name}")


def model_record(model: Model, X: NDArray[Any]) -> dict[str, Any]:
    """Return what a page knows of a model. `X` has rows of features for the ends of the sliders."""
    feature_map = model.feature_map
    uses = np.bincount(feature_map.feature[model.clauses.boolean], minlength=feature_map.n_features)
    fires = model.clause_outputs(X).sum(axis=0)
    if isinstance(model.output, Number) and model.output.line is not None:
        uses[[slope.feature for slope in model.output.line.slopes]] += 1
    rules, features, front_end = [rule.text for rule in model.rules()], [], model.front_end
    for f, name in enumerate(model.input_names):
        thresholds, column = feature_map.thresholds_of(f), X[:, f] if len(X) else np.empty(0)
        low, high = _range(column, thresholds)
        features.append(
            {
                "input": name,
                "name": name if front_end is None else front_end.meaning(f),
                "thresholds": thresholds.tolist(),
                "binned": bool(feature_map.is_binned[f]),
                "missing": bool(feature_map.missing[f]),
                "categories": list(feature_map.categories.get(f, ())),
                "first": int(feature_map.boolean_offsets[f]),
                "min": low,
                "max": high,
                "step": _step(column, low, high),
                "uses": int(uses[f]),
                "shown": None if front_end is None else _shown(front_end, f, thresholds),
            }
        )
    return {
        "classes": model.output.columns if model.is_number else model.classes.tolist(),
        **({"number": _of_number(model.output)} if isinstance(model.output, Number) else {}),
        "margin": model.output.margin if isinstance(model.output, ClassesOrUnknown) else None,
        "n_booleans": model.n_booleans,
        "precision": feature_map.precision,
        "features": features,
        "literals": model.literals.tolist(),
        "offsets": model.offsets.tolist(),
        "votes": [[[c, int(w[c])] for c in np.flatnonzero(w).tolist()] for w in model.weights],
        "fires": fires.tolist(),
        "fires_of": len(X),
        "rules": rules,
    }


def rows_shown(n_features: int) -> int:
    """Return how many rows of so many features a page offers."""
    return min(MOST_ROWS, max(1, _MOST_VALUES // max(n_features, 1)))


def answered_rows(
    X: NDArray[Any], y: NDArray[Any], predicted: NDArray[Any], *, is_number: bool
) -> list[dict[str, Any]]:
    """Return some rows with what is true and what is predicted: numbers, or the numbers of classes."""
    is_known, of = (np.isfinite(y), float) if is_number else (y >= 0, int)
    known = np.flatnonzero(is_known)[: rows_shown(X.shape[1])]
    return [
        {"i": i, "x": list(map(number_of, X[i].tolist())), "y": of(y[i]), "predicted": of(predicted[i])}
        for i in known.tolist()
    ]


def _of_number(number: Number) -> dict[str, Any]:
    """Return how the page makes the number of a sum, and writes it."""
    return number.as_dict() | {"digits": number.digits}


def _shown(front_end: FrontEnd, f: int, thresholds: NDArray[np.float64]) -> dict[str, Any]:
    """Return how the page writes values of a feature of windows, as its rules do, and what it measures."""
    rule, divisor = front_end.unit_rule(f)
    shown = {"rule": rule, "divisor": divisor, "digits": front_end.digits_of(f, thresholds.tolist())}
    return shown | {"unit": front_end.unit_of(f), "words": plain_words(front_end, f)}


def _range(column: NDArray[Any], thresholds: NDArray[np.float64]) -> tuple[float, float]:
    """Return a slider's ends, which hold the values seen and all thresholds, with room above the last."""
    values = np.concatenate([column[np.isfinite(column)].astype(float), thresholds])
    if len(values) == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    margin = (high - low) * 0.02 or 1.0
    if len(thresholds) and high <= thresholds.max():
        high += margin
    if len(thresholds) and low > thresholds.min() - margin:
        low = min(low, float(thresholds.min()) - margin) if low >= thresholds.min() else low
    return low, high


def _step(column: NDArray[Any], low: float, high: float) -> float | str:
    whole = column.dtype.kind in "iub" or bool(np.equal(np.mod(column[np.isfinite(column)], 1), 0).all())
    return 1 if whole and len(column) and high - low >= 1 else "any"


def start_of(model: Model, X: NDArray[Any], *, drawn: bool) -> NDArray[Any]:
    """Return the values to begin with, medians of the test rows, zeros for images and Booleans."""
    if len(X) == 0 or drawn or model.booleanizer is None:
        return np.zeros(model.feature_map.n_features)
    with np.errstate(all="ignore"):
        middle = np.array([np.nanmedian(c) if np.isfinite(c).any() else np.nan for c in X.astype(float).T])
    return np.where(np.isnan(middle), 0.0, middle)


def number_of(value: float) -> float | int | None:
    """A value as JSON has it: whole numbers short, None for a missing one, infinities as the largest."""
    if isinstance(value, bool):
        return int(value)
    if np.isnan(value):
        return None
    if np.isinf(value):
        return float(np.copysign(np.finfo(np.float64).max, value))
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value)
