"""`ethereal capture` from a simulated serial port."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time
import tty
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from ethereal.cli import app
from ethereal.datasets.options import SourceOptions
from ethereal.datasets.recordings import read_recordings
from ethereal.device import capture as capturing
from ethereal.device.capture import CaptureError, capture, write_sketch
from says import says

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture
def board(monkeypatch):
    """A port, and a function that sends bytes in the background, piece by piece, once the port is opened."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    threads, listens, opened = [], threading.Event(), capturing._opened

    def listen(*which):
        serial = opened(*which)  # which forgets what was sent before
        listens.set()
        return serial

    monkeypatch.setattr(capturing, "_opened", listen)

    def send(*pieces: bytes, pause: float = 0.02, wait: bool = True):
        listens.clear()

        def work():
            if wait:
                listens.wait(60)
            for piece in pieces:
                os.write(ours, piece)
                time.sleep(pause)

        threads.append(threading.Thread(target=work))
        threads[-1].start()

    yield SimpleNamespace(port=os.ttyname(theirs), send=send)
    for thread in threads:
        thread.join()
    os.close(ours)
    os.close(theirs)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(capturing, "SILENT_SECONDS", 1.0)


def test_a_recording_is_one_that_can_be_read(board, tmp_path):
    board.send(b"4,5\n", *(b"%d,%d,%d\r\n" % (i, -i, 1000) for i in range(40)))
    recording = capture(board.port, "walking", tmp_path, group="anna")
    assert recording.path.parent == tmp_path / "walking" / "anna"
    assert (recording.n_samples, recording.n_dropped, recording.axes) == (40, 0, ("ax", "ay", "az"))
    assert recording.path.read_text().splitlines()[:2] == ["sample,ax,ay,az", "0,0,0,1000"]
    rows = read_recordings(str(tmp_path), SourceOptions(window=32, kernels="stats", group="person"))
    assert (rows.y.tolist(), rows.groups.tolist()) == (["walking"], ["anna"])
    assert [path.name for path in recording.path.parent.iterdir()] == [recording.path.name]


def test_a_line_that_breaks_off_is_dropped_and_counted(board, tmp_path):
    board.send(b"x\n1,2,3\n4,5", b",6\n7,8\n1,2,3,4\n99999,1,1\n9,9,9\n10,1")
    recording = capture(board.port, "rest", tmp_path, seconds=2)
    assert recording.path.read_text() == "sample,ax,ay,az\n0,1,2,3\n1,4,5,6\n5,9,9,9\n"
    assert recording.n_dropped == 4


def test_windows_do_not_cross_lines_that_broke_off(board, tmp_path, capsys):
    lines = [b"%d,%d\n" % (i, -i) for i in range(100)]
    lines[40] = b"40,-4"  # its end and the beginning of the next are lost
    board.send(b"\n", b"".join(lines))
    recording = capture(board.port, "rest", tmp_path, seconds=2)
    assert (recording.n_samples, recording.n_dropped) == (98, 1)
    rows = read_recordings(str(tmp_path), SourceOptions(window=32, hop=1, kernels="stats"))
    assert "samples were lost at 1 places of" in capsys.readouterr().err
    assert len(rows.X) == (40 - 31) + (58 - 31)
    assert (np.abs(np.diff(rows.X[:, :, 0], axis=1)) == 1).all()


def test_the_clock_of_the_board_shows_lost_lines(board, tmp_path, capsys):
    start = 2**32 - 20_000 * 30  # it wraps
    lines = [b"%d:%d,7\n" % ((start + 20_000 * i) % 2**32, i) for i in range(100)]
    del lines[60]
    lines[20:22] = [b"%d:2", b"1:22,7\n"]  # broken off
    board.send(b"5:1,2\n", b"".join(lines))
    recording = capture(board.port, "rest", tmp_path, seconds=2)
    assert (recording.n_samples, recording.n_dropped, recording.has_clock) == (97, 1, True)
    table = recording.path.read_text().splitlines()
    assert table[:2] == ["time_us,ax,ay", f"{start},0,7"]
    assert table[-1] == f"{start + 20_000 * 99},99,7"
    assert recording.rate == pytest.approx(50, rel=0.05)
    options = SourceOptions(window=32, hop=1, rate=50.0, kernels="stats")
    rows = read_recordings(str(tmp_path), options)
    assert "samples were lost at 2 places of" in capsys.readouterr().err
    assert (np.diff(rows.X[:, :, 0], axis=1) == 1).all()
    assert len(rows.X) == (38 - 31) + (39 - 31)


def test_a_port_that_goes_away_in_the_middle_of_a_sample_keeps_the_rest(monkeypatch, tmp_path):
    class Port:
        port, in_waiting, parts = "x", 5, [b"\n1,2\n", b"3,4\n5,"]

        def read(self, n):
            if not self.parts:
                raise OSError("Input/output error")
            return self.parts.pop(0)

        def close(self):
            pass

    monkeypatch.setattr(capturing, "_opened", lambda port, rate: Port())
    recording = capture("x", "rest", tmp_path)
    assert recording.path.read_text() == "sample,ax,ay\n0,1,2\n1,3,4\n"
    assert (recording.n_dropped, recording.why_ended) == (1, "the port went away (Input/output error)")


def test_names_of_axes_come_from_the_board_or_the_option(board, tmp_path):
    board.send(b"\nu,v\n1,2\n")
    assert capture(board.port, "a", tmp_path).axes == ("u", "v")
    board.send(b"\nu,v\n1,2\n")
    assert capture(board.port, "a", tmp_path, axes=["p", "q"]).axes == ("p", "q")
    assert len(list((tmp_path / "a").iterdir())) == 2


def test_a_board_without_samples_leaves_no_file(board, tmp_path):
    with pytest.raises(CaptureError, match=r"no samples came from .*It sent no line"):
        capture(board.port, "rest", tmp_path)
    board.send(b"hello\nTraceback!\n")
    with pytest.raises(CaptureError, match=r"b'Traceback!'.*--sketch"):
        capture(board.port, "rest", tmp_path)
    assert list((tmp_path / "rest").iterdir()) == []


def test_a_board_that_falls_silent_ends_the_recording(board, tmp_path):
    board.send(b"\n1,2\n3,4\n")
    recording = capture(board.port, "rest", tmp_path)
    assert recording.n_samples == 2
    assert "sent no samples for 1 seconds" in recording.why_ended


def test_ctrl_c_keeps_what_was_written(board, tmp_path):
    command = [sys.executable, "-m", "ethereal", "capture", "--port", board.port, "--label", "rest"]
    process = subprocess.Popen(
        [*command, "--out", tmp_path, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for _ in range(150):  # until it listens and has begun a file
        board.send(b"1,2,3\n", wait=False)
        time.sleep(0.4)
        if list(tmp_path.rglob(".*.tmp")):
            break
    board.send(b"1,2,3\n" * 5, wait=False)
    time.sleep(1)
    assert not list((tmp_path / "rest").glob("[0-9]*"))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    told = json.loads(out)
    assert told["n_samples"] >= 3
    assert len(Path(told["path"]).read_text().splitlines()) == told["n_samples"] + 1


def test_the_command(board, tmp_path):
    board.send(b"\n", *[b"1,2,3\n"] * 30, b"4,", pause=0.05)
    words = ["capture", "--port", board.port, "--label", "a b", "--rate", "500"]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "30 samples of ax, ay, az, " in done.stdout
    assert "1 lines were not whole" in done.stderr
    assert "the board sent no samples for 1 seconds. What was recorded before is kept." in done.stderr
    assert "but --rate is 500" in done.stderr


@pytest.mark.parametrize(
    "words, why",
    [
        (["--label", "a"], ["--port is missing"]),
        (["--port", "x"], ["--label is missing"]),
        (["--port", "/dev/none", "--label", "a"], ["/dev/none"]),
        (["--port", "x", "--label", "a/b"], ["--label", "'a/b'"]),
        (["--port", "x", "--label", "a", "--group", ".."], ["--group is '..'"]),
        (["--port", "x", "--label", "a", "--seconds", "-1"], ["--seconds"]),
        (["--sketch", "basic"], ["--sketch is 'basic'"]),
    ],
)
def test_mistakes_are_told_in_a_line(tmp_path, words, why):
    done = CliRunner().invoke(app, ["capture", *words, "--out", str(tmp_path)])
    assert done.exit_code == 1
    says(done.stderr, *why)
    assert not list(tmp_path.iterdir())


def test_without_pyserial_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "serial", None)
    with pytest.raises(ImportError, match=r"ethereal-tm\[capture\]"):
        capture("x", "a", tmp_path)


def test_the_sketch_for_arduino(tmp_path):
    path = write_sketch("arduino", tmp_path, 100)
    assert path == tmp_path / "capture" / "capture.ino"
    assert "RATE = 100;" in path.read_text()
    with pytest.raises(FileExistsError, match="there already"):
        write_sketch("arduino", tmp_path)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler of this computer")
def test_the_sketch_for_arduino_prints_samples(tmp_path):
    sketch = write_sketch("arduino", tmp_path, 10000)
    program = tmp_path / "sketch.cpp"
    program.write_text(
        f'#include <cstdint>\n#include "Arduino.h"\n#include "{sketch}"\n'
        "int main() { setup(); for (int i = 0; i < 3; i++) { next_sample = micros(); loop(); } }\n"
    )
    built = tmp_path / "sketch"
    flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-x", "c++", f"-I{SUPPORT / 'arduino'}"]
    subprocess.run(["g++", *flags, program, "-o", built], check=True)
    lines = subprocess.run([built], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split(":")[1] for line in lines] == ["140,150,160"] * 3
    assert all(line.split(":")[0].isdigit() for line in lines)


def test_the_script_for_micropython_prints_samples(tmp_path, monkeypatch, capsys):
    done = CliRunner().invoke(app, ["capture", "--sketch", "micropython", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    source = (tmp_path / "main.py").read_text()
    assert "RATE = 50 " in source
    assert source.endswith("main()\n")
    clock = SimpleNamespace(now=0, waits=[])

    def sleep_us(wait):
        clock.waits.append(wait)
        clock.now += wait

    times = SimpleNamespace(
        ticks_us=lambda: clock.now,
        ticks_diff=lambda a, b: a - b,
        ticks_add=lambda a, b: a + b,
        sleep_us=sleep_us,
    )
    machine = SimpleNamespace(ADC=lambda pin: SimpleNamespace(read_u16=lambda: 16 * pin))
    monkeypatch.setitem(sys.modules, "time", times)
    monkeypatch.setitem(sys.modules, "machine", machine)
    exec(compile(source.replace("\nmain()\n", "\nmain(3)\n"), "main.py", "exec"), {"__name__": "board"})
    monkeypatch.undo()
    assert capsys.readouterr().out == "0:26,27,28\n20000:26,27,28\n40000:26,27,28\n"
    assert clock.waits == [20000, 20000]
