"""The baselines of the speed comparison, and what passes between the parent and a baseline's process."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ethereal.base.atomic import write_text

RUNNER = Path(__file__).with_name("runner.py")
# Threads of a library's dependencies, not only its own, are held to what the request allows.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
# CPU seconds per second of wall time above the threads allowed: start-up and clocks are not exact.
CORES_TOLERANCE = 0.2
ETHEREAL = "ethereal"
BASELINES = ("pytsetlinmachine", "pytsetlinmachine-unindexed", "tmu", "green-tsetlin")
FOREST = "forest"


class RunnerError(RuntimeError):
    """A baseline failed, or gave an answer that cannot be believed."""


@dataclass(frozen=True)
class Request:
    """What a baseline is asked to do. `data` is a file of `ShapedRows.save`."""

    data: str
    n_booleans: int
    n_classes: int
    n_clauses: int
    T: int
    s: float
    epochs: int
    seed: int
    threads: int
    evaluate: bool
    predict_rows: int  # 0: training only


@dataclass(frozen=True)
class Answer:
    """What a baseline measured. Lists have one entry per epoch."""

    library: str
    version: str
    seconds: tuple[float, ...]
    accuracy: tuple[float | None, ...]
    includes_per_clause: tuple[float, ...]
    cores_used: float
    start_bytes: int
    peak_bytes: int
    predict_rows_per_second: float | None
    predict_accuracy: float | None


def run(
    python: str | Path, adapter: Path, request: Request, *, trains_epochs: bool = True, timeout: float = 3600
) -> Answer:
    """Run one baseline in a process of its own and return its checked answer."""
    environment = os.environ | {name: str(request.threads) for name in THREAD_VARIABLES}
    try:
        done = subprocess.run(
            [str(python), "-I", str(RUNNER), str(adapter)],
            input=json.dumps(asdict(request)),
            capture_output=True,
            text=True,
            timeout=timeout,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise RunnerError(f"{adapter.name} did not finish within {timeout:g} s") from error
    except OSError as error:
        raise RunnerError(f"{adapter.name} could not be started with {python}: {error}") from error
    if done.returncode != 0:
        last = "\n".join(done.stderr.strip().splitlines()[-8:])
        raise RunnerError(f"{adapter.name} ended with code {done.returncode}:\n{last}")
    return check_answer(done.stdout, request, trains_epochs=trains_epochs)


def check_answer(text: str, request: Request, *, trains_epochs: bool = True) -> Answer:
    """Turn an answer's text into an `Answer`, or raise `RunnerError` saying what is wrong with it."""
    try:
        answer = json.loads(text)
    except json.JSONDecodeError as error:
        raise RunnerError(f"the answer is not JSON ({error}): {text[:80]!r}") from error
    if not isinstance(answer, dict):
        raise RunnerError(f"the answer is a {type(answer).__name__}, not an object")
    wanted = set(Answer.__dataclass_fields__)
    if set(answer) != wanted:
        raise RunnerError(
            f"the answer lacks {sorted(wanted - set(answer))} "
            f"and has the unknown {sorted(set(answer) - wanted)}"
        )
    for name in ("library", "version"):
        if not isinstance(answer[name], str) or not answer[name]:
            raise RunnerError(f"{name} is {answer[name]!r}, not a text")
    epochs, checked = request.epochs if trains_epochs else 0, dict[str, Any]()
    limits = {"seconds": (1e-9, math.inf), "includes_per_clause": (0.0, 2.0 * request.n_booleans)}
    for name, (low, high) in (limits | {"accuracy": (0.0, 1.0)}).items():
        values, is_unasked = answer[name], name == "accuracy" and not request.evaluate
        if not isinstance(values, Sequence) or len(values) != epochs:
            raise RunnerError(f"{name} is {values!r}; a list of {epochs} entries is needed, one per epoch")
        for i, value in enumerate(values):
            if name == "accuracy" and (value is None) == request.evaluate:
                raise RunnerError(f"{name} of epoch {i + 1} is {value}: evaluate is {request.evaluate}")
        numbers = (_number(value, f"{name} of epoch {i + 1}", low, high) for i, value in enumerate(values))
        checked[name] = tuple(values if is_unasked else numbers)
    checked["cores_used"] = cores = _number(answer["cores_used"], "cores_used")
    if cores > request.threads + CORES_TOLERANCE:
        raise RunnerError(f"{answer['library']} used {cores:.2f} cores; {request.threads} allowed")
    for name in ("start_bytes", "peak_bytes"):
        checked[name] = int(_number(answer[name], name))
    for name, low, high in (("predict_rows_per_second", 1e-9, math.inf), ("predict_accuracy", 0.0, 1.0)):
        checked[name] = _number(answer[name], name, low, high) if request.predict_rows else None
    return Answer(**(answer | checked))


def _number(value: Any, where: str, low: float = 0.0, high: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise RunnerError(f"{where} is {value!r}, not a finite number")
    if not low <= value <= high:
        raise RunnerError(f"{where} is {value}; it must lie between {low:g} and {high:g}")
    return float(value)


@dataclass(frozen=True)
class Baseline:
    """A library to measure: the adapter that drives it, and the Python that has it installed.

    This package takes part in the same form, see `ethereal`.
    """

    name: str
    adapter: Path
    python: Path
    trains_epochs: bool = True
    max_predict_rows: int | None = None  # per call, for those who would take minutes


@dataclass(frozen=True)
class Entry:
    """A baseline and the threads it may use: one line of a table."""

    baseline: Baseline
    threads: int = 1


def ethereal() -> Baseline:
    """Return this package in the same form, in the Python that runs now."""
    return Baseline(ETHEREAL, Path(__file__).with_name("adapter.py"), Path(sys.executable))


def can_be_set_up() -> bool:
    """Whether this is a clone of the project, which says how the other libraries are installed."""
    try:
        return baselines_folder().is_dir()
    except FileNotFoundError:
        return False


def baselines_folder() -> Path:
    """Find `lab/benchmarks/baselines` of the source tree. The installed package does not have it."""
    for root in (Path.cwd(), Path(__file__).resolve().parents[3]):
        if (folder := root / "lab" / "benchmarks" / "baselines").is_dir():
            return folder
    raise FileNotFoundError(
        "The other libraries are only set up in a clone of the project, and this folder is not one. Run the "
        "benchmark in a clone, or without them: --baselines none"
    )


def choose(names: str, *, among: tuple[str, ...] = BASELINES) -> tuple[str, ...]:
    """Read a list of baselines: "all", "none", or names separated by commas.

    >>> choose("tmu,pytsetlinmachine")
    ('tmu', 'pytsetlinmachine')
    >>> choose("none")
    ()
    """
    if names in ("all", "none"):
        return among if names == "all" else ()
    chosen = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    for name in chosen:
        if name not in among:
            raise ValueError(f"unknown baseline {name!r}; there are {', '.join(among)}, all, none")
    if not chosen:
        raise ValueError('no baseline is named; say "none" to measure without')
    return chosen


def baseline(name: str, report: Callable[[str], None] = lambda message: None) -> Baseline:
    """Return a baseline, after setting up its environment where that has not been done yet."""
    folder = baselines_folder()
    adapter = folder / f"{name}.py"
    if name == FOREST:  # scikit-learn is here anyway
        return Baseline(name, adapter, Path(sys.executable), trains_epochs=False)
    library = name.removesuffix("-unindexed").removesuffix("-unclipped")  # variants of one library
    return Baseline(name, adapter, _environment(folder, library, report), max_predict_rows=10_000)


def _environment(folder: Path, library: str, report: Callable[[str], None]) -> Path:
    """Make `lab/benchmarks/.venvs/LIBRARY` from its requirements, or take one made from the same before."""
    requirements = folder / f"{library}.txt"
    venv = folder.parent / ".venvs" / library
    python = venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    made_from = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
    stamp = venv / "made-from"
    if stamp.exists() and stamp.read_text() == made_from:
        return python
    report(f"installing {library} in {venv}")
    shutil.rmtree(venv, ignore_errors=True)
    for command in (
        [sys.executable, "-m", "venv", str(venv)],
        [str(python), "-m", "pip", "install", "--disable-pip-version-check", "-q", "-r", str(requirements)],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RunnerError(f"{' '.join(command)} failed:\n{done.stderr.strip()[-800:]}")
    write_text(stamp, made_from)
    return python
