"""A model as a library for Arduino and PlatformIO, and as a Zephyr module: the C export in their folders."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from numpy.typing import ArrayLike

from ethereal.base.folder import write_folder
from ethereal.export.c99.choose import DEFAULT_TARGET, choose
from ethereal.export.c99.program import Layout, Program
from ethereal.export.c99.text import fill
from ethereal.export.golden import self_test
from ethereal.export.numbers import Input
from ethereal.export.projects.library import input_note, numbered
from ethereal.model import Model

# Where each file goes, and its template.
_ARDUINO = {
    "library.properties": "arduino/library.properties",
    "library.json": "arduino/library.json",
    "keywords.txt": "arduino/keywords.txt",
    "README.md": "arduino/README.md",
    "examples/Classify/Classify.ino": "arduino/Classify.ino",
    "examples/SelfTest/SelfTest.ino": "arduino/SelfTest.ino",
}
_ZEPHYR = {
    "zephyr/module.yml": "zephyr/module.yml",
    "CMakeLists.txt": "zephyr/CMakeLists.txt",
    "Kconfig": "zephyr/Kconfig",
    "README.md": "zephyr/README.md",
    "samples/self_test/CMakeLists.txt": "zephyr/sample.cmake",
    "samples/self_test/prj.conf": "zephyr/prj.conf",
    "samples/self_test/sample.yaml": "zephyr/sample.yaml",
    "samples/self_test/src/main.c": "zephyr/main.c",
}


def arduino(
    model: Model,
    folder: str | os.PathLike[str],
    *,
    name: str = "model",
    layout: Layout | Literal["auto"] = "auto",
    input: Input = "float",
    rows: ArrayLike | None = None,
    flash: int | None = None,
    target: str = DEFAULT_TARGET,
    force: bool = False,
) -> Path:
    """Write `model` as a library for Arduino and PlatformIO; the parameters are those of `export.c`.

    The folder holds `library.properties` and `library.json`, the C sources in `src`, and the sketches
    `Classify` and `SelfTest` in `examples`.

    >>> import tempfile
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     sorted(p.name for p in arduino(model, parent + "/tiny", name="tiny").glob("[!.]*"))
    ['README.md', 'examples', 'keywords.txt', 'library.json', 'library.properties', 'src']
    """
    program = choose(
        model, layout, flash=flash, target=target, name=name, input=input, rows=rows, with_names=True
    )
    files = _files(program, _ARDUINO)
    files["examples/SelfTest/golden.c"] = _golden(program, rows)
    return write_folder(folder, files, force=force)


def zephyr(
    model: Model,
    folder: str | os.PathLike[str],
    *,
    name: str = "model",
    layout: Layout | Literal["auto"] = "auto",
    input: Input = "float",
    rows: ArrayLike | None = None,
    flash: int | None = None,
    target: str = DEFAULT_TARGET,
    with_names: bool = False,
    force: bool = False,
) -> Path:
    """Write `model` as a Zephyr module; the parameters are those of `export.c`.

    The folder holds `zephyr/module.yml`, `CMakeLists.txt` and `Kconfig`, the C sources in `src`, and an
    application that checks the model, `samples/self_test`.

    >>> import tempfile
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     sorted(p.name for p in zephyr(model, parent + "/tiny", name="tiny").glob("[!.]*"))
    ['CMakeLists.txt', 'Kconfig', 'README.md', 'samples', 'src', 'zephyr']
    """
    program = choose(
        model, layout, flash=flash, target=target, name=name, input=input, rows=rows, with_names=with_names
    )
    files = _files(program, _ZEPHYR)
    files["samples/self_test/src/golden.c"] = _golden(program, rows)
    return write_folder(folder, files, force=force)


def _files(program: Program, templates: dict[str, str]) -> dict[str, str]:
    """The library's sources, and the templates filled."""
    model, name = program.model, program.name
    parse = "parseInt" if model.booleanizer is None else "parseFloat"
    read, numbers = f"features[i] = ({name}_input)Serial.{parse}();", ""
    if program.scales:
        numbers = f"static float numbers[{name.upper()}_FEATURES];\n"
        read = f"numbers[i] = Serial.parseFloat();\n    {name}_convert(numbers, features);"
    values = {
        "name": name,
        "NAME": name.upper(),
        "version": version("ethereal-tm"),
        "about": program.about,
        "about_line": " ".join(program.about.split()),
        "classes": str(model.n_classes),
        "features": str(model.n_features),
        "read": read,
        "numbers": numbers,
        "class_list": numbered([str(label) for label in model.classes.tolist()]),
        "feature_list": numbered(model.input_names),
        "input_note": input_note(program),
    }
    files = {f"src/{file}": text for file, text in program.files.items()}
    return files | {path: fill(template, values, "projects") for path, template in templates.items()}


def _golden(program: Program, rows: ArrayLike | None) -> str:
    """The self-test without its main program, which is the board's."""
    return self_test(program, rows).split("#if __STDC_HOSTED__")[0].rstrip() + "\n"
