"""The search space: how features become Booleans, the machine, and how far it is pruned.

T is searched as a multiple of sqrt(clauses / 2), a rule of thumb that is about right for any number of
clauses. So both can be searched independently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import check_integer
from ethereal.compress.curve import TEACHERS, Teacher
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.feature_map import Encoding
from ethereal.features.front_end import FrontEnd
from ethereal.features.packing import is_boolean

BINS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
EXCLUDE_EVERY = (0, 1, 3, 10)  # 0: never, a vanilla machine
LITERAL_BUDGETS = (0, 4, 8, 16, 32)  # 0: no bound
MACHINES = (1, 2, 4)  # joined to a committee before pruning
GIVE_AWAY = (0.0, 0.003, 0.01, 0.02)  # accuracy, for a smaller model
_FEW_VALUES = 16  # features with at most so many values are a group of their own


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
        bins = ""
        if self.bins:
            kinds = dict.fromkeys(self.encodings) if len(set(self.encodings)) == 1 else self.encodings
            bins = f"{'/'.join(map(str, self.bins))} bins {'/'.join(kinds)}, "
        exclusion = "vanilla" if self.exclude_every is None else f"k {self.exclude_every}"
        limit = "" if self.literal_budget is None else f", at most {self.literal_budget} literals"
        several = "" if self.machines == 1 else f", {self.machines} machines"
        machine = f"{self.n_clauses} clauses, T {self.T}, s {self.s:.3g}, {exclusion}{limit}{several}"
        kernels = "" if self.kernels == 0 else f", kernels {self.kernels}"
        return f"{bins}{machine}, pruned by {self.teacher}{kernels}"


@dataclass(frozen=True)
class Space:
    """The space for given data."""

    groups: tuple[int, ...]  # of each feature, empty for Boolean features
    max_clauses: int
    has_missing: bool = False  # whether a training row lacks a value. Parts of the rows may lack none.
    front_ends: tuple[FrontEnd, ...] = ()  # to choose from, for windows. Their features are one group.

    @staticmethod
    def of(
        X: NDArray[Any],
        groups: Sequence[int] | None,
        max_clauses: int,
        *,
        has_categories: bool = False,
    ) -> Space:
        """Return the space for training rows. By default, features of few values are one group.

        Numbers of categories are not Booleans, not even where all of them are 0 and 1.

        >>> Space.of(np.array([[i / 50, i % 3] for i in range(20)]), None, 50)
        Space(groups=(0, 1), max_clauses=50, has_missing=False, front_ends=())
        """
        if not has_categories and is_boolean(X):
            return Space((), max_clauses)
        has_missing = bool(np.isnan(X).any())
        if groups is None:
            is_few = [len(np.unique(X[~np.isnan(X[:, f]), f])) <= _FEW_VALUES for f in range(X.shape[1])]
            return Space(tuple(_numbered(is_few)), max_clauses, has_missing)
        if len(groups) != X.shape[1]:
            raise ValueError(
                f"groups has {len(groups)} entries, X has {X.shape[1]} features. Give one group per feature."
            )
        for f, group in enumerate(groups):
            check_integer(f"groups[{f}]", group, 0, X.shape[1] - 1)
        return Space(tuple(_numbered(groups)), max_clauses, has_missing)

    @property
    def n_groups(self) -> int:
        """Number of groups of features, 0 for Boolean features."""
        return 1 if self.front_ends else max(self.groups, default=-1) + 1

    def ask(self, trial: Any) -> Setup:
        """Return a setup that an Optuna trial suggests."""
        bins = tuple(trial.suggest_categorical(f"bins{g}", BINS) for g in range(self.n_groups))
        encodings = tuple(
            trial.suggest_categorical(f"encoding{g}", get_args(Encoding)) for g in range(self.n_groups)
        )
        pairs = trial.suggest_int("clause_pairs", 2, self.max_clauses // 2, log=True)
        margin = trial.suggest_float("T_factor", 0.5, 4.0, log=True)
        every = trial.suggest_categorical("exclude_every", EXCLUDE_EVERY)
        most = trial.suggest_categorical("literal_budget", LITERAL_BUDGETS)
        return Setup(
            bins,
            encodings,
            2 * pairs,
            max(1, round(margin * math.sqrt(pairs))),
            round(trial.suggest_float("s", 2.0, 20.0, log=True), 2),
            every or None,
            most or None,
            trial.suggest_categorical("machines", MACHINES),
            trial.suggest_categorical("teacher", TEACHERS),
            trial.suggest_categorical("give_away", GIVE_AWAY),
            self._asked_kernels(trial),
        )

    def _asked_kernels(self, trial: Any) -> int:
        n = len(self.front_ends)
        return int(trial.suggest_categorical("kernels", range(n))) if n > 1 else 0

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
            point: dict[str, Any] = {f"bins{g}": bins for g in range(self.n_groups)}
            point |= {f"encoding{g}": "thermometer" for g in range(self.n_groups)}
            pairs = min(clauses, self.max_clauses) // 2
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
        if not setup.bins or not self.groups:
            return None
        if len(setup.bins) not in (1, self.n_groups):
            raise ValueError(
                f"setup.bins is {setup.bins}, for {len(setup.bins)} groups of features. These features make "
                f"{self.n_groups}. Give one number for all features, or one for each group."
            )
        own = self.groups if len(setup.bins) > 1 else [0] * len(self.groups)
        bins, encodings = [setup.bins[g] for g in own], [setup.encodings[g] for g in own]
        return Booleanizer(bins, encodings, missing="ignore" if self.has_missing else "raise")


def _numbered(values: Sequence[Any]) -> list[int]:
    """Return numbers from 0 in the order of appearance."""
    order = {value: i for i, value in enumerate(dict.fromkeys(values))}
    return [order[value] for value in values]
