"""`ethereal deploy` to real MicroPythons: one in Node, one on an emulated micro:bit with 9 kB of heap."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import subprocess
import tty
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from typer.testing import CliRunner

from ethereal import Booleanizer, EtherealClassifier, Model, WindowFeatures
from ethereal.cli import app
from ethereal.device import deploy as deploying
from ethereal.device import deploy as repl
from ethereal.device.deploy import BoardError, deploy
from ethereal.export.mpy import n_golden
from ethereal_study.micropython import Interpreter, InterpreterMissingError
from random_models import number_model
from thinned import few
from windows import hard_windows, model_of

SUPPORT = Path(__file__).parents[1] / "support"
FIRMWARE = Path("/usr/share/firmware-microbit-micropython/firmware.hex")


def missing(what: str) -> None:
    """Without it the test is skipped, but never in CI."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@contextlib.contextmanager
def node_board(monkeypatch, files: str = "rw"):
    """Port of a board with plenty of everything but viper; with "ro" it cannot store files."""
    monkeypatch.setattr(repl, "PAUSE", 0.0)
    try:
        package = Interpreter().package
    except InterpreterMissingError as error:
        missing(str(error))
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    board = subprocess.Popen(
        ["node", str(SUPPORT / "micropython_board.mjs"), str(package), "2000000", files],
        stdin=ours,
        stdout=ours,
    )
    try:
        yield os.ttyname(theirs)
    finally:
        board.kill()
        board.wait()
        os.close(ours)
        os.close(theirs)


@pytest.fixture
def microbit():
    """Port of an emulated micro:bit: MicroPython 1.9.2, 30-bit floats, 9 kB of heap."""
    if not (shutil.which("qemu-system-arm") and FIRMWARE.exists()):
        missing(
            "no qemu-system-arm or firmware-microbit-micropython; `make system` installs them where it may"
        )
    command = ["qemu-system-arm", "-M", "microbit", "-display", "none", "-monitor", "none", "-serial", "pty"]
    board = subprocess.Popen(
        [*command, "-device", f"loader,file={FIRMWARE}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert board.stdout is not None
        port = re.search(r"/dev/\S+", board.stdout.readline())
        assert port is not None
        yield port[0]
    finally:
        board.kill()
        board.wait()


def train(X, y, **parameters):
    return EtherealClassifier.paper(random_state=1, **parameters).fit(X, y).model_.simplify()


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train(X, y, n_clauses=20, T=10, s=4.0, epochs=5, booleanizer=Booleanizer(n_bins=3))


@pytest.fixture(scope="module")
def iris():
    """Thresholds that no 30-bit float holds exactly; missing values."""
    X, y = load_iris(return_X_y=True)
    X = X * 1.1 - 3.3
    X[::9, 2] = np.nan
    names = np.array(["setosa", "versicolor", "virginica"])
    return train(X, names[y], n_clauses=10, T=5, s=3.0, epochs=20, booleanizer=Booleanizer(n_bins=4))


@pytest.fixture
def model_file(tmp_path, iris):
    iris.save(tmp_path / "iris.etm")
    return str(tmp_path / "iris.etm")


@pytest.mark.slow
def test_a_board_with_a_large_heap(digits, iris, monkeypatch):
    with node_board(monkeypatch) as port:
        done = deploy(digits, port, name="digits")
        assert done.wrong == 0
        assert done.rows >= 8
        assert done.board.floats == "float64"
        assert done.code == "plain"
        assert done.microseconds > 0
        assert done.cycles is None  # this one does not tell its clock
        assert done.microseconds_many is not None
        assert done.heap_model < 1.3 * done.files["digits.etb"] + 4096
        assert done.heap_code < 10_000
        assert done.is_stored
        again = deploy(iris, port, name="digits", code="plain")  # another model over the same files
        assert (again.wrong, again.is_stored) == (0, True)
        assert again.files["digits.etb"] < done.files["digits.etb"]
        with pytest.raises(BoardError, match="no viper emitter"):
            deploy(iris, port, code="viper")


@pytest.mark.parametrize(
    "kind", [pytest.param("", id="files"), pytest.param("ro", id="memory", marks=pytest.mark.slow)]
)
def test_models_of_windows_that_may_not_answer(kind, monkeypatch):
    windows = hard_windows(64, n_axes=2)
    front_end = WindowFeatures(["stats", "haar"], rate=50).fit(windows)
    model = model_of(front_end, windows, n_clauses=9).with_unknown(4)
    with node_board(monkeypatch, *([kind] if kind else [])) as port:
        done = deploy(model, port, code="plain")
    assert (done.wrong, done.is_stored) == (0, not kind)


@pytest.mark.parametrize("kind", few(["", "ro"]))
def test_a_model_whose_answer_is_a_number(kind, monkeypatch):
    model, _ = number_model(21)
    with node_board(monkeypatch, *([kind] if kind else [])) as port:
        done = deploy(model, port)
    assert (done.wrong, done.is_stored) == (0, not kind)


@pytest.mark.slow
def test_a_board_without_files(model_file, monkeypatch):
    """Package and rows then go to its memory."""
    monkeypatch.setattr(deploying, "_PROBE_CLOCK", "print(168000000)")
    with node_board(monkeypatch, "ro") as port:
        done = CliRunner().invoke(app, ["deploy", model_file, "--port", port, "--json"])
        assert done.exit_code == 0, done.output
        said = json.loads(done.stdout)
        assert not said["is_stored"]
        assert said["wrong"] == 0
        assert said["rows"] >= 16
        assert said["microseconds_many"] is not None
        assert said["cycles"] == 168 * said["microseconds"]
        shown = CliRunner().invoke(app, ["deploy", model_file, "--port", port])
    assert "no file system" in shown.stdout
    assert " at 168 MHz" in shown.stdout


def test_a_file_that_arrives_damaged(iris, monkeypatch):
    monkeypatch.setattr(deploying, "digest", lambda data: -1)
    with node_board(monkeypatch) as port, pytest.raises(BoardError, match="as it was sent"):
        deploy(iris, port)


def test_command_on_a_micro_bit(microbit, model_file):
    shown = CliRunner().invoke(app, ["deploy", model_file, "--port", microbit, "--name", "iris"])
    assert shown.exit_code == 0, shown.output
    n = n_golden(Model.load(model_file), 1024)
    for words in ("MicroPython 1.9.2", "float30", f"{n} of {n} golden rows right", "not enough heap", "us"):
        assert words in shown.stdout


@pytest.mark.slow
def test_study_model_on_a_micro_bit(microbit, study_data):
    data = np.load(study_data / "mammography.npz")
    booleanizer = Booleanizer(n_bins=3, encoding="onehot")
    train_rows = ~data["test"]
    model = train(
        data["X"][train_rows], data["y"][train_rows],
        n_clauses=50, T=7, s=3.0, epochs=100, exclude_every=1, booleanizer=booleanizer,
    )  # fmt: skip
    done = deploy(model, microbit)
    assert done.wrong == 0
    assert done.heap_free > 1000


def test_a_model_that_does_not_fit(microbit, digits):
    weights = np.concatenate([digits.weights, -digits.weights])
    offsets = np.concatenate([digits.offsets, digits.offsets[1:] + digits.offsets[-1]])
    digits = digits.with_clauses(np.tile(digits.literals, 2), offsets, weights)
    with pytest.raises(BoardError, match=r"has \d+ bytes of heap free, but the model needs \d+"):
        deploy(digits, microbit)


def test_wrong_golden_rows_fail_the_command(model_file, iris, monkeypatch):
    """The self-test on the board can fail, and the command says so."""
    lying = iris.with_clauses(iris.literals, iris.offsets, iris.weights * 2)
    monkeypatch.setattr(Model, "class_sums", lambda self, X, *a, **k: lying._engine.class_sums(X))
    with node_board(monkeypatch) as port:
        done = CliRunner().invoke(app, ["deploy", model_file, "--port", port])
    assert done.exit_code == 1
    assert "golden rows are wrong" in done.output


def test_no_board(model_file, tmp_path):
    done = CliRunner().invoke(app, ["deploy", model_file, "--port", str(tmp_path / "ttyX")])
    assert done.exit_code == 1
    assert "cannot open the serial port" in done.output
    done = CliRunner().invoke(app, ["deploy", model_file, "--port", "x", "--name", "a-b"])
    assert done.exit_code == 1
    assert "identifier" in done.output
    done = CliRunner().invoke(app, ["deploy", model_file, "--port", "x", "--code", "fast"])
    assert done.exit_code == 1
    assert "auto, plain or viper" in done.output


def test_a_port_where_nobody_answers(iris, monkeypatch):
    monkeypatch.setattr(repl, "ANSWER_SECONDS", 1)
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    try:
        with pytest.raises(BoardError, match="MicroPython"):
            deploy(iris, os.ttyname(theirs))
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_board_that_runs_something_else(iris, monkeypatch):
    answer = "print(('circuitpython', (9, 0, 0), 'a board', 'float30', 90000))"
    monkeypatch.setattr(deploying, "_PROBE", answer)
    with node_board(monkeypatch) as port, pytest.raises(BoardError, match="runs circuitpython"):
        deploy(iris, port)


def test_mpremote_missing(model_file, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mpremote", None)
    done = CliRunner().invoke(app, ["deploy", model_file, "--port", "x"])
    assert done.exit_code == 1
    assert "ethereal-tm[deploy]" in done.output
