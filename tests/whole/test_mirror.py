"""Tests lie in the folder of their layer, helpers in `support`, and no test file imports another."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
sys.path.insert(0, str(ROOT / "tools"))
import layers  # noqa: E402

FILES = sorted(TESTS.rglob("test_*.py"))


def imported(path):
    """First parts of the modules that a file imports anywhere."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from (name.split(".")[0] for name in names)


def test_every_package_and_layer_has_tests_and_other_tests_are_about_the_whole():
    assert {path.parent.relative_to(TESTS).as_posix() for path in FILES} == {
        *layers.ORDER,
        "bounds",
        "study",
        "whole",
    }


def test_names_are_unique():
    """Test files are modules without a package."""
    assert len({path.name for path in FILES}) == len(FILES)


@pytest.mark.parametrize("path", sorted(TESTS.rglob("*.py")), ids=lambda path: path.name)
def test_nothing_imports_a_test_file(path):
    assert not {path.stem for path in FILES} & set(imported(path))


@pytest.mark.skipif(
    not shutil.which("git") or not (ROOT / ".git").exists(), reason="needs a checkout with git"
)
def test_git_ignores_no_source():
    """Ruff and the source distribution leave out what git ignores."""
    paths = [path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")]
    command = ["git", "check-ignore", "--no-index", *(str(path.relative_to(ROOT)) for path in paths)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 128:
        pytest.skip(done.stderr)  # for example a checkout that belongs to somebody else
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
