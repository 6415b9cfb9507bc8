"""Write a model as one of the projects: the C of the model, templates filled, and a self-test."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.adapt.learning import NEVER
from ethereal.base.atomic import write_folder
from ethereal.export import projects
from ethereal.export.c99.choose import chosen
from ethereal.export.c99.ctext import fill, filled, float_literal, wrap
from ethereal.export.c99.device_rows import NumberType
from ethereal.export.c99.parts import PARTS
from ethereal.export.c99.parts.windows import windows_for
from ethereal.export.c99.program import Program, usual_values
from ethereal.export.names import code_span
from ethereal.export.options import ExportOptions
from ethereal.features.rounding import to_float32
from ethereal.model import Model


@dataclass(frozen=True)
class Project:
    """A folder: its files, and what `project.json` says. Paths and files that end in .in may have @name@."""

    about: str
    texts: dict[str, str]  # by the names of the files
    places: dict[str, str] = field(default_factory=dict)  # path of a file that is not written under its name
    sources: str = ""  # folder of the model's C
    self_test: str | None = None  # path of the golden rows and the function that tests them
    has_main: bool = False  # whether the self-test is a program
    fixed: dict[str, Any] = field(default_factory=dict)  # options that are not left to the user


def find_project(name: str) -> Project:
    """Return the project of that name.

    >>> find_project("zephyr").sources
    'src/'
    """
    if name not in projects.PROJECTS:
        raise ValueError(f"project is {name!r}. It must be one of {', '.join(projects.PROJECTS)}.")
    files = (entry for entry in (projects.HOME / name).iterdir() if entry.is_file())
    texts = {entry.name: entry.read_text(encoding="utf-8") for entry in files}
    return Project(**json.loads(texts.pop("project.json")), texts=texts)


def project(model: Model, folder: str | os.PathLike[str], name_of_project: str, **options: Any) -> Path:
    """Write `model` as the project of that name, a folder in `ethereal.export.projects`, and return `folder`.

    The options are those of `ethereal.export.ExportOptions`, except those that the project decides itself.
    """
    return write_project(project_program(model, name_of_project, **options), folder, name_of_project)


def project_program(model: Model, name_of_project: str, **options: Any) -> Program:
    """Return the program that `project` writes."""
    fixed = find_project(name_of_project).fixed
    for key in options.keys() & fixed.keys():
        raise TypeError(f"{name_of_project}() has no option {key!r}. It is always {fixed[key]!r}.")
    asked = ExportOptions.for_model(name_of_project, model, {**options, **fixed})
    return chosen(model, *asked, platform=name_of_project)


def write_project(program: Program, folder: str | os.PathLike[str], name_of_project: str) -> Path:
    """Write a program as the project of that name, and return `folder`."""
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
        main = fill("test_main.c", values) if project.has_main else ""
        files[filled(project.self_test, values)] = fill("test.c", values) + main
    for name, text in texts_for(project.texts, {part.name for part in program.parts}).items():
        path = filled(project.places.get(name, name.removesuffix(".in")), values)
        if path.lower() in map(str.lower, files):
            taken = f"the project has a file {path!r} of its own"
            raise ValueError(f"name is {program.name!r}, but {taken}. How about 'model_{program.name}'?")
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


_STACK_BESIDE = 1024  # for printing, drivers and the frames of interrupts
_STACK_STEP = 256


def values_of(program: Program) -> dict[str, str]:
    """Return what the templates of all projects are filled with."""
    model, name = program.model, program.name
    features, sums = golden_rows(program, program.options.rows)
    # Classes that nobody taught yet.
    sums = np.pad(sums, ((0, 0), (0, program.slots.n_new_classes)), constant_values=NEVER)
    # Of a task that runs the self-test: its own variables, a prediction, and printing.
    stack = program.stack_bytes + 4 * sums.shape[1] + 2 * len(features) + _STACK_BESIDE
    is_single = program.options.single_header
    parse = "parseInt" if model.fitted is None else "parseFloat"
    read_one, numbers = f"features[i] = ({name}_input)Serial.{parse}();", ""
    if program.scales:
        numbers = f"static float numbers[{name.upper()}_FEATURES];\n"
        read_one = f"numbers[i] = Serial.parseFloat();\n    {name}_convert(numbers, features);"
    runtime = sorted(file for file in program.files if file.startswith("ethereal"))
    note = "runtime, the same for every model of a layout"
    golden, tests = "", ""
    values = usual_values(program)
    for part in program.parts:
        more = part.golden(program, features)
        golden += "\n" + more["golden"] if more["golden"] else ""
        tests += "\n" + more["test"].rstrip() if more["test"] else ""
        values |= more
    values |= {
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
        "rows": _table(features),
        "sums": _table(sums),
        "main_stack": str(-(-stack // _STACK_STEP) * _STACK_STEP),
        "golden_classes": ", ".join(map(str, model.output.codes(sums).tolist())),
        "sources": "" if is_single else f"{name}.c",
        "library": "INTERFACE" if is_single else f"STATIC {name}.c",
        "scope": "INTERFACE" if is_single else "PUBLIC",
        "model_files": f"`{name}.h`" + ("" if is_single else f", `{name}.c`"),
        "runtime_files": "".join(f"| `{file}` | {note} |\n" for file in runtime),
    }
    if program.number:
        values["sums"] = wrap(list(map(str, sums[:, 0].tolist())))
        values["value_bits"] = program.number.value_bits(sums)
    values |= program.project_texts(values)
    return values | program.answer_texts(values, expected="expected", comparison="comparison")


def _numbered(texts: Sequence[str]) -> str:
    """Return a numbered list in Markdown."""
    return "\n".join(f"{i}. {code_span(text)}" for i, text in enumerate(texts))


_N_ROWS = 16


def golden_rows(program: Program, rows: ArrayLike | None) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return some of `rows` as the device reads them, and the host's class sums for them.

    Without `rows`, rows near the thresholds are made. Where integers are too coarse, the device may answer
    rows differently. These rows are left out, and a warning counts them.
    """
    rows = None if rows is None else program.read_columns(rows)
    warn_of_float64(program.model)
    warn_of_one_class(program.model)
    _warn_of_coarse_integers(program, rows)
    if rows is None or len(np.asarray(rows)) == 0:
        rows = _near_thresholds(program.model, program.input, _N_ROWS)
    features, sums = program.features(rows), program.model.class_sums(rows)
    is_same = (program.device_sums(features) == sums).all(axis=1)
    if program.model.early:  # the self-test looks for the largest sum
        is_same &= program.model._engine.winners(rows) == program.model.output.codes(sums)
    same = np.flatnonzero(is_same)
    if len(same) == 0:
        same = np.arange(len(sums))  # no row agrees, and the self-test will say so
    some = same[:: max(1, len(same) // _N_ROWS)][:_N_ROWS]
    return features[some], sums[some]


def warn_of_float64(model: Model) -> None:
    """Warn that a model of an older file may answer otherwise on the device."""
    if model.fitted is not None and model.feature_map.precision == "float64":
        warnings.warn(
            "The model comes from an older file and compares in float64. The device has float32, so values "
            "next to a threshold may be answered differently. Convert it with `ethereal convert OLD.etm "
            "--out NEW.etm` or Model.in_float32(), and look at its accuracy again.",
            UserWarning,
            stacklevel=4,
        )


def warn_of_one_class(model: Model) -> None:
    """Warn that a model of one class answers every row alike, because its votes may be meant as a number."""
    if not model.is_number and model.n_classes == 1:
        warnings.warn(
            f"The model has one class, {model.classes.tolist()[0]!r}, and answers every row with it. "
            "If its votes stand for a number, give the model output=Number(...) in place of classes.",
            UserWarning,
            stacklevel=4,
        )


def _warn_of_coarse_integers(program: Program, rows: ArrayLike | None) -> None:
    scales = zip(program.model.input_names, program.scales, strict=False)
    coarse = [f"{name!r} to steps of {1 / each.factor:g}" for name, each in scales if not each.is_exact]
    if coarse:
        more = f" and {len(coarse) - 5} more" if len(coarse) > 5 else ""
        warnings.warn(
            f"{program.input.name} rounds thresholds of {', '.join(coarse[:5])}{more}. "
            f"{_changes(program, rows)} A wider number type has more room.",
            UserWarning,
            stacklevel=4,
        )


def _changes(program: Program, rows: ArrayLike | None) -> str:
    """Return how many rows have another class on the device, as a sentence."""
    if rows is None or len(np.asarray(rows)) == 0:
        return "Values on these steps are answered like on the host. Give typical rows to count the others."
    host = program.model.output.codes(program.model.class_sums(rows))  # without early answers
    device = program.model.output.codes(program.device_sums(program.features(rows)))
    n = int((device != host).sum())
    return f"{n} of the {len(host)} rows given get another class than on the host."


def _table(rows: NDArray[Any]) -> str:
    """Return rows of numbers in C."""
    texts = ([str(x) if isinstance(x, int) else float_literal(x) for x in row] for row in rows.tolist())
    return ",\n".join(map(wrap, texts))


def rows_near_thresholds(model: Model, kind: NumberType, n_rows: int) -> NDArray[Any]:
    """Return rows of features on, just above and just below the thresholds, some missing.

    For a model of windows these are a few windows instead.
    """
    if model.front_end is not None:
        return windows_for(model.front_end, None)
    return _near_thresholds(model, kind, n_rows)


def _near_thresholds(model: Model, kind: NumberType, n_rows: int) -> NDArray[Any]:
    rng, shape = np.random.default_rng(0), (n_rows, model.n_features)
    if model.fitted is None:
        return rng.integers(0, 2, shape).astype(bool)
    rows, missing = np.zeros(shape), np.zeros(shape, dtype=bool)
    for f in range(model.n_features):
        thresholds = model.feature_map.thresholds_of(f)
        if len(thresholds):
            rows[:, f] = rng.choice(thresholds, n_rows)
        missing[:, f] = (rng.random(n_rows) < 0.1) & model.feature_map.accepts_missing(f)
    side = rng.integers(-1, 2, shape)
    exact = to_float32(rows)
    if kind.ctype != "float":  # integers are made of whole numbers first of all
        return np.where(missing, np.nan, np.floor(exact) + side)
    with np.errstate(all="ignore"):  # the neighbours of zero are very small
        beside = np.nextafter(exact, np.where(side < 0, np.float32(-3e38), np.float32(3e38)))
    return np.where(missing, np.float32(np.nan), np.where(side == 0, exact, beside))
