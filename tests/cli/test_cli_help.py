"""The help at 80 columns: nothing is cut, common options come first, commands follow the user's way."""

import re

import pytest
import typer
from typer.testing import CliRunner

from ethereal.cli import app

ROOT = typer.main.get_command(app)


def all_commands(command=ROOT, words=()):
    for name, one in getattr(command, "commands", {}).items():
        yield [*words, name], one
        yield from all_commands(one, [*words, name])


def help_of(words):
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80", "TERM": "dumb"})
    assert done.exit_code == 0
    return done.output


def panels(text):
    """Return the titles of the panels and their lines."""
    parts = re.split(r"╭─ (.*?) ─+╮\n", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("words", [words for words, _ in all_commands()], ids=" ".join)
def test_no_option_is_cut_at_80_columns(words):
    """Fault F30: `--worst-instruc…`."""
    text = help_of(words)
    command = dict((tuple(path), one) for path, one in all_commands())[tuple(words)]
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    for parameter in (each for each in command.params if not getattr(each, "hidden", False)):
        for flag in (*parameter.opts, *parameter.secondary_opts):
            assert not flag.startswith("-") or re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text), flag


def test_run_comes_first_among_the_commands():
    """Fault F30: it was the twelfth of nineteen."""
    text = help_of([])
    names = [name for name in re.findall(r"^│ ([a-z]+) ", text, re.MULTILINE)]
    assert names[:4] == ["run", "report", "studio", "train"]
    assert set(names) == set(ROOT.commands)
    assert "Commands" not in panels(text)  # each has a panel that says what it is for


@pytest.mark.parametrize("command", ["run", "train", "tune", "prune", "export", "measure", "predict"])
def test_common_options_come_first_and_are_few(command):
    """Fault F30: 40 options in one list."""
    by_panel = panels(help_of([command]))
    assert list(by_panel)[:2] == ["Arguments", "Options"]
    assert len(by_panel) >= 4
    for title, lines in by_panel.items():
        assert len(re.findall(r"^│ [* ] *--|^│ --", lines, re.MULTILINE)) <= 22, title
    assert len(re.findall(r"^│ (?:\*  |   )?--", by_panel["Options"], re.MULTILINE)) <= 16
    assert "--label" in by_panel["Options"] or command == "export"
