"""Write a model as Verilog: gates for an FPGA or a chip, with a test bench."""

from __future__ import annotations

import os
from pathlib import Path

from numpy.typing import ArrayLike

from ethereal.base.atomic import write_folder
from ethereal.export.c99.ctext import fill
from ethereal.export.hdl.design import TEMPLATES, Design, described_design, labels_of, transfers_of
from ethereal.export.projects.writer import golden_rows
from ethereal.model import Model, checks


def verilog(
    model: Model,
    folder: str | os.PathLike[str],
    *,
    name: str = "model",
    rows: ArrayLike | None = None,
    input: str | None = None,
    pipeline: int = 2,
    features: str = "used",
    lut: int = 4,
    bus: int = 1,
    force: bool = False,
) -> Path:
    """Write a model as Verilog-2001 for an FPGA, and return the folder.

    With the name "model", the folder then holds:

    - `model.v`, which reads features and gives classes, both as AXI4-Stream
    - `model_core.v`, which reads Booleans and gives a class and the class sums, a row in each clock
    - `model_tb.v` with `model_rows.hex` and `model_answers.hex`: a test bench with rows and their answers
    - `Makefile` for simulation, lint and synthesis, `README.md`, and `model.json` for programs

    Parameters
    ----------
    model
        The model. It is simplified first, which does not change its answers.
    folder
        Where to write. It must be empty, unless `force` is given.
    name
        Name of the modules and of the files.
    rows
        Rows for the test bench, as the model takes them. By default they lie on and next to the thresholds.
    input
        Number type of the features: "int16", "int8", "uint16" or "uint8", by default "int16". Features
        become integers by the same scales as in the C of that type. A model that reads Booleans has "bool".
    pipeline
        Levels of logic between two registers: a clause, a table of votes, an adder or a comparison. Fewer
        take more flip-flops and allow a faster clock. With 0 there is one register, at the end.
    features
        "used" expects the features that decide, in their order. "all" expects every feature of the model.
    lut
        Inputs of a lookup table of the chip, 4 or 6. Votes are added up in tables of so many clauses.
    bus
        Features in a transfer, or eight Booleans each, up to 64 bits together. Rows then take fewer clocks,
        and more lookup tables.
    force
        Whether to replace files of the same names.

    Examples
    --------
    >>> import tempfile
    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.name for path in verilog(model, folder, name="tiny").glob("[!.]*"))
    ['Makefile', 'README.md', 'tiny.json', 'tiny.v', 'tiny_answers.hex', 'tiny_core.v', 'tiny_rows.hex',
     'tiny_tb.v']
    """
    checks.a_model(model)
    design = Design.of(
        model, name=name, input=input, pipeline=pipeline, features=features, lut=lut, bus=bus, rows=rows
    )
    golden = design.golden(*golden_rows(design.program, rows))
    files: dict[str, str | bytes] = {**design.files(), **golden}
    core = design.core
    values = design.values | {
        "luts": f"{design.luts:,}",
        "flip_flops": f"{design.flip_flops:,}",
        "clauses": str(len(core.clauses)),
        "kind": _kind(design),
        "transfers": transfers_of(design),
        "labels": labels_of(design),
    }
    files |= {file: fill(file, values, TEMPLATES) for file in ("Makefile", "README.md")}
    files[f"{design.name}.json"] = described_design(design, "verilog")
    return write_folder(folder, files, force=force)


def _kind(design: Design) -> str:
    """Return what a transfer is."""
    stream, kind = design.stream, design.program.input.name
    if stream.is_boolean:
        return f"{stream.in_transfer} Booleans"
    return f"a feature, `{kind}`" if stream.bus == 1 else f"{stream.bus} features, each `{kind}`"
