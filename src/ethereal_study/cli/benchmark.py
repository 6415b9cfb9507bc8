"""`ethereal benchmark`: training, prediction and programs measured, alone or beside the baselines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.base.messages import say
from ethereal.cli import app
from ethereal.cli.commands import Commands
from ethereal.cli.errors import reported
from ethereal.cli.options import AsJson, grouped
from ethereal.cli.output import console
from ethereal_study.own_sets import OwnSetOptions, with_own_sets
from ethereal_study.speed.protocol import (
    BASELINES,
    FOREST,
    Entry,
    RunnerError,
    baseline,
    can_be_set_up,
    choose,
    ethereal,
)

if TYPE_CHECKING:  # imported where it is used: `ethereal --help` should not pay for scikit-learn
    from rich.table import Table

    from ethereal_study.speed.compare import Comparison

benchmark = Commands(
    help="Measure rows per second, accuracy, size and memory, alone or against other libraries.",
    no_args_is_help=True,
)
app.add_typer(benchmark, name="benchmark")

MEMORY_CLAUSES = 2000

Sets = Annotated[
    str, typer.Option("--sets", help="Sets of the study or files of your own, separated by commas, or all.")
]
Baselines = Annotated[
    str, typer.Option("--baselines", help="Baselines, separated by commas, or all, or none.")
]
Repeats = Annotated[int, typer.Option(min=1, help="Runs of each. The best counts.")]
Threads = Annotated[str, typer.Option(help="Threads for ethereal, separated by commas. Baselines have one.")]
MaxRows = Annotated[int | None, typer.Option("--max-rows", min=1, help="Training rows at most.")]
Data = Annotated[
    Path | None, typer.Option(help="Folder of NAME.npz. Default: ETHEREAL_DATA, else synthetic.")
]


@benchmark.command()
@grouped
def train(
    files: OwnSetOptions,
    set_names: Sets = "mnist,emg,har,sports",
    epochs: Annotated[int, typer.Option(min=1, help="Epochs. The time of all counts.")] = 2,
    repeats: Repeats = 3,
    baselines: Baselines = "all",
    threads: Threads = "1,2",
    memory: Annotated[
        bool,
        typer.Option("--memory", help=f"Peak memory instead: mnist, {MEMORY_CLAUSES} clauses per class."),
    ] = False,
    rows: MaxRows = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Train on the study's shapes, and show rows/s, accuracy, includes and memory.

    Every library runs in a process of its own, one after the other in every round, each on one thread. The
    time is that of the training pass alone, per epoch the shortest of the rounds.
    """
    from ethereal_study.speed.compare import train_table

    if memory:  # once is enough. The memory of an evaluation would count, too.
        set_names, epochs, repeats, threads = "mnist", 1, 1, "1"
    work = {"epochs": epochs, "repeats": repeats, "n_clauses": MEMORY_CLAUSES if memory else None}
    entries = _entries(threads, baselines, BASELINES)
    _run(set_names, files, entries, train_table, rows, data, as_json, **work, evaluate=not memory)


@benchmark.command()
@grouped
def predict(
    files: OwnSetOptions,
    set_names: Sets = "mnist,emg,har,sports",
    epochs: Annotated[int, typer.Option(min=1, help="Epochs trained before, not timed.")] = 5,
    repeats: Repeats = 3,
    baselines: Baselines = "all",
    threads: Threads = "1,2",
    predict_rows: Annotated[
        int, typer.Option(min=1, help="Rows per call, the test rows repeated. Baselines get 10,000.")
    ] = 200_000,
    rows: MaxRows = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Predict the test rows from a Boolean matrix with each library's own trained machine, and a forest."""
    from ethereal_study.speed.compare import predict_table

    work = {"epochs": epochs, "repeats": repeats, "evaluate": False, "predict_rows": predict_rows}
    entries = _entries(threads, baselines, (*BASELINES, FOREST))
    _run(set_names, files, entries, predict_table, rows, data, as_json, **work)


@benchmark.command()
@grouped
def device(
    files: OwnSetOptions,
    set_names: Sets = "all",
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs. Default: the study's.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes. -1 is one per core.")] = -1,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder that keeps finished cells.")] = Path(
        "study"
    ),
    as_json: AsJson = False,
) -> None:
    """Count what the study's ETHEREAL machines cost on an emulated Cortex-M7, in every layout.

    Each is trained at the paper's settings (honest protocol, one seed) unless the study's folder has it.
    """
    with reported():
        from ethereal_study.cli.study import Job, chosen_sets
        from ethereal_study.settings import SETTINGS

        set_names = with_own_sets(set_names, files, out / "sets")
        named = [] if set_names == "all" else chosen_sets(set_names, list(SETTINGS))
        usual = [name for name in SETTINGS if name != "mnist"]
        job = Job(epochs=epochs, jobs=jobs, out=out, as_json=as_json)
        names = job.at_hand(named or usual, strict=bool(named))
        if not names:
            raise ValueError("No data set is at hand. `ethereal datasets` tells how to get one")
        job.device(names)
        job.print_json()


def _entries(threads: str, baselines: str, among: tuple[str, ...]) -> list[Entry]:
    """Read who takes part, and set up the environments of the baselines."""
    progress = console(stderr=True)
    try:
        counts = [int(count) for count in threads.split(",")]
        if min(counts) < 1:
            raise ValueError
    except ValueError:
        raise typer.BadParameter(f"threads is {threads!r}; give numbers of 1 or more, as in 1,2") from None
    entries = [Entry(ethereal(), count) for count in counts]
    if baselines == "all" and not can_be_set_up():
        say(
            "note: The other libraries are only set up in a clone of the project, and this folder is not "
            "one. So ethereal is measured alone.",
            err=True,
        )
        baselines = "none"
    try:
        for name in choose(baselines, among=among):
            entries.append(Entry(baseline(name, progress.print)))
    except (ValueError, FileNotFoundError, RunnerError) as error:
        raise typer.BadParameter(str(error)) from error
    return entries


def _run(
    set_names: str,
    files: OwnSetOptions,
    entries: list[Entry],
    table: Callable[[Comparison], Table],
    max_rows: int | None,
    folder: Path | None,
    as_json: bool,
    **work: Any,
) -> None:
    """Compare on each set, show each table as soon as it is there, and fail when a baseline failed."""
    from ethereal_study.speed import sets
    from ethereal_study.speed.compare import compare

    progress = console(stderr=True)
    comparisons: list[Comparison] = []
    with TemporaryDirectory(prefix="ethereal-sets-") as kept:
        with reported():
            named = with_own_sets(set_names, files, Path(kept)).split(",")
        names = list(sets.SHAPES) if set_names == "all" else [name.strip() for name in named]
        for name in names:
            with reported():  # a damaged file
                try:
                    loaded = sets.load(name, folder=folder, max_rows=max_rows)
                except ValueError as error:
                    raise typer.BadParameter(str(error)) from error
            with progress.status(f"{name} ...") as status:
                comparison = compare(loaded, entries, **work, report=status.update)
            comparisons.append(comparison)
            if not as_json:
                console().print(table(comparison))
            for who, why in comparison.failures.items():
                progress.print(f"{name}: {who} failed:", style="red", end=" ")
                progress.print(why)
    if as_json:
        print(json.dumps([comparison.as_dict() for comparison in comparisons], indent=2))
    if any(comparison.failures for comparison in comparisons):
        raise typer.Exit(1)
