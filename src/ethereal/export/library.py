"""A model as a C99 library in a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from numpy.typing import ArrayLike

from ethereal._checks import check_integer
from ethereal.export.folder import write_folder
from ethereal.export.golden import self_test
from ethereal.export.program import Layout, Program, fitting_program
from ethereal.export.texts import fill
from ethereal.export.thresholds import Input
from ethereal.model import Model


def c(
    model: Model,
    folder: str | os.PathLike[str],
    *,
    name: str = "model",
    layout: Layout | Literal["auto"] = "auto",
    input: Input = "float",
    rows: ArrayLike | None = None,
    flash: int | None = None,
    clause_bytes: int | None = None,
    with_names: bool = False,
    single_header: bool = False,
    force: bool = False,
) -> Path:
    """Write `model` as C99 without libc, heap or recursion, with a self-test, a README and build files.

    Parameters
    ----------
    model, folder
        What to write, and where; the folder must be new or empty, unless `force` is given.
    name
        Of the files, and prefix of all C names.
    layout
        "compact" takes the least flash, "fast" the fewest instructions for a single row, "sliced" the fewest
        per row when 32 are predicted at once. "auto" is "fast" when it fits into `flash` bytes, or, when none
        are given, when its tables take at most a kilobyte more than the model's REDRESS words; else
        "compact".
    input
        Number type of the features on the device: "float", "int16", "int8" or "uint8". Integers are compared
        with the thresholds rounded down, which gives the same answers.
    rows
        Typical rows of features, best some hundred training rows: "fast" arranges its tests by them, and the
        golden rows of the self-test are taken from them. Without, those that the model carries serve.
    flash
        Bytes of flash the model may take with its code (estimated for a Cortex-M); `ModelTooLarge` says by
        how much it exceeds them, and which layout would fit. "fast" takes more than usual where that saves
        instructions; None: no more than the model's REDRESS words.
    clause_bytes
        Bytes for the clauses in the layout "fast", tables and code, instead of what `flash` leaves; 0: as few
        as it can do with.
    with_names
        Whether to add functions that return the names of classes and features.
    single_header
        Everything in one header.

    Examples
    --------
    >>> import tempfile
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     sorted(p.name for p in c(model, parent + "/out", name="tiny").iterdir())
    ['CMakeLists.txt', 'Makefile', 'README.md', 'ethereal.h', 'ethereal_fast.h', 'ethereal_flash.h', 'tiny.c',
     'tiny.h', 'tiny_test.c']
    """
    if flash is not None and clause_bytes is not None:
        raise ValueError(f"flash is {flash} and clause_bytes is {clause_bytes}; give one of them")
    program = fitting_program(
        model,
        layout,
        flash,
        max_bytes=None if clause_bytes is None else check_integer("clause_bytes", clause_bytes, 0, 2**31 - 1),
        name=name,
        input=input,
        rows=rows,
        with_names=with_names,
        single_header=single_header,
    )
    return write_folder(folder, library_files(program, rows), force=force)


def library_files(program: Program, rows: ArrayLike | None = None) -> dict[str, str]:
    """All files of the library, by name."""
    model, name = program.model, program.name
    runtime = sorted(file for file in program.files if file.startswith("ethereal"))
    values = {
        "name": name,
        "NAME": name.upper(),
        "about": program.about,
        "class_list": numbered([str(label) for label in model.classes.tolist()]),
        "feature_list": numbered(model.input_names),
        "input_note": input_note(program),
        "runtime_files": "".join(
            f"| `{file}` | runtime, the same for every model of a layout |\n" for file in runtime
        ),
    }
    is_single = f"{name}.c" not in program.files
    values |= {
        "sources": "" if is_single else f"{name}.c",
        "library": "INTERFACE" if is_single else f"STATIC {name}.c",
        "scope": "INTERFACE" if is_single else "PUBLIC",
        "model_files": f"`{name}.h`" if is_single else f"`{name}.h`, `{name}.c`",
    }
    return {
        **program.files,
        f"{name}_test.c": self_test(program, rows),
        "README.md": fill("README.md", values),
        "Makefile": fill("Makefile", values),
        "CMakeLists.txt": fill("CMakeLists.txt", values),
    }


def input_note(program: Program) -> str:
    """What the features on the device are."""
    if program.model.booleanizer is None:
        return ", one byte each, 0 or 1"
    note = f", as `{program.input.ctype}`"
    if program.slots.can_miss:
        is_float = program.input.ctype == "float"
        note += f"; a missing value is {'not a number' if is_float else f'`{program.name.upper()}_MISSING`'}"
    return note


def numbered(texts: tuple[str, ...] | list[str]) -> str:
    """Numbered list in Markdown."""
    return "\n".join(f"{i}. `{text.replace('`', ' ')}`" for i, text in enumerate(texts))
