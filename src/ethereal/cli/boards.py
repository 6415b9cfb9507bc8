"""`ethereal boards`: the cores and boards that `--target` and `--board` take."""

from __future__ import annotations

import json
from typing import Any

import typer

from ethereal.base.checks import bytes_text
from ethereal.base.messages import table_of
from ethereal.chips.boards import BOARDS, OTHERS
from ethereal.chips.targets import TARGETS, Target, find_target
from ethereal.cli import app
from ethereal.cli.options import AsJson
from ethereal.cli.output import console


@app.command()
def boards(as_json: AsJson = False) -> None:
    """List the cores and boards that --target and --board take: chip, clock, flash and RAM.

    The memory of a board is what its chip has, or the partition for a program where a boot loader divides it.
    Start-up code, or Arduino's core with --to arduino, takes a part of it, which is assumed.
    """
    targets = [("core", name, target) for name, target in TARGETS.items()]
    targets += [(board.about, name, find_target(name)) for name, board in BOARDS.items()]
    if as_json:
        records = [_record(about, target) for about, _, target in targets]
        typer.echo(json.dumps({"boards": records, "not_measured": OTHERS}, indent=2))
        return
    head = ("name", "core", "chip", "clock", "flash", "RAM")
    rows = [
        (
            name,
            target.core,
            target.chip,
            f"{target.clock_hz / 1e6:g} MHz",
            *map(bytes_text, _memory(target)),
        )
        for _, name, target in targets
    ]
    show = console().print
    show(table_of(None, head, rows, (0, 1, 2)))
    show(f"Not measured here, though the exported C runs there: {', '.join(OTHERS)}.")


def _memory(target: Target) -> tuple[int, int]:
    return target.flash_bytes, target.ram_bytes


def _record(about: str, target: Target) -> dict[str, Any]:
    left = {platform or "own": target.memory_left(platform) for platform in ("", "arduino")}
    return {
        "name": target.name,
        "about": about,
        "core": target.core,
        "chip": target.chip,
        "clock_hz": target.clock_hz,
        "flash_bytes": target.flash_bytes,
        "ram_bytes": target.ram_bytes,
        "left": {
            key: {"flash_bytes": one.flash_bytes, "ram_bytes": one.ram_bytes} for key, one in left.items()
        },
    }
