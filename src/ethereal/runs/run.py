"""`ethereal.run`: from labelled rows to a model for a board and a report, and the folder that holds both."""

from __future__ import annotations

import hashlib
import io
import shlex
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.atomic import write_bytes, write_text
from ethereal.base.messages import say
from ethereal.base.npz import read_arrays, write_arrays
from ethereal.datasets.files import labels_from
from ethereal.datasets.reading import read
from ethereal.datasets.rows import Rows, split
from ethereal.model import Model
from ethereal.runs import sample
from ethereal.runs.folder import RunFolder
from ethereal.runs.options import Settings
from ethereal.runs.paper import papers
from ethereal.runs.results import Board, Facts, Forest, Kernels, Learned, LeftOut, Pruned

if TYPE_CHECKING:
    from ethereal.runs.table import Table
    from ethereal.train.classifier import EtherealClassifier

_NO_PAPER = (
    "paper=True needs the package ethereal_study, which is missing. Install ethereal-tm again to have it."
)


@dataclass(frozen=True, repr=False)
class Run:
    """A finished run: the model for the board, and what its stages found."""

    folder: Path
    model: Model
    learned: Learned
    pruned: Pruned
    forest: Forest | LeftOut
    board: Board
    facts: Facts
    kernels: Kernels | None = None  # of windows
    is_balanced: bool = False  # whether rare classes were visited as often as frequent ones

    @classmethod
    def load(cls, folder: str | Path) -> Run:
        """Return the run that a folder holds, such as runs/digits."""
        stages = RunFolder(Path(folder))
        parameters = stages.parameters()
        if parameters is None:
            raise ValueError(
                f"{folder} is not a run. It has no parameters.json. Name one such as runs/digits"
            )
        results: dict[str, Any] = {kind.STAGE: stages.load(kind) for kind in (Learned, Pruned, Board, Facts)}
        missing = [stage for stage, result in results.items() if result is None]
        if missing:
            raise ValueError(
                f"{folder} is not a finished run: {', '.join(missing)} missing. Run it again to continue"
            )
        return cls(
            folder=stages.path,
            model=Model.load(stages.path / "model.etm"),
            learned=results["learn"],
            pruned=results["prune"],
            forest=stages.load(Forest, LeftOut) or LeftOut("forest=False was given"),
            board=results["board"],
            facts=results["facts"],
            kernels=stages.load(Kernels),
            is_balanced=bool(parameters.get("balanced")),
        )

    @property
    def report(self) -> Path:
        """The page."""
        return self.folder / "report.html"

    @property
    def table(self) -> Table:
        """What the model does and takes, beside the forest."""
        from ethereal.runs.table import table_of

        return table_of(self)

    def rows(self) -> Rows:
        """Return training and test rows, the same every time."""
        return read_rows(Settings.from_parameters(RunFolder(self.folder).parameters() or {}))

    def write_report(self, rows: Rows | None = None) -> Path:
        """Write the page again, with its figures where matplotlib is installed."""
        from importlib.util import find_spec

        from ethereal.runs.report import render
        from ethereal.runs.report.from_run import report_of

        stages = RunFolder(self.folder)
        fields, texts = dict[str, Any](), dict[str, str]()
        for one in papers():
            of_page, beside = one.of_report(stages)
            fields |= of_page
            texts |= beside
        page = report_of(self, self.rows() if rows is None else rows, fields)
        if find_spec("matplotlib") is not None:
            from ethereal.base import plotting
            from ethereal.runs.report import figures

            (self.folder / "figures").mkdir(exist_ok=True)
            for name, figure in figures.of_report(page):
                plotting.save(figure, self.folder / "figures", name)
        for name, text in texts.items():
            stages.write(name, text)
        return stages.write("report.html", render(page))

    def export(self, to: str, folder: str | Path) -> Path:
        """Write the model for a tool or a board, such as "zephyr", or as a page with "web"."""
        from ethereal import export

        if to == "web":
            (path := Path(folder)).mkdir(parents=True)
            write_text(path / "model.html", self.live_page())
            return path
        rows = self._tried()["X"] if self.model.front_end is None else None
        return export.project(self.model, folder, to, rows=rows)

    def live_page(self) -> str:
        """Return a page in which the exported C, compiled to WebAssembly, answers test rows."""
        from ethereal.export.page.web import page_of_rows

        rows = self._tried()
        return page_of_rows(self.model, self.folder.name, rows["X"], rows["y"])

    def _tried(self) -> dict[str, NDArray[Any]]:
        """Return some test rows and their labels."""
        from ethereal.runs.pipeline import TRIED

        if not (self.folder / TRIED).exists():
            raise ValueError(
                f"{self.folder} kept no rows to try. It is for an FPGA, or of an earlier version"
            )
        return read_arrays(self.folder / TRIED)

    def show(self) -> None:
        """Open the page in the browser."""
        webbrowser.open(self.report.resolve().as_uri())

    def next_steps(self) -> dict[str, str]:
        """Return what to do with the files of the folder, and what a smaller or larger model would be."""
        from ethereal.runs.table import beside

        uses = {"report.html": "open it: the model runs in the page"}
        if self.board.exported is not None:
            uses["c/"] = "unsigned label = model_predict(features);"
            if self.model.is_number:
                uses["c/"] = "float number = model_value(features);"
            if self.model.front_end is not None:
                uses["c/"] = "int label = model_push(sample);  /* or -1 */"
        if self.board.gates is not None:
            uses["verilog/"] = "make sim, make lint, make ice40"
        uses["model.etm"] = f"ethereal predict {shlex.quote(str(self.folder / 'model.etm'))} new.csv"
        return {f"{self.folder}/{name}": use for name, use in uses.items()} | beside(self)

    def told(self, width: int | None = None, spelled: Callable[[str], str] = str) -> str:
        """Return the table, and where everything is, for a terminal of so many columns."""
        from ethereal.runs.table import large_note

        parts = [*self.table.lines(), ""]
        steps = {spelled(name): text for name, text in self.next_steps().items()}
        column = 2 + max(map(len, steps))
        for name, text in steps.items():
            line = f"{name:<{column}}{text}"
            # A command that is broken in two could not be pasted.
            parts.append(f"{name}\n  {text}" if width is not None and len(line) > width else line)
        note = large_note(self)
        return "\n".join([*parts, *(["", note] if note else [])])

    def __repr__(self) -> str:
        """Return what is told of the run."""
        return f"Run({str(self.folder)!r})\n{self.told()}"


def run(
    source: Any,
    *,
    label: str | None = None,
    group: str | None = None,
    flash: int | str | None = None,
    instructions: int | str | None = None,
    target: str = "cortex-m7",
    quick: bool = False,
    out: str | Path = "runs",
    random_state: int = 0,
    verbose: int = 0,
    **options: Any,
) -> Run:
    """Make a model for a board, compare it with a forest, and write a report, as the command `ethereal run`.

    A machine and boosted trees are pruned to the knee of accuracy against size, or to the bounds that are
    given, and the better one is taken. Everything goes to a folder in `out`. The same call continues an
    interrupted run, and reads a finished one.

    Parameters
    ----------
    source
        A data set's name, a path to a table, an npz file or recordings, a data frame of pandas or polars, or
        a tuple (X, y) or (X, y, groups) of arrays. Frames and arrays are kept in `out` for the report.
    label
        Column with the labels, for tables and frames.
    group
        Column with what rows have in common, such as the person. Test rows are then of other groups.
    flash
        Bytes of flash that the model may take with all its code, such as 4096 or "4k".
    instructions
        Instructions that it may take for a row, such as "20k".
    target
        Core of the board.
    quick
        Whether to take a first look, with few clauses and epochs.
    out
        Folder of all runs.
    random_state
        Seed of the split and of the training.
    verbose
        0 is silent but for remarks on the rows, 1 tells what is done.
    options
        All other options of the command by the names of their fields, such as `drop`, `ram`,
        `worst_instructions`, `learner`, `window`, `n_clauses`, `epochs`, `balanced`, `test`, `unknown`,
        `forest=False`, `paper` and `all_rows`. See `ethereal.runs.options.Settings`.

    Returns
    -------
    run
        The model, the table, and the results of all stages. Printing it shows the table.

    Examples
    --------
    >>> import tempfile
    >>> import ethereal
    >>> X = np.arange(240) % 17
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = np.column_stack([X, X % 3]), np.where(X > 8, "high", "low")
    ...     found = ethereal.run(rows, out=folder, quick=True, n_clauses=4, epochs=2, forest=False)
    ...     found.model.n_classes, found.pruned.accuracy > 0.9, found.report.exists()
    (2, True, True)
    """
    given = {"label": label, "group": group, "flash": flash, "instructions": instructions, "target": target}
    given |= {"quick": quick, "random_state": random_state}
    settings = Settings.of(_path_of(source, Path(out)), {**given, **options})
    return carry_out(settings, out, quiet=not verbose)


def carry_out(settings: Settings, out: str | Path, *, quiet: bool) -> Run:
    """Return the run with these settings in a folder below `out`, with the stages that it has done before."""
    tell: Callable[[str], None] = (lambda text: None) if quiet else partial(say, err=True)
    settings = settings.checked()
    if settings.extent.paper and not papers():
        raise ValueError(_NO_PAPER)
    everything = read_all_rows(settings)
    n_all = len(everything.y_train)
    # Imports take seconds, which a table that is refused should not cost.
    from ethereal.runs import duration, pipeline, reuse, sensor

    rows = _learned_from(everything, settings)
    plan = pipeline.Plan.of(settings, rows, quiet=quiet)
    opening = _opening(everything)
    folder = RunFolder.open(out, rows.name, settings.parameters(), reuse.digest_of(rows))
    for line in opening:
        tell(line)
    rows, budget = sensor.choose_kernels(folder, rows, settings.budget, settings.training.seed, tell)
    plan = replace(plan, budget=budget, front_end=rows.front_end)
    reuse.take_over(folder, tell)
    n_rows, n_classes = len(rows.y_train), 1 if rows.is_number else len(np.unique(rows.y_train))
    rule = budget.rule or (rows.front_end is None and budget.for_rows(n_rows, n_classes).rule)
    if rule:
        tell(f"bounds: {rule}")
    if folder.result("learn") is None and not rows.is_number:
        for line in duration.expected(rows, plan, n_all):
            tell(line)
            folder.log(line)
    pipeline.learn(folder, rows, plan, tell)
    pipeline.board(folder, rows, plan, tell)
    if settings.extent.paper:
        _add_paper(folder, rows, settings, quiet, tell)
    date, rows_are = time.strftime("%Y-%m-%d %H:%M"), "rows" if rows.front_end is None else "windows"
    facts = Facts(settings.command, date, pipeline.versions(), rows.how, rows_are)
    folder.stage(Facts.STAGE, lambda: facts)
    finished = Run.load(folder.path)
    finished.write_report(rows)
    return finished


def read_rows(settings: Settings) -> Rows:
    """Return the rows that a run learns from, a part of a large table, and all test rows."""
    return _learned_from(read_all_rows(settings), settings)


def read_all_rows(settings: Settings) -> Rows:
    """Return all training and test rows of a run's data."""
    rows = split(read(settings.data, settings.table), settings.parts.test, settings.training.seed)
    if len(rows.y_test) == 0:
        raise ValueError("A run compares on test rows, but test is 0. Give a share such as 0.2")
    return rows


def _learned_from(rows: Rows, settings: Settings) -> Rows:
    return rows if settings.extent.all_rows else sample.sampled(rows, settings.training.seed)


def _path_of(source: Any, out: Path) -> str:
    """Return a data set's name, or the full path of a file. Frames and arrays are written to one first.

    That file is named after what it holds, so that the same rows find their run again.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        return str(path.resolve()) if path.exists() else str(source)
    if isinstance(source, tuple) and len(source) in (2, 3):
        named = zip(("X", "y", "groups"), source, strict=False)
        arrays = {key: np.asarray(one) if key == "X" else labels_from(one) for key, one in named}
        name = f"rows-{_digest(*(array.tobytes() for array in arrays.values()))}.npz"
        write: Callable[[Path], None] = partial(write_arrays, arrays=arrays)
    else:
        if hasattr(source, "write_parquet"):  # polars
            made = source.write_parquet
        elif hasattr(source, "to_parquet"):  # pandas
            made = partial(source.to_parquet, index=False)
        else:
            what = f"source is a {type(source).__name__}"
            raise TypeError(f"{what}. Give a path, a data set's name, a data frame, or (X, y).")
        made(content := io.BytesIO())
        name = f"rows-{_digest(content.getvalue())}.parquet"
        write = partial(write_bytes, data=content.getvalue())
    path = out.resolve() / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path)
    return str(path)


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:8]


def _opening(rows: Rows) -> list[str]:
    """Return what was read and how it was split."""
    n_rows, n_test, n_classes = len(rows.X), len(rows.y_test), len(np.unique(rows.y))
    if rows.front_end is None:
        empty = np.isnan(rows.X).mean() if rows.X.dtype.kind == "f" else 0.0
        missing = f", {100 * empty:.2g} % missing" if empty else ""
        rows_are = "rows"
        of = _number_text(rows) if rows.is_number else f"{n_classes} classes"
        what = f"{n_rows:,} rows, {rows.X.shape[-1]} features, {of}{missing}"
    else:
        front_end, rows_are = rows.front_end.front_end_, "windows"
        what = f"{n_rows:,} windows of {front_end.window} samples, axes {', '.join(front_end.axes)}"
        what = f"{what}, {n_classes} classes"
    learned = f"{n_rows - n_test:,} {rows_are} to learn from"
    return [f"{rows.name}: {what}", f"split: {learned}, {n_test:,} to test ({rows.how})"]


def _number_text(rows: Rows) -> str:
    name = f"{rows.label!r} is" if rows.label else "labels are"
    return f"{name} a number from {rows.y.min():g} to {rows.y.max():g} (task=class learns classes)"


def _add_paper(
    folder: RunFolder, rows: Rows, settings: Settings, quiet: bool, tell: Callable[[str], None]
) -> None:
    """Train and measure the paper's machines too."""
    if rows.front_end is not None:
        tell("paper: left out, because it does not take recordings yet.")
        return
    training = replace(settings.training, paper=True).meeting(rows.X, rows.y)

    def make(vanilla: bool) -> EtherealClassifier:
        return replace(training, vanilla=vanilla).classifier(0 if quiet else 1)

    for one in papers():
        one.train(folder, rows, make, settings.budget.target, tell)
