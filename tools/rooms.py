"""The rooms of the package in their order, and the imports that go against it.

    python tools/rooms.py            # lists every import against the order, with file and line

A room may import the rooms before it and itself, nothing else: not inside a function, not for types. The root
holds the front door, `__init__.py` and `__main__.py`, which knows every room.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "ethereal"
ROOMS = {
    "base": "helpers that know nothing of machines: checks, arrays, whole files, sizes, splits, progress",
    "cluster": "where tasks run: here, in processes, on Dask",
    "chips": "cores, chips and the compilers for them, but no models",
    "features": "raw samples to Booleans: windows, kernels, rounding, `Booleanizer`, the map of features",
    "datasets": "labelled rows: from names, CSV, Parquet, npz, and windows of recordings",
    "model": "`Model`: clauses, prediction, `simplify`, rules, explanations, the `.etm` file, the codes",
    "compress": "a Model to a smaller Model: `shorten`, `join`, the pruning curve, but no devices",
    "train": "`EtherealClassifier`: automata, epochs, the choice of the epoch, checkpoints",
    "adapt": "`Votes`: a Model that goes on learning one person's rows, as its board does",
    "export": "a Model to files for a board: C, projects, MicroPython",
    "device": "emulate, boot, measure, copy to a real board, record its samples",
    "tuning": "the best model within a budget",
    "runs": "`ethereal run`: stages, their folder, the report",
    "study": "the paper apart: its tables, rivals, speed comparison (only `cli` imports it)",
    "cli": "one module per command",
}
ORDER = list(ROOMS)


class Offence(NamedTuple):
    """An import that goes against the order."""

    path: str
    line: int
    room: str
    target: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.room} imports ethereal.{self.target}"


def modules(root: Path = PACKAGE) -> dict[str, Path]:
    """Dotted names below the package, without `ethereal.`; a package is its `__init__`."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(tree: ast.AST, known: set[str]) -> Iterator[tuple[int, str]]:
    """Line and module of every import of the package anywhere in a syntax tree, as text or by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "ethereal":
                    yield node.lineno, alias.name.partition(".")[2]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ethereal":
            base = (node.module or "").partition(".")[2]
            for alias in node.names:
                full = f"{base}.{alias.name}".lstrip(".")
                yield node.lineno, full if full in known or not base else base
        elif (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module"
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and str(node.args[0].value).startswith("ethereal.")
        ):
            yield node.lineno, str(node.args[0].value).partition(".")[2]


def exported_by_root(root: Path) -> dict[str, str]:
    """Names that `from ethereal import NAME` gives, and the modules that define them."""
    tree = ast.parse((root / "__init__.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign | ast.Assign) and isinstance(node.value, ast.Dict):
            pairs = zip(node.value.keys, node.value.values, strict=True)
            texts = [
                (k.value, v.value)
                for k, v in pairs
                if isinstance(k, ast.Constant) and isinstance(v, ast.Constant)
            ]
            return {str(k): str(v).removeprefix("ethereal.") for k, v in texts}
    return {}


def room_of(module: str) -> str:
    """The first part of a dotted name."""
    return module.split(".")[0]


def offences(root: Path = PACKAGE) -> list[Offence]:
    """All imports against the order of the rooms."""
    found = modules(root)
    known, exported = {*found, "_native"}, exported_by_root(root)
    against = []
    for name, path in found.items():
        if room_of(name) not in ORDER:
            continue  # the front door
        own = ORDER.index(room_of(name))
        for line, target in imports(ast.parse(path.read_text(encoding="utf-8")), known):
            room = room_of(exported.get(target, target))
            if room in ORDER and ORDER.index(room) > own:
                against.append(Offence(path.relative_to(root).as_posix(), line, room_of(name), target))
    return sorted(set(against))


if __name__ == "__main__":
    bad = offences()
    print("\n".join(map(str, bad)) or "no import goes against the order")
    sys.exit(bool(bad))
