"""Data sets and methods of one's own in the study, from the command line and from a script."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from typer.testing import CliRunner

from ethereal import cluster
from ethereal.cli import app
from ethereal.datasets.rows import Rows
from ethereal_study import additions, figures, tables
from ethereal_study.additions import add_method, add_set
from ethereal_study.run import cost, grid, run
from ethereal_study.sets.npz import write_npz
from ethereal_study.settings import SETTINGS, Settings
from ethereal_study.store import Store
from small_sets import small_set

MACHINE = Settings(20, 8, 3.0, 4, exclude_every=1, n_bins=4)


@pytest.fixture(autouse=True)
def nothing_stays():
    known = dict(SETTINGS)
    yield
    additions.ADDED.sets.clear()
    additions.ADDED.methods.clear()
    SETTINGS.clear()
    SETTINGS.update(known)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, "up", "down")
    return Rows(X, y, np.arange(300) % 5 == 0)


@pytest.fixture
def call(tmp_path, monkeypatch, rows):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ETHEREAL_DATA", str(tmp_path / "data"))
    write_npz(tmp_path / "data" / "statlog.npz", small_set("statlog"))
    lines = [",".join([*(f"{v:.4f}" for v in x), label]) for x, label in zip(rows.X, rows.y, strict=True)]
    (tmp_path / "mine.csv").write_text("\n".join(["a,b,c,kind", *lines, ""]))
    np.savez(tmp_path / "other.npz", X=rows.X, y=(rows.y == "up").astype(int), test=rows.test)

    def caller(*words, code=0):
        result = CliRunner().invoke(app, list(map(str, words)))
        assert result.exit_code == code, result.output + repr(result.exception)
        return result

    return caller


QUICK = ["--seeds", 2, "--baseline-seeds", 0, "--jobs", 1, "--epochs", 3]


def majority(rows, settings, seed):
    labels, counts = np.unique(rows.y_train, return_counts=True)
    return float((rows.y_test == labels[counts.argmax()]).mean())


CALLS = []


def counted(rows, settings, seed):
    CALLS.append((settings.T, seed))
    return {"accuracy": np.float64(0.5), "includes": 30, "clauses": 10}


def test_files_beside_the_studys_sets(call, tmp_path):
    words = ["--sets", "statlog,mine.csv,other.npz", "--label", "kind", "--clauses", 30, "--T", 9, *QUICK]
    made = json.loads(call("study", "table2", *words, "--json").stdout)
    by_cell = {(r["set"], r["method"]): r for r in made["table2-honest"]["rows"]}
    assert by_cell["statlog", "ETHEREAL"]["published_accuracy"] == 82.35
    for name in ("mine", "other"):
        row = by_cell[name, "ETHEREAL"]
        assert row["published_accuracy"] is None
        assert "published_reduction" not in row
        assert row["seeds"] == 2
        assert row["accuracy"] > 60
    made = json.loads(call("study", "table1", *words, "--json").stdout)["table1-honest"]["rows"]
    assert [(r["set"], r["clauses"], r["T"], r["train"], r["test"]) for r in made[1:]] == [
        ("mine", 30, 9, 240, 60),
        ("other", 30, 9, 240, 60),
    ]
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "study" / "cells").iterdir()}
    call("study", "table2", *words)  # finished cells are kept
    assert before == {p: p.stat().st_mtime_ns for p in (tmp_path / "study" / "cells").iterdir()}
    call("study", "table2", *words, "--s", 9.0)  # but not with other settings
    changed = {p.name for p, t in before.items() if p.stat().st_mtime_ns != t}
    assert changed
    assert all(name.startswith(("mine", "other")) for name in changed)


@pytest.mark.slow
def test_a_benchmark_of_ones_own_table(call, tmp_path):
    words = ["--sets", "mine.csv", "--label", "kind", "--baselines", "none", "--threads", 1, "--repeats", 1]
    (made,) = json.loads(call("benchmark", "train", *words, "--bins", 4, "--json").stdout)
    assert (made["set"], made["real"], made["train_rows"], made["test_rows"]) == ("mine", True, 240, 60)
    assert (made["n_booleans"], made["n_clauses"], made["T"]) == (9, 100, 15)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sets", "mine.csv"], "--label COLUMN"),
        (["--sets", "mine.csv", "--label", "kind", "--test", 0], "needs test rows"),
        (["--sets", "mine.csv", "--label", "kind", "--clauses", 0], "--clauses is 0"),
        (["--sets", "mine.csv", "--label", "kind", "--booleans", "gray"], "thermometer or onehot"),
        (["--sets", "mine.csv,mine.csv", "--label", "kind"], "two sets are called 'mine'"),
        (["--sets", "har.csv", "--label", "kind"], "'har' is a set of the study"),
        (["--sets", "text.csv", "--label", "kind"], "the columns 'c' hold texts"),
        (["--sets", "absent.csv", "--label", "kind"], "absent.csv"),
        (["--sets", "mine"], "the study has no set 'mine'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_that_cannot_be(call, tmp_path, words, message):
    lines = (tmp_path / "mine.csv").read_text().splitlines()
    (tmp_path / "har.csv").write_text("\n".join(lines))
    texts = [
        lines[0],
        *(f"{i},{i},{'red' if i % 3 else 'blue'},{'up' if i % 2 else 'down'}" for i in range(60)),
    ]
    (tmp_path / "text.csv").write_text("\n".join(texts))
    assert message in call("study", "table2", *words, code=1).stderr


@pytest.mark.slow
def test_a_method_of_ones_own_in_table_2(tmp_path, rows):
    CALLS.clear()
    add_set("mine", rows, MACHINE, tmp_path / "sets")
    add_method("majority", majority)
    add_method("counted", counted)
    cells = grid(["mine"], ["vanilla", "ethereal", "majority", "counted"], "honest", 2, None)
    assert all(cost(cell) > 0 for cell in cells)
    results = run(cells, Store(tmp_path / "cells"), quiet=True)
    table = tables.table2(results, "honest")
    by_method = {row["method"]: row for row in table.rows}
    assert by_method["majority"]["accuracy"] == pytest.approx(100 * majority(rows, MACHINE, 0))
    assert (by_method["counted"]["accuracy"], by_method["counted"]["includes"]) == (50.0, 3.0)
    assert "majority" in table.markdown()
    assert "majority" in tables.training(results, "honest").markdown()
    assert sorted(CALLS) == [(8, 0), (8, 1)]
    assert run(cells, Store(tmp_path / "cells"), quiet=True) == results
    assert len(CALLS) == 2  # kept
    add_method("counted", lambda rows, settings, seed: 0.25)  # other code is another method
    results = run(cells, Store(tmp_path / "cells"), quiet=True)
    assert [results[cell]["accuracy"] for cell in cells[-2:]] == [0.25, 0.25]
    machines = {m: results[cells[i]] for m, i in (("vanilla", 0), ("ethereal", 2))}
    figures.tradeoff({"mine": machines}, rows="")  # without published points


@pytest.mark.slow
def test_processes_and_a_cluster_get_sets_and_methods(tmp_path, rows, dask_address):
    add_set("mine", rows, MACHINE, tmp_path / "sets")
    add_method("inner", lambda rows, settings, seed: majority_of(rows.y_train, rows.y_test))

    def majority_of(train, test):
        return float((test == np.bincount(train).argmax()).mean())

    cells = grid(["mine"], ["ethereal", "inner"], "honest", 1, None)
    here = run(cells, Store(tmp_path / "here"), quiet=True)
    in_processes = run(cells, Store(tmp_path / "there"), 2, quiet=True)
    with cluster.connect(dask_address) as workers:
        on_workers = run(cells, Store(tmp_path / "far"), workers=workers, quiet=True)
    for cell in cells:
        accuracies = {r[cell]["accuracy"] for r in (here, in_processes, on_workers)}
        assert len(accuracies) == 1


def test_names_and_answers_that_cannot_be(tmp_path, rows):
    with pytest.raises(ValueError, match="'a/b' cannot name a set"):
        add_set("a/b", rows, MACHINE, tmp_path)
    with pytest.raises(ValueError, match="test rows are not known"):
        add_set("mine", Rows(rows.X, rows.y), MACHINE, tmp_path)
    with pytest.raises(ValueError, match="y has 1 labels"):
        add_set("mine", Rows(rows.X, np.zeros(300, int), rows.test), MACHINE, tmp_path)
    with pytest.raises(ValueError, match="but training rows do not"):
        add_set("mine", Rows(rows.X, rows.test.astype(int), rows.test), MACHINE, tmp_path)
    for name in ("forest", "ethereal", "frontier-ours", ""):
        with pytest.raises(ValueError, match="cannot name a method"):
            add_method(name, majority)
    with pytest.raises(TypeError, match="must be a function"):
        add_method("mine", 3)
    add_set("mine", rows, MACHINE, tmp_path)
    for wrong in (None, 97.5, True, {"includes": 3}):
        add_method("wrong", lambda rows, settings, seed, wrong=wrong: wrong)
        with pytest.raises(ValueError, match="It must be a number from 0 to 1"):
            run(grid(["mine"], ["wrong"], "honest", 1, None), Store(tmp_path / "cells"), quiet=True)


@pytest.mark.slow
def test_a_script_without_a_guard(tmp_path):
    """What a user writes: functions of the script itself, two processes, Table 2 as Markdown."""
    (tmp_path / "script.py").write_text(
        textwrap.dedent(
            """
            import numpy as np
            from ethereal.datasets.rows import Rows
            from ethereal_study import additions, tables
            from ethereal_study.run import grid, run
            from ethereal_study.settings import Settings
            from ethereal_study.store import Store

            def first_feature(rows, settings, seed):
                return float(((rows.X_test[:, 0] > 0) == rows.y_test).mean())

            X = np.random.default_rng(0).normal(size=(200, 2))
            rows = Rows(X, (X[:, 0] > 0).astype(int), np.arange(200) % 4 == 0)
            additions.add_set("mine", rows, Settings(10, 5, 3.0, 3, exclude_every=1, n_bins=4))
            additions.add_method("first", first_feature)
            cells = grid(["mine"], ["vanilla", "first"], "honest", 2, None)
            print(tables.table2(run(cells, Store("cells"), 2, quiet=True), "honest").markdown())
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "| mine | first | 100.00 ± 0.00" in done.stdout
