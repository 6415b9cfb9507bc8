"""Ctrl-C by a real signal: the command says that it continues, and typed again it says that it does."""

import re
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")

ROWS = "a,b,c,y\n" + "".join(
    f"{i * 7 % 11},{i % 17 + 0.5},{i % 13},{'yes' if i * 7 % 11 + i % 17 > 12 else 'no'}\n"
    for i in range(600)
)
RUN = ("run", "t.csv", "--label", "y", "--no-forest", "--clauses", "60", "--epochs", "100000")
TRAIN = ("train", "t.csv", "--label", "y", "-o", "m.etm", "--clauses", "60", "--epochs", "100000")
TUNE = ("tune", "t.csv", "--label", "y", "-o", "m.etm", "--flash", "2k", "--trials", "400", "--epochs", "2")


def ethereal(folder, *words):
    command = [sys.executable, "-m", "ethereal", *words]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def interrupted(folder, words, sign):
    """Type a command, press Ctrl-C when its messages have `sign`, and return them with the exit code."""
    process = ethereal(folder, *words)
    said = []
    for line in process.stderr:
        said.append(line)
        if sign in line and sign != "":
            process.send_signal(signal.SIGINT)
            sign = ""
    return "".join(said), process.wait(timeout=300)


# tests/cli/test_cli_run.py interrupts both without a signal.
@pytest.mark.parametrize(
    ("words", "sign"),
    [
        pytest.param(RUN, "epoch 1/", id="run"),
        pytest.param(TUNE, " trials: ", id="tune", marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_says_that_the_command_continues(tmp_path, words, sign):
    """Fault 16."""
    if words is TUNE:
        pytest.importorskip("optuna")
    (tmp_path / "t.csv").write_text(ROWS)
    said, code = interrupted(tmp_path, words, sign)
    assert code == 130, said
    assert "type the same command again, and it continues where it stopped" in said
    assert "Traceback" not in said
    if words is TUNE:  # with units
        told = r"[\d.]+ %, [\d,]+ bytes of flash, [\d,]+ instructions|nothing within the budget yet"
        assert re.search(rf"\d+ trials: ({told})", said)


@pytest.mark.slow
def test_a_training_that_continues_says_so(tmp_path):
    (tmp_path / "t.csv").write_text(ROWS)
    process = ethereal(tmp_path, *TRAIN)
    kept = tmp_path / "m.etm.checkpoint" / "checkpoint.safetensors"
    while not kept.exists() and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    again = ethereal(tmp_path, *TRAIN)
    assert "A training was interrupted here" in again.stderr.readline()
    again.kill()
    again.communicate()
