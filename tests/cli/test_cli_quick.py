"""Help and simple mistakes are told before anything is loaded that takes a second."""

import subprocess
import sys

import pytest
import typer

from ethereal.cli import app
from ethereal.cli.commands import HELP

HEAVY = ("numpy", "sklearn", "scipy", "pyarrow", "joblib", "pooch", "optuna", "ethereal_study.cli.study")
PROGRAM = f"""
import sys
from ethereal.cli import app
try:
    app(sys.argv[1:])
finally:
    print(*[name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--help"], 0, ""),
        (["run", "missing.csv"], 1, "missing.csv: there is no such file. Did you mean missed.csv?"),
        (["predict", "missing.etm", "x.csv"], 1, "missing.etm: there is no such file"),
    ],
)
def test_nothing_heavy_is_loaded(tmp_path, words, code, told):
    (tmp_path / "missed.csv").write_text("a,b\n1,2\n")
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    *before, loaded = done.stderr.splitlines()
    assert done.returncode == code
    assert told in " ".join(before)
    assert loaded == ""


def test_a_table_is_refused_before_scikit_learn_is_loaded(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    command = [sys.executable, "-c", PROGRAM, "run", "t.csv", "--label", "c"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "no such column" in done.stderr
    assert not {"sklearn", "scipy"} & set(done.stderr.splitlines()[-1].split())


def test_the_list_of_commands_tells_the_first_paragraph_of_each():
    commands = typer.main.get_command(app).commands
    assert {name: command.help.split("\n\n")[0] for name, command in commands.items()} == HELP
