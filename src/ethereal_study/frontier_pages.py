"""The tables and figures of the frontier of each set, and our models at the forest's accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ethereal.base.package import lacks
from ethereal.base.plotting import DARK, LIGHT, new_figure, style
from ethereal_study.frontier import EARLY, FORESTS, LEAVES, MOST, TARGETS
from ethereal_study.table import Table, columns, statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_COSTS = ("flash", "instructions")
_KEPT = (*_COSTS, "cycles")  # in the table of every seed. Lines recorded before cycles were have none.
# What tells methods apart never is the colour alone.
_LOOKS: dict[str, dict[str, Any]] = {
    "ours": {"color": DARK, "marker": "s", "linestyle": "-"},
    "ours, early": {"color": DARK, "marker": "o", "linestyle": ":", "fillstyle": "none"},
    "ours, any speed": {"color": DARK, "marker": "D", "linestyle": "none", "fillstyle": "none"},
    "forest": {"color": LIGHT, "marker": "o", "linestyle": "--"},
    "tuned forest": {"color": LIGHT, "marker": "*", "linestyle": "none"},
    "boosted": {"color": "0.5", "marker": "^", "linestyle": ":"},
    "vector trees": {"color": "0.3", "marker": "v", "linestyle": "-."},
    "REDRESS scan": {"color": "black", "marker": "x", "linestyle": "none"},
}
_NAMED = ("forest",)  # whose sizes stand at the points
_CORES = dict(zip(TARGETS, ("Cortex-M7", "Cortex-M0+"), strict=True))
_FAR_BELOW = 20.0  # points below the best. Models further down would only stretch the axis.
_NOTES = (
    "Test rows choose nothing. Figures are means over seeds, and accuracy is that of all test rows. Vector "
    "trees and scans are those of the first seed alone.",
    "Flash has code and tables. Instructions are those of an average of 64 test rows, executed. Ours start "
    "from the set's own numbers, forests and boosted trees from features that were scaled to 16 bits before. "
    "Scans start from Booleanized rows.",
    "Our models were chosen for the Cortex-M7. With a bound on instructions they may take "
    f"{MOST // 1024} kB, and the most accurate one is taken. A bound that no model keeps in some seed has "
    "no line.",
    "Within flash alone, half the instructions may cost 0.15 points. Of models that are equal within the "
    'noise, the quickest is taken. "Any speed" is the most accurate one, however slow.',
    f'"Early" answers clear rows before the last clause. At most {EARLY:.1%} of the training rows get '
    "another answer by it.",
    "The Cortex-M0+ takes the first form within the flash, which may be another layout, or else the nearest "
    "form.",
    f"The forests are exported by emlearn, and boosted trees (LightGBM, {LEAVES} leaves) by m2cgen, with "
    "whole numbers for its doubles.",
    "The tuned forest has the trees (5, 10 or 25) and leaves per tree that held-out training rows chose. "
    "Half the nodes may cost as much as half the flash of our models. Its layout names both.",
    "Vector trees are boosted trees with votes for all classes in each leaf. Our own generator of code "
    "writes them, from the set's own numbers. Held-out rows chose the learning rate of both kinds.",
)
# Most that a model as accurate as the forest may take, in parts of the forest's flash and instructions.
GOALS = {
    **dict.fromkeys(("statlog", "mammography", "har", "gas"), (0.25, 0.5)),
    **dict.fromkeys(("emg", "mnist", "sensorless", "sports"), (1.0, 1.0)),
    "gesture": (1.0, 1.5),
}
_TREES = ("forest", "boosted", "vector trees")
_FOREST = "{} x {}".format(*FORESTS[-1])
_GOAL_NOTES = (
    f"The forest has {FORESTS[-1][0]} trees of depth {FORESTS[-1][1]}. Our lines that are at least as "
    "accurate and keep the goal on the Cortex-M7 come first. Of these, the one nearest to the goal on both "
    "cores is shown. Without such a line it is the nearest one, or the most accurate one.",
    "Flash and instructions are parts of the forest's. Accuracies, flash and instructions are means over "
    "seeds.",
    "A forest or boosted trees are ahead if each of our lines that is as accurate takes more flash and more "
    "instructions on the Cortex-M7, or if no line of ours is as accurate. Scans do not start from features.",
)


def table(name: str, results: Sequence[dict[str, Any]]) -> Table:
    """Make the table of a set from the results of its seeds."""
    m7, m0 = TARGETS
    made = Table(
        f"frontier-{name}",
        f"{name}: accuracy against flash and instructions (seeds: {len(results)})",
        columns(
            f"method | size | layout | accuracy:accuracy %:.1f± | {m7}_flash:M7 flash:,.0f | "
            f"{m7}_instructions:M7 instr.:,.0f | {m0}_flash:M0+ flash:,.0f | "
            f"{m0}_instructions:M0+ instr.:,.0f"
        ),
        notes=list(_NOTES),
    )
    if without := results[0]["without"]:
        made.notes.append(lacks("The line of boosted trees", ", ".join(without), "study"))
    kept = [{(p["method"], p["size"]): p for p in result["points"]} for result in results]
    for method, size in kept[0]:
        points = [points_of_seed[method, size] for points_of_seed in kept if (method, size) in points_of_seed]
        family = method.partition(",")[0]  # "ours" has lines in every seed, though none may be early
        if len(points) < sum(
            any(of.startswith(family) for of, _ in points_of_seed) for points_of_seed in kept
        ):
            continue
        layouts = dict.fromkeys(p["layout"] for p in points if "layout" in p)
        row = {"method": method, "size": size, "layout": ", ".join(layouts)}
        row |= statistics("accuracy", (100 * p["accuracy"] for p in points))
        for target in TARGETS:
            for cost in _COSTS:
                row[f"{target}_{cost}"] = float(np.mean([p[target][cost] for p in points]))
        made.rows.append(row)
    made.rows.sort(key=lambda row: list(_LOOKS).index(row["method"]))
    return made


def every_seed(sets: Mapping[str, Sequence[dict[str, Any]]]) -> Table:
    """Make the table of all lines of all seeds, from which the others are means."""
    costs = [f"{target}_{cost}" for target in TARGETS for cost in _KEPT]
    made = Table(
        "frontier-seeds",
        "Every seed",
        columns(" | ".join(["set | seed | method | size | layout | accuracy", *costs])),
    )
    for name, results in sets.items():
        for seed, result in enumerate(results):
            for point in result["points"]:
                row = {"set": name, "seed": seed, "layout": "", **point, "accuracy": 100 * point["accuracy"]}
                made.rows.append(row | {f"{t}_{cost}": point[t].get(cost) for t in TARGETS for cost in _KEPT})
    return made


def figure(name: str, made: Table) -> Figure:
    """Draw a table: a panel for each core and cost. Our lines have the points of that cost's bounds."""
    from matplotlib.ticker import LogLocator, NullFormatter

    with style():
        drawn = new_figure(8.6, 6.6)
        panels = drawn.subplots(2, 2, sharey=True)
        for panel_row, target in zip(panels, TARGETS, strict=True):
            for axes, cost in zip(panel_row, _COSTS, strict=True):
                for method in dict.fromkeys(row["method"] for row in made.rows):
                    look, rows = _LOOKS[method], _drawn(made.rows, method, cost)
                    at = sorted((r[f"{target}_{cost}"], r["accuracy"], r["size"]) for r in rows)
                    axes.plot([p[0] for p in at], [p[1] for p in at], label=method, markersize=4, **look)
                    for x, y, size in at if method in _NAMED else ():
                        axes.annotate(size, (x, y), (4, -9), textcoords="offset points", fontsize=7)
                axes.set_xscale("log")
                axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
                axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
                axes.xaxis.set_minor_formatter(NullFormatter())
                axes.tick_params(axis="x", labelsize=8)
                kind = "bytes of flash" if cost == "flash" else "instructions of an average row"
                axes.set_xlabel(f"{kind}, {_CORES[target]}")
            panel_row[0].set_ylabel("test accuracy [%]")
        best = max(row["accuracy"] for row in made.rows)
        panels[0, 0].set_ylim(bottom=max(best - _FAR_BELOW, panels[0, 0].get_ylim()[0]))
        handles, labels = panels[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=4)
        drawn.suptitle(f"{name}: accuracy against flash and instructions")
    return drawn


def _drawn(rows: Sequence[dict[str, Any]], method: str, cost: str) -> list[dict[str, Any]]:
    """Return the rows of a method in the panels of a cost. A scan would stretch that of instructions.

    A line with two bounds is on neither curve.
    """
    of_method = [row for row in rows if row["method"] == method and "," not in row["size"]]
    if method.startswith("ours"):
        return [row for row in of_method if row["size"].endswith("instructions") == (cost != "flash")]
    return [] if method == "REDRESS scan" and cost != "flash" else of_method


def goals_table(sets: Mapping[str, Table]) -> Table:
    """Make the summary of the tables of all sets."""
    m7, m0 = TARGETS
    made = Table(
        "frontier-goals",
        "At the forest's accuracy",
        columns(
            f"set | forest:forest %:.1f | ours:ours %:.1f | size | {m7}_flash:M7 flash:.3f | "
            f"{m7}_instructions:M7 instr.:.2f | {m0}_flash:M0+ flash:.3f | "
            f"{m0}_instructions:M0+ instr.:.2f | goal | reached | ahead"
        ),
        notes=list(_GOAL_NOTES),
    )
    for name, table in sets.items():
        forest = next(r for r in table.rows if (r["method"], r["size"]) == ("forest", _FOREST))
        ours = [r for r in table.rows if r["method"].startswith("ours")]
        if ours:
            made.rows.append(
                {"set": name, **_nearest_to_goal(forest, ours, GOALS[name]), "ahead": ahead(table.rows)}
            )
    return made


def _nearest_to_goal(
    forest: dict[str, Any], ours: Iterable[dict[str, Any]], goal: tuple[float, float]
) -> dict[str, Any]:
    """Return our line nearest to the goal, in parts of what the forest takes."""

    def parts(row: dict[str, Any], target: str) -> dict[str, float]:
        return {f"{target}_{cost}": row[f"{target}_{cost}"] / forest[f"{target}_{cost}"] for cost in _COSTS}

    def excess(row: dict[str, Any], *targets: str) -> float:
        shares = [part for target in targets for part in parts(row, target).values()]
        return max(part / most for part, most in zip(shares, goal * len(targets), strict=True))

    def lacks(row: dict[str, Any]) -> float:
        return max(0.0, float(forest["accuracy"] - row["accuracy"]))

    # Models are chosen for the first core, so its goal comes first. The second core may take another layout.
    first = TARGETS[0]
    best = min(ours, key=lambda row: (lacks(row), max(1.0, excess(row, first)), excess(row, *TARGETS)))
    flash, instructions = goal
    is_reached = {n: not lacks(best) and excess(best, *TARGETS[:n]) <= 1 for n in (1, 2)}
    size = f"{best['size']} ({best['method'].partition(', ')[2]})" if ", " in best["method"] else best["size"]
    return {
        "forest": forest["accuracy"],
        "ours": best["accuracy"],
        "size": size,
        **{key: part for target in TARGETS for key, part in parts(best, target).items()},
        "goal": f"{flash:g} of flash, {instructions:g} of instructions",
        "reached": "yes" if is_reached[2] else "M7 only" if is_reached[1] else "no",
    }


def ahead(rows: Iterable[dict[str, Any]]) -> str:
    """Return the trees that are ahead of all our lines, in words.

    >>> ours = {"method": "ours", "size": "1 kB", "accuracy": 80.0}
    >>> trees = {"method": "forest", "size": "5 x 5", "accuracy": 79.0}
    >>> ours |= {"cortex-m7_flash": 900, "cortex-m7_instructions": 90}
    >>> ahead([ours, trees | {"cortex-m7_flash": 800, "cortex-m7_instructions": 80}])
    'forest 5 x 5'
    >>> ahead([ours, trees | {"cortex-m7_flash": 800, "cortex-m7_instructions": 100}])
    'none'
    """
    rows = list(rows)
    costs = [f"{TARGETS[0]}_{cost}" for cost in _COSTS]
    ours = [row for row in rows if row["method"].startswith("ours")]
    trees_ahead = []
    for row in rows:
        if row["method"] not in _TREES:
            continue
        equal = [line for line in ours if line["accuracy"] >= row["accuracy"]]
        if all(all(row[cost] < line[cost] for cost in costs) for line in equal):
            trees_ahead.append(f"{row['method']} {row['size']}")
    return ", ".join(trees_ahead) or "none"
