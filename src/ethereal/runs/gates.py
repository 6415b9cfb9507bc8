"""A run for an FPGA: what it refuses, its exports, and what the gates take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ethereal.chips.fpgas import FPGAS, missing_builders, missing_simulator
from ethereal.datasets.rows import Rows
from ethereal.features.packing import evenly
from ethereal.model import Model
from ethereal.runs.folder import RunFolder
from ethereal.runs.options import Settings
from ethereal.runs.results import Board, OnFpga
from ethereal.tuning.budget import Budget

if TYPE_CHECKING:
    from ethereal.device.gates import GateMeasurement

_ROWS = 2000  # test rows that are simulated


def check(settings: Settings, rows: Rows) -> None:
    """Refuse what gates do not answer for, before anything is learned."""
    asked, target = settings.unknown, settings.budget.target
    reasons = {
        "these are recordings, and gates read features": rows.front_end is not None,
        "the label is a number, and gates answer with classes": rows.is_number,
        "unknown= and novelty= ask for rows without an answer": asked.wanted is not None or asked.novelty,
        "paper= is measured on a core": settings.extent.paper,
    }
    for why, is_so in reasons.items():
        if is_so:
            raise ValueError(f"target is {target!r}, but {why}. Leave that out, or name a core or a board.")


def board(folder: RunFolder, rows: Rows, budget: Budget, model: Model, typical: Any,
          curve: Sequence[tuple[Model, float]]) -> Board:  # fmt: skip
    """Write the Verilog, build and simulate it where tools are, and estimate the models of the curve."""
    from ethereal import export
    from ethereal.device.gates import measure_gates
    from ethereal.export.hdl.design import Design

    export.verilog(model, folder.path / "verilog", rows=typical, force=True)
    design, left_out = Design.of(model), dict[str, str]()
    built: GateMeasurement | None = None
    if why := missing_builders(budget.target):
        left_out["synthesis, place and route"] = why
    else:
        X = rows.X_test[evenly(len(rows.X_test), _ROWS)]
        if why := missing_simulator():
            left_out["simulation"] = why
        built = measure_gates(model, X[:0] if why else X, budget.target)
    sized = tuple((Design.of(one).luts, accuracy) for one, accuracy in curve if one.simplify().n_clauses)
    names = ("luts", "flip_flops", "block_rams", "mhz", "rows_per_second")
    gates = OnFpga(
        chip=FPGAS[budget.target].chip,
        bound=budget.luts,
        estimated_luts=design.luts,
        clocks=len(design.stream.steps),
        curve=sized,
        simulated=(built.n_rows, built.n_different) if built is not None and built.n_rows else None,
        **({name: getattr(built, name) for name in names} if built is not None else {}),
    )
    return Board(target=budget.target, rows=0, left_out=left_out, gates=gates)


_COSTS: dict[str, Callable[[OnFpga], str]] = {
    "LUTs": lambda g: f"about {g.estimated_luts:,}" if g.luts is None else f"{g.luts:,}",
    "flip-flops": lambda g: _count(g.flip_flops),
    "block RAMs": lambda g: _count(g.block_rams),
    "clock": lambda g: "-" if g.mhz is None else f"{g.mhz:.1f} MHz",
    "rows/s": lambda g: "-" if g.rows_per_second is None else f"{g.rows_per_second:,.0f}",
}


def costs(gates: OnFpga) -> dict[str, str]:
    """Return what the gates take as texts, by the names of the rows. Without tools that is an estimate."""
    return {name: text(gates) for name, text in _COSTS.items() if gates.luts is not None or name == "LUTs"}


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def notes(gates: OnFpga) -> list[str]:
    """Return how the figures came about, and what they do not say."""
    bound = f"At most {gates.bound:,.0f} were allowed, by estimate."
    if gates.luts is None:
        return [f"Lookup tables of four inputs are estimated for {gates.chip}. {bound}"]
    lines = [
        f"Lookup tables are counted after synthesis for {gates.chip}, and were estimated at "
        f"{gates.estimated_luts:,}. {bound}"
    ]
    if gates.mhz is None:
        lines.append(f"It does not fit after place and route. luts={gates.luts // 2} makes it smaller.")
    else:
        lines.append(f"The clock is that after place and route. A row takes {gates.clocks:,} clocks.")
    if gates.simulated is not None:
        rows, wrong = gates.simulated
        lines.append(f"In simulation {rows - wrong:,} of {rows:,} test rows have this computer's answer.")
    return lines
