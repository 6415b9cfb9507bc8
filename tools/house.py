"""How large the house is: lines, what one command touches, words of the docs, options of the command line.

    python tools/house.py            # prints a table; it takes about two minutes

Functions are those of src/ that are called, without those of import. A change of package is counted between
one function and the next, in the order in which each is called first. lab/notes/house.md keeps the figures.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"


class Calls:
    """The functions of src/ that are called while it is open, and the models that a program is chosen for."""

    def __init__(self) -> None:
        self.first: dict[CodeType, None] = {}
        self.chosen: Counter[bytes] = Counter()  # by what clauses vote for

    def __enter__(self) -> Calls:
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _see(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(f"{SRC}/"):
            return
        if code.co_flags & 1 and not code.co_name.startswith("<"):  # neither a module nor the body of a class
            self.first.setdefault(code)
            if code.co_name == "chosen" and code.co_filename.endswith("/c99/choose.py"):
                self.chosen[frame.f_locals["model"].clauses.weights.tobytes()] += 1

    def __str__(self) -> str:
        places = [package_of(Path(code.co_filename)) for code in self.first]
        changes = sum(a != b for a, b in pairwise(places))
        files = {code.co_filename for code in self.first}
        return f"{len(self.first):,} functions, {len(files)} files, {changes} changes of package"


def package_of(path: Path) -> str:
    """Return the package of a module: one within `ethereal`, or one beside it."""
    parts = path.relative_to(SRC).parts
    return ".".join(parts[:2] if len(parts) > 2 and parts[0] == "ethereal" else parts[:1])


def lines() -> Iterator[tuple[str, str]]:
    """Yield lines and modules of each package in src/."""
    for package in sorted(path.parent for path in SRC.glob("*/__init__.py")):
        modules = list(package.rglob("*.py"))
        n_lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules)
        yield f"Python in src/{package.name}", f"{n_lines:,} lines in {len(modules)} modules"


def command(*words: str) -> None:
    """Run a command of `ethereal` in this process. What it prints is shown only when it fails."""
    from ethereal.cli import app

    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            app(list(words))
    except SystemExit as end:
        if end.code:
            raise RuntimeError(told.getvalue()) from end


def fit_and_predict() -> None:
    """Train a small estimator and let it answer."""
    from sklearn.datasets import load_digits

    from ethereal import EtherealClassifier

    X, y = load_digits(return_X_y=True)
    EtherealClassifier(20, epochs=3, n_jobs=1, random_state=0).fit(X[:500], y[:500]).predict(X[500:])


def calls(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what three ways into the package touch."""
    model = folder / "runs" / "digits" / "model.etm"
    run = ("run", "digits", "--quick", "--jobs", "1", "--out", str(folder / "runs"))
    export = ("export", str(model), "--to", "c", "--out", str(folder / "c"))
    work: dict[str, Callable[[], Any]] = {
        "`ethereal run digits --quick`": lambda: command(*run),
        "`ethereal export --to c`": lambda: command(*export),
        "`fit` and `predict`": fit_and_predict,
    }
    for name, do in work.items():
        with Calls() as coverage:
            do()
        yield name, str(coverage)
        if chosen := coverage.chosen:
            told = f"{chosen.total()} times, at most {max(chosen.values())} times for the same model"
            yield f"{name}: a program is chosen", told


def words() -> Iterator[tuple[str, str]]:
    """Yield the words of the documents by the headings of the site's contents, and those of lab/."""
    sections: dict[str, list[Path]] = {}
    heading = ""
    for line in (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1].splitlines():
        if match := re.match(r"  - ([^:]+):\s*(\S+\.md)?$", line):
            heading = match[1]
        elif line and not line.startswith(" "):
            break
        if page := re.search(r"(\S+\.md)$", line):
            sections.setdefault(heading, []).append(ROOT / "docs" / page[1])
    listed = {path for pages in sections.values() for path in pages}
    sections["Docs outside the contents"] = [p for p in (ROOT / "docs").rglob("*.md") if p not in listed]
    sections["benchmarks/ and lab/"] = [
        p for d in ("benchmarks", "lab") for p in (ROOT / d).rglob("[!.]*.md")
    ]
    for name, pages in sections.items():
        yield f"words: {name}", f"{sum(len(p.read_text(encoding='utf-8').split()) for p in pages):,}"


def options() -> Iterator[tuple[str, str]]:
    """Yield the number of options of all commands, and of those commands whose options have no panels."""
    import typer

    from ethereal.cli import app

    total = flat = 0
    waiting: list[Any] = [typer.main.get_command(app)]
    while waiting:
        one = waiting.pop()
        waiting += [one.commands[name] for name in getattr(one, "commands", {})]
        options = [each for each in one.params if each.param_type_name == "option"]
        total += len(options)
        flat += len(options) * all(getattr(each, "rich_help_panel", None) is None for each in options)
    yield "options on the command line", str(total)
    yield "options of commands without panels", str(flat)


if __name__ == "__main__":
    print("| | |\n|---|---|")
    with tempfile.TemporaryDirectory() as made:
        for part in (lines(), calls(Path(made)), words(), options()):
            for name, figure in part:
                print(f"| {name} | {figure} |", flush=True)
