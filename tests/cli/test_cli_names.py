"""Names that rich would take for markup, through every command that shows them."""

import csv
import json

import pytest

from ethereal import Model

FEATURES = ("rate [/s]", "speed [m/s]", "[bold]x[/bold]", ":smile:")
LABELS = ("[bold]a[/bold]", "[/b]")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "[red]x {y}.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*FEATURES, "kind [/k]"])
        for i in range(120):
            writer.writerow([i % 17, i * 7 % 11, i * 5 % 13, i % 3, LABELS[i % 17 > 8]])
    return path


def test_inspect_shows_names_as_they_are(call, table):
    call("train", table.name, "--label", "kind [/k]", "--epochs", 5, "--clauses", 10, "-o", "[red]m.etm")
    shown = call("inspect", "[red]m.etm").stdout
    assert "[red]m.etm: 4 features" in shown
    for name in (*LABELS, "rate [/s]"):
        assert name in shown
    assert Model.load("[red]m.etm").feature_names == FEATURES
    facts = json.loads(call("inspect", "[red]m.etm", "--json").stdout)
    top = facts["top_literals"][0][0]
    assert top in shown


def test_measure_and_predict(call, table):
    call("train", table.name, "--label", "kind [/k]", "--epochs", 5, "--clauses", 10, "-o", "[red]m.etm")
    assert (
        "[red]m.etm on cortex-m7" in call("measure", "[red]m.etm", table.name, "--label", "kind [/k]").stdout
    )
    predicted = call("predict", "[red]m.etm", table.name, "--label", "kind [/k]").stdout.splitlines()[1:]
    assert set(predicted) == set(LABELS)


def test_the_progress_bar_takes_any_file_name(table, monkeypatch):
    from ethereal.base.messages import progress

    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress(table.name, 1.0, quiet=False) as show:
        show(0.5, "10 rows")


def test_run(call, figures, table):
    words = ("run", table.name, "--label", "kind [/k]", "--quick", "--clauses", 4, "--epochs", 5)
    shown = call(*words, "--no-forest").stdout
    assert "[red]x {y}" in shown
    assert "accuracy" in shown
