"""`ethereal export`: a model as code for a board."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields, replace
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ethereal.adapt.learn_options import LearnOptions
from ethereal.base.checks import bytes_text, seconds_text
from ethereal.base.messages import say
from ethereal.base.options import option
from ethereal.cli import app
from ethereal.cli.errors import reported
from ethereal.cli.options import AsJson, ModelFile, grouped, was_given
from ethereal.datasets.options import RowsOptions
from ethereal.export.options import ExportOptions, Kept
from ethereal.export.projects import PROJECTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ethereal.export.c99.program import Program
    from ethereal.model import Model

_EXECUTED = 64  # rows that an exported program is executed on
_LARGE = 4096  # bytes of flash, from which on a model that was not pruned gets the advice
PACKAGES = (
    "micropython",
    "tinytapeout",
    "verilog",
    "web",
)  # functions of `ethereal.export` that do not write C
MODULES = ("micropython",)  # of them, those that write a module of Python
FORMS = tuple(sorted([*PACKAGES, *(name.replace("_", "-") for name in PROJECTS)]))


@dataclass(frozen=True)
class Package:
    """Keywords of exports that are not C, beside those that all exports have."""

    code: str = option("plain", "MicroPython: plain, or viper for boards that have its emitter.")
    floats: str = option("float64", "MicroPython: float64 or float32 thresholds.")
    mpy: str | None = option(None, "MicroPython: also compile, bytecode or an architecture.")
    pipeline: int = option(2, "Verilog: levels of logic between registers, 0 for one at the end.")
    features: str = option("used", "Verilog, Tiny Tapeout: used or all features come in.")
    lut: int = option(4, "Verilog: inputs of a lookup table of the chip, 4 or 6.")
    bus: int = option(1, "Verilog: features in a transfer. More rows a second, more lookup tables.")
    image: str | None = option(None, "Web: height and width of rows that are images, such as 28x28.")


@app.command()
@grouped
def export(
    context: typer.Context,
    model: ModelFile,
    options: ExportOptions,
    package: Package,
    reading: RowsOptions,
    to: Annotated[str, typer.Option(help=f"What to write: {', '.join(FORMS)}.")] = "c",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder to write, or for web an .html file. Default: named after the model."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Prefix of all names. Default: made of the model's file name.")
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(help="Typical rows (data set, CSV, Parquet, npz): tests are ordered by them."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a model as code for a board: a C99 library, a complete project, or a package.

    What a C program takes is shown. It is measured when the extra `device` is installed, else estimated. A
    model that was pruned to a bound keeps its layout, and is refused if it takes more flash than that.
    """
    with reported():
        from ethereal.base.atomic import written_files
        from ethereal.datasets.reading import read
        from ethereal.export import answering_early
        from ethereal.model import Model

        given, executed = _given(context, to, options, package), None
        machine = Model.load(model)
        if rows is not None:
            typical = read(rows, reading, like=machine)
            executed = typical.X if typical.test is None else typical.X_test
            given["rows"] = typical.X_train
        if early := given.pop("early", 0.0):
            machine = answering_early(machine, given.get("rows"), early, input=options.input)
        kept = Kept.of(machine, given)
        is_module = to in MODULES
        what = "be the name of a module" if is_module else "begin names in C"
        prefix = _identifier(name or model.stem, is_module)
        if name is not None and prefix != name:
            raise ValueError(f"--name is {name!r}, which cannot {what}. Say --name {prefix}")
        given["name"] = prefix
        path, takes = _written(machine, to, out or Path(f"{model.stem}-{to}"), given, executed)
        files = written_files(path) if path.is_dir() else [path.name]
    if name is None and prefix != model.stem:
        say(
            f"note: {model.stem!r} cannot {what}, so it is {prefix!r}. Choose another with --name NAME",
            err=True,
        )
    if as_json:
        pruned_for = None if machine.deployment is None else machine.deployment.as_dict()
        typer.echo(json.dumps({"folder": str(path), "files": files, "pruned_for": pruned_for, **takes}))
    else:
        say(f"{path}: {', '.join(files)}")
        if takes:
            for line in (_told(takes), *_of_pruning(machine, kept, takes, model)):
                say(line)


def _of_pruning(model: Model, kept: Kept, takes: dict[str, Any], path: Path) -> list[str]:
    """Return what the model was pruned for, or that it was not."""
    deployment = model.deployment
    if deployment is None:
        if takes["flash_bytes"] < _LARGE:
            return []
        return [
            f"{bytes_text(takes['flash_bytes'])} of C, not pruned: ethereal prune {path} DATA --label L -o "
            f"{path.stem}-small.etm makes it smaller"
        ]
    if not kept.keeps_layout:
        return []
    used = {"ram": takes["ram_bytes"] + takes["stack_bytes"], "instructions": takes.get("instructions_max")}
    over = deployment.exceeded(**used) if takes["measured"] else []
    return [
        f"layout {takes['layout']}: the model was pruned for {deployment.describe()}; "
        "--layout auto lifts this",
        *(f"note: {text} The bound was kept on the rows of pruning." for text in over),
    ]


def _given(context: typer.Context, to: str, options: ExportOptions, package: Package) -> dict[str, Any]:
    """Keywords for the exporter that were given. One that it does not have is an error."""
    from ethereal.base.checks import parse_bytes

    if to not in FORMS:
        raise ValueError(f"--to is {to!r}; it must be one of {', '.join(FORMS)}")
    if to in PACKAGES:
        lacks = {each.name for group in (options, package) for each in fields(group)} - _keywords(to)
        fixed = {}
    else:
        from ethereal.export.projects.writer import find_project

        fixed = find_project(to.replace("-", "_")).fixed
        lacks = {each.name for each in fields(Package)} | fixed.keys()
    given = {}
    for group in (options, package):
        for each in fields(group):
            value = getattr(group, each.name)
            usual = (each.default, fixed.get(each.name, each.default)) if each.name in lacks else ()
            if "help" not in each.metadata or value in usual or not was_given(context, each.name):
                continue
            if each.name in lacks:
                raise ValueError(f"{each.name}= is not an option of --to {to}")
            given[each.name] = parse_bytes("--flash", value) if each.name == "flash" else value
    return given


def _keywords(to: str) -> set[str]:
    """Return the options that a function of `ethereal.export` takes. Any others are those of learning."""
    import ethereal.export as exports

    parameters = signature(getattr(exports, to)).parameters.values()
    learns = any(each.kind is Parameter.VAR_KEYWORD for each in parameters)
    names = {each.name for each in parameters}
    return names | {each.name for each in fields(LearnOptions)} if learns else names


def _written(
    model: Model, to: str, folder: Path, given: dict[str, Any], rows: NDArray[Any] | None
) -> tuple[Path, dict[str, Any]]:
    """Write the export. Return its folder, and what a program in C takes."""
    import ethereal.export as exports
    from ethereal.export.projects.writer import project_program, write_project

    if to in PACKAGES:
        return getattr(exports, to)(model, folder, **given), {}
    board = to.replace("-", "_")
    program = project_program(model, board, **given)
    takes = _takes(model, program, rows)
    return write_project(program, folder, board, takes), takes


def _takes(model: Model, program: Program, rows: NDArray[Any] | None) -> dict[str, Any]:
    """Return what the exported program takes, executed on `rows` or on rows near the thresholds."""
    from ethereal.device import ModelTooLarge, find_target, measure_program, on_rows
    from ethereal.export.projects.writer import rows_near_thresholds
    from ethereal.features.packing import evenly

    # One header is not compiled alone, and the harness of an AVR knows its program by name.
    program = replace(program, options=replace(program.options, name="model", single_header=False))
    target = find_target(program.options.target).name
    takes: dict[str, Any] = {
        "layout": program.layout,
        "target": target,
        "measured": False,
        "flash_bytes": program.flash_bytes,
        "ram_bytes": program.ram_bytes,
        "stack_bytes": program.costs.stack_bytes,
        "instructions": program.costs.instructions,
    }
    is_given = rows is not None and len(rows) > 0
    X = rows[evenly(len(rows), _EXECUTED)] if is_given else None  # type: ignore[index, arg-type]
    if X is None:
        X = rows_near_thresholds(model, program.input, _EXECUTED)
    try:
        measurement = measure_program(on_rows(program, X), target)
    except (ModuleNotFoundError, ModelTooLarge) as error:
        return takes | {"why": str(error)}
    return takes | {
        "measured": True,
        "counted": measurement.counted,
        "seconds": measurement.estimated_seconds,
        "clock_hz": measurement.estimate.clock_hz,
        "flash_bytes": measurement.flash_bytes,
        "ram_bytes": measurement.ram_bytes,
        # Rows were executed before anything was learned. Adding learned votes takes more stack.
        "stack_bytes": max(measurement.stack_bytes, program.costs.stack_bytes if program.learning else 0),
        "instructions": measurement.total_instructions,
        "instructions_max": measurement.total_instructions_max,
        "executed": f"{measurement.n_rows} {'of the rows given' if is_given else 'rows near the thresholds'}",
    }


def _told(takes: dict[str, Any]) -> str:
    """Return what the program takes, in a sentence."""
    about, most = ("", "") if takes["measured"] else ("about ", "at most about ")
    worst = f"{takes['instructions_max']:,} at most, " if "instructions_max" in takes else ""
    how = f"measured on {takes['executed']}" if takes["measured"] else f"estimated: {takes['why']}"
    counted = takes.get("counted", "instructions")
    article = "an" if takes["target"].startswith(("a", "e")) else "a"
    time = ""
    if takes["measured"]:
        time = f", about {seconds_text(takes['seconds'])} at {takes['clock_hz'] / 1e6:g} MHz"
    return (
        f"layout {takes['layout']} on {article} {takes['target']}: "
        f"{most}{takes['flash_bytes']:,} bytes of flash, "
        f"{takes['ram_bytes']:,} bytes of RAM, {about}{takes['stack_bytes']:,} bytes of stack, "
        f"{about}{takes['instructions']:,.0f} {counted} per row ({worst}{how}){time}"
    )


def _identifier(text: str, is_module: bool = False) -> str:
    """Return a name in C made of a file's name, or the name of a module in MicroPython.

    >>> _identifier("my model-2")
    'my_model_2'
    >>> _identifier("ethereal")  # as `ethereal run` names it, but the runtime has that name
    'model'
    >>> _identifier("int"), _identifier("1 x"), _identifier("ünicode")
    ('model_int', 'model_1_x', 'unicode')
    >>> _identifier("lambda"), _identifier("lambda", is_module=True)
    ('lambda', 'model_lambda')
    """
    from unicodedata import normalize

    from ethereal.export.names import is_identifier, is_module_name

    plain = normalize("NFKD", text).encode("ascii", "ignore").decode()  # u for ü
    cleaned = re.sub(r"\W", "_", plain, flags=re.ASCII)
    if re.match("ethereal", cleaned, re.IGNORECASE):
        cleaned = cleaned[len("ethereal") :].lstrip("_")
    is_free = is_module_name(cleaned) if is_module else is_identifier(cleaned)
    return cleaned if is_free else f"model_{cleaned.lstrip('_')}".rstrip("_")
