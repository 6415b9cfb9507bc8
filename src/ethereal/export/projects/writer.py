"""Write a model as one of the projects: the C of the model, templates filled, and a self-test."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ethereal.base.atomic import write_folder
from ethereal.export.c99 import learn, unknown, windows
from ethereal.export.c99.choose import chosen
from ethereal.export.c99.names import code_span
from ethereal.export.c99.program import Program
from ethereal.export.c99.text import fill, filled, package_version, refused_features
from ethereal.export.golden import golden_rows, table
from ethereal.export.options import ExportOptions
from ethereal.export.projects import find_project
from ethereal.model import Model
from ethereal.model.file import to_file_bytes


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
    own, values = find_project(name_of_project), values_of(program)
    files: dict[str, str | bytes] = {own.sources + name: text for name, text in program.files.items()}
    if program.model.early:  # which is not the model that was given
        files[f"{program.name}.etm"] = to_file_bytes(program.model)
    if own.self_test is not None:
        test = fill("test.c", values)
        files[filled(own.self_test, values)] = test + fill("test_main.c", values) if own.has_main else test
    texts = texts_for(
        own.texts, is_windows=program.model.front_end is not None, learns=program.learning is not None
    )
    for name, text in texts.items():
        path = filled(own.places.get(name, name.removesuffix(".in")), values)
        if path.lower() in {file.lower() for file in files}:
            raise ValueError(
                f"name is {program.name!r}, but the project has a file {path!r} of its own. "
                f"How about 'model_{program.name}'?"
            )
        files[path] = filled(text, values) if name.endswith(".in") else text
    return files


def texts_for(texts: dict[str, str], *, is_windows: bool, learns: bool = False) -> dict[str, str]:
    """Return the files for a model. For models of raw windows, `A.windows.c.in` stands in for `A.c.in`.

    Files such as `A.learn.c.in` are for exports that learn.

    >>> texts_for({"a.c.in": "rows", "a.windows.c.in": "samples", "b.learn.c.in": ""}, is_windows=True)
    {'a.c.in': 'samples'}
    """
    texts = {name: text for name, text in texts.items() if learns or ".learn." not in name}
    found = {name: text for name, text in texts.items() if ".windows." not in name}
    if is_windows:
        found |= {name.replace(".windows", ""): text for name, text in texts.items() if ".windows." in name}
    return found


def values_of(program: Program) -> dict[str, str]:
    """Return what the templates of all projects are filled with."""
    model, name = program.model, program.name
    features, sums = golden_rows(program, program.options.rows)
    is_single = program.options.single_header
    parse = "parseInt" if model.fitted is None else "parseFloat"
    read_one, numbers = f"features[i] = ({name}_input)Serial.{parse}();", ""
    if program.scales:
        numbers = f"static float numbers[{name.upper()}_FEATURES];\n"
        read_one = f"numbers[i] = Serial.parseFloat();\n    {name}_convert(numbers, features);"
    runtime = sorted(file for file in program.files if file.startswith("ethereal"))
    names, sums = learn.answer_names(program), learn.all_sums(program, sums)
    return (
        windows.test_values(program)
        | learn.test_values(program, features)
        | {
            "name": name,
            "NAME": name.upper(),
            "version": package_version(),
            "layout": program.layout,
            "about": program.about,
            "about_line": " ".join(program.about.split()),
            "classes": str(model.n_classes + program.slots.n_new_classes),
            "features": str(model.n_features),
            "class_list": _numbered(names),
            "winner": ", winner" if unknown.is_asked(model) else "",
            "expect": unknown.expected(model, name.upper()),
            "feature_list": _numbered(model.input_names),
            "input_note": _input_note(program),
            "read": read_one,
            "numbers": numbers,
            "n_rows": str(len(features)),
            "rows": table(features),
            "sums": table(sums),
            "stack": str(windows.stack_of(program)),
            "main_stack": str(_main_stack(program, len(features))),
            "tasks_note": _TASKS if program.learning is None else _TASKS_LEARN,
            "golden_classes": ", ".join(map(str, model.output.indices(sums).tolist())),
            "sources": "" if is_single else f"{name}.c",
            "library": "INTERFACE" if is_single else f"STATIC {name}.c",
            "scope": "INTERFACE" if is_single else "PUBLIC",
            "model_files": f"`{name}.h`" if is_single else f"`{name}.h`, `{name}.c`",
            "runtime_files": "".join(
                f"| `{file}` | runtime, the same for every model of a layout |\n" for file in runtime
            ),
        }
    )


_TASKS = "Functions keep nothing between calls, so they may be called from several tasks at once."
_TASKS_LEARN = "All functions that predict or learn share variables, so call them from one task."
_STACK_BESIDE = 1024  # for printing, drivers and the frames of interrupts
_STACK_STEP = 256


def _main_stack(program: Program, n_rows: int) -> int:
    """Return the stack of a task that runs the self-test: its own variables, a prediction, and printing."""
    n_classes = program.model.n_classes + program.slots.n_new_classes
    needed = windows.stack_of(program) + 4 * n_classes + 2 * n_rows + _STACK_BESIDE
    return -(-needed // _STACK_STEP) * _STACK_STEP


def _input_note(program: Program) -> str:
    """Return what the features on the device are."""
    if program.model.fitted is None:
        return ", one byte each, 0 or 1"
    note = f", as `{program.input.ctype}`"
    if any(scale.exponent or scale.offset for scale in program.scales):
        note += f" that `{program.name}_convert()` makes of the numbers of the training data"
    if program.slots.accepts_missing:
        is_float = program.input.ctype == "float"
        note += f"; a missing value is {'not a number' if is_float else f'`{program.name.upper()}_MISSING`'}"
    if refused_features(program.slots) and program.model.front_end is None:
        note += f"; `{program.name}_missing()` tells whether one is missing that never was in training"
    return note


def _numbered(texts: Sequence[str]) -> str:
    """Return a numbered list in Markdown."""
    return "\n".join(f"{i}. {code_span(text)}" for i, text in enumerate(texts))
