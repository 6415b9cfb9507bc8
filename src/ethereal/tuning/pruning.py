"""Lossy pruning within bounds: the best model of the pruning curve that really fits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ethereal.base.checks import check_integer, check_number
from ethereal.compress.curve import TEACHERS, Curve, PruneRows, Teacher, descend, descend_like
from ethereal.tuning.budget import Budget
from ethereal.tuning.choice import Choice
from ethereal.tuning.footprint import Footprint, Measure, estimate, on_device

if TYPE_CHECKING:
    from ethereal.model import Model

_BOUNDS = {"max_bytes": "flash", "max_instructions": "instructions", "max_ram": "ram"}


@dataclass(frozen=True)
class Pruning(Curve[Footprint]):
    """What `prune` found: the chosen model, and the curve from the model as it was to the smallest."""

    model: Model
    accuracy: float  # on held-out rows
    footprint: Footprint


def prune(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    *,
    budget: Budget | None = None,
    max_loss: float | None = None,
    validation: tuple[ArrayLike, ArrayLike] | None = None,
    measure: Measure | None = None,
    teacher: Teacher = "votes",
    like: Curve[Any] | None = None,
    random_state: int = 0,
    **bounds: Any,
) -> Pruning:
    """Take clauses, literals and votes away until the model fits.

    Parameters
    ----------
    model
        A trained model.
    X, y
        Rows and labels to prune on: the training rows.
    budget
        Bounds on what `ethereal.export.c` really takes: flash with all code, instructions from features to
        class of the most expensive held-out row, and RAM with the stack. Never exceeded: the model is
        compiled in the layout that `footprint.layout` names, and executed. The most accurate model within
        them is chosen. Of models that are equally accurate within the noise of the held-out rows, the
        cheapest is chosen: the one with the fewest instructions where these are not bounded, otherwise the
        one that uses the smallest part of the bounds.
    max_loss
        Accuracy that may be lost on held-out rows (0.01: one point), against the given model and against the
        best of the curve. The smallest model within that is chosen. 0 when no bound is given at all.
    validation
        Held-out rows and labels, best such that the model was not trained on. None: a quarter of the rows of
        each class, taken from `X`. The fewer rows there are, the larger is the model that is chosen without
        a bound: a small model that is good by chance on few rows would be worse on others.
    measure
        Another way to find what a model takes. None: `on_device` when a size is bounded, which needs the
        extra `device`, else `estimate`.
    teacher
        What the pruned model learns from: "votes", the labels and the model's own votes; "blends", these and
        the model's votes on as many rows again, each with a tenth of its features taken from another row,
        which is better where the device meets other people or places than those of the rows; or "labels",
        the labels alone, often better for large machines and worse for small ones.
    like
        What pruning found for a machine that was trained the same way on a part of the rows, the rest held
        out. Then nothing is held out here, its teacher is taken, and a model's accuracy is what the model at
        the same price had there: so the last machine can learn from all rows. The choice is made by those
        rows too.
    random_state
        Seed of the held-out rows and of the order in which clauses are visited.
    **bounds
        `max_bytes`, `max_instructions`, `max_ram` and `target` in place of `budget`.

    Raises
    ------
    BudgetError
        When no model keeps the bounds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ethereal import EtherealClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EtherealClassifier(n_clauses=20, T=10, epochs=20, random_state=1).fit(X, y).model_
    >>> pruned = prune(model, X, y, max_bytes=900)
    >>> pruned.footprint.bytes <= 900, pruned.model.n_includes < model.n_includes / 2
    (True, True)
    >>> bool((pruned.model.predict(X) == y).mean() > 0.9)
    True
    """
    budget = _budget(budget, bounds)
    if max_loss is None and not budget.on_size:
        max_loss = 0.0
    loss = None if max_loss is None else check_number("max_loss", max_loss, 0, 1)
    seed = check_integer("random_state", random_state, 0, 2**63 - 1)
    check_teacher(teacher)
    if like is not None and validation is not None:
        raise ValueError(
            "validation and like are both given; with like nothing is held out: give one of them"
        )
    rows = held_out = PruneRows.read(model, X, y)
    if validation is not None:
        held_out = PruneRows.read(model, *validation, "validation[0]", "validation[1]")
    elif like is None:
        rows, held_out = rows.split(seed)
    if measure is None:
        executed = on_device(held_out.raw, budget.target, max_bytes=budget.flash) if budget.on_size else None
        measure = executed or estimate
    if like is None:
        found = descend(model, rows, held_out, teacher, estimate, seed)
    else:
        found = descend_like(model, rows, like, estimate, seed)
    choice = Choice(found.curve, budget, measure, loss)
    chosen = choice.make()
    assert chosen.footprint is not None
    return Pruning(choice.curve, found.scale, found.teacher, chosen.model, chosen.accuracy, chosen.footprint)


def check_teacher(teacher: str) -> None:
    """Refuse a teacher that there is not."""
    if teacher not in TEACHERS:
        raise ValueError(f"teacher is {teacher!r}; it must be one of {', '.join(map(repr, TEACHERS))}")


def _budget(budget: Budget | None, bounds: Mapping[str, Any]) -> Budget:
    unknown = [name for name in bounds if name not in (*_BOUNDS, "target")]
    if unknown:
        raise TypeError(f"prune() has no option {unknown[0]!r}; its bounds are {', '.join(_BOUNDS)}, target")
    if budget is not None:
        if bounds:
            raise TypeError(f"budget and {next(iter(bounds))} are both given; give one of them")
        return budget
    given = {
        field: check_number(name, bounds[name], 0, math.inf)
        for name, field in _BOUNDS.items()
        if bounds.get(name) is not None
    }
    return Budget(**given, target=bounds.get("target", "cortex-m7"))
