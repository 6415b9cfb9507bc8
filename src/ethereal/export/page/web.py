"""Write a model as one HTML page, in which its exported C runs as WebAssembly."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.atomic import write_folder, write_text
from ethereal.chips.toolchain import compile_wasm
from ethereal.datasets.tables import NULLS
from ethereal.export.c99.choose import chosen
from ethereal.export.c99.ctext import fill, package_version
from ethereal.export.c99.program import Program
from ethereal.export.description import described_program
from ethereal.export.names import check_identifier
from ethereal.export.options import DEFAULT_TARGET, ExportOptions
from ethereal.export.page.payload import answered_rows, model_record, number_of, page_of, shared, start_of
from ethereal.export.projects.writer import warn_of_float64
from ethereal.features.matrices import class_codes
from ethereal.model import Model, checks
from ethereal.model.needs import AND_LINES, WINDOWS, Supports

SUPPORTS = Supports("the page of an export", front_ends=WINDOWS, outputs=AND_LINES)
_SCRIPTS = ("live.js", "inputs.js", "board.js", "table.js", "sensors.js", "web.js")
_EXPORTS = (
    "et_page_row",
    "et_page_sums",
    "et_page_predict",
    "et_page_vote",
    "et_page_missing",
    "et_page_check",
)
_OF_STREAMS = ("et_page_sample", "et_page_push", "et_page_reset", "et_page_features")
_FLASH = 1 << 28  # a browser has no flash that a model could fill
_STACK = 16 << 10  # beside what a prediction is known to take


def web(
    model: Model,
    path: str | os.PathLike[str],
    *,
    name: str = "model",
    layout: str | None = None,
    rows: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    majority: int = 1,
    image: tuple[int, int] | str | None = None,
    force: bool = False,
) -> Path:
    """Write a model as one HTML page that runs the exported C, and return `path`.

    The page holds everything it needs and asks for nothing from anywhere. Its C is that of
    `ethereal.export.c`, compiled to WebAssembly, so the extra `device` must be installed. Sliders set the
    features. A CSV that is dropped on the page is answered row by row. For a model of windows the motion
    sensor of a phone or a microphone feeds it.

    Parameters
    ----------
    model
        The model.
    path
        A file that ends in ".html", or a folder, which gets NAME.html and NAME.json.
    name
        Name of the page.
    layout
        Layout of the C. By default that of the model if it was pruned, else "auto".
    rows
        Typical rows or windows, which set the ends of the sliders.
    labels
        Labels of these rows. The page then offers some of the rows, and says which are answered wrong.
    majority
        For models of windows: answers that vote on each answer of a stream.
    image
        Height and width, such as (28, 28) or "28x28", if rows are images. The page then has a drawing grid.
    force
        Whether to replace an earlier page.

    Examples
    --------
    >>> import tempfile
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     web(model, folder + "/tiny.html").read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    check_identifier(name)
    program = _program(model, layout, rows, majority)
    page = page_text(program, name, _shape(image, model), labels)
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        return write_folder(
            target, {f"{name}.html": page, f"{name}.json": described_program(program, "web")}, force=force
        )
    if target.exists() and not force:
        raise FileExistsError(f"the file {target} exists. Choose another, or give force=True to replace it.")
    write_text(target, page)
    return target


def _program(model: Model, layout: str | None, rows: ArrayLike | None, majority: int) -> Program:
    """Return the C that a page runs."""
    checks.a_model(model)
    SUPPORTS.check(model.needs)
    warn_of_float64(model)
    given: dict[str, Any] = {"layout": layout, "rows": rows, "majority": majority}
    given |= {"input": "float", "target": DEFAULT_TARGET}
    if model.deployment is None:
        given["flash"] = _FLASH
    return chosen(model, *ExportOptions.for_model("web", model, given))


def compiled(program: Program) -> bytes:
    """Return a program as a WebAssembly module, with the functions that the page calls."""
    has_stream, values = (
        program.model.front_end is not None,
        {"name": program.name, "NAME": program.name.upper()},
    )
    refuses = bool(program.slots.refused_features) and not has_stream
    values["missing"] = f"{program.name}_missing(et_page_row)" if refuses else "0"
    is_number = program.model.is_number
    values["sums"] = "1" if is_number else f"{values['NAME']}_CLASSES"
    values["answer"] = fill("number.c" if is_number else "answer.c", values, "page")
    values["pushed"] = fill("pushed.c", values, "page") if is_number else ""
    values["stream"] = fill("stream.c", values, "page") if has_stream else ""
    sources = {**program.files, "et_page.c": fill("glue.c", values, "page")}
    exports = _EXPORTS + _OF_STREAMS * has_stream + ("et_page_pushed",) * (has_stream and is_number)
    return compile_wasm(sources, exports, stack=program.stack_bytes + _STACK)


def page_text(
    program: Program, title: str, image: tuple[int, int] | None = None, labels: ArrayLike | None = None
) -> str:
    """Return the page of a program, whose rows have these labels."""
    data = _data(program, title, image, labels)
    return page_of(shared("web.html"), shared("page.css"), "\n".join(map(shared, _SCRIPTS)), data)


def page_of_rows(model: Model, title: str, X: NDArray[Any], y: NDArray[Any]) -> str:
    """Return the page of a model that offers to answer labelled rows."""
    return page_text(_program(model, None, X, 1), title, labels=y)


def _data(
    program: Program, title: str, image: tuple[int, int] | None, labels: ArrayLike | None
) -> dict[str, Any]:
    """Return what a page runs: the record of the model, and its C as WebAssembly."""
    model, code = program.model, compiled(program)
    X = _features(program)
    record = model_record(model, X) | {"precision": "float32"}  # as the C compares
    kind = "a number" if model.is_number else f"{model.n_classes} classes"
    facts = {
        "made by": f"ethereal {package_version()}",
        "model": f"{kind}, {model.n_clauses} rules, {model.n_includes} conditions",
        "layout of the C": program.layout,
        "WebAssembly": f"{len(code):,} bytes",
        "checksum": f"{program.tables.checksum(True):08X}",
    }
    return {
        "title": title,
        "subtitle": " ".join(program.about.split()),
        "model": record,
        "start": _start(model, X, image),
        "start_is": "the middle values of typical rows" if len(X) else "the middle thresholds",
        "rows": [] if labels is None else _answered(model, X, np.asarray(labels)),
        "image_shape": image,
        "windows": None,
        "facts": facts,
        "board": {
            "input": "uint8_t" if model.fitted is None else program.input.ctype,
            "stream": _stream(program),
        },
        "named": model.feature_names is not None,
        "nulls": NULLS,
        "wasm": base64.b64encode(code).decode(),
    }


def _answered(model: Model, X: NDArray[Any], labels: NDArray[Any]) -> list[dict[str, Any]]:
    if model.is_number:
        return answered_rows(X, labels.astype(np.float64), model.predict(X), is_number=True)
    codes = class_codes(labels, model.classes)
    return answered_rows(X, codes, model.output.codes(model.class_sums(X)), is_number=False)


def _features(program: Program) -> NDArray[Any]:
    """Return the features of the rows that were given, none without any."""
    rows, front_end = program.options.rows, program.model.front_end
    if rows is None or len(np.asarray(rows)) == 0:
        return np.zeros((0, program.model.n_features))
    if front_end is not None and np.ndim(rows) == 3:
        return front_end.transform(rows)
    return np.asarray(program.read_columns(rows))


def _start(model: Model, X: NDArray[Any], image: tuple[int, int] | None) -> list[float | int | None]:
    """Return the values to begin with: middle values of rows, else middle thresholds."""
    if len(X) or image is not None or model.fitted is None:
        return [number_of(value) for value in start_of(model, X, drawn=image is not None)]
    thresholds = map(model.feature_map.thresholds_of, range(model.n_features))
    names = model.input_names
    middle = [0.0 if name in model.categories or not len(t) else float(t[len(t) // 2])
              for name, t in zip(names, thresholds, strict=True)]  # fmt: skip
    return [number_of(value) for value in middle]


def _stream(program: Program) -> Mapping[str, Any] | None:
    """Return what the page knows of raw samples, None for a model of rows."""
    front_end = program.model.front_end
    if front_end is None:
        return None
    kept = ("axes", "units", "scale", "window", "hop", "rate")
    return {key: getattr(front_end, key) for key in kept} | {"majority": program.options.majority}


def _shape(image: tuple[int, int] | str | None, model: Model) -> tuple[int, int] | None:
    if image is None:
        return None
    try:
        height, width = map(int, image.lower().split("x") if isinstance(image, str) else image)
    except (ValueError, TypeError):
        height = width = 0
    if height < 1 or height * width != model.n_features or model.front_end is not None:
        raise ValueError(f"image is {image!r}. It must be height x width of {model.n_features} features.")
    return height, width
