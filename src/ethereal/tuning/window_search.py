"""The search for the best model of raw windows. It chooses kernels and the length of windows as well."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal import cluster
from ethereal.base.options import refuse, split_kwargs
from ethereal.features.front_end import KERNELS, FrontEnd
from ethereal.tuning.budget import Budget, Search
from ethereal.tuning.kernels import Kept, KernelChoice, bounded, candidates, drop_groups
from ethereal.tuning.objective import newest
from ethereal.tuning.search import Trial, Tuning, search_for, task_of, with_groups
from ethereal.tuning.space import Space

_CANDIDATES = 4  # front ends of whole windows
_MAY_LACK = 0.01  # accuracy of the stand-in, so that half the window is tried


def tune_windows(
    X: ArrayLike,
    y: ArrayLike,
    front_end: FrontEnd,
    *,
    budget: Budget | None = None,
    search: Search | None = None,
    groups: ArrayLike | None = None,
    test: tuple[ArrayLike, ArrayLike] | None = None,
    workers: cluster.Cluster | None = None,
    progress: Callable[[tuple[Trial, ...]], None] | None = None,
    **flat: Any,
) -> Tuning:
    """Find the most accurate model of raw windows that a board can hold, from the sample to the label.

    Groups of kernels that do not pay are dropped first, see `ethereal.tuning.kernels`. The search then tries
    machines with several front ends that are left, and with the newest half of windows if that is as good.
    Without a bound on instructions there is one, a quarter more than all kernels of `front_end` take.

    Parameters
    ----------
    X, y
        Windows to learn from, windows x samples x axes, and labels.
    front_end
        All kernels that are offered.
    budget, search, groups, test, workers, progress, flat
        As in `tune`.

    Raises
    ------
    BudgetNotMet
        When no trial kept the budget.
    """
    began = time.monotonic()
    flat, groups = with_groups("tune_windows", flat, groups)
    bounds, flat = split_kwargs(Budget, flat, budget)
    how, flat = split_kwargs(Search, flat, search)
    refuse("tune_windows", flat, Budget, Search)
    bounds = bounded(bounds.on_chip(), front_end)
    windows, labels = front_end.counts(X), np.asarray(y)
    if labels.shape != (len(windows),):
        raise ValueError(f"y has shape {labels.shape}. Give one label for each of {len(windows)} windows.")
    chosen: list[KernelChoice] = []

    def space(some: NDArray[Any], own: NDArray[Any], people: NDArray[Any] | None) -> Space:
        chosen.append(choose_front_ends(front_end, some, own, people, bounds, how.random_state))
        return Space((), how.max_clauses, front_ends=chosen[0].tried)

    together = None if groups is None else np.asarray(groups)
    task = task_of((windows, labels, together), space, bounds, how)
    pair = None if test is None else (front_end.counts(test[0]), np.asarray(test[1]))
    found = search_for(task, how, pair, workers, progress)
    return replace(found, kernels=chosen[0], seconds=time.monotonic() - began)


def choose_front_ends(
    front_end: FrontEnd,
    windows: NDArray[np.int16],
    y: NDArray[Any],
    groups: NDArray[Any] | None,
    budget: Budget,
    seed: int,
) -> KernelChoice:
    """Return the front ends to try machines with, those of whole windows first."""

    def path_of(own: FrontEnd) -> tuple[Kept, ...]:
        some = newest(windows, own.window)
        return drop_groups(own, some, y, groups, target=budget.target, by_flash=True, seed=seed)

    path = path_of(front_end)
    tried = candidates(path, budget, _CANDIDATES)
    half = front_end.window // 2
    if half >= max(KERNELS[kernel].least for kernel, _ in front_end.groups):
        short = path_of(replace(front_end, window=half, hop=min(front_end.hop, half)))
        best = candidates(short, budget, 1)
        tried += [one for one in best if one.accuracy >= tried[0].accuracy - _MAY_LACK]
    return KernelChoice(path, tuple(one.front_end for one in tried))
