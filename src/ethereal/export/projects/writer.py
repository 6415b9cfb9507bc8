"""Write a model as one of the projects: the C of the model, templates filled, and a self-test."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ethereal.adapt.learning import NEVER
from ethereal.base.atomic import write_folder
from ethereal.export.c99.choose import chosen
from ethereal.export.c99.ctext import fill, filled
from ethereal.export.c99.parts import PARTS
from ethereal.export.c99.program import Program
from ethereal.export.c99.writer import usual_values
from ethereal.export.golden import golden_rows, table
from ethereal.export.names import code_span
from ethereal.export.options import ExportOptions
from ethereal.export.projects import find_project
from ethereal.model import Model


def project(model: Model, folder: str | os.PathLike[str], name_of_project: str, **options: Any) -> Path:
    """Write `model` as the project of that name, a folder in `ethereal.export.projects`, and return `folder`.

    The options are those of `ethereal.export.ExportOptions`, except those that the project decides itself.
    """
    fixed = find_project(name_of_project).fixed
    for key in options.keys() & fixed.keys():
        raise TypeError(f"{name_of_project}() has no option {key!r}. It is always {fixed[key]!r}.")
    asked = ExportOptions.for_model(name_of_project, model, {**options, **fixed})
    program = chosen(model, *asked, platform=name_of_project)
    return write_folder(folder, project_files(name_of_project, program), force=program.options.force)


def c(model: Model, folder: str | os.PathLike[str], **options: Any) -> Path:
    """Write `model` as C99 without libc, heap or recursion, with a self-test, a README and build files.

    The options are those of `ethereal.export.ExportOptions`.

    >>> import tempfile
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     sorted(p.name for p in c(model, parent + "/out", name="tiny").glob("[!.]*"))
    ['CMakeLists.txt', 'Makefile', 'README.md', 'ethereal_flash.h', 'ethereal_straight.h',
     'tiny.c', 'tiny.h', 'tiny_test.c']
    """
    return project(model, folder, "c", **options)


def arduino(model: Model, folder: str | os.PathLike[str], **options: Any) -> Path:
    """Write `model` as a library for Arduino and PlatformIO. The options are those of `ExportOptions`.

    The folder holds `library.properties` and `library.json`, the C sources in `src`, and the sketches
    `Classify` and `SelfTest` in `examples`.
    """
    return project(model, folder, "arduino", **options)


def zephyr(model: Model, folder: str | os.PathLike[str], **options: Any) -> Path:
    """Write `model` as a Zephyr module. The options are those of `ExportOptions`.

    The folder holds `zephyr/module.yml`, `CMakeLists.txt` and `Kconfig`, the C sources in `src`, and an
    application that checks the model, `samples/self_test`.
    """
    return project(model, folder, "zephyr", **options)


def stm32f746g_disco(model: Model, folder: str | os.PathLike[str], **options: Any) -> Path:
    """Write a project that predicts golden rows on the board and prints classes and cycles over semihosting.

    The options are those of `ExportOptions`. The chip has 1 MiB of flash.
    """
    return project(model, folder, "stm32f746g_disco", **options)


def project_files(name_of_project: str, program: Program) -> dict[str, str | bytes]:
    """Return all files of a project by path."""
    project, values = find_project(name_of_project), values_of(program)
    files: dict[str, str | bytes] = {project.sources + name: text for name, text in program.files.items()}
    for part in program.parts:
        files |= part.beside(program)
    if project.self_test is not None:
        test = fill("test.c", values)
        files[filled(project.self_test, values)] = (
            test + fill("test_main.c", values) if project.has_main else test
        )
    for name, text in texts_for(project.texts, {part.name for part in program.parts}).items():
        path = filled(project.places.get(name, name.removesuffix(".in")), values)
        if path.lower() in {file.lower() for file in files}:
            raise ValueError(
                f"name is {program.name!r}, but the project has a file {path!r} of its own. "
                f"How about 'model_{program.name}'?"
            )
        files[path] = filled(text, values) if name.endswith(".in") else text
    return files


def texts_for(texts: dict[str, str], parts: Collection[str]) -> dict[str, str]:
    """Return the files for a model with some parts, by their names without those of parts.

    `A.windows.c.in` is for models with the part "windows", in place of `A.c.in` if there is such a file.

    >>> texts_for({"a.c.in": "rows", "a.windows.c.in": "samples", "b.learn.c.in": ""}, {"windows"})
    {'a.c.in': 'samples'}
    """
    chosen_texts = {}
    for name in sorted(texts, key=lambda name: name.count(".")):
        wanted = [piece for piece in name.split(".") if piece in _NAMES_OF_PARTS]
        if all(piece in parts for piece in wanted):
            chosen_texts[".".join(piece for piece in name.split(".") if piece not in wanted)] = texts[name]
    return chosen_texts


_NAMES_OF_PARTS = frozenset(part.name for part in PARTS)


def values_of(program: Program) -> dict[str, str]:
    """Return what the templates of all projects are filled with."""
    model, name = program.model, program.name
    features, sums = golden_rows(program, program.options.rows)
    # Classes that nobody taught yet.
    sums = np.pad(sums, ((0, 0), (0, program.slots.n_new_classes)), constant_values=NEVER)
    is_single = program.options.single_header
    parse = "parseInt" if model.fitted is None else "parseFloat"
    read_one, numbers = f"features[i] = ({name}_input)Serial.{parse}();", ""
    if program.scales:
        numbers = f"static float numbers[{name.upper()}_FEATURES];\n"
        read_one = f"numbers[i] = Serial.parseFloat();\n    {name}_convert(numbers, features);"
    runtime = sorted(file for file in program.files if file.startswith("ethereal"))
    golden, tests = "", ""
    values = usual_values(program)
    for part in program.parts:
        more = part.golden(program, features)
        golden += "\n" + more["golden"] if more["golden"] else ""
        tests += "\n" + more["test"].rstrip() if more["test"] else ""
        values |= more
    return values | {
        "about": program.about,
        "about_line": " ".join(program.about.split()),
        "class_list": _numbered(program.answer_names),
        "feature_list": _numbered(model.input_names),
        "read": read_one,
        "numbers": numbers,
        "golden": golden,
        "tests": tests,
        "more": "".join(part.text("readme", program) for part in program.parts),
        "n_rows": str(len(features)),
        "rows": table(features),
        "sums": table(sums),
        "main_stack": str(_main_stack(program, len(features))),
        "golden_classes": ", ".join(map(str, model.output.indices(sums).tolist())),
        "sources": "" if is_single else f"{name}.c",
        "library": "INTERFACE" if is_single else f"STATIC {name}.c",
        "scope": "INTERFACE" if is_single else "PUBLIC",
        "model_files": f"`{name}.h`" if is_single else f"`{name}.h`, `{name}.c`",
        "runtime_files": "".join(
            f"| `{file}` | runtime, the same for every model of a layout |\n" for file in runtime
        ),
    }


_STACK_BESIDE = 1024  # for printing, drivers and the frames of interrupts
_STACK_STEP = 256


def _main_stack(program: Program, n_rows: int) -> int:
    """Return the stack of a task that runs the self-test: its own variables, a prediction, and printing."""
    n_classes = len(program.class_names)
    needed = program.stack_bytes + 4 * n_classes + 2 * n_rows + _STACK_BESIDE
    return -(-needed // _STACK_STEP) * _STACK_STEP


def _numbered(texts: Sequence[str]) -> str:
    """Return a numbered list in Markdown."""
    return "\n".join(f"{i}. {code_span(text)}" for i, text in enumerate(texts))
