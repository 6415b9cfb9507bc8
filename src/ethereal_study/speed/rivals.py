"""Who takes part: ethereal itself, and rivals in virtual environments of their own."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ethereal.base.atomic import write_text
from ethereal_study.speed.protocol import RunnerError

ETHEREAL = "ethereal"
RIVALS = ("pytsetlinmachine", "pytsetlinmachine-unindexed", "tmu", "green-tsetlin")
FOREST = "forest"


@dataclass(frozen=True)
class Rival:
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
    """A rival and the threads it may use: one line of a table."""

    rival: Rival
    threads: int = 1


def ethereal() -> Rival:
    """Return this package in the same form, in the Python that runs now."""
    return Rival(ETHEREAL, Path(__file__).with_name("adapter.py"), Path(sys.executable))


def can_be_set_up() -> bool:
    """Whether this is a clone of the project, which says how the other libraries are installed."""
    try:
        return rivals_folder().is_dir()
    except FileNotFoundError:
        return False


def rivals_folder() -> Path:
    """Find `lab/benchmarks/rivals` of the source tree: rivals are not a part of the installed package."""
    candidates = (Path.cwd(), Path(__file__).resolve().parents[3])
    for root in candidates:
        if (root / "lab" / "benchmarks" / "rivals").is_dir():
            return root / "lab" / "benchmarks" / "rivals"
    raise FileNotFoundError(
        "The other libraries are only set up in a clone of the project, and this folder is not one. Run the "
        "benchmark in a clone, or without them: --rivals none"
    )


def choose(names: str, *, among: tuple[str, ...] = RIVALS) -> tuple[str, ...]:
    """Read a list of rivals: "all", "none", or names separated by commas.

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
            raise ValueError(f"unknown rival {name!r}; there are {', '.join(among)}, all, none")
    if not chosen:
        raise ValueError('no rival is named; say "none" to measure without')
    return chosen


def rival(name: str, report: Callable[[str], None] = lambda message: None) -> Rival:
    """Return a rival, after setting up its environment where that has not been done yet."""
    folder = rivals_folder()
    adapter = folder / f"{name}.py"
    if name == FOREST:  # scikit-learn is here anyway
        return Rival(name, adapter, Path(sys.executable), trains_epochs=False)
    library = name.removesuffix("-unindexed").removesuffix("-unclipped")  # variants of one library
    return Rival(name, adapter, _environment(folder, library, report), max_predict_rows=10_000)


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
