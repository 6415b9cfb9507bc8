"""The table and the figure of a set's frontier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ethereal.base.extras import lacks
from ethereal.base.plotting import DARK, LIGHT, new_figure, style
from ethereal.study.frontier import KILOBYTES, LEAVES, TARGETS
from ethereal.study.table import Table, columns, statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COSTS = ("flash", "instructions")
# What tells methods apart never is the colour alone.
_LOOKS: dict[str, dict[str, Any]] = {
    "ours": {"color": DARK, "marker": "s", "linestyle": "-"},
    "ours, any speed": {"color": DARK, "marker": "D", "linestyle": "none", "fillstyle": "none"},
    "forest": {"color": LIGHT, "marker": "o", "linestyle": "--"},
    "boosted": {"color": "0.5", "marker": "^", "linestyle": ":"},
    "REDRESS scan": {"color": "black", "marker": "x", "linestyle": "none"},
}
_NOTES = (
    "Test rows choose nothing. Figures are means over seeds, and accuracy is that of all test rows.",
    "Flash has code and tables. Instructions are those of an average of 64 test rows, executed. Ours start "
    "from the set's own numbers, forests and boosted trees from features that were scaled to 16 bits before. "
    "Scans start from Booleanized rows.",
    "Our models were chosen for the Cortex-M7. With a bound on instructions they may take "
    f"{max(KILOBYTES)} kB, and the most accurate one is taken. A bound that no model keeps in some seed has "
    "no line.",
    "Within flash alone, half the instructions may cost 0.15 points. Of models that are equal within the "
    'noise, the quickest is taken. "Any speed" is the most accurate one, however slow.',
    "The Cortex-M0+ takes the first form within the flash, which may be another layout, or else the nearest "
    "form.",
    f"The forests are exported by emlearn, and boosted trees (LightGBM, {LEAVES} leaves) by m2cgen, with "
    "whole numbers for its doubles.",
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
        if not all((method, size) in own for own in kept):
            continue
        points = [own[method, size] for own in kept]
        layouts = dict.fromkeys(p["layout"] for p in points if "layout" in p)
        row = {"method": method, "size": size, "layout": ", ".join(layouts)}
        row |= statistics("accuracy", (100 * p["accuracy"] for p in points))
        for target in TARGETS:
            for cost in _COSTS:
                row[f"{target}_{cost}"] = float(np.mean([p[target][cost] for p in points]))
        made.rows.append(row)
    made.rows.sort(key=lambda row: list(_LOOKS).index(row["method"]))
    return made


def figure(name: str, made: Table) -> Figure:
    """Draw a table: a panel for each core and cost. Our lines have the points of that cost's bounds."""
    with style():
        drawn = new_figure(8.6, 6.2)
        panels = drawn.subplots(2, 2, sharey=True)
        for panel_row, target in zip(panels, TARGETS, strict=True):
            for axes, cost in zip(panel_row, _COSTS, strict=True):
                for method, look in _LOOKS.items():
                    rows = [r for r in made.rows if r["method"] == method]
                    if method.startswith("ours"):
                        rows = [r for r in rows if r["size"].endswith("instructions") == (cost != "flash")]
                    at = sorted((r[f"{target}_{cost}"], r["accuracy"]) for r in rows)
                    axes.plot([x for x, _ in at], [y for _, y in at], label=method, markersize=4, **look)
                axes.set_xscale("log")
                axes.set_xlabel(f"{'bytes of flash' if cost == 'flash' else 'instructions'}, {target}")
            panel_row[0].set_ylabel("test accuracy [%]")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=4)
        drawn.suptitle(f"{name}: accuracy against what it takes")
    return drawn
