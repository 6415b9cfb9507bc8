"""What a search found, as a table while it runs, and as a figure and a page at the end."""

from __future__ import annotations

import html
import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ethereal.base.plotting import DARK, LIGHT, new_figure, style
from ethereal.tuning.search import Trial, Tuning, front_of

if TYPE_CHECKING:
    from rich.table import Table

    from ethereal.tuning.budget import Budget

CHECKED_NOTHING = "too few rows to set some aside, so the model of all rows was not compared with its trial"
_MOST_LINES = 12
_HEAD = ("trial", "accuracy %", "flash", "RAM", "instructions", "layout", "clauses", "setup")


def live_table(trials: Sequence[Trial], budget: Budget) -> Table:
    """Return the front so far, for a terminal."""
    from rich.table import Table

    front, n_fit = front_of(trials), sum(t.fits for t in trials)
    table = Table(
        title=f"{len(trials)} trials, {n_fit} within {budget.describe()}",
        title_justify="left",
        caption=None if len(front) <= _MOST_LINES else f"and {len(front) - _MOST_LINES} more",
    )
    for name in _HEAD:
        table.add_column(name, justify="left" if name in ("layout", "setup") else "right")
    for trial in front[:_MOST_LINES]:
        table.add_row(*cells(trial))
    return table


def cells(trial: Trial) -> list[str]:
    """Return a trial as texts, in the order of the table's columns."""
    took = trial.footprint
    sizes = (
        ["", "", "", ""]
        if took is None
        else [str(took.bytes), str(took.ram), f"{took.instructions:g}", took.layout or ""]
    )
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


def page(found: Tuning, title: str) -> str:
    """Return a page with the choice, the figure, the front and all trials."""
    chosen = found.front[0]
    facts = {
        "budget": found.budget.describe(),
        "takes": f"{found.footprint.bytes} bytes of flash, {found.footprint.ram} bytes of RAM, "
        f"{found.footprint.instructions:g} instructions per row (layout {found.footprint.layout})",
        "validation accuracy": f"{100 * found.accuracy:.2f} % (the choice was made by it)",
        "test accuracy": "no test rows"
        if found.test_accuracy is None
        else f"{100 * found.test_accuracy:.2f} % (these rows chose nothing)",
        "check": CHECKED_NOTHING if found.check is None else found.check.describe(found.is_trials),
        "setup": found.setup.describe(),
        "trials": f"{len(found.trials)}, {sum(t.fits for t in found.trials)} within the budget, "
        f"{sum(t.footprint is None for t in found.trials)} stopped early, in {found.seconds:.0f} s",
    }
    rows = "".join(f"<tr><th>{k}</th><td>{html.escape(v)}</td></tr>" for k, v in facts.items())
    svg = figure_svg(found.trials, chosen, found.budget)
    svg = svg[svg.index("<svg") :]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title><style>{_CSS}</style><h1>{html.escape(title)}</h1>"
        f"<table class=facts>{rows}</table>{svg}"
        f"<h2>Front</h2>{_html_table(found.front)}"
        f"<details><summary>All trials</summary>{_html_table(found.trials)}</details></html>\n"
    )


def _html_table(trials: Sequence[Trial]) -> str:
    head = "".join(f"<th>{name}</th>" for name in _HEAD)
    lines = (
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells(trial)) + "</tr>"
        for trial in trials
    )
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"


_CSS = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;font-size:13px}td,th{padding:.2rem .6rem;border-bottom:1px solid #ddd;"
    "text-align:right;font-weight:normal}th{color:#666}td:last-child,th:last-child,.facts th,.facts td"
    "{text-align:left}svg{max-width:100%;height:auto}"
)
