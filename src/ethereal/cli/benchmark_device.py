"""`ethereal benchmark device`: layouts beside a scan of REDRESS words, a forest, a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ethereal.cli.benchmark import Sets, benchmark
from ethereal.cli.errors import reported
from ethereal.cli.options import AsJson


@benchmark.command()
def device(
    set_names: Sets = "all",
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs; default: the study's.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1: one per core.")] = -1,
    out: Annotated[Path, typer.Option(help="Folder that keeps finished cells.")] = Path("study"),
    as_json: AsJson = False,
) -> None:
    """Count what the study's ETHEREAL machines cost on an emulated Cortex-M7, in every layout.

    Each is trained at the paper's settings (honest protocol, one seed) unless the study's folder has it.
    """
    with reported():
        from ethereal.cli.study import Job, chosen_sets
        from ethereal.study.settings import SETTINGS

        usual = [name for name in SETTINGS if name != "mnist"]
        named = [] if set_names == "all" else chosen_sets(set_names, list(SETTINGS))
        job = Job("honest", epochs, jobs, out, as_json)
        names = job.at_hand(named or usual, strict=bool(named))
        if not names:
            raise ValueError("no data set is at hand; see `ethereal datasets`")
        job.device(names)
        job.print_json()
