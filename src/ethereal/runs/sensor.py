"""What a run does for sensors and people: kernels that pay, what they cost, accuracy per group, samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.adapt.trial import HEADS, try_teaching
from ethereal.base.checks import DoesNotFit
from ethereal.datasets.rows import Rows
from ethereal.export.c99.parts.windows import flash_bytes, ram_of, stream_numbers
from ethereal.features.front_end import FrontEnd
from ethereal.features.window_features import WindowFeatures
from ethereal.model import Model
from ethereal.runs.folder import RunFolder
from ethereal.runs.results import GroupScore, KernelCost, KernelCosts, KernelGain, Kernels, KernelStep
from ethereal.tuning.budget import Budget

MOST_POINTS, MOST_NUMBERS = 256, 150_000  # of an axis in the page, and of all windows
MOST_GROUPS = 100
MOST_TAUGHT = 8  # groups that the trial of teaching has


def choose_kernels(
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
    choice = folder.load(Kernels)
    assert choice is not None
    kept = replace(offered, groups=choice.groups)
    tell(f"kernels: {in_words(kept, offered)}")
    _check(kept, choice.instructions, bounds)
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
    choice = folder.load(Kernels)
    if choice is None:
        return front_end, {}
    gains = {(one.kernel, one.source): one.accuracy for one in choice.gains}
    return replace(front_end, groups=choice.offered), gains


def per_group(model: Model, rows: Rows) -> tuple[GroupScore, ...]:
    """Return the accuracy of each test group, the weakest first, and none without groups."""
    groups = rows.groups_test
    if groups is None:
        return ()
    right = model.with_unknown(None).predict(rows.X_test) == rows.y_test
    scored = []
    for name in np.unique(groups):
        of_group = groups == name
        scored.append(GroupScore(str(name), int(of_group.sum()), float(right[of_group].mean())))
    return tuple(sorted(scored, key=lambda one: one.accuracy)[:MOST_GROUPS])


def teaching(model: Model, rows: Rows) -> dict[str, Any] | None:
    """Return what test groups would gain who teach their board, None without groups that could."""
    if rows.groups is None or rows.test is None or rows.groups_are == "recordings":
        return None
    groups = rows.groups[rows.test]
    some = np.isin(groups, np.unique(groups)[:MOST_TAUGHT])
    try:
        trial = try_teaching(model, rows.X_test[some], rows.y_test[some], groups[some])
    except ValueError:  # too few rows of each, or a model that cannot learn on a board
        return None
    if len(trial.people) < 2:
        return None
    before = f"{len(trial.people)} of the test {rows.groups_are}, {100 * trial.before.mean():.1f} % before"
    note = f"{before}, gains in points. {trial.verdict} {trial.limits}"
    return {"note": note, "columns": list(HEADS), "rows": trial.lines}


def kernel_costs(
    model: Model,
    offered: FrontEnd,
    target: str,
    total: float | None,
    gains: Mapping[tuple[str, str], float] | None = None,
) -> KernelCosts:
    """Return what each group of features costs on a core, and what those would add that were dropped.

    `gains` are the accuracies that went with dropped groups, where these are known.
    """
    from ethereal.device.kernel_prices import front_end_cost, group_costs, kernel_prices

    front_end = model.front_end
    assert front_end is not None
    whole, prices = front_end_cost(front_end, target), kernel_prices(offered, target)
    uses = np.bincount(
        front_end.group_of[model.feature_map.feature[model.clauses.boolean]], minlength=len(front_end.groups)
    )
    kept = [
        KernelCost(*group, cost.instructions, cost.flash, uses=int(n))
        for (group, cost), n in zip(group_costs(front_end, target).items(), uses.tolist(), strict=True)
    ]
    now, code = prices.instructions(front_end), flash_bytes(front_end)
    dropped = []
    for group in offered.groups:
        if group not in front_end.groups:
            larger = replace(front_end, groups=(*front_end.groups, group))
            more, code_more = prices.instructions(larger) - now, flash_bytes(larger) - code
            dropped.append(KernelCost(*group, more, code_more, accuracy=(gains or {}).get(group)))
    return KernelCosts(
        instructions=whole.instructions,
        flash=whole.flash,
        share=None if not total else whole.instructions / total,
        kept=tuple(sorted(kept, key=lambda one: -one.instructions)),
        dropped=tuple(sorted(dropped, key=lambda one: -one.instructions)),
    )


def cost_table(costs: KernelCosts | None) -> dict[str, Any] | None:
    """Return note, columns and rows of the page's table of kernels."""
    if costs is None:
        return None
    share = "" if costs.share is None else f", {100 * costs.share:.0f} % of all"
    rows = [[str(one), f"{one.instructions:,.0f}", f"{one.flash:,}", str(one.uses), ""] for one in costs.kept]
    for one in costs.dropped:
        lost = "" if one.accuracy is None else f"{100 * one.accuracy:+.1f} points"
        rows.append([f"{one}, dropped", f"+{one.instructions:,.0f}", f"about +{one.flash:,}", "0", lost])
    return {
        "note": f"The features of a window take {costs.instructions:,.0f} instructions{share}, and "
        f"{costs.flash:,} bytes of flash. A line is what its kernel adds to the others. What several "
        "share, such as a mean, is in no line. A dropped kernel would add what its line says. Its accuracy "
        "is what a simple model lost when the kernel went, on people or recordings that it had not seen.",
        "columns": ["kernel", "instructions", "bytes of flash", "conditions in rules", "accuracy"],
        "rows": rows,
    }


def shown_windows(front_end: FrontEnd, windows: NDArray[Any]) -> dict[str, Any]:
    """Return raw windows for the page, windows x axes x points. Long ones are thinned out."""
    every = -(-front_end.window // MOST_POINTS)
    most = MOST_NUMBERS * every // (front_end.window * len(front_end.axes))
    counts = front_end.counts(windows[: max(1, most)])
    return {
        "axes": list(front_end.axes),
        "rate": front_end.rate,
        "window": front_end.window,
        "every": every,
        "samples": counts[:, ::every].transpose(0, 2, 1).tolist(),
        # What a feature reads, and how it is marked: its kernel and its name.
        "features": [
            [*reversed(front_end.groups[g]), name.removeprefix(front_end.groups[g][1] + ".")]
            for g, name in zip(front_end.group_of.tolist(), front_end.names, strict=True)
        ],
    }
