"""The packages of src/ and the layers of the product in their order, and the imports that go against it.

    python tools/layers.py           # lists every import against the order, with file and line

A layer may import the layers before it and itself, nothing else: not inside a function, not for types. The
root of `ethereal` holds the front door, `__init__.py` and `__main__.py`, which knows every layer.
`ethereal_bounds` imports neither of the others. `ethereal` imports `ethereal_bounds` in one module and never
`ethereal_study`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SRC = Path(__file__).resolve().parent.parent / "src"
PACKAGES = {
    "ethereal_bounds": "bounds of instructions and stack, from machine code that is followed for all inputs",
    "ethereal": "the product: training, models, exports, boards, the command line",
    "ethereal_study": "the paper: data sets, tables, baselines, speed comparison, and `ethereal run --paper`",
}
ASKS_FOR_BOUNDS = "ethereal.device.worst"
LAYERS = {
    "base": "helpers that know nothing of machines: checks, arrays, whole files, sizes, splits, progress",
    "cluster": "where tasks run: here, in processes, on Dask",
    "chips": "cores, chips, ELF files and the compilers for them, but no models",
    "features": "raw samples to Booleans: windows, kernels, rounding, `Booleanizer`, the map of features",
    "datasets": "labelled rows: from names, CSV, Parquet, npz, and windows of recordings",
    "model": "`Model`: clauses, prediction, `simplify`, rules, explanations, the `.etm` file, the codes",
    "compress": "a Model to a smaller Model: `shorten`, `join`, the pruning curve, but no devices",
    "train": "`EtherealClassifier`: automata, epochs, the choice of the epoch, checkpoints",
    "trees": "trees and their Model, a clause per leaf: of other libraries, and our own that are boosted",
    "adapt": "`Votes`: a Model that goes on learning one person's rows, as its board does",
    "export": "a Model to files for a board: C, projects, MicroPython",
    "device": "emulate, boot, measure a model or a baseline, copy to a real board, record its samples",
    "tuning": "the best model within a budget",
    "runs": "`ethereal.run`: options, stages and their results, the folder, the report",
    "studio": "`ethereal studio`: a page on this computer over `ethereal.run`",
    "cli": "one module per command",
}
ORDER = list(LAYERS)


class Offence(NamedTuple):
    """An import that goes against the order."""

    path: str
    line: int
    layer: str
    target: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.layer} imports {self.target}"


def modules(src: Path = SRC) -> dict[str, Path]:
    """Full names of all modules; a package is its `__init__`."""
    by_name = {}
    for path in sorted(path for package in PACKAGES for path in (src / package).rglob("*.py")):
        parts = path.relative_to(src).with_suffix("").parts
        by_name[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return by_name


@cache
def imports(text: str, known: frozenset[str]) -> tuple[tuple[int, str], ...]:
    """Line and module of every import of our packages anywhere in a module, as text or by name."""
    return tuple(_imports(ast.parse(text), known))


def _imports(tree: ast.AST, known: frozenset[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            is_root = node.module in PACKAGES
            names = [each if each in known or is_root else node.module for each in full.values()]
        elif (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module"
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            names = [str(node.args[0].value)]
        yield from ((node.lineno, name) for name in names if name.split(".")[0] in PACKAGES)


def exported_by_root(src: Path) -> dict[str, str]:
    """Names that `from ethereal import NAME` gives, and the modules that define them."""
    tree = ast.parse((src / "ethereal" / "__init__.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign | ast.Assign) and isinstance(node.value, ast.Dict):
            modules_of = ast.literal_eval(node.value)
            return {f"ethereal.{name}": str(module) for name, module in modules_of.items()}
    return {}


def layer_of(module: str) -> str:
    """Return the layer of a module of the product, "" for the front door, or another package.

    >>> layer_of("ethereal.model.rules"), layer_of("ethereal"), layer_of("ethereal_study.run")
    ('model', '', 'ethereal_study')
    """
    package, _, rest = module.partition(".")
    return rest.split(".")[0] if package == "ethereal" else package


def may_import(module: str, target: str) -> bool:
    """Whether a module may import another one."""
    importer, imported = layer_of(module), layer_of(target)
    if importer == "ethereal_study" or imported == importer:
        return True
    if importer == "ethereal_bounds" or imported == "ethereal_study":
        return False
    if imported == "ethereal_bounds":
        return module == ASKS_FOR_BOUNDS
    is_outside = importer not in ORDER or imported not in ORDER
    return is_outside or ORDER.index(imported) < ORDER.index(importer)


def offences(src: Path = SRC) -> list[Offence]:
    """All imports against the order of the packages and layers."""
    all_modules = modules(src)
    known, exported = frozenset({*all_modules, "ethereal._native"}), exported_by_root(src)
    return sorted(
        {
            Offence(path.relative_to(src).as_posix(), line, layer_of(name), target)
            for name, path in all_modules.items()
            for line, target in imports(path.read_text(encoding="utf-8"), known)
            if not may_import(name, exported.get(target, target))
        }
    )


if __name__ == "__main__":
    bad = offences()
    print("\n".join(map(str, bad)) or "no import goes against the order")
    sys.exit(bool(bad))
