"""Our models at the accuracy of the forest: what they take beside it, and which rivals are ahead of us."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ethereal_study.frontier import TARGETS
from ethereal_study.frontier_cells import FORESTS
from ethereal_study.table import Table, columns

# Most that a model as accurate as the forest may take, in parts of the forest's flash and instructions.
GOALS = {
    **dict.fromkeys(("statlog", "mammography", "har", "gas"), (0.25, 0.5)),
    **dict.fromkeys(("emg", "mnist", "sensorless", "sports"), (1.0, 1.0)),
    "gesture": (1.0, 1.5),
}
_COSTS = ("flash", "instructions")
_TREES = ("forest", "boosted", "vector trees")
_FOREST = "{} x {}".format(*FORESTS[-1])
_NOTES = (
    f"The forest has {FORESTS[-1][0]} trees of depth {FORESTS[-1][1]}. Our lines that are at least as "
    "accurate and keep the goal on the Cortex-M7 come first. Of these, the one nearest to the goal on both "
    "cores is shown. Without such a line it is the nearest one, or the most accurate one.",
    "Flash and instructions are parts of the forest's. Accuracies, flash and instructions are means over "
    "seeds.",
    "A forest or boosted trees are ahead if each of our lines that is as accurate takes more flash and more "
    "instructions on the Cortex-M7, or if no line of ours is as accurate. Scans do not start from features.",
)


def table(sets: Mapping[str, Table]) -> Table:
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
        notes=list(_NOTES),
    )
    for name, own in sets.items():
        forest = next(r for r in own.rows if (r["method"], r["size"]) == ("forest", _FOREST))
        ours = [r for r in own.rows if r["method"].startswith("ours")]
        if ours:
            made.rows.append({"set": name, **_beside(forest, ours, GOALS[name]), "ahead": ahead(own.rows)})
    return made


def _beside(
    forest: dict[str, Any], ours: Iterable[dict[str, Any]], goal: tuple[float, float]
) -> dict[str, Any]:
    """Return our line nearest to the goal, in parts of what the forest takes."""

    def parts(row: dict[str, Any], target: str) -> dict[str, float]:
        return {f"{target}_{cost}": row[f"{target}_{cost}"] / forest[f"{target}_{cost}"] for cost in _COSTS}

    def excess(row: dict[str, Any], *targets: str) -> float:
        own = [part for target in targets for part in parts(row, target).values()]
        return max(part / most for part, most in zip(own, goal * len(targets), strict=True))

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
    found = []
    for row in rows:
        if row["method"] not in _TREES:
            continue
        equal = [own for own in ours if own["accuracy"] >= row["accuracy"]]
        if all(all(row[cost] < own[cost] for cost in costs) for own in equal):
            found.append(f"{row['method']} {row['size']}")
    return ", ".join(found) or "none"
