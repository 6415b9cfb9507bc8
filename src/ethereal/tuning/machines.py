"""What a search chooses from, and the machines that it trains.

A `Setup` says how features become Booleans, how the machine learns, and how far it is pruned. A `Space` has
the setups for given data. `Machines` trains those of a setup, which are joined before they are pruned.

T is searched as a multiple of sqrt(clauses / 2), a rule of thumb that is about right for any number of
clauses. So both can be searched independently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ethereal.base.checks import check_integer
from ethereal.compress import join
from ethereal.compress.curve import SWEEPS, TEACHERS, Cost, Curve, PruneRows, Teacher, prune_path
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.feature_map import Encoding
from ethereal.features.front_end import FrontEnd
from ethereal.features.matrices import refuse_non_numeric_columns
from ethereal.features.packing import is_boolean
from ethereal.features.window_features import WindowFeatures
from ethereal.model import Model
from ethereal.train.classifier import EtherealClassifier

BINS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
EXCLUDE_EVERY = (0, 1, 3, 10)  # 0: never, a vanilla machine
LITERAL_BUDGETS = (0, 4, 8, 16, 32)  # 0: no bound
MACHINES = (1, 2, 4)  # joined to a committee before pruning
GIVE_AWAY = (0.0, 0.003, 0.01, 0.02)  # accuracy, for a smaller model
LESSONS: tuple[Teacher, ...] = TEACHERS[:3]  # of trials. Answers to unseen rows are for the model for use.
CHOICES = (BINS, EXCLUDE_EVERY, LITERAL_BUDGETS, MACHINES, LESSONS, GIVE_AWAY)
_FEW_VALUES = 16  # features with at most so many values are a group of their own
Array = NDArray[Any]
Rows = NDArray[np.intp]  # numbers of rows
Labelled = tuple[Any, Any]  # rows and labels
VALIDATION = 0.2  # share of the rows that validates, of one fold


@dataclass(frozen=True)
class Setup:
    """One point of the space."""

    bins: tuple[int, ...]  # per group of features, empty for Boolean features
    encodings: tuple[Encoding, ...]  # per group
    n_clauses: int  # per class
    T: int
    s: float
    exclude_every: int | None
    literal_budget: int | None
    machines: int
    teacher: Teacher
    give_away: float
    kernels: int = 0  # which of the front ends, for windows

    def describe(self) -> str:
        """The setup in a line."""
        if self.n_clauses == 0:
            return "boosted trees"
        kinds = dict.fromkeys(self.encodings) if len(set(self.encodings)) == 1 else self.encodings
        bins = f"{'/'.join(map(str, self.bins))} bins {'/'.join(kinds)}, " if self.bins else ""
        exclusion = "vanilla" if self.exclude_every is None else f"k {self.exclude_every}"
        limit = "" if self.literal_budget is None else f", at most {self.literal_budget} literals"
        several = "" if self.machines == 1 else f", {self.machines} machines"
        machine = f"{self.n_clauses} clauses, T {self.T}, s {self.s:.3g}, {exclusion}{limit}{several}"
        kernels = "" if self.kernels == 0 else f", kernels {self.kernels}"
        return f"{bins}{machine}, pruned by {self.teacher}{kernels}"


TREES = Setup((), (), 0, 1, 1.0, None, None, 1, "unseen", 0.0)  # no machine, of which nothing is searched


@dataclass(frozen=True)
class Space:
    """The space for given data."""

    feature_groups: tuple[int, ...]  # the group of each feature, empty for Boolean features
    max_clauses: int
    has_missing: bool = False  # whether a training row lacks a value. Parts of the rows may lack none.
    front_ends: tuple[FrontEnd, ...] = ()  # to choose from, for windows. Their features are one group.

    @staticmethod
    def of(
        X: Array, feature_groups: Sequence[int] | None, max_clauses: int, *, has_categories: bool = False
    ) -> Space:
        """Return the space for training rows. By default, features of few values are one group.

        Numbers of categories are not Booleans, not even where all of them are 0 and 1.

        >>> Space.of(np.array([[i / 50, i % 3] for i in range(20)]), None, 50)
        Space(feature_groups=(0, 1), max_clauses=50, has_missing=False, front_ends=())
        """
        if not has_categories and is_boolean(X):
            return Space((), max_clauses)
        has_missing = bool(np.isnan(X).any())
        if feature_groups is None:
            feature_groups = [len(np.unique(x[~np.isnan(x)])) <= _FEW_VALUES for x in X.T]
        elif len(feature_groups) != X.shape[1]:
            raise ValueError(
                f"feature_groups has {len(feature_groups)} entries, X has {X.shape[1]} features. Give one "
                "group per feature."
            )
        else:
            for f, group in enumerate(feature_groups):
                check_integer(f"feature_groups[{f}]", group, 0, X.shape[1] - 1)
        order = {group: i for i, group in enumerate(dict.fromkeys(feature_groups))}  # of appearance
        return Space(tuple(order[group] for group in feature_groups), max_clauses, has_missing)

    @property
    def n_feature_groups(self) -> int:
        """Number of groups of features, 0 for Boolean features."""
        return 1 if self.front_ends else max(self.feature_groups, default=-1) + 1

    def ask(self, trial: Any) -> Setup:
        """Return a setup that an Optuna trial suggests."""
        one_of, groups = trial.suggest_categorical, range(self.n_feature_groups)
        bins = tuple(one_of(f"bins{g}", BINS) for g in groups)
        encodings = tuple(one_of(f"encoding{g}", get_args(Encoding)) for g in groups)
        pairs = trial.suggest_int("clause_pairs", 2, self.max_clauses // 2, log=True)
        margin = trial.suggest_float("T_factor", 0.5, 4.0, log=True)
        every = one_of("exclude_every", EXCLUDE_EVERY) or None
        most = one_of("literal_budget", LITERAL_BUDGETS) or None
        s = round(trial.suggest_float("s", 2.0, 20.0, log=True), 2)
        T = max(1, round(margin * math.sqrt(pairs)))
        machines, teacher = one_of("machines", MACHINES), one_of("teacher", LESSONS)
        give_away, n = one_of("give_away", GIVE_AWAY), len(self.front_ends)
        kernels = one_of("kernels", range(n)) if n > 1 else 0
        return Setup(bins, encodings, 2 * pairs, T, s, every, most, machines, teacher, give_away, kernels)

    def starts(self) -> list[dict[str, Any]]:
        """Return points to begin with, by rules of thumb."""
        plans = (  # bins, clauses, T_factor, s, exclude_every, literal_budget, machines, teacher
            (8, 100, 1.0, 5.0, 1, 0, 1, "votes"),
            (4, 100, 1.0, 5.0, 0, 8, 1, "votes"),
            (8, 300, 1.0, 8.0, 3, 0, 1, "labels"),
            (8, 100, 1.0, 3.0, 0, 0, 4, "votes"),
            (4, 40, 1.5, 3.0, 0, 16, 1, "blends"),
            (32, 200, 1.0, 4.0, 0, 0, 2, "labels"),
            (2, 100, 1.0, 5.0, 1, 0, 1, "votes"),
        )
        points: list[dict[str, Any]] = []
        for bins, clauses, factor, s, every, most, machines, teacher in plans:
            groups, pairs = range(self.n_feature_groups), min(clauses, self.max_clauses) // 2
            point = dict[str, Any]((f"bins{g}", bins) for g in groups)
            point |= {f"encoding{g}": "thermometer" for g in groups}
            point |= {"clause_pairs": pairs, "T_factor": factor, "s": s, "exclude_every": every}
            point |= {"literal_budget": most, "machines": machines, "teacher": teacher, "give_away": 0.0}
            if len(self.front_ends) > 1:
                point["kernels"] = len(points) % len(self.front_ends)
            if point not in points:  # Boolean features leave fewer
                points.append(point)
        return points

    def booleanizer(self, setup: Setup) -> Booleanizer | None:
        """Return a new Booleanizer for a setup, or None for Boolean features."""
        if self.front_ends:
            return Booleanizer(setup.bins[0], setup.encodings[0])
        if not setup.bins or not self.feature_groups:
            return None
        if len(setup.bins) not in (1, self.n_feature_groups):
            raise ValueError(
                f"setup.bins is {setup.bins}, for {len(setup.bins)} groups of features. These features make "
                f"{self.n_feature_groups}. Give one number for all features, or one for each group."
            )
        group_of = self.feature_groups if len(setup.bins) > 1 else [0] * len(self.feature_groups)
        bins, encodings = [setup.bins[g] for g in group_of], [setup.encodings[g] for g in group_of]
        return Booleanizer(bins, encodings, missing="ignore" if self.has_missing else "raise")


def labelled(X: ArrayLike, y: ArrayLike, groups: ArrayLike | None) -> tuple[Array, Array, Array | None]:
    """Check and return rows, labels and groups of rows as arrays."""
    rows, labels = matrix(X), np.asarray(y)
    if labels.shape != (len(rows),):
        raise ValueError(f"y has shape {labels.shape}. It must have one label for each of {len(rows)} rows.")
    if labels.dtype.kind == "f" and (odd := labels != np.rint(labels)).any():
        raise ValueError(
            f"y holds numbers such as {labels[odd][0]:g}, and a search knows classes only. Take ethereal.run "
            "with bounds, or EtherealRegressor and prune."
        )
    groups = None if groups is None else np.asarray(groups)
    if groups is not None and groups.shape != labels.shape:
        raise ValueError(f"groups has shape {groups.shape}. Give one group for each of {len(rows)} rows.")
    return rows, labels, groups


def matrix(X: Any) -> Array:
    """Check and return rows of numbers as an array."""
    refuse_non_numeric_columns(X)
    rows = np.asarray(X)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise ValueError(f"X has dtype {rows.dtype} and shape {rows.shape}. It must be a matrix of numbers.")
    return rows


def parts(X: Array, y: Array, held_out: Rows) -> tuple[Labelled, Labelled]:
    """Return the rows to train on and the rows to validate on."""
    return (np.delete(X, held_out, axis=0), np.delete(y, held_out)), (X[held_out], y[held_out])


@dataclass(frozen=True)
class Machines:
    """How the machines of a setup learn."""

    setup: Setup
    booleanizer: Booleanizer | None
    epochs: int
    seed: int
    categories: Mapping[int, Sequence[str]] = field(default_factory=dict)  # names of columns of texts
    front_end: FrontEnd | None = None  # of windows

    def first(self, epochs: int) -> EtherealClassifier:
        """Return the first machine, not fitted."""
        front_end, setup = self.front_end, self.setup
        return EtherealClassifier.paper(
            setup.n_clauses, setup.T, setup.s, epochs=epochs, exclude_every=setup.exclude_every,
            literal_budget=setup.literal_budget, booleanizer=self.booleanizer,
            front_end=None if front_end is None else WindowFeatures.from_front_end(front_end),
            random_state=self.seed, n_jobs=1,  # trials run side by side instead
        )  # fmt: skip

    def reader(self, X: Array, y: Array) -> Model:
        """Return a model without clauses that reads rows as these machines do."""
        classes, booleanizer = np.unique(y), self.booleanizer
        front_end, names = self.front_end, None
        if booleanizer is not None:
            values = X if front_end is None else front_end.transform(X)
            known = clone(booleanizer).fit(values).feature_map_.with_categories(self.categories)
            names = None if front_end is None else front_end.names
            booleanizer = Booleanizer.from_feature_map(known, names)
        n = X.shape[-1] if booleanizer is None else booleanizer.feature_map_.n_booleans
        votes = np.zeros((0, len(classes)), dtype=np.int32)
        return Model(
            [], [0], votes, n_booleans=n, classes=classes, booleanizer=booleanizer, front_end=front_end
        )

    def joined(self, train: Labelled, held_out: Labelled) -> Model:
        """Return the joined model of all machines. The held-out rows choose the epochs."""
        first = self.first(self.epochs)
        first.fit(*train, validation_set=held_out, categories=self.categories)
        return committee(first, train, self.setup.machines, self.categories, held_out)


def committee(first: EtherealClassifier, train: Labelled, n_machines: int,
              categories: Mapping[int, Sequence[str]] | None = None,
              held_out: Labelled | None = None) -> Model:  # fmt: skip
    """Return the model of a fitted machine, joined with those of machines from other seeds.

    All learn from the same rows and have the same thresholds. The held-out rows choose the epochs, if given.
    """
    models, booleanizer = [first.plain_model_], first.booleanizer_
    if n_machines == 1:
        return models[0]
    if booleanizer is not None:
        known = booleanizer.feature_map_  # its encoding is one-hot for categories
        booleanizer = Booleanizer(encoding=known.encoding, thresholds=known, missing=booleanizer.missing)
    for i in range(1, n_machines):
        other = clone(first).set_params(booleanizer=booleanizer, random_state=first.random_state + 1000 * i)
        other.fit(*train, validation_set=held_out, categories=categories)
        models.append(other.plain_model_)
    return join(models)


def pruned(model: Model, train: Labelled, held_out: Labelled, teacher: Teacher, seed: int,
           cost: Callable[[Model], Cost], sweeps: int = SWEEPS) -> Curve[Cost]:  # fmt: skip
    """Return the pruning curve of a model."""
    rows, validation = PruneRows.read(model, *train), PruneRows.read(model, *held_out)
    return prune_path(model, rows, validation, teacher, cost, seed, sweeps=sweeps)
