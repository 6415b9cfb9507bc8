"""What a run with normal rows found, and its summary."""

from __future__ import annotations

import time
import webbrowser
from dataclasses import dataclass
from pathlib import Path

from ethereal.base.checks import bytes_text
from ethereal.model import Model
from ethereal.runs.folder import RunFolder
from ethereal.runs.options import NormalSettings
from ethereal.runs.table import Table

Curve = tuple[tuple[float, float], ...]  # false alarms, detections


@dataclass(frozen=True)
class Scored:
    """How a detector does on held-out rows, and what it takes of a board."""

    name: str
    separation: float | None  # area under the curve, None without abnormal rows
    detected: float | None  # share of abnormal rows where as many normal ones are alarms as wanted
    curve: Curve
    flash: int | None = None  # of the whole program, None if it was not compiled
    instructions: float | None = None  # of a row or a window


@dataclass(frozen=True)
class Watched:
    """What a run with normal rows found."""

    STAGE = "normal"
    n_rows: int
    n_held_out: int
    how: str  # rows were held out
    rows_are: str
    n_features: int  # of the detector
    n_centres: int
    limit: int
    wanted: float  # false alarms
    false_alarms: float  # of held-out rows
    per_hour: float | None  # windows, where the rate is known
    detected: float | None  # share of abnormal rows above the limit
    n_abnormal: int
    scored: tuple[Scored, ...]  # this detector first, then others
    target: str
    by_group: tuple[tuple[str, float], ...]  # false alarms of each group by a detector of the others
    doubts: tuple[str, ...]  # why the wanted share may not hold
    scores: tuple[float, ...]  # of held-out rows in their order, as parts of the limit, some of them
    abnormal_scores: tuple[float, ...]
    edges: tuple[float, ...]  # of bars, in parts of the limit
    bars: tuple[tuple[float, float], ...]  # shares of normal and abnormal rows
    reasons: tuple[tuple[str, float], ...]  # features and their share of the scores of all alarms
    alarms: tuple[str, ...]  # explained

    @property
    def separation(self) -> float | None:
        """How well abnormal rows are told from normal ones: 1 is perfect, 0.5 is chance."""
        return self.scored[0].separation

    @property
    def flash(self) -> int | None:
        """Bytes of the whole program."""
        return self.scored[0].flash

    @property
    def instructions(self) -> float | None:
        """Of a row or a window."""
        return self.scored[0].instructions

    @property
    def alarms_per_hour(self) -> float | None:
        """Of held-out rows, where the rate is known."""
        return None if self.per_hour is None else self.false_alarms * self.per_hour

    @property
    def hours(self) -> str:
        """Alarms per hour in words, empty where the rate is not known."""
        if self.per_hour is None:
            return ""
        return f"{self.false_alarms * self.per_hour:.3g}, and {self.wanted * self.per_hour:.3g} as wanted"

    @property
    def spread(self) -> str:
        """How false alarms differ between groups, in words."""
        if not self.by_group:
            return ""
        (worst, most), (_, least) = self.by_group[0], self.by_group[-1]
        return f"{percent(least)} to {percent(most)} of a group left out in turn, most for {worst}"


@dataclass(frozen=True, repr=False)
class NormalRun:
    """A finished run with normal rows."""

    folder: Path
    model: Model
    watched: Watched

    @property
    def command(self) -> str:
        """The command that asks for it."""
        known = RunFolder(self.folder).parameters() or {}
        asked = {name: value for name, value in known.items() if name not in ("data", "normal")}
        return NormalSettings.of(known["data"], asked).command

    @classmethod
    def load(cls, folder: str | Path) -> NormalRun:
        """Return the run that a folder holds."""
        watched = RunFolder(Path(folder)).load(Watched)
        if watched is None:
            raise ValueError(f"{folder} is not a finished run with normal rows. Run it again to continue")
        return cls(Path(folder), Model.load(Path(folder) / "model.etm"), watched)

    @property
    def report(self) -> Path:
        """The page."""
        return self.folder / "report.html"

    @property
    def table(self) -> Table:
        """What the detector does and takes."""
        w, ours = self.watched, self.watched.scored[0]
        rows = {
            "false alarms": percent(w.false_alarms),
            "by group": w.spread,
            "alarms per hour": w.hours,
            "detected": "" if w.detected is None else percent(w.detected),
            "separation": "" if ours.separation is None else f"{ours.separation:.3f}",
            "flash": "" if ours.flash is None else bytes_text(ours.flash),
            "instructions": "" if ours.instructions is None else f"{ours.instructions:,.0f}",
        }
        notes = [
            f"False alarms are those of {w.n_held_out:,} held-out normal {w.rows_are} ({w.how}), "
            f"{percent(w.wanted)} wanted.",
            f"The detector has {w.n_centres} centres of {w.n_features} features.",
        ]
        if w.n_abnormal:
            notes.append(f"Detected are those of {w.n_abnormal:,} abnormal {w.rows_are}.")
        notes += [f"An alarm: {one}." for one in w.alarms[:2]]
        shown = tuple((name, text) for name, text in rows.items() if text)
        return Table(("ethereal",), shown, (*notes, *w.doubts))

    def write_report(self) -> Path:
        """Write the page and return its place."""
        from ethereal.runs.report.normal_page import page

        text = page(self.folder.name, self.watched, time.strftime("%Y-%m-%d %H:%M"))
        return RunFolder(self.folder).write("report.html", text)

    def show(self) -> None:
        """Open the page in the browser."""
        webbrowser.open(self.report.resolve().as_uri())

    def told(self) -> str:
        """Return the summary for a terminal."""
        w = self.watched
        ours, *others = w.scored
        facts = {
            "false alarms": f"{percent(w.false_alarms)} of {w.n_held_out:,} held-out normal {w.rows_are}, "
            f"{percent(w.wanted)} wanted ({w.how})",
            "by group": w.spread,
            "alarms per hour": w.hours,
            "detected": "" if w.detected is None else f"{percent(w.detected)} of {w.n_abnormal:,} abnormal "
            f"{w.rows_are}",
            "separation": "" if ours.separation is None else f"{ours.separation:.3f} (1 is perfect, 0.5 is "
            "chance)",
            "detector": f"{w.n_centres} centres of {w.n_features} features, limit {w.limit:,}",
            "flash": "" if ours.flash is None else f"{bytes_text(ours.flash)}, all code included",
            "instructions": "" if ours.instructions is None else f"{ours.instructions:,.0f} on a {w.target}",
        }  # fmt: skip
        lines = [f"  {name:<17}{text}" for name, text in facts.items() if text]
        lines += [f"  {each.name:<17}{_figures(each)}" for each in others if _figures(each)]
        lines += [f"  {'alarm':<17}{each}" for each in w.alarms[:2]]
        lines += [f"  note: {each}" for each in w.doubts]
        uses = {"report.html": "open it: scores, alarms, and what made them",
                "c/": "if (!model_is_normal(features)) ...",
                "model.etm": "Model.load(...).explain_normal(row)"}  # fmt: skip
        return "\n".join([*lines, "", *(f"{self.folder}/{name}  {use}" for name, use in uses.items())])

    def __repr__(self) -> str:
        """Return what is told of the run."""
        return f"NormalRun({str(self.folder)!r})\n{self.told()}"


def _figures(one: Scored) -> str:
    texts = [] if one.separation is None else [f"separation {one.separation:.3f}"]
    texts += [] if one.flash is None else [bytes_text(one.flash)]
    texts += [] if one.instructions is None else [f"{one.instructions:,.0f} instructions"]
    return ", ".join(texts)


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:.1f} %"
