"""The study on small sets of the study's names, in a data folder of the test's own."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from ethereal.cli import app
from ethereal.model import Model
from ethereal_study import cells as cells_module
from ethereal_study import tables
from ethereal_study.cells import MACHINES, basis, compute, prepare
from ethereal_study.run import grid, run
from ethereal_study.sets.npz import write_npz
from ethereal_study.settings import SETTINGS
from ethereal_study.store import Cell, Store
from ethereal_study.table import statistics
from small_sets import small_set

FAKE_LARQ = (
    "import sys, numpy as np; g = np.load(sys.argv[1]); n = g['bits'].shape[1];"
    " u, c = g['n_units'], g['n_classes']; assert int(g['epochs']) == 3;"
    " np.savez(sys.argv[2], hidden=np.ones((n, u)), output=np.ones((u, c)))"
)
QUICK = ["--epochs", 3, "--seeds", 2, "--baseline-seeds", 1, "--jobs", 1]


def test_table2_in_every_form(call, tmp_path):
    shown = call("table2", "--sets", "statlog,mammography", *QUICK).stdout
    for word in ("statlog", "mammography", "RF", "FC256, own", "vanilla TM", "ETHEREAL", "82.35", "partial"):
        assert word in shown
    rows = json.loads((tmp_path / "study" / "table2-honest-3epochs.json").read_text())["rows"]
    assert [r["method"] for r in rows if r["set"] == "statlog"] == [
        "RF", "FC256, own", "FC512, own", "vanilla TM",
        "ETHEREAL", "within 0.5", "simplified",
    ]  # fmt: skip
    by = {(r["set"], r["method"]): r for r in rows}
    store = Store(tmp_path / "study" / "cells")
    both = [store.get(c, basis("statlog")) for c in grid(["statlog"], ["ethereal"], "honest", 2, 3)]
    accuracy = [100 * r["accuracy"] for r in both]
    mean, spread = statistics("accuracy", accuracy).values()
    row = by["statlog", "ETHEREAL"]
    assert (row["accuracy"], row["accuracy_spread"], row["seeds"]) == (mean, spread, 2)
    assert row["published_accuracy"] == 82.35
    vanilla = by["statlog", "vanilla TM"]["includes"]
    assert row["reduction"] == pytest.approx(100 * (1 - row["includes"] / vanilla))
    assert by["statlog", "simplified"]["includes"] <= row["includes"]
    assert by["statlog", "RF"]["seeds"] == 1
    assert row["change"] == pytest.approx(mean - by["statlog", "vanilla TM"]["accuracy"])
    assert row["published_change"] == pytest.approx(82.35 - 81.18)
    forest = store.get(Cell("statlog", "forest", "honest", 0, 3), basis("statlog"))
    assert by["statlog", "RF"]["forest"] == f"{forest['trees']}x{forest['depth']}"
    assert by["statlog", "RF"]["published_forest"] == "25x14"
    assert all(r["partial"] for r in rows)  # 120 rows of 846, and of 961
    assert by["statlog", "RF"]["forest"] in shown
    read = list(csv.DictReader(io.StringIO((tmp_path / "study" / "table2-honest-3epochs.csv").read_text())))
    assert float(read[4]["accuracy"]) == mean
    assert float(read[4]["accuracy_spread"]) == spread
    markdown = (tmp_path / "study" / "table2-honest-3epochs.md").read_text()
    assert f"| statlog, partial | ETHEREAL | {mean:.2f} ± {spread:.2f} | 82.35 |" in markdown
    sizes = json.loads((tmp_path / "study" / "sizes-honest-3epochs.json").read_text())["rows"]
    assert len(sizes) == 8
    for trained, simple in zip(sizes[::2], sizes[1::2], strict=True):
        assert simple["includes"] <= trained["includes"]
        assert trained["compact"] < trained["redress"] == 2 * trained["includes"]
    printed = json.loads(call("table2", "--sets", "statlog,mammography", *QUICK, "--json").stdout)
    assert printed["table2-honest"]["rows"] == rows


def test_table2_is_cut_between_a_figure_and_its_next_one():
    """At 80 columns accuracy and includes stand beside what is published, with the longest names."""
    forest = {"trees": 30, "depth": 14, "accuracy": 0.5, "completeness": "partial"}
    machine = {"accuracy": 0.84131, "includes": 1202, "clauses": 100, "completeness": "partial"}
    machine |= {"history": {"phase": ["train"], "includes": [1202], "chosen_by": [0.8], "test": [0.8]}}
    machine |= {"simplified": {"includes": 1100}}
    results = {Cell("sensorless", "forest", "paper", 0): forest}
    results |= {Cell("sensorless", method, "paper", s): machine for method in MACHINES for s in (0, 1)}
    results[Cell("sensorless", "larq256", "paper", 0)] = forest
    parts = tables.table2(results, "paper").rich(80)
    heads = [[str(column.header) for column in part.columns] for part in parts]
    assert heads[0] == ["set", "method", "accuracy %", "paper", "includes", "paper"]
    assert heads[1] == ["set", "method", "change", "paper", "less %", "paper", "n"]


@pytest.mark.slow
def test_larq_networks_in_the_table(call, tmp_path, monkeypatch):
    """An interpreter that plays Larq: its cells are apart from those of the package's own trainer."""
    words = ("table2", "--sets", "statlog", *QUICK)
    monkeypatch.delenv("ETHEREAL_BNN_PYTHON", raising=False)
    missing = call(*words, "--bnn", "larq", code=1).stderr
    assert "no interpreter at .venv-bnn" in missing
    assert "make bnn-venv" in missing
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{FAKE_LARQ}" "$3" "$4"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("ETHEREAL_BNN_PYTHON", str(fake))
    shown = json.loads(call(*words, "--bnn", "larq", "--json").stdout)["table2-honest"]["rows"]
    by = {row["method"]: row for row in shown}
    assert [row["method"] for row in shown][:3] == ["RF", "FC256, Larq", "FC512, Larq"]
    assert (by["FC256, Larq"]["published_accuracy"], by["FC512, Larq"]["published_accuracy"]) == (
        71.76,
        72.94,
    )
    call(*words)
    kept = {path.name for path in (tmp_path / "study" / "cells").glob("*.json")}
    assert {"statlog-larq256-honest-0-3epochs.json", "statlog-bnn256-honest-0-3epochs.json"} <= kept
    fake.write_text("#!/bin/sh\nexit 9\n")  # what is finished stays, without Larq
    assert json.loads(call(*words, "--bnn", "larq", "--json").stdout)["table2-honest"]["rows"] == shown
    assert "failed (no output)" in call(*words, "--baseline-seeds", 2, "--bnn", "larq", code=1).stderr


def test_table1_says_what_is_there(call):
    shown = json.loads(call("table1", "--sets", "mammography", "--json").stdout)["table1-honest"]["rows"]
    assert len(shown) == 1
    assert (shown[0]["features"], shown[0]["booleans"], shown[0]["literals"], shown[0]["k"]) == (5, 16, 32, 1)
    assert shown[0]["data"].startswith("partial")
    assert "120 of 961 rows" in shown[0]["completeness"]
    paper = json.loads(call("table1", "--sets", "mammography", "--protocol", "paper", "--json").stdout)
    assert paper["table1-paper"]["rows"][0]["booleans"] == 15  # a missing value counts as the middle one


def test_words_that_are_wrong(call):
    assert "did you mean 'statlog'" in call("table2", "--sets", "statlogg", code=1).stderr
    assert "no set 'zzz'" in call("table2", "--sets", "zzz", code=1).stderr
    assert "table9" in call("table9", code=2).stderr
    assert "--seeds" in call("table2", "--seeds", 0, code=2).stderr
    assert "jobs is 0" in call("table2", "--sets", "statlog", "--jobs", 0, code=1).stderr


def test_a_damaged_set_is_told(call, data):
    (data / "statlog.npz").write_bytes(b"no zip")
    assert "statlog.npz: damaged" in call("table2", "--sets", "statlog", *QUICK, code=1).stderr


def test_damaged_cells_are_computed_again(data, tmp_path):
    store = Store(tmp_path / "cells")
    (cell,) = grid(["statlog"], ["ethereal"], "paper", 1, 2)
    path = store.folder / f"{cell.key}.json"
    first = run([cell], store, quiet=True)[cell]
    assert run([cell], store, quiet=True)[cell] == first  # seconds, too: not computed again
    whole = path.read_bytes()
    other = json.loads(whole) | {"cell": {"dataset": "har"}}
    for damage in (b"", b"[]", b"\xff", whole[: len(whole) // 2], json.dumps(other).encode()):
        path.write_bytes(damage)
        assert store.get(cell, basis("statlog")) is None
        again = run([cell], store, quiet=True)[cell]
        assert (again["accuracy"], again["history"]) == (first["accuracy"], first["history"])
    model = store.model_path(cell)
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    model.write_bytes(content)
    assert store.get(cell, basis("statlog")) is None
    run([cell], store, quiet=True)
    assert Model.load(model).n_includes == first["includes"]
    model.unlink()
    assert store.get(cell, basis("statlog")) is None


def test_other_data_or_settings_are_another_basis(data, tmp_path, monkeypatch):
    store = Store(tmp_path / "cells")
    (cell,) = grid(["statlog"], ["vanilla"], "paper", 1, 2)
    compute(cell, store)
    monkeypatch.setitem(SETTINGS, "statlog", replace(SETTINGS["statlog"], T=9))
    assert store.get(cell, basis("statlog")) is None
    monkeypatch.undo()
    monkeypatch.setenv("ETHEREAL_DATA", str(data))
    assert store.get(cell, basis("statlog")) is not None
    write_npz(data / "statlog.npz", small_set("statlog", seed=5))
    assert store.get(cell, basis("statlog")) is None


@pytest.mark.slow
def test_processes_give_the_same(data, tmp_path):
    cells = grid(["statlog", "mammography"], [*MACHINES, "bnn256"], "honest", 2, 2)
    alone = run(cells, Store(tmp_path / "a"), 1, quiet=True)
    two = run(cells, Store(tmp_path / "b"), 2, quiet=True)
    assert list(two) == cells
    times = {"seconds", "cpu_seconds", "rows_per_second", "exclusion_share"}
    for cell in cells:
        assert {k: v for k, v in alone[cell].items() if k not in times} == {
            k: v for k, v in two[cell].items() if k not in times
        }


def test_protocols(data, tmp_path):
    """paper: the best test accuracy; honest: the epoch with the best accuracy on held-out training rows."""
    store = Store(tmp_path / "cells")
    for protocol in ("paper", "honest"):
        result = compute(Cell("statlog", "ethereal", protocol, 0, 5), store)
        history = result["history"]
        assert history["phase"] == ["train", *["exclude", "train"] * 4]
        epochs = [
            (-chosen_by, includes, test)
            for phase, chosen_by, includes, test in zip(
                *(history[k] for k in ("phase", "chosen_by", "includes", "test")), strict=True
            )
            if phase == "train"
        ]
        best = min(epochs)
        assert (result["includes"], result["accuracy"]) == best[1:]
        assert (history["chosen_by"] == history["test"]) == (protocol == "paper")
        model = Model.load(store.model_path(Cell("statlog", "ethereal", protocol, 0, 5)))
        assert model.n_includes == result["includes"]
        assert model.booleanizer is not None


def test_thresholds_of_the_protocols(data):
    from ethereal import datasets

    loaded, settings = datasets.load("statlog"), SETTINGS["statlog"]
    everything = settings.booleanizer(keep_equal=True).fit(loaded.X).transform(loaded.X)
    learnt = settings.booleanizer().fit(loaded.X_train).transform(loaded.X)
    assert np.array_equal(prepare(loaded, settings, "paper").bits(), everything)
    assert np.array_equal(prepare(loaded, settings, "honest").bits(), learnt)
    assert not np.array_equal(everything, learnt)


def test_unmarked_rows_of_the_paper(data):
    settings = replace(SETTINGS["emg"], n_bins=2)
    marked = small_set("emg", n_rows=200, n_features=3)
    rows = prepare(marked, settings, "paper")
    bits = settings.booleanizer().fit(marked.X[marked.y != 0]).transform(marked.X)
    assert np.array_equal(rows.bits(), bits)
    assert (rows.y != marked.y).any()
    assert (rows.y == marked.y)[marked.y != 0].all()
    assert np.array_equal(prepare(marked, settings, "honest").y, marked.y)


def test_smallest_within_half_a_point(data):
    history = {"phase": ["train", "exclude", "train", "train"], "includes": [90, 1, 50, 40]}
    history |= {"chosen_by": [0.9, 0.9, 0.896, 0.894], "test": [0.8, 0.7, 0.81, 0.82]}
    assert tables._smallest({"history": history}) == (0.81, 50)


@pytest.mark.slow
def test_killed_study_goes_on(data, tmp_path):
    """SIGKILL at some moment: what was finished stays, and only the rest is computed."""
    out = tmp_path / "out"
    words = [
        "study",
        "table2",
        "--sets",
        "mammography",
        "--seeds",
        "3",
        "--baseline-seeds",
        "0",
    ]  # its old name
    words += ["--epochs", "600", "--jobs", "1", "--out", str(out)]
    command = [sys.executable, "-m", "ethereal", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 600
        while len(list(out.glob("cells/*.json"))) < 2:
            assert process.poll() is None, "the study ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    finished = {path.name: path.stat().st_mtime_ns for path in out.glob("cells/*.json")}
    assert 2 <= len(finished) < 6
    again = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=True)
    after = {path.name: path.stat().st_mtime_ns for path in out.glob("cells/*.json")}
    assert len(after) == 6
    assert finished.items() <= after.items()
    assert again.stderr.count(" left\n") == 6 - len(finished)
    assert len(list(out.glob("table2-honest-600epochs.*"))) == 3


def test_unknown_method(data, tmp_path):
    with pytest.raises(ValueError, match="unknown method 'svm'"):
        compute(Cell("statlog", "svm", "paper", 0), Store(tmp_path))
    with pytest.raises(ValueError, match="'digits'"):
        cells_module.basis("digits")


@pytest.mark.slow
def test_the_board_in_tables(call, tmp_path, monkeypatch):
    # MicroPython has tests of its own.
    monkeypatch.setattr(
        "ethereal_study.board._heap", lambda model: {"code": 5000, "model": 2500, "words": 9000}
    )
    shown = call("table3", "--sets", "statlog", "--epochs", 3, "--jobs", 1).stdout
    for word in ("RF", "BNN FC256", "REDRESS TM", "ETHEREAL, fast", "0.219", "estimates with 216 MHz"):
        assert word in shown
    rows = json.loads((tmp_path / "study" / "table3-honest-3epochs.json").read_text())["rows"]
    by = {row["method"]: row for row in rows}
    words, fast = by["ETHEREAL, words"], by["ETHEREAL, fast"]
    assert fast["instructions"] < words["instructions"]
    assert fast["accuracy"] == words["accuracy"]
    assert (fast["heap"], words["heap"]) == (7.5, 9.0)
    assert (by["RF"]["published_kilobytes"], words["published_seconds"]) == (1439.23, 0.219)
    assert words["published_less_time"] == 0.75
    redress = by["REDRESS TM"]["microjoules"]
    assert words["less_energy"] == pytest.approx(100 * (1 - words["microjoules"] / redress))
    assert "published_less_time" not in by["BNN FC256"]
    kept = {
        name: json.loads((tmp_path / "study" / "cells" / f"statlog-{name}-honest-0-3epochs.json").read_text())
        for name in ("forest", "board-forest")
    }
    sizes = [[kept[name]["result"][key] for key in ("trees", "depth")] for name in kept]
    assert sizes[0] == sizes[1]  # the forest on the board is the one that was chosen
    assert by["RF"]["form"] == "{} x {}".format(*sizes[0])
    # The same cells, seen as layouts; nothing is computed again.
    cells = sorted((tmp_path / "study" / "cells").iterdir())
    before = [cell.stat().st_mtime_ns for cell in cells]
    result = CliRunner().invoke(
        app, ["benchmark", "device", "--sets", "statlog", "--epochs", "3", "--jobs", "1", "--json"]
    )
    assert result.exit_code == 0, result.output
    forms = {row["form"]: row for row in json.loads(result.stdout)["device-honest"]["rows"]}
    assert set(forms) == {"REDRESS scan", "straight", "fast", "compact", "sliced", "forest", "BNN FC256"}
    assert all(row["agreement"] == 100.0 for row in forms.values())
    assert forms["fast"]["less"] == words["instructions"] / fast["instructions"]
    assert [cell.stat().st_mtime_ns for cell in cells] == before


def test_the_board_needs_its_tools(call, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = call("table3", "--sets", "statlog", code=1)
    assert "pip install 'ethereal-tm[device,study]'" in result.output


def test_without_a_network_one_download_is_tried(call, monkeypatch):
    """The sets on disk are taken, the others are named in one line."""
    import requests

    tried = []

    def get(url, **_):
        tried.append(url)
        raise requests.ConnectionError("no route")

    monkeypatch.setattr(requests, "get", get)
    monkeypatch.setattr("ethereal_study.sets.download.WAIT", 0.0)
    result = call("table1", code=0)
    assert len({url.rsplit("/", 1)[-1] for url in tried}) == 1
    said = [line for line in result.stderr.splitlines() if "left out" in line]
    assert len(said) == 1
    assert said[0].endswith("does not answer. Is there a network?")
    assert "statlog" not in said[0]


def test_a_benchmark_against_baselines_needs_a_clone(monkeypatch, tmp_path):
    from ethereal_study.speed import protocol

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(protocol, "__file__", str(tmp_path / "a" / "b" / "c" / "d" / "e.py"))
    with pytest.raises(FileNotFoundError, match=r"clone of the project.*--baselines none"):
        protocol.baselines_folder()
