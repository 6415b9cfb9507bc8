"""Lossy pruning to the best model of the pruning curve that really fits."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ethereal.base.checks import check_integer, check_number
from ethereal.base.options import refuse, split_kwargs
from ethereal.compress.curve import (
    Curve,
    Prices,
    PruneRows,
    Teacher,
    check_teacher,
    prune_path,
    prune_path_like,
)
from ethereal.compress.narrow import narrowed
from ethereal.compress.task import with_interval
from ethereal.features.front_end import FrontEnd
from ethereal.features.packing import evenly
from ethereal.model import Model, checks
from ethereal.model.needs import NotSupported
from ethereal.model.simplify import without_other_groups
from ethereal.train.again import trained_again
from ethereal.trees.unseen import with_unseen
from ethereal.tuning.budget import Budget, made_for
from ethereal.tuning.choice import Choice, PrunedModel
from ethereal.tuning.footprint import Footprint, Measure, estimate, in_gates, on_device
from ethereal.tuning.frontiers import as_exported, levelled, mean_curve, splits_of
from ethereal.tuning.kernels import bounded, candidates, drop_groups
from ethereal.tuning.machines import parts
from ethereal.tuning.sources import prices_of

_LEAST_ROWS = 20  # of which parts can be left out
_MOST_ROWS = 100_000  # that a machine learns from which is only judged


@dataclass(frozen=True)
class Pruning(Curve[Footprint]):
    """What `prune` found: the chosen model, and the curve from the given model to the smallest."""

    model: Model
    accuracy: float  # on held-out rows. Where the answer is a number, it is R2.
    footprint: Footprint
    kernels: FrontEnd | None = None  # that the descent began with, None for all that the model has
    by_folds: bool = False  # whether the accuracies are those of machines that had not seen the rows


def prune(model: Model, X: ArrayLike, y: ArrayLike, *, budget: Budget | None = None,
          max_loss: float | None = None, validation: tuple[ArrayLike, ArrayLike] | None = None,
          measure: Measure | None = None, teacher: Teacher | Model = "votes", like: Curve[Any] | None = None,
          groups: ArrayLike | None = None, random_state: int = 0, **bounds: Any) -> Pruning:  # fmt: skip
    """Remove clauses, literals and votes until the model fits.

    With bounds, a model of windows also loses whole groups of kernels that do not pay. Several parts of its
    kernels are tried, see `ethereal.tuning.kernels`. In each, the model without the others is pruned.

    Parameters
    ----------
    model
        A trained model.
    X, y
        Rows and labels to prune on: the training rows.
    budget
        Bounds on what `ethereal.export.c` takes: flash with all code, instructions from features to class of
        the most expensive held-out row, and RAM with the stack. The model is compiled in the layout that
        `footprint.layout` names, and executed. The most accurate model within the bounds is chosen. Of models
        that are equally accurate within the noise of the held-out rows, the cheapest is chosen. That is the
        one with the fewest instructions if these are not bounded, else the one that uses the smallest part of
        the bounds. A model of windows is measured from sample to label. Its instructions are bounded unless
        you bound them: a quarter more than all its kernels take.
    max_loss
        Accuracy that may be lost on held-out rows, against the given model and against the best of the curve.
        0.01 is one point. The smallest model within that is chosen. Without bounds and without it, half the
        flash may cost 0.15 points, as in `ethereal.run`, or nothing where rows are held out of `X` as below.
    validation
        Held-out rows and labels that the model was not trained on. By default, machines with the model's
        parameters learn from parts of `X` and are pruned too, and the other rows judge them. Where a model
        does not tell how it was trained, or reads windows, a quarter of the rows of each class of `X` is held
        out. Without a bound, fewer rows give a larger model, because a small model may be good by chance.
    measure
        Another way to find what a model takes. The default is `on_device` if a size is bounded, which needs
        the extra `device`, else `estimate`.
    teacher
        What the pruned model learns from. "votes" takes the labels and the model's own votes. "blends" adds
        the model's votes on as many rows again, each with a tenth of its features from another row. It is
        better if the device meets other people or places than the rows do. "labels" takes the labels alone,
        which is often better for large machines and worse for small ones. "unseen" takes the labels and the
        answers of a forest and boosted trees, each of which learned from four fifths of the rows and answers
        the others. A model of the same features may teach, too, such as `model_` where `plain_model_` is
        pruned.
    like
        Result of an earlier `prune` for a machine that was trained the same way on part of the rows. Its
        teacher, its kernels and its accuracies at equal price are taken, and nothing is held out here. So the
        last machine can learn from all rows.
    groups
        The person or recording of each row. Whole ones are then held out.
    random_state
        Seed of the held-out rows and of the order in which clauses are visited.
    **bounds
        `flash`, `ram`, `instructions`, `worst_instructions` and `target` in place of `budget`, such as
        `flash="4k"`. Or `luts` for an FPGA, such as 2000 or "2k" lookup tables. The parts of the machine
        then have the prices of gates, and votes stay small. The number is an estimate of what
        `ethereal.export.verilog` takes, and `footprint.luts` has that of the chosen model.

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
    >>> pruned = prune(model, X, y, flash=900)
    >>> pruned.footprint.bytes <= 900, pruned.model.n_includes < model.n_includes / 2
    (True, True)
    >>> bool((pruned.model.predict(X) == y).mean() > 0.9)
    True
    """
    checks.a_model(model)
    model = narrowed(model)
    limits, unknown = split_kwargs(Budget, bounds, budget)
    refuse("prune", unknown, Budget)
    budget = limits.settled()
    cost, prices = in_gates if budget.is_gates else estimate, prices_of(budget)
    if budget.is_gates:
        _check_gates(model)
    if model.front_end is not None and budget.on_size:
        budget = bounded(budget, model.front_end)
    loss = None if max_loss is None else check_number("max_loss", max_loss, 0, 1)
    seed = check_integer("random_state", random_state, 0, 2**63 - 1)
    if not isinstance(teacher, Model):
        check_teacher(teacher)
    if like is not None and validation is not None:
        raise ValueError("validation and like are both given. Give one of them.")
    rows = held_out = PruneRows.read(model, X, y, groups=groups)
    if validation is not None:
        held_out = PruneRows.read(model, *validation, "validation[0]", "validation[1]")
    by_folds = None  # a model that teaches has seen every row
    if validation is None and like is None and not isinstance(teacher, Model):
        by_folds = _by_folds(model, rows, y, teacher, seed, prices)
    like = like or by_folds
    if validation is None and like is None:
        rows, held_out = rows.split(seed)
    if like is not None and not (like.teacher == "unseen" and isinstance(teacher, Model)):
        teacher = like.teacher
    rows, teacher = _taught(model, rows, teacher, seed)
    if measure is None:
        is_board = budget.on_size and not budget.is_gates
        measure = on_device(held_out.raw, budget.target, **budget.keywords) if is_board else cost

    def curve(kept: FrontEnd | None) -> Curve[Footprint]:
        start = None if kept is None else without_other_groups(model, kept.groups)
        if like is not None:
            return prune_path_like(model, rows, like, cost, seed, start=start, prices=prices)
        seen = validation is None
        return prune_path(model, rows, held_out, teacher, cost, seed, seen=seen, start=start, prices=prices)

    fronts = _fronts(model, rows, budget, like, seed)
    curves = [curve(kept) for kept in fronts]
    given, descents = curves[0].curve[0], [one.curve[1:] for one in curves]
    choice = _choice([given, *itertools.chain(*descents)], by_folds, budget, measure, loss, rows)
    chosen = choice.make()
    assert chosen.footprint is not None
    # The model has learned from rows that nothing was given beside, so its own interval is the least one.
    least = (getattr(model.output, "half_width", None) or 0.0) if validation is None else 0.0
    smaller = with_interval(chosen.model, chosen.held_out, least)
    last = replace(chosen, model=made_for(smaller, budget, chosen.footprint))
    given, *measured = (last if point is chosen else point for point in choice.curve)
    ends = list(itertools.accumulate(map(len, descents), initial=0))
    by_start = [measured[begin:end] for begin, end in itertools.pairwise(ends)]
    which = next((i for i, points in enumerate(by_start) if any(p is last for p in points)), 0)
    points, its_curve = (given, *by_start[which]), curves[which]
    taken = last.model, chosen.accuracy, chosen.footprint, fronts[which], by_folds is not None
    return Pruning(points, its_curve.scale, its_curve.teacher, *taken)


def _choice(points: list[PrunedModel], by_folds: Curve[Any] | None, budget: Budget, measure: Measure,
            loss: float | None, rows: PruneRows) -> Choice:  # fmt: skip
    """Return the choice that keeps the bounds. Without one it is the knee, or what loses nothing."""
    if loss is not None or budget.on_size:
        return Choice(points, budget, measure, loss)
    if by_folds is None:
        return Choice(points, budget, measure, 0.0)
    return Choice(points, budget.for_rows(len(rows.codes), points[0].model.n_classes), as_exported(points))


def _by_folds(model: Model, rows: PruneRows, y: ArrayLike, teacher: Teacher, seed: int,
              prices: Prices | None) -> Curve[Any] | None:  # fmt: skip
    """Return the curve of machines that learned from a part of the rows, by the rows that they did not see.

    The result is None where no such machine can be trained.
    """
    train = trained_again(model) if len(rows.codes) >= _LEAST_ROWS else None
    if train is None:
        return None
    curves, labels, task = [], np.asarray(y), rows.task
    for held_out in splits_of(task.strata(rows.codes), rows.groups, seed):
        (X, some), (X_rest, rest) = parts(rows.raw, labels, held_out)
        few = evenly(len(some), _MOST_ROWS)
        machine = train(X[few], some[few])
        known = task.known(machine, rest)
        if known.any():
            groups = None if rows.groups is None else np.delete(rows.groups, held_out)[few]
            learned = PruneRows.read(machine, X[few], some[few], groups=groups)
            learned, _ = _taught(machine, learned, teacher, seed)
            others = PruneRows.read(machine, X_rest[known], rest[known])
            curves.append(prune_path(machine, learned, others, teacher, lambda _: None, seed, prices=prices))
    return levelled(mean_curve(curves)) if curves else None


def _check_gates(model: Model) -> None:
    """Refuse a model that has no gates, or whose gates have no prices."""
    from ethereal.export.hdl.design import SUPPORTS

    SUPPORTS.check(model.needs)
    if model.is_number:
        raise NotSupported(
            "prices of lookup tables are for classes, but the answer of the model is a number. Prune it with "
            "flash= or without a bound, and export it as verilog."
        )


def _taught(model: Model, rows: PruneRows, teacher: Teacher | Model, seed: int) -> tuple[PruneRows, Teacher]:
    """Return the rows with the answers that others give them, where these teach. They know classes only."""
    if isinstance(teacher, str) and teacher != "unseen":
        return rows, teacher
    if model.is_number:
        name = "'unseen'" if isinstance(teacher, str) else "a model"
        raise NotSupported(
            f"teacher is {name}, which knows classes, but the answer of the model is a number. Take 'votes'."
        )
    if isinstance(teacher, str):
        return with_unseen(model, rows, seed), teacher
    if not np.array_equal(teacher.classes, model.classes):
        raise ValueError(
            f"teacher knows the classes {teacher.classes.tolist()}, but the model {model.classes.tolist()}. "
            "Give a model that was trained on the same labels."
        )
    return replace(rows, unseen=teacher.predict_proba(rows.raw)), "unseen"


def _fronts(model: Model, rows: PruneRows, budget: Budget, like: Curve[Any] | None,
            seed: int) -> list[FrontEnd | None]:  # fmt: skip
    """Return the kernels that descents begin with, None for all that the model has."""
    if isinstance(like, Pruning):
        return [like.kernels]
    front_end = model.simplify().drop_unused_kernels().front_end
    if front_end is None or not budget.on_size or like is not None or rows.raw.ndim != 3:
        return [None]
    if front_end.frames is not None:  # patches, whose kernels take what they take
        return [None]
    seen = rows.raw, rows.task.strata(rows.codes), rows.groups
    path = drop_groups(front_end, *seen, target=budget.target, by_flash=True, seed=seed)
    return [None, *(kept.front_end for kept in candidates(path, budget) if kept is not path[0])]
