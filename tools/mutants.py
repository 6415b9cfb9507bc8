"""Mutation testing with cosmic-ray: small changes to the code that some test must notice.

    python tools/mutants.py [--sample 60] [--seed 0] [MODULE...]

A copy of the package and its tests in build/mutants/MODULE is changed, one change at a time, and the tests of
the module are run, in a process forked from one that has imported numpy and the like. A change that they do
not notice survives and is printed with its place. Annotations are left alone: they are never evaluated. All
changes of all modules take hours; `--sample` takes so many of each module at random, 0 all of them.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import resource
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "mutants"
SECONDS = 120  # of CPU: longer than the tests of a module take together
# What the package and its tests import that is not changed.
HEAVY = ("numpy", "sklearn.model_selection", "hypothesis.extra.numpy", "pandas", "safetensors.numpy", "typer")
# Modules, and the tests that should notice.
SUBJECTS = {
    "booleanize": (
        ["features/booleanizer.py", "features/feature_map.py", "features/rounding.py"],
        ["features/test_booleanize.py"],
    ),
    "model": (
        ["model/model.py", "model/checks.py", "model/clauses.py"],
        ["model/test_model.py", "model/test_clauses.py", "model/test_rules.py", "model/test_files.py"],
    ),
    "compress": (
        [
            "model/simplify.py",
            "compress/__init__.py",
            "compress/curve.py",
            "tuning/footprint.py",
            "tuning/pruning.py",
        ],
        [
            "model/test_simplify.py",
            "compress/test_shorten.py",
            "compress/test_pruner.py",
            "tuning/test_prune.py",
            "compress/test_join.py",
        ],
    ),
    "encode": (
        [
            *("model/codes/__init__.py", "model/codes/container.py", "model/codes/redress.py"),
            "model/codes/compact.py",
        ],
        ["model/test_encode_bytes.py", "model/test_encode_redress.py", "model/test_encode_compact.py"],
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("subjects", nargs="*", metavar="MODULE", help=", ".join(SUBJECTS))
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # in this process, below -S
    args = parser.parse_args()
    if args.here:
        test(args.subjects[0], args.sample, args.seed)
        return
    for name in args.subjects or SUBJECTS:
        copy_tree(WORK / name)
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(WORK / name / "src"), sysconfig.get_path("platlib")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        # -S: without the editable install, which would find the unchanged package.
        command = [sys.executable, "-S", __file__, name, "--here"]
        command += ["--sample", str(args.sample), "--seed", str(args.seed)]
        subprocess.run(command, env=environment, check=True)


def copy_tree(where: Path) -> None:
    from ethereal import _native

    shutil.rmtree(where, ignore_errors=True)
    for folder in ("src", "tests"):
        shutil.copytree(ROOT / folder, where / folder, ignore=shutil.ignore_patterns("__pycache__", "native"))
    shutil.copy(_native.__file__, where / "src" / "ethereal")


def test(name: str, sample: int, seed: int) -> None:
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    modules, tests = SUBJECTS[name]
    os.chdir(WORK / name)
    for module in HEAVY:
        import_module(module)
    assert passes(tests), "the tests fail without a change"
    changes = [change for module in modules for change in changes_of(Path("src/ethereal", module))]
    chosen = sorted(
        random.Random(seed).sample(range(len(changes)), min(sample or len(changes), len(changes)))
    )
    survivors = 0
    for done, number in enumerate(chosen):
        print(f"{name}: {done} of {len(chosen)} tried", file=sys.stderr, flush=True)
        path, operator, occurrence = changes[number]
        with use_mutation(path, get_operator(operator)(), occurrence) as (before, after):
            if passes(tests):
                survivors += 1
                lines = difflib.unified_diff(before.splitlines(), after.splitlines(), str(path), n=0)
                print("\n".join(line for line in lines if not line.startswith("+++")), flush=True)
    print(
        f"{name}: {len(changes)} changes, {len(chosen)} tried, {len(chosen) - survivors} noticed", flush=True
    )


def changes_of(path: Path) -> Iterator[tuple[Path, str, int]]:
    """All that cosmic-ray can change in a file, but for annotations: operators and their occurrences."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    annotations = [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        for parent in ast.walk(ast.parse(path.read_text()))
        for field in ("annotation", "returns")
        if isinstance(node := getattr(parent, field, None), ast.expr)
    ]
    nodes = list(ast_nodes(get_ast_from_path(path)))
    for name in sorted(operator_names()):
        if not get_operator(name).arguments():
            places = [place for node in nodes for place in get_operator(name)().mutation_positions(node)]
            for occurrence, (start, _) in enumerate(places):
                if not any(begin <= tuple(start) < end for begin, end in annotations):
                    yield path, name, occurrence


def passes(tests: list[str]) -> bool:
    """Whether the tests pass in a process of their own; those that take minutes do not."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:doctest"]
            code = pytest.main([*options, "-o", "addopts=", *(f"tests/{test}" for test in tests)])
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


if __name__ == "__main__":
    main()
