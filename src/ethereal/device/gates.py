"""What a model takes as gates of an FPGA, and whether they answer as this computer does."""

from __future__ import annotations

import re
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ethereal.base.atomic import write_scratch
from ethereal.chips.fpgas import find_fpga, simulate
from ethereal.export.c99.ctext import fill
from ethereal.export.hdl.design import TEMPLATES, Design
from ethereal.export.projects.writer import rows_near_thresholds
from ethereal.model import Model, checks

_ROWS = 200  # that are made where none are given
_PINS = 16  # of the input. More leave no pins of a small package, so that the input comes bit by bit.
_MANY, _LARGE = 60_000, 500  # clocks of a simulation, of so many tables, from which on verilator is quicker


@dataclass(frozen=True)
class GateMeasurement:
    """A model on an FPGA: cells after synthesis, the clock after place and route, answers in simulation."""

    target: str
    chip: str
    luts: int
    flip_flops: int
    block_rams: int
    estimated_luts: int
    mhz: float | None  # None where it does not fit
    latency: int  # clocks from the last transfer to the answer
    transfers: int  # of a row
    clocks: int  # that a row takes
    n_rows: int  # that were simulated
    n_different: int  # of them, with another class than on this computer
    n_other_sums: int  # of them, with another class sum, as integers are too coarse for some features

    @property
    def rows_per_second(self) -> float | None:
        """Rows in a second at that clock, when they come without a pause."""
        return None if self.mhz is None else 1e6 * self.mhz / self.clocks

    def as_dict(self) -> dict[str, Any]:
        """Return all fields, for JSON."""
        return asdict(self) | {"rows_per_second": self.rows_per_second}


def measure_gates(
    model: Model, X: ArrayLike | None = None, target: str = "ice40-up5k", **options: Any
) -> GateMeasurement:
    """Build the gates of a model for an FPGA, and simulate them on every row of `X`.

    Parameters
    ----------
    model
        The model.
    X
        Rows as the model takes them. By default they lie on and next to the thresholds. Without any, nothing
        is simulated.
    target
        "ice40-up5k", "ice40-hx8k" or "ecp5-25k".
    options
        `input`, `pipeline`, `features` and `bus` of `ethereal.export.verilog`.
    """
    checks.a_model(model)
    fpga = find_fpga(target)
    design = Design.of(model, **options)
    n_rows, n_different, n_other_sums = (
        (0, 0, 0) if X is not None and np.size(X) == 0 else differences(design, X)
    )
    files, top, data_bits = design.files(), design.name, design.stream.data_bits
    if data_bits > _PINS:
        top = f"{design.name}_pins"
        files[f"{top}.v"] = fill("pins.v", design.values, TEMPLATES)
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, files)
        cells, clocks = fpga.build(Path(folder), top)
    luts, flip_flops, block_rams = fpga.counts(cells)
    if data_bits > _PINS:
        flip_flops -= data_bits  # through which the input came
    return GateMeasurement(
        target=fpga.name,
        chip=fpga.chip,
        luts=luts,
        flip_flops=flip_flops,
        block_rams=block_rams,
        estimated_luts=design.luts,
        mhz=min(clocks.values(), default=None),
        latency=design.latency,
        transfers=design.stream.n_beats,
        clocks=len(design.stream.steps),
        n_rows=n_rows,
        n_different=n_different,
        n_other_sums=n_other_sums,
    )


def differences(design: Design, X: ArrayLike | None = None, *, stalls: bool = True) -> tuple[int, int, int]:
    """Simulate rows. Return how many, and how many had another class, or another sum, than on the host."""
    program = design.program
    if X is None:
        X = rows_near_thresholds(program.model, program.input, _ROWS)
    rows = np.asarray(program.read_columns(X))
    files = design.golden(program.features(rows), program.model.class_sums(rows))
    work = len(rows) * len(design.stream.steps) * max(1.0, design.luts / _LARGE)
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, {**design.files(), **files})
        line = simulate(Path(folder), design.name, len(rows), quick=work > _MANY, stalls=stalls)
    match = re.match(r"(\d+) of \d+ rows answered, (\d+) wrong, (\d+) with other sums, (\d+) unsteady", line)
    if match is None or int(match[1]) != len(rows) or int(match[4]):
        raise RuntimeError(f"the simulation of {design.name} ended with {line!r}")
    return len(rows), int(match[2]), int(match[3])


def _write(folder: str, files: dict[str, str]) -> None:
    for name, text in files.items():
        write_scratch(Path(folder, name), text)
