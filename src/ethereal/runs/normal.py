"""`ethereal run --normal`: from rows without labels to a detector for a board, and what it would do there."""

from __future__ import annotations

import math
import shlex
import time
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import bytes_text, check_number
from ethereal.base.messages import say
from ethereal.datasets.options import SourceOptions
from ethereal.datasets.rows import Rows
from ethereal.datasets.unlabelled import read_unlabelled
from ethereal.model import Model
from ethereal.normal import separation
from ethereal.runs.folder import RunFolder
from ethereal.runs.options import NormalRows, cli_fields, command_words, from_here
from ethereal.runs.table import Table
from ethereal.tuning.budget import Budget

_HELD_OUT = 0.25  # share of groups, or of the last rows, that the detector does not learn for its figures
_MOST_POINTS = 400  # of a curve in the page
_MOST_ALARMS = 5  # that are explained


@dataclass(frozen=True)
class NormalSettings:
    """All that a run with normal rows is asked for."""

    data: str  # the full path of a file or folder
    table: SourceOptions = field(default_factory=SourceOptions)
    watch: NormalRows = field(default_factory=partial(NormalRows, normal=True))
    target: str = Budget.target
    seed: int = 0

    @classmethod
    def of(cls, data: str, keywords: Mapping[str, Any]) -> NormalSettings:
        """Return what keywords ask for. Their names are those of the fields of all options."""
        of_source, of_watch = ({each.name for each in fields(kind)} for kind in (SourceOptions, NormalRows))
        known = {*of_source, *of_watch, "target", "seed"}
        for name in keywords.keys() - known:
            raise TypeError(
                f"run_normal() has no option {name!r}. Its options are {', '.join(sorted(of_source))}."
            )

        def some(names: set[str]) -> dict[str, Any]:
            return {name: keywords[name] for name in names & keywords.keys()}

        watch = NormalRows(**{**some(of_watch), "normal": True})
        return cls(data, SourceOptions(**some(of_source)), watch, **some({"target", "seed"}))

    def checked(self) -> NormalSettings:
        """Return the settings with a core for the target."""
        from ethereal.chips.targets import find_core

        check_number("false_alarms", self.watch.false_alarms, 0, 0.5)
        if self.table.label is not None:
            raise ValueError(
                f"label= is {self.table.label!r}, but normal rows have no labels. Leave it out, or drop it."
            )
        return replace(self, target=find_core(self.target).name)

    def parameters(self) -> dict[str, Any]:
        """Return what names a run, as JSON has it."""
        tested = None if self.watch.abnormal is None else str(Path(self.watch.abnormal).resolve())
        asked: dict[str, Any] = {"data": self.data, "abnormal": tested, "normal": True, "target": self.target}
        asked |= {"false_alarms": self.watch.false_alarms, "seed": self.seed}
        return asked | _as_json(cli_fields(self.table))

    @property
    def command(self) -> str:
        """The command that asks for this run, in the folder where the process is."""
        return shlex.join(self.words(Path.cwd()))

    def words(self, here: Path) -> list[str]:
        """Return the words of the command as it is typed in a folder."""
        watch = self.watch
        if watch.abnormal is not None:
            watch = replace(watch, abnormal=from_here(watch.abnormal, here))
        options = [*command_words(self.table), *command_words(watch)]
        options += [] if self.target == Budget.target else ["--target", self.target]
        options += ["--seed", str(self.seed)] if self.seed else []
        return ["ethereal", "run", from_here(self.data, here), *options]


@dataclass(frozen=True)
class Beside:
    """Another detector on the same rows."""

    name: str
    separation: float | None  # area under the curve, None without abnormal rows
    detected: float | None  # share of abnormal rows at the wanted false alarms
    flash: int  # bytes, counted and not compiled


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
    alarms_per_hour: float | None  # of held-out rows, where the rate is known
    detected: float | None  # share of abnormal rows above the limit
    separation: float | None
    n_abnormal: int
    beside: tuple[Beside, ...]
    flash: int | None  # of the whole program
    instructions: float | None  # of a row or a window
    target: str
    scores: tuple[int, ...]  # of held-out rows in their order, some of them
    abnormal_scores: tuple[int, ...]
    alarms: tuple[str, ...]  # explained


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
        w = self.watched
        rows = [("false alarms", _percent(w.false_alarms))]
        if w.alarms_per_hour is not None:
            rows.append(("alarms per hour", f"{w.alarms_per_hour:.3g}"))
        if w.detected is not None and w.separation is not None:
            rows += [("found", _percent(w.detected)), ("separation", f"{w.separation:.3f}")]
        rows += [] if w.flash is None else [("flash", bytes_text(w.flash))]
        rows += [] if w.instructions is None else [("instructions", f"{w.instructions:,.0f}")]
        notes = [
            f"False alarms are those of {w.n_held_out:,} held-out normal {w.rows_are} ({w.how}), "
            f"{_percent(w.wanted)} wanted.",
            f"The detector has {w.n_centres} centres of {w.n_features} features.",
        ]
        if w.n_abnormal:
            notes.append(f"Found are those of {w.n_abnormal:,} abnormal {w.rows_are}.")
        notes += [f"An alarm: {one}." for one in w.alarms[:2]]
        return Table(("ethereal",), tuple(rows), tuple(notes))

    def show(self) -> None:
        """Open the page in the browser."""
        webbrowser.open(self.report.resolve().as_uri())

    def told(self) -> str:
        """Return the summary for a terminal."""
        w = self.watched
        lines = [
            f"  false alarms   {_percent(w.false_alarms)} of {w.n_held_out:,} held-out normal {w.rows_are}, "
            f"{_percent(w.wanted)} wanted ({w.how})",
        ]
        if w.alarms_per_hour is not None:
            lines.append(f"                 {w.alarms_per_hour:.3g} alarms per hour")
        if w.detected is not None and w.separation is not None:
            lines.append(f"  found          {_percent(w.detected)} of {w.n_abnormal:,} abnormal {w.rows_are}")
            lines.append(f"  separation     {w.separation:.3f} (1 is perfect, 0.5 is chance)")
            lines += [
                f"                 {each.separation:.3f} {each.name}, {bytes_text(each.flash)} counted"
                for each in w.beside
                if each.separation is not None
            ]
        lines.append(f"  detector       {w.n_centres} centres of {w.n_features} features, limit {w.limit:,}")
        if w.flash is not None:
            lines.append(f"  flash          {bytes_text(w.flash)}, all code included")
        if w.instructions is not None:
            lines.append(f"  instructions   {w.instructions:,.0f} on a {w.target}")
        lines += [f"  alarm          {each}" for each in w.alarms[:2]]
        uses = {"report.html": "open it: scores, alarms, and what made them",
                "c/": "if (!model_is_normal(features)) ...",
                "model.etm": "Model.load(...).explain_normal(row)"}  # fmt: skip
        return "\n".join([*lines, "", *(f"{self.folder}/{name}  {use}" for name, use in uses.items())])

    def __repr__(self) -> str:
        """Return what is told of the run."""
        return f"NormalRun({str(self.folder)!r})\n{self.told()}"


def run_normal(
    source: str | Path,
    abnormal: str | Path | None = None,
    *,
    false_alarms: float = 0.01,
    target: str = "cortex-m7",
    random_state: int = 0,
    out: str | Path = "runs",
    verbose: int = 0,
    **options: Any,
) -> NormalRun:
    """Make a detector for a board from normal rows, as the command `ethereal run DATA --normal`.

    Parameters
    ----------
    source
        A table, or a folder of recordings, without labels. All of it is normal.
    abnormal
        A table or a folder to test with. Nothing is learned from it.
    false_alarms
        Share of normal rows that may be called not normal.
    target
        Core of the board.
    random_state
        Seed.
    out
        Folder of all runs.
    verbose
        0 is silent but for remarks on the rows, 1 tells what is done.
    options
        How the source is read, such as `group`, `drop`, `window`, `hop`, `rate`, `scale` and `kernels`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = np.random.default_rng(0).normal(size=(200, 3)).round(3)
    ...     table = Path(folder, "pump.csv")
    ...     _ = table.write_text("a,b,c\\n" + "\\n".join(",".join(map(str, row)) for row in rows.tolist()))
    ...     found = run_normal(table, false_alarms=0.05, out=folder)
    ...     found.watched.n_held_out, found.report.exists()
    (50, True)
    """
    watch = {"abnormal": None if abnormal is None else str(abnormal), "false_alarms": false_alarms}
    asked = {**watch, "target": target, "seed": random_state}
    settings = NormalSettings.of(str(Path(source).resolve()), {**options, **asked})
    return carry_out_normal(settings, out, quiet=not verbose)


def refuse_other_options(*kinds: Any) -> None:
    """Refuse options that a run with normal rows has no use for."""
    for kind in kinds:
        for name in ("target", "seed"):
            if hasattr(kind, name):
                kind = replace(kind, **{name: getattr(type(kind)(), name)})
        if words := command_words(kind):
            raise ValueError(f"{words[0]} is for rows with labels. Leave it out of a run with normal=True.")


def carry_out_normal(settings: NormalSettings, out: str | Path, *, quiet: bool) -> NormalRun:
    """Return the run in a folder below `out`, read when it was done before."""
    from ethereal.runs.reuse import digest_of

    tell: Callable[[str], None] = (lambda text: None) if quiet else partial(say, err=True)
    settings = settings.checked()
    watch, core, seed = settings.watch, settings.target, settings.seed
    rows = read_unlabelled(settings.data, settings.table)
    other = None if watch.abnormal is None else read_unlabelled(watch.abnormal, settings.table, like=rows)
    rows_are = "rows" if rows.front_end is None else "windows"
    tell(f"{rows.name}: {len(rows.X):,} {rows_are} without labels")
    digests = "".join(digest_of(one) for one in (rows, other) if one is not None)
    folder = RunFolder.open(out, rows.name or "normal", settings.parameters(), digests)
    folder.stage(Watched.STAGE, lambda: _watch(folder, rows, other, watch.false_alarms, core, seed, tell))
    run = NormalRun.load(folder.path)
    from ethereal.runs.report.normal_page import page

    folder.write("report.html", page(rows.name, run.watched, time.strftime("%Y-%m-%d %H:%M")))
    return run


def _as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, (list, tuple)) else value for name, value in values.items()
    }


def _watch(
    folder: RunFolder, rows: Rows, other: Rows | None, false_alarms: float, target: str, seed: int,
    tell: Callable[[str], None],
) -> Watched:  # fmt: skip
    from ethereal.train.detector import EtherealDetector

    held_out, how = _held_out(rows, seed)
    learned = ~held_out
    make = partial(EtherealDetector, false_alarms, front_end=rows.front_end, random_state=seed)
    tell(f"learn: {int(learned.sum()):,} to learn from, {int(held_out.sum()):,} held out ({how})")
    judge = make().fit(rows.X[learned], groups=_groups(rows, learned)).model_
    scores = judge.novelty(rows.X[held_out])
    assert judge.normal is not None
    limit = judge.normal.limit
    odd = None if other is None else judge.novelty(other.X)
    whole = make().fit(rows.X, groups=_groups(rows, np.ones(len(rows.X), dtype=bool))).model_
    model = whole.with_feature_names(rows.feature_names) if rows.feature_names is not None else whole
    if rows.front_end is not None:
        model = model.drop_unused_kernels()
    model.save(folder.path / "model.etm")
    assert model.normal is not None
    n_centres, n_features = model.normal.centres.shape
    flash, instructions = _board(folder, model, rows.X[held_out], target, tell)
    false = float((scores > limit).mean())
    return Watched(
        n_rows=len(rows.X),
        n_held_out=int(held_out.sum()),
        how=how,
        rows_are="rows" if rows.front_end is None else "windows",
        n_features=n_features,
        n_centres=n_centres,
        limit=model.normal.limit,
        wanted=false_alarms,
        false_alarms=false,
        alarms_per_hour=_per_hour(rows, false),
        detected=None if odd is None else float((odd > limit).mean()),
        separation=None if odd is None else separation(scores, odd),
        n_abnormal=0 if odd is None else len(odd),
        beside=_beside(rows, held_out, other, false_alarms, seed),
        flash=flash,
        instructions=instructions,
        target=target,
        scores=_some(scores),
        abnormal_scores=() if odd is None else _some(odd),
        alarms=_alarms(model, rows.X[held_out] if other is None else other.X),
    )


def _groups(rows: Rows, kept: NDArray[np.bool_]) -> NDArray[Any] | None:
    """Return the groups of some rows, none where there are less than two."""
    if rows.groups is None or len(np.unique(rows.groups[kept])) < 2:
        return None
    return np.asarray(rows.groups[kept])


def _held_out(rows: Rows, seed: int) -> tuple[NDArray[np.bool_], str]:
    """Return which rows are held out: some groups, or the last rows where there are few groups."""
    n = len(rows.X)
    names = np.unique(rows.groups) if rows.groups is not None else np.empty(0)
    if rows.groups is not None and len(names) >= 4:
        order = np.random.default_rng(seed).permutation(names)
        some = order[: max(1, round(_HELD_OUT * len(names)))]
        return np.isin(rows.groups, some), f"{len(some)} of {len(names)} groups"
    return np.arange(n) >= n - math.floor(_HELD_OUT * n), "the last quarter"


def _per_hour(rows: Rows, false_alarms: float) -> float | None:
    """Return alarms per hour, where the samples per second are known."""
    front_end = None if rows.front_end is None else rows.front_end.front_end_
    if front_end is None or front_end.rate is None:
        return None
    return false_alarms * 3600 * front_end.rate / (front_end.hop or front_end.window)


def _some(scores: NDArray[np.int64]) -> tuple[int, ...]:
    places = np.unique(np.linspace(0, len(scores) - 1, min(len(scores), _MOST_POINTS)).astype(int))
    return tuple(scores[places].tolist())


def _alarms(model: Model, X: NDArray[Any]) -> tuple[str, ...]:
    """Return what made some alarms, in words."""
    assert model.normal is not None
    scores = model.novelty(X)
    alarms = np.flatnonzero(scores > model.normal.limit)
    some = alarms[:: max(1, len(alarms) // _MOST_ALARMS)][:_MOST_ALARMS]
    return tuple("; ".join(map(str, model.explain_normal(X[i], 2).features)) for i in some.tolist())


def _board(
    folder: RunFolder, model: Model, X: NDArray[Any], target: str, tell: Callable[[str], None]
) -> tuple[int | None, float | None]:
    """Export the detector, and execute it where there are tools."""
    from ethereal import device, export
    from ethereal.chips.toolchain import missing_tools

    export.c(model, folder.path / "c", rows=X[:64], target=target, force=True)
    if missing_tools():
        tell("board: not measured. Install it with pip install 'ethereal-tm[device]'.")
        return None, None
    results = device.measure(model, X[:: max(1, len(X) // 100)], target)
    if results.agreement < 1:
        tell(f"warning: {100 * (1 - results.agreement):.2g} % of the answers differ on the emulated core.")
    return results.flash_bytes, results.total_instructions


def _beside(
    rows: Rows, held_out: NDArray[np.bool_], other: Rows | None, false_alarms: float, seed: int
) -> tuple[Beside, ...]:
    """Return what an isolation forest and one Gaussian tell, on the same features."""
    from sklearn.covariance import EmpiricalCovariance
    from sklearn.ensemble import IsolationForest
    from sklearn.preprocessing import StandardScaler

    made = rows.X if rows.front_end is None else rows.front_end.transform(rows.X)
    scaler = StandardScaler().fit(made[~held_out])
    train, test = scaler.transform(made[~held_out]), scaler.transform(made[held_out])
    odd = None
    if other is not None:
        odd = scaler.transform(other.X if rows.front_end is None else rows.front_end.transform(other.X))
    n = train.shape[1]
    forest = IsolationForest(n_estimators=100, random_state=seed).fit(train)
    n_nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    gaussian = EmpiricalCovariance().fit(train)
    results = []
    for name, score, flash in (
        ("isolation forest, 100 trees", lambda X: -forest.score_samples(X), 6 * n_nodes + 200),
        ("one Gaussian", gaussian.mahalanobis, 4 * (n * (n + 1) // 2 + 2 * n) + 200),
    ):
        apart = share = None
        if odd is not None:
            normal, scores = score(test), score(odd)
            apart = separation(normal, scores)
            share = float((scores > np.quantile(normal, 1 - false_alarms)).mean())
        results.append(Beside(name, apart, share, int(flash)))
    return tuple(results)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
