"""The first stage of a run on windows: which kernels pay, and what the whole may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from ethereal.base.checks import DoesNotFit
from ethereal.datasets.rows import Rows
from ethereal.export.c99.parts.windows import ram_of, stream_numbers
from ethereal.features.front_end import FrontEnd
from ethereal.features.window_features import WindowFeatures
from ethereal.runs.folder import RunFolder
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
             "--instructions sets another.")  # fmt: skip
    found = folder.stage("kernels", lambda: _choose(rows, bounds, seed))
    kept = replace(offered, groups=tuple((k, s) for k, s in found["groups"]))
    tell(f"kernels: {in_words(kept, offered)}")
    _check(kept, found["instructions"], bounds)
    own = WindowFeatures.from_front_end(kept)
    return replace(rows, front_end=own, feature_names=kept.names), bounds


def _check(kept: FrontEnd, instructions: float, budget: Budget) -> None:
    """Refuse features that alone take more than the whole may take, before a machine learns from them."""
    ram, samples = ram_of(kept), 2 * stream_numbers(kept)
    if ram > budget.ram:
        raise DoesNotFit(
            f"The features alone take {ram:,} bytes of RAM, {samples:,} of them for samples, but "
            f"{budget.ram:,.0f} are allowed. Give a shorter --window, or more --ram."
        )
    if instructions > budget.instructions:
        raise DoesNotFit(
            f"The features alone take {instructions:,.0f} instructions, but {budget.instructions:,.0f} are "
            "allowed. Give a shorter --window, or more --instructions."
        )


def _choose(rows: Rows, budget: Budget, seed: int) -> dict[str, Any]:
    from ethereal.tuning.kernels import drop_groups, pick

    assert rows.front_end is not None
    path = drop_groups(
        rows.front_end.front_end_, rows.X_train, rows.y_train, rows.groups_train,
        target=budget.target, by_flash=budget.on_size, seed=seed,
    )  # fmt: skip
    kept = pick(path, budget)
    return {
        "groups": [list(group) for group in kept.front_end.groups],
        "instructions": kept.instructions,
        "offered": [list(group) for group in path[0].front_end.groups],
        "path": [
            {"groups": len(one.front_end.groups), "accuracy": one.accuracy, "instructions": one.instructions}
            for one in path
        ],
        # What the stand-in lost when each group went.
        "gains": [
            [*(set(before.front_end.groups) - set(after.front_end.groups)).pop(),
             before.accuracy - after.accuracy]
            for before, after in pairwise(path)
        ],
    }  # fmt: skip


def offered_and_gains(folder: RunFolder, own: FrontEnd) -> tuple[FrontEnd, dict[tuple[str, str], float]]:
    """Return all kernels that a run had to choose from, and the accuracy that went with each dropped one."""
    found = folder.result("kernels") or {}
    groups = tuple((k, s) for k, s in found.get("offered", own.groups))
    return replace(own, groups=groups), {(k, s): gain for k, s, gain in found.get("gains", ())}
