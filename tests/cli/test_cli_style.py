"""All commands in one manner: the same option for the same thing, and nothing beyond 80 columns."""

import io
import json
import warnings

import pytest
from typer.main import get_command

from dataset_archives import small_source
from ethereal import datasets
from ethereal.cli import app
from ethereal.datasets.rows import columns_named
from ethereal_study.sets import download, registry
from ethereal_study.table import Table, columns
from says import says

LONG = "a sensor with a very long name that nobody would type twice [kg·m²/s³]"


def commands(group, name="ethereal"):
    """Yield name and command of all that can be typed."""
    if not hasattr(group, "commands"):
        yield name, group
        return
    for name_in_group, command in group.commands.items():
        yield from commands(command, f"{name} {name_in_group}")


def options(command):
    return {
        flag: parameter
        for parameter in command.params
        for flag in getattr(parameter, "opts", ())
        if flag.startswith("-")
    }


def test_what_is_written_goes_to_out_everywhere():
    """Fault N19."""
    writing = {}
    for name, command in commands(get_command(app)):
        offered = options(command)
        assert "--runs" not in offered
        if "--out" in offered:
            writing[name] = offered["--out"].opts
    for name in ("convert", "export", "predict", "prune", "run", "study", "train", "tune"):
        assert f"ethereal {name}" in writing
    assert all("-o" in flags for flags in writing.values()), writing


def test_help_folds_where_the_terminal_ends():
    """A docstring's own line ends would leave half lines at 80 columns."""
    for name, command in commands(get_command(app)):
        for paragraph in (command.help or "").split("\n\n"):
            assert "\n" not in paragraph, name


def test_rows_is_one_thing_everywhere():
    """Fault N19: --rows names rows, --max-rows is a number."""
    offered = {name: options(command) for name, command in commands(get_command(app))}
    assert [name for name, theirs in offered.items() if "--rows" in theirs] == [
        "ethereal import",
        "ethereal export",
    ]
    assert {"ethereal measure", "ethereal benchmark train"} <= {
        n for n, theirs in offered.items() if "--max-rows" in theirs
    }


def test_fetch_all_without_a_network_waits_for_one_server_once(call, monkeypatch, tmp_path):
    """Fault N20."""
    tried = []

    class Nowhere:
        url = "http://127.0.0.1:9/"  # the discard port: nobody listens

    monkeypatch.setenv("ETHEREAL_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(download, "TRIES", 1)
    monkeypatch.setattr(datasets, "names", lambda: ["statlog", "har", "gas", "digits"])
    fetch = datasets.fetch
    monkeypatch.setattr(datasets, "fetch", lambda name, **more: (tried.append(name), fetch(name, **more))[1])
    for name in ("statlog", "har", "gas"):
        monkeypatch.setitem(registry.SOURCES, name, small_source(name, Nowhere))
    done = call("datasets", "fetch", "all", code=1)
    assert tried == ["statlog", "digits"]
    says(done.stderr, "har", "127.0.0.1:9")
    assert "digits: " in done.stdout
    tried.clear()
    told = json.loads(call("datasets", "fetch", "all", "--json", code=1).stdout)
    assert ["error" in one for one in told] == [True, True, True, False]


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def test_every_command_fits_80_columns(call, narrow, tmp_path):
    """Fault N14."""
    lines = [f"{LONG},b [/s],colour,y"]
    for i in range(80):
        colour = ("red", "dark green", "blue, light")[i % 3]
        lines.append(
            f'{i * 7 % 11 + 0.5},{i % 17},"{colour}",{"walking upstairs" if i % 17 > 8 else "sitting"}'
        )
    (tmp_path / "t.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    for words in (
        ("train", "t.csv", "--label", "y", "-o", "m.etm", "--clauses", 10, "--epochs", 3),
        ("predict", "m.etm", "t.csv", "--label", "y", "-o", "out.csv"),
        ("explain", "m.etm", "t.csv", "--row", 3),
        ("inspect", "m.etm"),
        ("inspect", "m.etm", "--rules"),
        ("export", "m.etm", "--rows", "t.csv", "-o", "exported"),
        ("export", "m.etm", "--to", "micropython", "-o", "package"),
        ("datasets",),
    ):
        done = call(*words)
        shown = done.stdout + done.stderr
        assert "…" not in shown, words
        assert max(map(len, shown.splitlines())) <= 80, words
    assert LONG.split()[3] in call("inspect", "m.etm", "--rules").stdout
    refused = call("train", "t.csv", "--label", "colours", "-o", "m.etm", code=1).stderr
    assert max(map(len, refused.splitlines())) <= 80


def test_tables_of_the_study_fit_80_columns(narrow):
    """Fault N14: a wide table is cut into parts, each with the names of its rows."""
    from rich.console import Console

    wide = "set | method | " + " | ".join(f"n{i}:a figure {i}:,.2f±" for i in range(9)) + " | data"
    table = Table("t", "Table 2: accuracy and includes of every method on every set", columns(wide))
    for name in ("har", "mammography"):
        figures = {f"n{i}": 1234.5 for i in range(9)} | {f"n{i}_spread": 1.25 for i in range(9)}
        table.rows.append({"set": name, "method": "ETHEREAL", "data": "partial: 36 of 846 rows", **figures})
    console = Console(width=80, file=io.StringIO())
    for part in table.rich(80):
        console.print(part)
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("1,234.50 ± 1.25") == 18
    assert text.count("mammography") == len(table.rich(80)) > 1


def test_names_of_columns_in_messages_of_training(call, tmp_path):
    """An array's feature x1 is called by its column."""
    big = "".join(f"{i % 7},{i % 9 + 1}e300,{'p' if i % 7 > 3 else 'q'}\n" for i in range(60))
    (tmp_path / "t.csv").write_text(f"a,pressure [Pa],y\n{big}")
    for command in (("train", "-o", "m.etm"), ("run",)):
        said = call(command[0], "t.csv", "--label", "y", *command[1:], code=1).stderr
        says(said, "column 'pressure [Pa]'")
        assert "x1" not in said
    stamps = "".join(
        f"{i % 7},{1_700_000_000_000 + i * i * 500},{'p' if i % 7 > 3 else 'q'}\n" for i in range(60)
    )
    (tmp_path / "s.csv").write_text(f"a,ms,y\n{stamps}")
    said = call("train", "s.csv", "--label", "y", "-o", "m.etm", "--epochs", 1, "--clauses", 4).stderr
    assert "warning: column 'ms' has " in said


def test_like_warnings_are_shown_once():
    """The folds of a run warn of the same columns with other figures."""
    texts = ("feature x1 has 87 values", "feature x1 has 69 values", "feature x2 has 69 values")
    with warnings.catch_warnings(record=True) as shown, columns_named(["a", "t 1", "t 2"]):
        warnings.simplefilter("always")
        for text in texts:
            warnings.warn(text, UserWarning, stacklevel=1)
    assert [str(one.message) for one in shown] == ["column 't 1' has 87 values", "column 't 2' has 69 values"]


def test_labels_with_too_few_rows(call, tmp_path):
    train = ("train", "t.csv", "--label", "y", "-o", "m.etm", "--epochs", 1, "--clauses", 4)
    (tmp_path / "t.csv").write_text("a,y\n1,p\n2,q\n")
    assert "Every label has one row only" in call(*train, code=1).stderr
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{i},{i % 30}\n" for i in range(120)))
    said = call(*train, code=1).stderr
    says(said, "Give --test 0.25")
    call(*train, "--test", 0.25)
    (tmp_path / "t.csv").write_text("a,g,y\n" + "".join(f"{i},one,{i % 2}\n" for i in range(60)))
    says(call(*train, "--group", "g", code=1).stderr, "--group", "one")
