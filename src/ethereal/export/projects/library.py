"""A model as a C99 library in a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from numpy.typing import ArrayLike

from ethereal.base.checks import check_integer
from ethereal.base.folder import write_folder
from ethereal.export.c99.choose import DEFAULT_TARGET, choose
from ethereal.export.c99.program import Layout, Program
from ethereal.export.c99.text import fill
from ethereal.export.golden import self_test
from ethereal.export.numbers import Input
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
    target: str = DEFAULT_TARGET,
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
        per row when 32 are predicted at once. "auto" is the quickest of "fast" and "compact" that fits, see
        `ethereal.export.choose`.
    input
        Number type of the features on the device: "float", "int16", "int8" or "uint8". Whole numbers stay
        what they are. Other features are scaled by a power of two, so that integers are compared exactly like
        the numbers, and `NAME_convert` in the export does the scaling. Where a type has no room for that, a
        warning says how many of `rows` change their class. A feature whose thresholds fall together is
        refused.
    rows
        Typical rows of features, best some hundred training rows: "fast" arranges its tests by them, and the
        golden rows of the self-test are taken from them. Without, those that the model carries serve.
    flash
        Flash limit in bytes, for a prediction and the check at start-up with all code. If the model does not
        fit, `ModelTooLarge` names the excess and the layouts that fit. With None, the limit is the flash of
        the target's chip.
    target
        Core whose chip counts: "cortex-m7" and the others of `ethereal.device.TARGETS`. The C is the same for
        every core.
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
    ...     sorted(p.name for p in c(model, parent + "/out", name="tiny").glob("[!.]*"))
    ['CMakeLists.txt', 'Makefile', 'README.md', 'ethereal.h', 'ethereal_fast.h', 'ethereal_flash.h',
     'tiny.c', 'tiny.h', 'tiny_test.c']
    """
    if flash is not None and clause_bytes is not None:
        raise ValueError(f"flash is {flash} and clause_bytes is {clause_bytes}; give one of them")
    if clause_bytes is not None:
        check_integer("clause_bytes", clause_bytes, 0, 2**31 - 1)
    program = choose(
        model,
        layout,
        flash=flash,
        target=target,
        clause_bytes=clause_bytes,
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
        "README.md": fill("README.md", values, "projects/c"),
        "Makefile": fill("Makefile", values, "projects/c"),
        "CMakeLists.txt": fill("CMakeLists.txt", values, "projects/c"),
    }


def input_note(program: Program) -> str:
    """What the features on the device are."""
    if program.model.booleanizer is None:
        return ", one byte each, 0 or 1"
    note = f", as `{program.input.ctype}`"
    if any(scale.exponent or scale.offset for scale in program.scales):
        note += f" that `{program.name}_convert()` makes of the numbers of the training data"
    if program.slots.accepts_missing:
        is_float = program.input.ctype == "float"
        note += f"; a missing value is {'not a number' if is_float else f'`{program.name.upper()}_MISSING`'}"
    return note


def numbered(texts: tuple[str, ...] | list[str]) -> str:
    """Numbered list in Markdown."""
    return "\n".join(f"{i}. `{text.replace('`', ' ')}`" for i, text in enumerate(texts))
