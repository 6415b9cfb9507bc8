"""What a search found, as a table while it runs, and as a figure at the end."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ethereal.base.checks import bytes_text
from ethereal.base.messages import table_of
from ethereal.base.plotting import DARK, LIGHT, new_figure, style
from ethereal.tuning.budget import Budget
from ethereal.tuning.search import front_of
from ethereal.tuning.storage import Trial

if TYPE_CHECKING:
    from rich.table import Table

CHECKED_NOTHING = "too few rows to set some aside, so the model of all rows was not compared with its trial"
_MOST_LINES = 12
COLUMNS = ("trial", "accuracy %", "flash", "RAM", "instructions", "layout", "clauses", "setup")


def live_table(trials: Sequence[Trial], budget: Budget) -> Table:
    """Return the front so far, for a terminal of 80 columns. The page has the setups too."""
    front, n_fit = front_of(trials, budget), sum(t.fits for t in trials)
    more = "" if len(front) <= _MOST_LINES else f", the first {_MOST_LINES} of {len(front)}"
    title = f"{len(trials)} trials, {n_fit} within {budget.describe()}{more}"
    return table_of(title, COLUMNS[:-1], [cells(t)[:-1] for t in front[:_MOST_LINES]], left=(5,))


def cells(trial: Trial) -> list[str]:
    """Return a trial as texts, in the order of the table's columns."""
    took, sizes = trial.footprint, ["", "", "", ""]
    if took is not None:
        sizes = [bytes_text(took.bytes), bytes_text(took.ram), f"{took.instructions:,.0f}", took.layout or ""]
    accuracy = f"{100 * trial.accuracy:.2f}"
    return [str(trial.number), accuracy, *sizes, str(trial.clauses), trial.setup.describe()]


def figure_svg(trials: Sequence[Trial], chosen: Trial, budget: Budget) -> str:
    """Return a figure of accuracy against flash and instructions. A line joins the front."""
    done = [t for t in trials if t.footprint is not None]
    axes_of: tuple[tuple[str, str, float], ...] = (
        ("bytes", "flash [bytes, code included]", budget.flash),
        ("instructions", "instructions per row", budget.instructions),
    )
    with style(**{"svg.fonttype": "none"}):
        figure = new_figure(8.5, 3.4)
        for axes, (name, label, bound) in zip(figure.subplots(1, 2, sharey=True), axes_of, strict=True):
            _panel(axes, done, chosen, name, bound)
            axes.set_xlabel(label)
        figure.axes[0].set_ylabel("validation accuracy [%]")
        figure.axes[0].legend(frameon=False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def _panel(axes: Any, done: list[Trial], chosen: Trial, name: str, bound: float) -> None:
    def place(some: Sequence[Trial]) -> tuple[list[float], list[float]]:
        return [float(getattr(t.footprint, name)) for t in some], [100 * t.accuracy for t in some]

    outside, inside = [t for t in done if not t.fits], [t for t in done if t.fits]
    axes.plot(*place(outside), "x", color="0.6", markersize=5, label="beyond the budget")
    axes.plot(*place(inside), "o", color=LIGHT, markerfacecolor="none", markersize=5, label="within it")
    line: list[Trial] = []  # of this axis, the smallest first, each more accurate than all before
    for trial in sorted(inside, key=lambda t: (getattr(t.footprint, name), -t.accuracy)):
        if not line or trial.accuracy > line[-1].accuracy:
            line.append(trial)
    axes.plot(*place(line), "-", color=DARK, linewidth=1, label="front")
    axes.plot(*place([chosen]), "s", color=DARK, markersize=7, label="chosen")
    axes.set_xscale("log")
    shown = [float(getattr(t.footprint, name)) for t in done]
    if bound < math.inf and bound < 20 * max(shown):
        axes.axvline(bound, color="black", linestyle="--", linewidth=0.8)
