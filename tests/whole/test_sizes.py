"""Files that a reader can hold in the head: sizes of modules, functions and signatures."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# One concept, one file. What is longer than this is more than one.
MOST_LINES, MOST_BODY, MOST_ARGUMENTS = 800, 60, 10
# Functions that may have more arguments: a model has that many parts. The constructor of an estimator has
# scikit-learn's own form, in which every parameter is an argument. Pruning and the frontier take rows,
# labels, people, held-out rows, and how to measure and to teach.
MANY_ARGUMENTS = {
    *("ethereal/model/model.py:__init__", "ethereal/train/classifier.py:__init__"),
    "ethereal/train/regressor.py:__init__",
    *("ethereal/tuning/pruning.py:prune", "ethereal/tuning/frontiers.py:frontier"),
}


def _modules() -> list[Path]:
    native = (ROOT / "src/ethereal/native").glob("*.[ch]pp")
    # Not the environments of baselines, which the benchmark makes in a hidden folder.
    benchmarks = (ROOT / "lab/benchmarks").glob("[!.]*/*.py"), (ROOT / "lab/benchmarks").glob("*.py")
    return [*(ROOT / "src").rglob("*.py"), *native, *(path for paths in benchmarks for path in paths)]


@functools.cache
def _all_functions() -> list[tuple[str, str, int, int]]:
    """Return module, name, lines and arguments of every function."""
    folder_there = ROOT / "src"
    return [
        (str(p.relative_to(folder_there)), *function)
        for p in folder_there.rglob("*.py")
        for function in _functions(p.read_text())
    ]


def _functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield name, lines without the docstring, and number of arguments of each function."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0]
        documented = ast.get_docstring(node) is not None
        n_docstring = first.end_lineno - first.lineno + 1 if documented else 0  # type: ignore[operator]
        arguments = node.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        n_lines = node.end_lineno - node.lineno + 1 - n_docstring  # type: ignore[operator]
        yield node.name, n_lines, len(names) - (names[:1] in (["self"], ["cls"]))


def test_no_module_is_longer_than_a_reader_can_hold():
    long = {str(p): n for p in _modules() if (n := len(p.read_text().splitlines())) > MOST_LINES}
    assert not long


@pytest.mark.parametrize("limit", ["lines", "arguments"])
def test_functions_are_short_and_signatures_can_be_read(limit):
    too_much = {
        f"{module}:{name}"
        for module, name, n_lines, n_arguments in _all_functions()
        if (n_lines > MOST_BODY if limit == "lines" else n_arguments > MOST_ARGUMENTS)
    }
    assert too_much == (set() if limit == "lines" else MANY_ARGUMENTS)


def test_the_count_leaves_out_docstrings_and_self():
    text = "def f(self, a, *, b=1):\n    '''One.\n\n    Two.\n    '''\n    return a\n"
    assert list(_functions(text)) == [("f", 2, 2)]
