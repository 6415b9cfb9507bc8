"""The first stage of a run on windows: which kernels pay, and what the whole may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from ethereal.base.checks import DoesNotFit
from ethereal.datasets.rows import Rows
from ethereal.export.c99.parts.windows import ram_of, stream_numbers
from ethereal.features.front_end import FrontEnd
from ethereal.features.window_features import WindowFeatures
from ethereal.runs.folder import RunFolder
from ethereal.runs.results import KernelGain, Kernels, KernelStep
from ethereal.tuning.budget import Budget


def choose(
    folder: RunFolder, rows: Rows, budget: Budget, seed: int, tell: Callable[[str], None]
) -> tuple[Rows, Budget]:
    """Return rows whose front end has the kernels that pay, and the budget with a bound on instructions.

    A budget without any bound stays as it is. Rows of a table stay as they are, too.
    """
    if rows.front_end is None:
        return rows, budget
    from ethereal.chips.toolchain import missing_tools
    from ethereal.tuning.kernels import bounded, in_words

    if missing_tools():
        tell("kernels: all are kept, because their prices need the extra device.")
        return rows, budget

    offered: FrontEnd = rows.front_end.front_end_
    bounds = bounded(budget, offered) if budget.on_size else budget
    if bounds != budget:
        why = "a quarter more than all kernels take"
        tell(f"bounds: {bounds.instructions:,.0f} instructions from sample to label, {why}. "
             "instructions= sets another.")  # fmt: skip
    folder.stage(Kernels.STAGE, lambda: _choose(rows, bounds, seed))
    found = folder.load(Kernels)
    assert found is not None
    kept = replace(offered, groups=found.groups)
    tell(f"kernels: {in_words(kept, offered)}")
    _check(kept, found.instructions, bounds)
    front_end = WindowFeatures.from_front_end(kept)
    return replace(rows, front_end=front_end, feature_names=kept.names), bounds


def _check(kept: FrontEnd, instructions: float, budget: Budget) -> None:
    """Refuse features that alone take more than the whole may take, before a machine learns from them."""
    ram, samples = ram_of(kept), 2 * stream_numbers(kept)
    if ram > budget.ram:
        raise DoesNotFit(
            f"The features alone take {ram:,} bytes of RAM, {samples:,} of them for samples, but "
            f"{budget.ram:,.0f} are allowed. Give a shorter window=, or more ram=."
        )
    if instructions > budget.instructions:
        raise DoesNotFit(
            f"The features alone take {instructions:,.0f} instructions, but {budget.instructions:,.0f} are "
            "allowed. Give a shorter window=, or more instructions=."
        )


def _choose(rows: Rows, budget: Budget, seed: int) -> Kernels:
    from ethereal.tuning.kernels import drop_groups, pick

    assert rows.front_end is not None
    path = drop_groups(
        rows.front_end.front_end_, rows.X_train, rows.y_train, rows.groups_train,
        target=budget.target, by_flash=budget.on_size, seed=seed,
    )  # fmt: skip
    kept = pick(path, budget)
    gains = []
    for before, after in pairwise(path):
        (gone,) = set(before.front_end.groups) - set(after.front_end.groups)
        gains.append(KernelGain(*gone, before.accuracy - after.accuracy))
    return Kernels(
        groups=tuple(kept.front_end.groups),
        instructions=kept.instructions,
        offered=tuple(path[0].front_end.groups),
        path=tuple(KernelStep(len(one.front_end.groups), one.accuracy, one.instructions) for one in path),
        gains=tuple(gains),
    )


def offered_and_gains(
    folder: RunFolder, front_end: FrontEnd
) -> tuple[FrontEnd, dict[tuple[str, str], float]]:
    """Return all kernels that a run had to choose from, and the accuracy that went with each dropped one."""
    found = folder.load(Kernels)
    if found is None:
        return front_end, {}
    gains = {(one.kernel, one.source): one.accuracy for one in found.gains}
    return replace(front_end, groups=found.offered), gains
