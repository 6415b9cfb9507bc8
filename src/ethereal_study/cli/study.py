"""`ethereal study`: the paper's tables and figures, from cells that are kept on disk."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.base.atomic import write_text
from ethereal.base.checks import check_integer
from ethereal.base.messages import say, width_of
from ethereal.base.options import option
from ethereal.cli import app
from ethereal.cli.errors import continued_later, reported
from ethereal.cli.options import grouped
from ethereal.cli.output import console
from ethereal.cluster import ClusterOptions
from ethereal_study.own_sets import OwnSetOptions, with_own_sets

if TYPE_CHECKING:  # imported where it is used: `ethereal --help` should not pay for scikit-learn
    from ethereal.cluster import Cluster
    from ethereal_study.run import Results
    from ethereal_study.store import Store
    from ethereal_study.table import Table


class Part(str, Enum):
    """What can be made."""

    table1 = "table1"
    table2 = "table2"
    table3 = "table3"
    tradeoff = "tradeoff"
    mnist = "mnist"
    frontier = "frontier"
    all = "all"


@dataclass
class Job:
    """One call: makes parts, writes their files and shows them."""

    protocol: Any = option(
        "honest",
        "Rows that choose the epoch: honest takes training rows, paper takes test rows.",
        kind=Enum("ProtocolName", {"honest": "honest", "paper": "paper"}, type=str),
    )
    epochs: int | None = option(None, "Epochs of machines and networks. Default: the study's.")
    bnn: Any = option(
        "own",
        "Trainer of the networks of table2: own is this package's, larq the study's (make bnn-venv).",
        kind=Enum("Networks", {"own": "own", "larq": "larq"}, type=str),
    )
    digit: int = option(2, "Digit whose negated literals mnist draws, 0 to 9. The paper has 2.")
    jobs: int = option(-1, "Processes. -1 is one per core.")
    out: Path = option(
        Path("study"), "Folder for tables, figures and finished cells.", "--out", "-o", kind=Path
    )
    as_json: bool = option(False, "Print JSON for programs instead of text.", "--json")
    micropython: bool = option(
        False, "Table 3 in MicroPython as the paper made it, with the study's forests.", "--micropython"
    )
    workers: Cluster | None = None  # in place of the jobs
    made: dict[str, Any] = field(default_factory=dict)  # what --json prints: tables, and paths of figures

    def __post_init__(self) -> None:
        """Check what was asked for."""
        self.protocol = getattr(self.protocol, "value", self.protocol)
        self.bnn = getattr(self.bnn, "value", self.bnn)
        check_integer("--digit", self.digit, 0, 9)
        if self.epochs is not None:
            check_integer("--epochs", self.epochs, 1, 10**6)

    def require(self, part: Part) -> None:
        """Tell what is missing before the work, not after it."""
        if part in (Part.tradeoff, Part.mnist, Part.frontier, Part.all):
            from ethereal.base import plotting

            plotting.pyplot()  # now, and not after hours of work
        if self.bnn == "larq" and part in (Part.table2, Part.all):
            from ethereal_study.baselines.bnn_larq import interpreter

            interpreter()
        if self.micropython and part != Part.table3:
            raise ValueError(f"--micropython is not an option of {part.value}. Use it with table3")
        if self.micropython:
            from ethereal_study import interpreted

            interpreted.require_interpreter()
        elif part in (Part.table3, Part.frontier, Part.all):
            from ethereal_study import board

            board.require_tools()

    def at_hand(self, names: list[str], *, strict: bool) -> list[str]:
        """Return the sets that can be had. Others are left out with a message, or raise if strict.

        After a server that does not answer, only sets on disk are taken.
        """
        from ethereal import datasets
        from ethereal.datasets.catalogue import Unreachable
        from ethereal_study.additions import ADDED, path_of

        at_hand: list[str] = []
        reason, beyond = "", []
        for name in names:
            if reason and name not in ADDED.sets and datasets.status(name).path is None:
                beyond.append(name)
                continue
            try:
                path_of(name)
                at_hand.append(name)
            except datasets.DatasetError as error:
                if strict:
                    raise
                if isinstance(error, Unreachable):
                    reason, beyond = error.reason, [name]
                else:
                    say(f"{name} is left out: {error}", err=True)
        if beyond:
            say(f"{', '.join(beyond)} left out: {reason}", err=True)
        return at_hand

    def table2(self, names: list[str], seeds: int, baseline_seeds: int) -> None:
        """Accuracy and includes, sizes, speed."""
        from ethereal_study import tables
        from ethereal_study.cells import MACHINES, NETWORKS

        baselines = ("forest", *NETWORKS[self.bnn])
        results = self.results([(names, MACHINES, seeds), (names, baselines, baseline_seeds)])
        for make in (tables.table2, tables.sizes, tables.training):
            self.show(make(results, self.protocol))

    def table3(self, names: list[str]) -> None:
        """The board."""
        from ethereal_study import tables
        from ethereal_study.board import BOARD
        from ethereal_study.cells import MACHINES
        from ethereal_study.interpreted import INTERPRETED

        # First the models, so that each is trained once.
        self.results([(names, MACHINES if self.micropython else (*MACHINES, "forest"), 1)])
        make, methods = (
            (tables.table3_interpreted, INTERPRETED) if self.micropython else (tables.table3, BOARD)
        )
        self.show(make(self.results([(names, methods, 1)]), self.protocol))

    def frontier(self, names: list[str], seeds: int) -> None:
        """Accuracy against flash and instructions, beside forests, boosted trees and the paper's scan."""
        from ethereal_study import frontier_pages
        from ethereal_study.frontier import by_seed, grids

        if self.protocol != "honest":
            raise ValueError("--protocol is paper, but here test rows choose nothing. Leave it out")
        by_set, tables = by_seed(self.results(grids(names, seeds))), {}
        self.write(frontier_pages.every_seed(by_set), "csv")
        for name, of_seeds in by_set.items():
            tables[name] = table = frontier_pages.table(name, of_seeds)
            self.show(table)
            self.draw(frontier_pages.figure(name, table), table.name)
        self.show(frontier_pages.goals_table(tables))

    def device(self, names: list[str]) -> None:
        """Layouts of the ETHEREAL machines on the core, beside what they are compared with."""
        from ethereal_study import tables
        from ethereal_study.board import BOARD, require_tools

        require_tools()
        methods = [method for method in BOARD if method != "board-vanilla"]
        self.show(tables.layouts(self.results([(names, methods, 1)]), self.protocol))

    def tradeoff(self, names: list[str]) -> None:
        """Accuracy against includes."""
        from ethereal_study import figures
        from ethereal_study.cells import MACHINES

        machines: dict[str, dict[str, Any]] = {name: {} for name in names}
        for cell, result in self.results([(names, MACHINES, 1)]).items():
            machines[cell.dataset][cell.method] = result
        rows = {"paper": "epoch chosen on test rows", "honest": "epoch chosen on validation rows"}
        self.draw(figures.tradeoff(machines, rows=rows[self.protocol]), "tradeoff")

    def mnist(self) -> None:
        """The figures of mnist."""
        from ethereal import Model, datasets
        from ethereal_study import figures
        from ethereal_study.cells import MACHINES

        results = self.results([(["mnist"], MACHINES, 1)])
        machines = {cell.method: result for cell, result in results.items()}
        self.draw(figures.saw_tooth(machines, "mnist"), "mnist-epochs")
        models = {cell.method: Model.load(self.store.model_path(cell)) for cell in results}
        shape = datasets.load("mnist").image_shape
        if shape is None:
            raise ValueError("mnist: The data are not pictures of 28 x 28. Fetch the set again")
        both = models["vanilla"], models["ethereal"]
        self.draw(figures.heat_maps(*both, shape), "mnist-includes")
        self.draw(figures.heat_maps(*both, shape, literals="negated", class_=self.digit), "mnist-negated")

    def results(self, grids: Sequence[tuple[list[str], Sequence[str], int]]) -> Results:
        """Results of the cells of (sets, methods, seeds)."""
        from ethereal_study.run import grid, run

        cells = [
            cell
            for names, methods, seeds in grids
            for cell in grid(names, methods, self.protocol, seeds, self.epochs)
        ]
        return run(cells, self.store, self.jobs, workers=self.workers)

    @property
    def store(self) -> Store:
        """Where the finished cells are."""
        from ethereal_study.store import Store

        return Store(self.out / "cells")

    def print_json(self) -> None:
        """Print what was made, when that was asked for."""
        if self.as_json:
            typer.echo(json.dumps(self.made, indent=1))

    def draw(self, figure: Any, name: str) -> None:
        """Write a figure's files, and say where they are."""
        from ethereal.base import plotting

        paths = plotting.save(figure, self.out, self.stem(f"{name}-{self.protocol}"))
        self.made[name] = [str(path) for path in paths]
        if not self.as_json:
            say(", ".join(map(str, paths)))

    def stem(self, name: str) -> str:
        """Return the name of a part's files, which tells epochs other than the study's."""
        return name if self.epochs is None else f"{name}-{self.epochs}epochs"

    def write(self, table: Table, *endings: str) -> str:
        """Write a table's files, and return their name without an ending."""
        self.out.mkdir(parents=True, exist_ok=True)
        stem, texts = self.stem(table.name), {"md": table.markdown, "csv": table.csv, "json": table.json}
        for ending in endings:
            write_text(self.out / f"{stem}.{ending}", texts[ending]())
        return stem

    def show(self, table: Table) -> None:
        """Write a table's files, and print it."""
        stem = self.write(table, "md", "csv", "json")
        self.made[table.name] = table.as_dict()
        if not self.as_json:
            # A pipe has no width: do not fold a table that nobody's terminal limits.
            width = width_of(sys.stdout) or 120
            for part in table.rich(width):
                console(width=width).print(part, "")
            for note in table.notes:
                say(note)
            say(f"{self.out / stem}.md, .csv, .json\n")


@app.command()
@grouped
def study(
    part: Annotated[Part, typer.Argument(help="What to make.")],
    job: Job,
    files: OwnSetOptions,
    where: ClusterOptions,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds per machine: mean and spread.")] = 5,
    baseline_seeds: Annotated[
        int, typer.Option(min=0, help="Seeds per forest and network, which take most of the time. 0 is none.")
    ] = 1,
    sets: Annotated[
        str,
        typer.Option(
            help="Sets, separated by commas: names, or files of your own (.npz, .csv, .parquet). Default: "
            "those of the part."
        ),
    ] = "",
) -> None:
    """Make the paper's tables and figures: table1, table2 (with sizes and speed), table3 (on the board),
    tradeoff, mnist, or all. Or make frontier: accuracy against flash and instructions, beside forests,
    boosted trees and the paper's scan.

    Every finished cell (a method on a set from a seed) is kept in OUT/cells. The same command continues a
    killed study, and a finished one is instant. Cells are computed by --jobs processes, or on a Dask
    cluster (--dask, --workers). A file among the sets is a table of your own, which is trained by the options
    for files. Tables go to OUT as Markdown, CSV and JSON, figures as PNG and SVG.
    """
    with reported(), ExitStack() as closing:
        from ethereal_study import tables
        from ethereal_study.settings import SETTINGS

        # The paper's tables have all sets but mnist, which has figures of its own.
        usual = [name for name in SETTINGS if name != "mnist" or part == Part.frontier]
        named = chosen_sets(with_own_sets(sets, files, job.out / "sets"), list(SETTINGS))
        if where.is_asked:
            job.workers = closing.enter_context(where.open())
        with continued_later():
            job.require(part)
            names = [] if part == Part.mnist else job.at_hand(named or usual, strict=bool(named))
            if part in (Part.table1, Part.all):
                job.show(tables.table1(names, job.protocol))
            if part in (Part.table2, Part.all):
                job.table2(names, seeds, baseline_seeds)
            if part in (Part.table3, Part.all):
                job.table3(names)
            if part in (Part.tradeoff, Part.all):
                job.tradeoff(names)
            if part == Part.frontier:
                job.frontier(names, seeds)
            everything = part == Part.all and not named
            if part == Part.mnist or (everything and job.at_hand(["mnist"], strict=False)):
                job.mnist()
        job.print_json()


def chosen_sets(text: str, known: list[str]) -> list[str]:
    """Return the named sets. For an unknown one, raise an error with the nearest name."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}, or give a file"
            raise ValueError(f"--sets: the study has no set {name!r}; {hint}")
    return names
