"""`ethereal run --normal`: from rows without labels to a detector for a board, and what it would do there."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.messages import say
from ethereal.datasets.rows import Rows
from ethereal.datasets.unlabelled import read_unlabelled
from ethereal.model import Model
from ethereal.model.normal import shares_of
from ethereal.runs.beside import others_beside, scored
from ethereal.runs.folder import RunFolder
from ethereal.runs.options import NormalSettings, command_words
from ethereal.runs.watched import NormalRun, Watched

_HELD_OUT = 0.25  # share of groups, or of the last rows, that the detector does not learn for its figures
_MOST_POINTS = 400  # of a curve in the page
_MOST_ALARMS, _MOST_REASONS = 5, 8  # alarms that are explained, features that are named
_BARS = 40


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
    run.write_report()
    return run


def _watch(
    folder: RunFolder, rows: Rows, other: Rows | None, false_alarms: float, target: str, seed: int,
    tell: Callable[[str], None],
) -> Watched:  # fmt: skip
    from ethereal.train.detector import EtherealDetector

    held_out, how = _held_out(rows, seed)
    make = partial(EtherealDetector, false_alarms, front_end=rows.front_end, random_state=seed)
    tell(f"learn: {int((~held_out).sum()):,} to learn from, {int(held_out.sum()):,} held out ({how})")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubts, which the summary has
        judge = make().fit(rows.X[~held_out], groups=_groups(rows, ~held_out)).model_
        whole = make().fit(rows.X, groups=_groups(rows, np.ones(len(rows.X), dtype=bool)))
    model = whole.model_
    if rows.feature_names is not None:
        model = model.with_feature_names(rows.feature_names)
    model = model.drop_unused_kernels()
    model.save(folder.path / "model.etm")
    assert judge.normal is not None
    assert model.normal is not None
    tested = rows.X[held_out] if other is None else other.X
    scores = judge.novelty(rows.X[held_out]) / max(1, judge.normal.limit)  # parts of the limit
    odd = scores[:0] if other is None else judge.novelty(other.X) / max(1, judge.normal.limit)
    n_centres, n_features = model.normal.centres.shape
    program = _board(folder, model, rows.X[held_out], target, tell)
    edges, bars = _bars(scores, odd)
    return Watched(
        n_rows=len(rows.X),
        n_held_out=len(scores),
        how=how,
        rows_are="rows" if rows.front_end is None else "windows",
        n_features=n_features,
        n_centres=n_centres,
        limit=model.normal.limit,
        wanted=false_alarms,
        false_alarms=float((scores > 1).mean()),
        per_hour=_per_hour(rows),
        detected=float((odd > 1).mean()) if len(odd) else None,
        n_abnormal=len(odd),
        scored=(
            scored("ethereal", scores, odd, false_alarms, *program),
            *others_beside(rows, held_out, other, false_alarms, target, seed),
        ),
        target=target,
        by_group=tuple(sorted(whole.spread_.alarms.items(), key=lambda item: -item[1])),
        doubts=tuple(whole.spread_.doubts(false_alarms)),
        scores=_some(scores),
        abnormal_scores=_some(odd),
        edges=edges,
        bars=bars,
        reasons=_reasons(model, tested),
        alarms=_alarms(model, tested),
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


def _per_hour(rows: Rows) -> float | None:
    """Return windows per hour, where the samples per second are known."""
    front_end = None if rows.front_end is None else rows.front_end.front_end_
    if front_end is None or front_end.rate is None:
        return None
    return 3600 * front_end.rate / (front_end.hop or front_end.window)


def _some(scores: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the highest score of each stretch, so that no alarm is lost."""
    stretches = np.array_split(scores, min(len(scores), _MOST_POINTS)) if len(scores) else []
    return tuple(round(float(each.max()), 4) for each in stretches)


def _bars(
    scores: NDArray[np.float64], odd: NDArray[np.float64]
) -> tuple[tuple[float, ...], tuple[tuple[float, float], ...]]:
    """Return edges on a logarithmic scale, and the shares of normal and abnormal rows between them."""
    every = np.concatenate([scores, odd])
    low = max(float(np.quantile(every, 0.005)), 1e-3)
    edges = np.geomspace(low, max(float(every.max()), 1.2, 2 * low), _BARS + 1)
    kinds = [np.histogram(np.maximum(each, low), edges)[0] / max(1, len(each)) for each in (scores, odd)]
    return tuple(edges.tolist()), tuple(zip(*(each.tolist() for each in kinds), strict=True))


def _alarms(model: Model, X: NDArray[Any]) -> tuple[str, ...]:
    """Return what made some alarms, in words."""
    alarms = np.flatnonzero(~_is_normal(model, X))
    some = alarms[:: max(1, len(alarms) // _MOST_ALARMS)][:_MOST_ALARMS]
    return tuple("; ".join(map(str, model.explain_normal(X[i], 2).features)) for i in some.tolist())


def _reasons(model: Model, X: NDArray[Any]) -> tuple[tuple[str, float], ...]:
    """Return the features with the largest shares of the scores of all alarms."""
    assert model.normal is not None
    odd = X[~_is_normal(model, X)]
    if len(odd) == 0:
        return ()
    shares = shares_of(model, odd).mean(axis=0)
    order = np.argsort(-shares, kind="stable")[:_MOST_REASONS]
    names = [model.input_names[f] for f in model.normal.features.tolist()]
    return tuple((names[i], float(shares[i])) for i in order.tolist())


def _is_normal(model: Model, X: NDArray[Any]) -> NDArray[np.bool_]:
    assert model.normal is not None
    return np.asarray(model.novelty(X) <= model.normal.limit)


def _board(
    folder: RunFolder, model: Model, X: NDArray[Any], target: str, tell: Callable[[str], None]
) -> tuple[int, float] | tuple[()]:
    """Export the detector, and execute it where there are tools: flash and instructions."""
    from ethereal import device, export
    from ethereal.chips.toolchain import missing_tools

    export.c(model, folder.path / "c", rows=X[:64], target=target, force=True)
    if missing_tools():
        tell("board: not measured. Install it with pip install 'ethereal-tm[device]'.")
        return ()
    results = device.measure(model, X[:: max(1, len(X) // 100)], target)
    if results.agreement < 1:
        tell(f"warning: {100 * (1 - results.agreement):.2g} % of the answers differ on the emulated core.")
    return results.flash_bytes, results.total_instructions
