"""Accuracy against flash and against instructions: our models.

Test rows choose nothing. Our models are those of `ethereal.frontier`, one call of `choose` for each point.
They are chosen for a Cortex-M7. Every model is compiled for both cores and executed on test rows, from
features to class.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.export import answering_early
from ethereal.model import Model
from ethereal.study import additions, plans
from ethereal.study.board import TARGET
from ethereal.study.cells import StudyRows
from ethereal.study.store import Cell, Store
from ethereal.tuning import Budget, Footprint, Frontier, on_device
from ethereal.tuning.choice import best_form
from ethereal.tuning.footprint import Measure

TARGETS = (TARGET, "cortex-m0plus")
KILOBYTES = (1, 2, 4, 8, 16, 32)
SLOW = (2, 4, 9)  # kilobytes within which models may take any time
MOST = 64 * 1024  # bytes, within which models of few instructions are
INSTRUCTIONS = (50, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200)
EARLY = 0.001  # share of training rows whose answer may change by early answers
_CLEAR = 400  # instructions, from which on early answers pay
_ANY = 10**9  # instructions, more than any model takes


def lines(cell: Cell, store: Store, rows: StudyRows) -> Iterator[dict[str, Any]]:
    """Accuracy and costs of our models."""
    return _ours(plans.models_of(cell, additions.load(cell.dataset), rows), rows)


def _ours(models: Frontier, rows: StudyRows) -> Iterator[dict[str, Any]]:
    """The model for each bound, by rows that were held out of training rows."""
    most, test = MOST, rows.X_test
    measure = remembered(on_device(models.X, TARGET, of_rows=np.mean, max_bytes=most))
    last = {
        target: remembered(on_device(test, target, of_rows=np.mean, max_bytes=most)) for target in TARGETS
    }
    bounds = [("ours", f"{k} kB", Budget(1024 * k)) for k in KILOBYTES]
    bounds += [("ours", f"{n} instructions", Budget(most, instructions=n)) for n in INSTRUCTIONS]
    bounds += [("ours, any speed", f"{k} kB", Budget(1024 * k, instructions=_ANY)) for k in SLOW]
    for method, size, bound in bounds:
        # Within flash alone, the quickest of equals. Else the most accurate.
        point = models.choose(bound, measure=measure, cheapest=bound.weighs_instructions)
        if not point.fits:  # no model is that small
            continue
        forms = {target: best_form(Budget(bound.flash), last[target](point.model)) for target in TARGETS}
        yield _line(method, size, point.model, rows, forms)
        if _CLEAR <= bound.instructions < _ANY and point.footprint.layout == "straight":
            early = _early(point.model, models.X)
            if early is not None:
                forms = {target: best_form(Budget(most), last[target](early)) for target in TARGETS}
                yield _line("ours, early", f"from {size}", early, rows, forms)


def _line(
    method: str, size: str, model: Model, rows: StudyRows, forms: dict[str, Footprint | None]
) -> dict[str, Any]:
    """What a model of ours takes on both cores, executed on test rows."""
    accuracy = float((model.predict(rows.X_test) == rows.y_test).mean())
    found = {target: form for target, form in forms.items() if form is not None}
    assert len(found) == len(TARGETS)
    made: dict[str, Any] = {"method": method, "size": size, "accuracy": accuracy}
    made["layout"] = found[TARGET].layout
    return made | {t: {"flash": f.bytes, "instructions": f.instructions} for t, f in found.items()}


def _early(model: Model, X: NDArray[Any]) -> Model | None:
    """The model with early answers, None if no check pays or if there are too few rows to learn them."""
    if len(X) * EARLY < 1:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = answering_early(model, X, EARLY)
    return found if found.early else None


def remembered(measure: Measure) -> Measure:
    """Return a measure that compiles each form of a model once, and only when it is asked for."""
    kept: dict[int, tuple[Model, list[Footprint], Iterator[Footprint]]] = {}

    def again(model: Model) -> Iterable[Footprint]:
        if id(model) not in kept:  # the model is kept too, so that its id stays its own
            found = measure(model)
            kept[id(model)] = model, [], iter([found] if isinstance(found, Footprint) else found)
        _, known, rest = kept[id(model)]
        i = 0
        while True:
            if i == len(known):
                following = next(rest, None)
                if following is None:
                    return
                known.append(following)
            yield known[i]
            i += 1

    return again
