"""Commands on recordings: from a folder per class to a report, and with the model to new recordings."""

import importlib.util
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ethereal import Model
from says import says

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "recordings.py"
CUT = ["--window", "128", "--hop", "64", "--rate", "50"]
SMALL = ["--clauses", "10", "--epochs", "6"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "recordings"
    subprocess.run([sys.executable, EXAMPLE, folder], check=True, capture_output=True)
    return folder


@pytest.fixture
def recordings(made, tmp_path):
    return shutil.copytree(made, tmp_path / "recordings")


@pytest.fixture
def trained(call, recordings):
    call("train", recordings, *CUT, "--group", "person", *SMALL, "--out", "m.etm")
    return Path("m.etm")


def test_run_ends_with_a_report(call, recordings, tmp_path):
    words = (
        "run",
        recordings,
        *CUT,
        "--label",
        "activity",
        "--group",
        "person",
        "--quick",
        "--paper",
        *SMALL,
    )
    done = call(*words)
    assert "paper: left out, because it does not take recordings yet." in done.stderr
    folder = tmp_path / "runs" / "recordings"
    says(done.stderr, "252", "128", "3")
    assert "other groups" in done.stdout
    assert "model_push" in done.stdout
    page = (folder / "report.html").read_text()
    assert "windows x 128 samples x 3 axes" in page
    assert "210 training windows, 42 test windows" in page
    model = Model.load(folder / "model.etm")
    assert (model.front_end.window, model.front_end.hop, model.front_end.rate) == (128, 64, 50.0)
    board = json.loads((folder / "stages" / "board.json").read_text())
    if all(map(importlib.util.find_spec, ("ziglang", "unicorn"))):
        assert board["measured"]["model"]["agreement"] == 1
        if importlib.util.find_spec("emlearn"):
            assert board["left_out"] == {}
            assert board["measured"]["forest"]["agreement"] == 1
            kernels = json.loads((folder / "stages" / "kernels.json").read_text())
            assert board["measured"]["forest"]["total_instructions"] > 0.95 * kernels["instructions"]
    assert "kept from before" in call(*words).stderr
    assert str(folder / "report.html") in call("report", folder).stdout


@pytest.mark.slow
def test_the_commands_of_the_guide_run(call, recordings):
    """From the recordings of the example on, which need no board."""
    lines = (ROOT / "docs/guide/recordings.md").read_text().splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("    ethereal ")]
    assert [words[0] for words in commands] == ["capture", "capture", "run", "predict", "explain", "export"]
    call(*commands[0])
    for words in commands[2:]:
        call(*words)
    assert Path("walking/library.properties").exists()


@pytest.mark.slow
def test_tune_takes_recordings(call, recordings):
    options = ["--group", "person", "--flash", "4k", "--trials", "1", "--epochs", "3", "--max-clauses", "8"]
    done = call("tune", recordings, *CUT, *options, "--out", "t.etm")
    assert "per window at most, sample to label" in done.stdout
    says(done.stdout, "40000", "--instructions")
    assert " of 15 groups: " in done.stdout
    model = Model.load("t.etm")
    assert 1 <= len(model.front_end.groups) < 15
    assert "Kernels: " in Path("t.html").read_text()
    call("predict", "t.etm", recordings)
    answer = json.loads(call("tune", recordings, *CUT, *options, "--out", "t.etm", "--json").stdout)
    assert answer["bounds"]["instructions"] == 40000
    assert answer["footprint"]["instructions"] <= 40000
    assert answer["footprint"]["bytes"] <= 4096


@pytest.mark.slow
def test_run_drops_kernels_and_keeps_its_bounds(call, recordings, tmp_path):
    done = call("run", recordings, *CUT, "--group", "person", *SMALL, "--no-forest", "--instructions", "6k")
    assert " of 15 groups: " in done.stderr
    folder = tmp_path / "runs" / "recordings"
    board = json.loads((folder / "stages" / "board.json").read_text())
    assert board["measured"]["model"]["total_instructions"] <= 6000
    kept = json.loads((folder / "stages" / "kernels.json").read_text())
    assert set(Model.load(folder / "model.etm").front_end.groups) <= {tuple(g) for g in kept["groups"]}
    assert kept["instructions"] <= 6000
    done = call("run", recordings, *CUT, "--group", "person", *SMALL, "--no-forest", "--flash", "8k")
    says(done.stderr, "bounds: 40,000", "label")


def test_features_that_alone_exceed_a_bound_are_refused_before_training(call, recordings):
    options = ["run", recordings, *CUT, "--group", "person", *SMALL, "--no-forest"]
    done = call(*options, "--ram", "700", code=1)
    says(done.stderr, "bytes", "RAM, 768", "700")
    assert "epoch 1" not in done.stderr
    done = call(*options, "--instructions", "500", code=1)
    says(done.stderr, "instructions", "500", "Give", "--window")
    assert "epoch 1" not in done.stderr


def test_later_commands_need_no_options(call, trained, recordings):
    lines = call("predict", trained, recordings).stdout.splitlines()
    assert len(lines) == 253
    assert lines[0] == "prediction,recording,sample,seconds"
    done = call("predict", trained, recordings, "--out", "labels.csv")
    assert "accuracy" in done.stderr
    one = call("predict", trained, recordings / "walk" / "anna" / "1.csv")
    assert len(one.stdout.splitlines()) == 15
    places = [line.split(",")[1:] for line in one.stdout.splitlines()[1:4]]  # fault F33: there was no time
    assert places == [["1.csv", "0", "0.0"], ["1.csv", "64", "1.28"], ["1.csv", "128", "2.56"]]
    assert "accuracy" not in one.stderr
    answer = json.loads(call("explain", trained, recordings / "walk" / "anna" / "1.csv", "--json").stdout)
    assert answer["place"] == "window 1"
    call("export", trained, "--rows", recordings, "--out", "c")
    assert "_push(" in Path("c/m.h").read_text()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("unicorn") is None, reason="needs the extra device")
def test_measure_takes_recordings(call, trained, recordings):
    printed = json.loads(call("measure", trained, recordings, "--max-rows", "5", "--layout", "compact",
                            "--json").stdout)  # fmt: skip
    assert printed[0]["agreement"] == 1
    assert printed[0]["accuracy"] > 0.8


def test_without_groups_whole_recordings_are_tested(call, recordings):
    done = call("train", recordings, *CUT, *SMALL, "--out", "m.etm")
    says(done.stderr, "--group")
    assert "other recordings, seed 0" in done.stdout


def test_too_few_recordings_are_refused(call, recordings):
    for person in ("ben", "carla", "david", "emma", "finn"):
        for label in ("rest", "walk", "run"):
            shutil.rmtree(recordings / label / person)
    done = call("train", recordings, *CUT, *SMALL, "--out", "m.etm", code=1)
    says(done.stderr, "3", "--test 0.2", "Give --test 0.33")
    done = call("train", recordings, *CUT, *SMALL, "--test", "0.33", "--out", "m.etm", code=1)
    assert "None is left to learn from" in done.stderr
    call("train", recordings, *CUT, *SMALL, "--test", "0", "--out", "m.etm")


def test_floats_in_units_give_the_same_answers(call, recordings, tmp_path):
    """A table in g with its scale is the same data as counts."""
    tables = {}
    for path in sorted(recordings.rglob("*.csv")):
        counts = np.loadtxt(path, delimiter=",", skiprows=1)
        tables[path] = counts / 1000
    for path, table in tables.items():
        np.savetxt(path, table, delimiter=",", header="ax,ay,az", comments="", fmt="%.3f")
    refused = call("train", recordings, *CUT, *SMALL, "--out", "g.etm", code=1)
    assert "--scale 10000" in refused.stderr
    call(
        "train", recordings, *CUT, *SMALL, "--group", "p", "--scale", "1000", "--units", "g", "--out", "g.etm"
    )
    model = Model.load("g.etm")
    assert model.front_end.scale == (1000.0,) * 3
    assert " g" in model.describe(max_rules=3)
    assert len(call("predict", "g.etm", recordings).stdout.splitlines()) == 253


def test_a_message_instead_of_a_traceback(call, trained, recordings):
    bad = recordings / "walk" / "anna" / "1.csv"
    bad.write_text("ax,ay\n1,2\n")
    assert "lacks the column 'az'" in call("predict", trained, bad, code=1).stderr
    bad.write_text("ax,ay,az\n1,2,3\n")
    says(call("predict", trained, bad, code=1).stderr, "128")
    assert "no such file" in call("predict", trained, "none.csv", code=1).stderr
    assert "shorter than a window" in " ".join(call("predict", trained, recordings).stderr.split())
