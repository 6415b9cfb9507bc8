"""A model as a project for Tiny Tapeout: bytes in, the number of a class out, in up to four tiles."""

from __future__ import annotations

import os
from pathlib import Path

from numpy.typing import ArrayLike

from ethereal.base.atomic import write_folder
from ethereal.base.checks import DoesNotFit
from ethereal.export.c99.ctext import fill
from ethereal.export.hdl.design import TEMPLATES, Design, described_design, labels_of, transfers_of
from ethereal.export.projects.writer import golden_rows
from ethereal.model import Model, checks
from ethereal.model.needs import NotSupported

TILES = {"1x1": 1, "1x2": 2, "2x2": 4}
# What a tile of 167 by 108 um holds when 60 % of it are cells, in NANDs of 3.75 um2 of the sky130 library. A
# flip-flop with an enable has the size of 8 there.
_TILE, _FLIP_FLOP = 2800, 8.0
# Gates for what the lines of the core count as tables of four inputs, for a bit that is compared, and for a
# bit of the thresholds, which no block RAM holds. By yosys: lab/notes/verilog.md.
_PER_TABLE, _PER_BIT, _PER_STORED, _AROUND = 6.6, 4.0, 0.25, 30
_CLOCK = 10_000_000  # hertz. Between two registers lies the whole of a model.
_MOST_CLASSES = 256
COUNT = "synth -flatten -top {top}; abc -g cmos2; opt_clean"  # commands of yosys


def tinytapeout(
    model: Model,
    folder: str | os.PathLike[str],
    *,
    name: str = "model",
    rows: ArrayLike | None = None,
    input: str | None = None,
    features: str = "used",
    force: bool = False,
) -> Path:
    """Write a model as a project for Tiny Tapeout, and return the folder.

    It holds `info.yaml`, a page for the data sheet, the Verilog in `src`, a test bench in `test`, and a
    `Makefile` for simulation, lint and a count of gates. The number of tiles comes from an estimate, and a
    model for which four are not enough is refused.

    Parameters
    ----------
    model
        The model. It is simplified first, which does not change its answers.
    folder
        Where to write. It must be empty, unless `force` is given.
    name
        Name of the modules and of the files. The top module is `tt_um_` and the name.
    rows
        Rows for the test bench, as the model takes them. By default they lie on and next to the thresholds.
    input
        Number type of the features: "int8", "uint8", "int16" or "uint16", by default "int8". A model that
        reads Booleans has "bool".
    features
        "used" expects the features that decide, in their order. "all" expects every feature of the model.
    force
        Whether to replace files of the same names.

    Examples
    --------
    >>> import tempfile
    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.name for path in (tinytapeout(model, folder, name="tiny") / "src").iterdir())
    ['tiny.v', 'tiny_core.v', 'tt_um_tiny.v']
    """
    checks.a_model(model)
    if input is None and model.fitted is not None:
        input = "int8"
    design = Design.of(model, name=name, input=input, pipeline=0, features=features, rows=rows)
    if model.is_number:
        raise NotSupported(
            "Tiny Tapeout does not take output of the kind 'number'. Export it as verilog, which has more "
            "than eight bits for it."
        )
    if model.n_classes > _MOST_CLASSES:
        raise NotSupported(
            f"Tiny Tapeout has eight pins for the class, but the model has {model.n_classes} classes. At "
            f"most {_MOST_CLASSES} are taken."
        )
    tiles = _tiles_for(design)
    golden = design.golden(*golden_rows(design.program, rows))
    values, name = design.values | _values(design, tiles), design.name
    top = values["top"]
    readme = fill("tt_README.md", values, TEMPLATES)
    files: dict[str, str | bytes] = {f"src/{file}": text for file, text in design.files().items()}
    files |= {f"test/{file}": text for file, text in golden.items() if file.endswith(".hex")}
    values["rows"] = str(len(golden[f"{name}_answers.hex"].splitlines()))
    files |= {
        f"src/{top}.v": fill("tt.v", values, TEMPLATES),
        f"test/{top}_tb.v": fill("tt_bench.v", values, TEMPLATES),
        "info.yaml": fill("tt_info.yaml", values, TEMPLATES),
        "Makefile": fill("tt_Makefile", values, TEMPLATES),
        "README.md": readme,
        "docs/info.md": readme,
        f"{name}.json": described_design(
            design, "tinytapeout", {"gates": gates_of(design), "tiles": tiles, "clock_hz": _CLOCK}
        ),
    }
    return write_folder(folder, files, force=force)


def gates_of(design: Design) -> int:
    """Return about how many gates yosys makes of a design with this wrapper: NAND, NOR and NOT."""
    stream = design.stream
    compared = 0 if stream.is_boolean else stream.value_bits * len(stream.chains)
    stored = compared * len(stream.steps)
    return round(_AROUND + _PER_TABLE * design.core.luts + _PER_BIT * compared + _PER_STORED * stored)


def flip_flops_of(design: Design) -> int:
    """Return about how many flip-flops there are."""
    stream = design.stream
    stored = 0 if stream.is_boolean else stream.value_bits * len(stream.chains)
    return design.flip_flops + 14 + stored + 9 * (stream.value_bits // 8 - 1)


def _tiles_for(design: Design) -> str:
    """Return how many tiles a design may need, by estimate."""
    size = gates_of(design) + _FLIP_FLOP * flip_flops_of(design)
    for tiles, n in TILES.items():
        if size <= n * _TILE:
            return tiles
    raise DoesNotFit(
        f"The model takes about {gates_of(design):,} gates and {flip_flops_of(design):,} flip-flops, which "
        f"is {size / _TILE:.1f} tiles, and at most 4 are written. Prune it with "
        f"luts={round(4 * _TILE / size * design.luts)}, or export it as verilog."
    )


def _values(design: Design, tiles: str) -> dict[str, str]:
    """Return what the templates of the wrapper are filled with."""
    stream, core, top = design.stream, design.core, f"tt_um_{design.name}"
    n_bytes, kind = stream.value_bits // 8, design.program.input.name
    joined, whole = "    wire [7:0] value = ui_in;", "takes"
    meaning = f"a value as {kind}"
    if stream.is_boolean:
        meaning = "8 Booleans, the first in bit 0"
    if n_bytes == 2:
        joined, whole = _TWO_BYTES, "takes & has_low"
        meaning = f"half of a value as {kind}, the low byte first"
    pins = [f'ui[{i}]: "data[{i}]"' for i in range(8)] + [f'uo[{i}]: "class[{i}]"' for i in range(8)]
    names = ["strobe", "ready", "answered"]
    pins += [f'uio[{i}]: "{names[i] if i < len(names) else ""}"' for i in range(8)]
    size, n_tiles = gates_of(design) + _FLIP_FLOP * flip_flops_of(design), TILES[tiles]
    zeros = 8 - core.answer_bits
    return {
        "top": top,
        "kind": meaning,
        "joined": joined,
        "whole": whole,
        "bytes": str(n_bytes),
        "bytes_of_row": str(n_bytes * stream.n_beats),
        "answer_zeros": f"{zeros}'d0, " if zeros else "",
        "title": f"Tsetlin machine {design.name}",
        "description": f"Bytes in, one of {core.n_classes} classes out. {len(core.clauses)} clauses vote.",
        "clock_hz": str(_CLOCK),
        "tiles": tiles,
        "tiles_text": "one tile" if n_tiles == 1 else f"{n_tiles} tiles",
        "share": f"{100 * size / (n_tiles * _TILE):.0f} %",
        "pinout": "\n".join(f"  {pin}" for pin in pins),
        "count": COUNT.format(top=top),
        "clauses": str(len(core.clauses)),
        "gates": f"{gates_of(design):,}",
        "flip_flops": f"{flip_flops_of(design):,}",
        "labels": labels_of(design),
        "transfers": transfers_of(design),
    }


_TWO_BYTES = """    reg has_low;
    reg [7:0] low;
    wire [15:0] value = {ui_in, low};
    always @(posedge clk) begin
        if (takes & ~has_low) low <= ui_in;
        if (~rst_n) has_low <= 1'b0;
        else if (takes) has_low <= ~has_low;
    end
"""
