"""Every command and every test that lab/notes/paper.md names exists, so that the page cannot rot."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from ethereal.cli import app

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "lab" / "notes" / "paper.md").read_text(encoding="utf-8")
COMMANDS = sorted({code for code in re.findall(r"`([^`]+)`", TEXT) if code.startswith("ethereal ")})
TESTS = sorted({code for code in re.findall(r"`([^`]+)`", TEXT) if code.startswith("tests/")})


def parse(command):
    """Parse a command line as the shell would, options and their values included, and run nothing."""
    group = typer.main.get_command(app)
    arguments = shlex.split(command)[1:]
    while hasattr(group, "commands") and arguments:
        group, arguments = group.commands[arguments[0]], arguments[1:]
    group.make_context(group.name, arguments)


@pytest.mark.parametrize("command", COMMANDS)
def test_command_of_the_page_is_understood(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in re.findall(r"\S+\.etm", command):
        (tmp_path / name).touch()
    parse(command)


@pytest.mark.parametrize(
    "command", ["ethereal study table9", "ethereal study table2 --no-such", "ethereal nothing"]
)
def test_command_that_does_not_exist_is_found(command):
    with pytest.raises(Exception, match=r"table9|--no-such|nothing"):
        parse(command)


@pytest.mark.parametrize("name", TESTS)
def test_test_of_the_page_exists(name):
    path, _, function = name.partition("::")
    assert f"def {function}" in (ROOT / path).read_text(encoding="utf-8")


def test_every_row_has_its_evidence():
    rows = [line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith("| item ")]
    assert rows
    for row in rows:
        assert re.search(r"`(ethereal|tests/)[^`]+`|\]\(", row.split("|")[2]), row
