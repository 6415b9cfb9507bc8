"""Options of a command that come from the fields of a dataclass."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from ethereal.base.options import option, refuse, split_kwargs
from ethereal.cli.options import grouped, is_quiet


@dataclass(frozen=True)
class Bounds:
    """Bounds."""

    flash: int | str | None = option(None, "Bytes of flash.", kind=str | None)
    with_names: bool = option(False, "Add names.", "--names")
    hidden: int = 7


@dataclass(frozen=True)
class Seeds:
    """Seeds."""

    seed: int = option(0, "The seed.")


def _app():
    app = typer.Typer()
    seen = []

    @app.command()
    @grouped
    def act(path: Annotated[str, typer.Argument()], bounds: Bounds, seeds: Seeds, loud: bool = False) -> None:
        """Act."""
        seen.append((path, bounds, seeds, loud))

    return app, seen


def test_a_command_gets_its_dataclasses_filled():
    app, seen = _app()
    result = CliRunner().invoke(app, ["x", "--flash", "8k", "--names", "--seed", "3", "--loud"])
    assert result.exit_code == 0, result.output
    assert seen == [("x", Bounds("8k", True), Seeds(3), True)]


def test_help_has_every_option_and_no_field_that_is_not_one():
    app, _ = _app()
    text = CliRunner().invoke(app, ["--help"]).output
    assert "--flash" in text
    assert "--names" in text
    assert "--seed" in text
    assert "hidden" not in text


def test_flat_keywords_fill_the_dataclass_and_others_are_refused():
    bounds, rest = split_kwargs(Bounds, {"flash": 9, "sed": 1})
    assert bounds == Bounds(9)
    assert rest == {"sed": 1}
    with pytest.raises(
        TypeError, match=r"tune\(\) has no option 'sed'. Its options are flash, with_names, hidden, seed"
    ):
        refuse("tune", rest, Bounds, Seeds)


@pytest.mark.parametrize(
    ("as_json", "is_terminal", "quiet"), [(True, True, False), (True, False, True), (False, False, False)]
)
def test_json_hides_progress_only_where_nobody_watches(monkeypatch, as_json, is_terminal, quiet):
    """Fault F34: `run --json` showed no progress on a terminal."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    assert is_quiet(as_json) is quiet
