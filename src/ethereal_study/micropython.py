"""Run exported MicroPython packages in a real MicroPython: its WebAssembly port, from npm, under Node."""

from __future__ import annotations

import base64
import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.export.mpy import runtime
from ethereal.export.mpy.tables import micropython_tables
from ethereal.model import Model
from ethereal.model.codes import redress
from ethereal.model.engine import booleans_of

PACKAGE = "@micropython/micropython-webassembly-pyscript@1.27.0"
_HERE = Path(__file__).parent
_ROUNDS = 4  # of each measurement, interleaved. The fastest counts.


class InterpreterMissingError(RuntimeError):
    """Node, npm or the package is missing."""


class ScriptError(RuntimeError):
    """A script raised in MicroPython. The message ends with its traceback."""


@dataclass(frozen=True)
class MicroPythonCost:
    """What a model costs in MicroPython, per row and in bytes of heap, beside the paper's list of words."""

    rows: int
    agreement: float  # share of rows whose class is the host's, one at a time and many at once
    tables: int  # bytes of the exported tables, Booleanizer included
    heap_code: int  # of the runtime
    heap_model: int  # of the loaded tables
    heap_words: int  # of the list of REDRESS words instead, without its code
    microseconds: float  # Boolean rows, one at a time
    microseconds_many: float  # many Boolean rows at once
    microseconds_small: float  # the same with 24 rows per slice: small integers, next to no heap
    microseconds_raw: float  # many raw rows at once
    microseconds_words: float  # Boolean rows, one at a time, by scanning the list of words


class Interpreter:
    """MicroPython under Node.

    Parameters
    ----------
    folder
        Where npm keeps the package, which is installed there when it is missing. Default: a folder of the
        Python environment.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        place = Path(folder or Path(sys.prefix, "share", "ethereal", "micropython"))
        node, npm = shutil.which("node"), shutil.which("npm")
        if node is None or npm is None:
            raise InterpreterMissingError("MicroPython runs under Node.js. Install nodejs and npm.")
        self._node = node
        name = PACKAGE.rsplit("@", 1)[0]
        self.package = place / "node_modules" / name / "micropython.mjs"
        if not self.package.exists():
            place.mkdir(parents=True, exist_ok=True)
            command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(place), PACKAGE]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode or not self.package.exists():
                raise InterpreterMissingError(f"npm cannot install {PACKAGE}: {done.stderr.strip()[-500:]}")

    def run(
        self, files: Mapping[str, bytes | str], scripts: Sequence[str], *, heap: int = 32_000_000
    ) -> list[str]:
        """Run scripts in one interpreter, with `files` on its file system, and return what each printed.

        This port collects garbage only between scripts, so `gc.collect()` belongs at the beginning of one.
        """
        contents = {name: data.encode() if isinstance(data, str) else data for name, data in files.items()}
        job = {
            "package": str(self.package),
            "heap": heap,
            "files": {name: base64.b64encode(data).decode() for name, data in contents.items()},
            "scripts": list(scripts),
        }
        done = subprocess.run(
            [self._node, str(_HERE / "micropython.mjs")],
            input=json.dumps(job),
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise ScriptError(f"MicroPython ended with code {done.returncode}: {done.stderr[-500:]}")
        results: list[dict[str, str]] = json.loads(done.stdout)
        if "error" in results[-1]:
            raise ScriptError(results[-1]["error"])
        return [result["text"] for result in results]


def measure_micropython(
    model: Model, X: ArrayLike, interpreter: Interpreter | None = None
) -> MicroPythonCost:
    """Measure a model in MicroPython on the rows of `X`, beside the paper's list of words.

    Both run in the same interpreter on the same Boolean rows. Times are CPU times on this machine, the
    fastest of several interleaved rounds. Their ratios carry over to a board.
    """
    interpreter = interpreter or Interpreter()
    winners = model.output.codes(model.class_sums(X))
    booleans = booleans_of(model, X)
    # The paper's method takes Boolean rows only.
    of_booleans = Model.of(
        model.clauses, classes=np.arange(model.n_classes), boolean_rates=model.boolean_rates
    )
    loadable = _loadable(model)
    files: dict[str, bytes | str] = {
        **loadable,
        "measure.py": (_HERE / "micropython_measure.upy").read_text(),
        "winners": winners.astype(np.uint8).tobytes(),
        "raw.rows": np.ascontiguousarray(X, dtype=np.float64 if model.booleanizer else np.uint8).tobytes(),
        "boolean.etb": micropython_tables(of_booleans),
        "boolean.rows": np.ascontiguousarray(booleans, dtype=np.uint8).tobytes(),
    }
    heap = micropython_heap(model, interpreter)
    of_boolean = _times(interpreter, files, "boolean", ["one", "many", "small", "scan"], len(winners))
    of_raw = _times(interpreter, files, "raw", ["many"], len(winners))
    wrong = max(of_boolean[:, 1].max(), of_raw[0, 1])
    return MicroPythonCost(
        rows=len(winners),
        agreement=1.0 - float(wrong) / max(len(winners), 1),
        tables=len(loadable["raw.etb"]),
        heap_code=heap["code"],
        heap_model=heap["model"],
        heap_words=heap["words"],
        microseconds=float(of_boolean[0, 0]),
        microseconds_many=float(of_boolean[1, 0]),
        microseconds_small=float(of_boolean[2, 0]),
        microseconds_raw=float(of_raw[0, 0]),
        microseconds_words=float(of_boolean[3, 0]),
    )


def micropython_heap(model: Model, interpreter: Interpreter | None = None) -> dict[str, int]:
    """Return bytes of heap of the runtime ("code"), the loaded "model", and the paper's list of "words"."""
    interpreter, files = interpreter or Interpreter(), _loadable(model)
    code = _heap(interpreter, files, "import ethereal_tm")
    loaded = _heap(interpreter, files, "import ethereal_tm\nmodel = ethereal_tm.load('raw.etb')")
    scanner = _heap(interpreter, files, "import redress")
    scanned = _heap(interpreter, files, f"import redress\nwords = redress.load('words', {model.n_classes})")
    return {"code": code, "model": loaded - code, "words": scanned - scanner}


def _loadable(model: Model) -> dict[str, bytes | str]:
    """Return the runtime with tables, and the paper's scan with words."""
    words, counts = redress.words(model)
    return {
        "ethereal_tm.py": runtime("plain"),
        "redress.py": (_HERE / "micropython_redress.upy").read_text(),
        "words": struct.pack(f"<{len(counts)}I", *counts) + words.astype("<u2").tobytes(),
        "raw.etb": micropython_tables(model),
    }


def _heap(interpreter: Interpreter, files: Mapping[str, bytes | str], script: str) -> int:
    """Return the bytes of heap that a script leaves in use."""
    before = "import gc\ngc.collect()\nheap = gc.mem_alloc()"
    return int(interpreter.run(files, [before, script, "gc.collect()\nprint(gc.mem_alloc() - heap)"])[2])


def _times(
    interpreter: Interpreter, files: Mapping[str, bytes | str], path: str, works: list[str], n_rows: int
) -> NDArray[np.float64]:
    """Return microseconds per row and number of wrong rows of each work, works x 2."""
    setup = f"import measure\nm = measure.Measure({path!r}, {n_rows})"
    # Each work has a script, because garbage is only collected between scripts.
    scripts = [f"import gc\ngc.collect()\nprint(m.time(m.{work}))" for work in works] * _ROUNDS
    texts = interpreter.run(files, [setup, *scripts])[1:]
    measured = np.array([json.loads(text) for text in texts]).reshape(_ROUNDS, len(works), 2)
    return np.stack([measured[:, :, 0].min(axis=0), measured[:, :, 1].max(axis=0)], axis=1)
