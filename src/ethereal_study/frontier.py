"""Accuracy against flash and against instructions: our models.

Test rows choose nothing. Our models are those of `ethereal.frontier`, one call of `choose` for each point.
They are chosen for a Cortex-M7. Every model is compiled for both cores and executed on test rows, from
features to class.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.device import find_core
from ethereal.export import ExportOptions, answering_early
from ethereal.export.c99.choose import programs
from ethereal.export.c99.program import Program
from ethereal.features.packing import evenly
from ethereal.model import Model
from ethereal.tuning import Budget, Footprint, Frontier
from ethereal.tuning.choice import best_form
from ethereal.tuning.footprint import MOST_ROWS, Measure, executed, may_fit
from ethereal.tuning.frontiers import FrontierPoint
from ethereal_study import additions, plans
from ethereal_study.board import TARGET
from ethereal_study.cells import StudyRows
from ethereal_study.store import Cell, Store

TARGETS = (TARGET, "cortex-m0plus")
KILOBYTES = (1, 2, 4, 8, 16, 32)
SLOW = (2, 4, 9)  # kilobytes within which models may take any time
MOST = 64 * 1024  # bytes, within which models of few instructions are
INSTRUCTIONS = (50, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2000, 2400, 2800, 3200)
TIGHT = ((1500, 400),)  # bytes and instructions at once
EARLY = 0.001  # share of training rows whose answer may change by early answers
_CLEAR = 400  # instructions, from which on early answers pay
_ANY = 10**9  # instructions, more than any model takes
# A form is executed where its estimates leave a doubt. Instructions by estimate were 0.86 to 1.27 times what
# was counted, on 152 programs of mammography in "straight" and "fast".
_SURELY_MORE, _SURELY_LESS = 1.5, 0.75  # times a bound on instructions

_Form = tuple[Program, bool]  # and whether it is the last


def lines(cell: Cell, store: Store, rows: StudyRows) -> Iterator[dict[str, Any]]:
    """Accuracy and costs of our models."""
    return _ours(plans.models_of(cell, additions.load(cell.dataset), rows), rows)


def _ours(models: Frontier, rows: StudyRows) -> Iterator[dict[str, Any]]:
    """The model for each bound, by rows that were held out of training rows."""
    most, forms = MOST, _Forms()
    bench = _Bench(models.X, TARGET, forms)
    last = {target: _Bench(rows.X_test, target, forms) for target in TARGETS}

    def costs(model: Model, flash: float) -> dict[str, Footprint | None]:
        bound = Budget(flash)
        return {
            target: best_form(bound, own.within(bound, surely=True)(model)) for target, own in last.items()
        }

    bounds = [("ours", f"{k} kB", Budget(1024 * k)) for k in KILOBYTES]
    bounds += [("ours", f"{n} instructions", Budget(most, instructions=n)) for n in INSTRUCTIONS]
    bounds += [
        ("ours", f"{1e-3 * bytes_:g} kB, {n} instructions", Budget(bytes_, instructions=n))
        for bytes_, n in TIGHT
    ]
    bounds += [("ours, any speed", f"{k} kB", Budget(1024 * k, instructions=_ANY)) for k in SLOW]
    for method, size, bound in bounds:
        point = _chosen(models, bound, bench)
        if point is None:  # no model is that small
            continue
        yield _line(method, size, point.model, rows, costs(point.model, bound.flash))
        if bound.flash == most and bound.instructions >= _CLEAR and point.footprint.layout == "straight":
            early = _early(point.model, models.X)
            if early is not None:
                yield _line("ours, early", f"from {size}", early, rows, costs(early, most))


def _chosen(models: Frontier, bound: Budget, bench: _Bench) -> FrontierPoint | None:
    """The model for a bound, which keeps it when it is executed, None if no model does."""
    while True:
        # Within flash alone, the quickest of equals. Else the most accurate.
        point = models.choose(bound, measure=bench.within(bound), cheapest=bound.weighs_instructions)
        took = best_form(bound, bench.within(bound, surely=True)(point.model)) if point.fits else None
        if took is None or bound.excess(took) <= 1:
            return None if took is None else replace(point, point=replace(point.point, footprint=took))


def _line(
    method: str, size: str, model: Model, rows: StudyRows, forms: dict[str, Footprint | None]
) -> dict[str, Any]:
    """What a model of ours takes on both cores, executed on test rows."""
    accuracy = float((model.predict(rows.X_test) == rows.y_test).mean())
    found = {target: form for target, form in forms.items() if form is not None}
    assert len(found) == len(TARGETS)
    made: dict[str, Any] = {"method": method, "size": size, "accuracy": accuracy}
    made["layout"] = found[TARGET].layout
    costs = {"flash": "bytes", "instructions": "instructions", "cycles": "cycles"}
    return made | {t: {name: getattr(f, key) for name, key in costs.items()} for t, f in found.items()}


def _early(model: Model, X: NDArray[Any]) -> Model | None:
    """The model with early answers, None if no check pays or if there are too few rows to learn them."""
    if len(X) * EARLY < 1:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = answering_early(model, X, EARLY)
    return found if found.early else None


class _Bench:
    """Measures models by mean instructions of rows, as `on_device` does, for one bound after the other.

    A form is compiled and executed once, and only if estimates do not say whether it keeps the bound.
    """

    def __init__(self, X: NDArray[Any], target: str, forms: _Forms) -> None:
        self._rows, self._chip, self._forms = X[evenly(len(X), MOST_ROWS)], find_core(target), forms
        self._found: dict[int, Footprint] = {}  # by id of the program

    def within(self, bound: Budget, *, surely: bool = False) -> Measure:
        """Return a measure for a bound. With `surely`, a form that keeps it by estimate is executed too."""

        def measure(model: Model) -> Iterator[Footprint]:
            for program, is_last in self._forms.of(model):
                if not is_last and not may_fit(program, bound.flash):
                    continue
                costs = program.costs
                guess = Footprint(program.flash_bytes, costs.instructions, costs.stack_bytes, program.layout)
                fits = guess.bytes <= bound.flash and guess.instructions <= _SURELY_LESS * bound.instructions
                exceeds = guess.instructions > _SURELY_MORE * bound.instructions
                if id(program) not in self._found and (exceeds or (fits and not surely)):
                    yield guess
                    continue
                if id(program) not in self._found:
                    self._found[id(program)] = executed(program, self._rows, self._chip, np.mean)
                yield self._found[id(program)]

        return measure


class _Forms:
    """The programs of models, each made once, and only when it is asked for."""

    def __init__(self) -> None:
        # The models are kept too, so that an id stays its own.
        self._kept: dict[int, tuple[Model, list[_Form], Iterator[_Form]]] = {}

    def of(self, model: Model) -> Iterator[_Form]:
        """Yield the programs of a model, the quickest first, and whether each is the last."""
        if id(model) not in self._kept:
            made = programs(model, ExportOptions()) if model.simplify().n_clauses else iter(())
            self._kept[id(model)] = model, [], made
        _, known, rest = self._kept[id(model)]
        for i in itertools.count():
            if i == len(known):
                following = next(rest, None)
                if following is None:
                    return
                known.append(following)
            yield known[i]
