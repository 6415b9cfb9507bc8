"""Recordings from a board that prints its samples, a line of comma separated integers each.

A line may begin with the microseconds of the board and a colon, which wrap at 32 bits. They become
the column `time_us`. Without them the column `sample` has the numbers of the lines. Either shows where lines
were lost, so that no window is cut across such a place.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO

from ethereal.base.atomic import open_atomically, write_text
from ethereal.base.checks import check_number
from ethereal.base.package import lacks

SKETCHES = {"arduino": ("capture.ino", "capture/capture.ino"), "micropython": ("capture.upy", "main.py")}
USUAL_RATE = 50
SILENT_SECONDS = 5.0  # after which a board is not waited for
_LEAST, _MOST = -(2**15), 2**15 - 1
_MOST_AXES = 16
_CLOCK, _WRAP = re.compile(rb"([0-9]{1,10}):(.*)"), 2**32  # microseconds of the board before a sample
_NUMBER, _NAME = re.compile(rb"[+-]?[0-9]{1,5}"), re.compile(rb"[A-Za-z][A-Za-z0-9_]{0,39}")
_USUAL_AXES = ("ax", "ay", "az", "gx", "gy", "gz")
_RECENT = 2**16  # samples that a recording keeps in memory for who watches
_MOST_LINE = 4096  # bytes that are waited for a line's end


class CaptureError(OSError):
    """The port cannot be opened, or sends no samples."""


@dataclass
class Captured:
    """What a recording holds."""

    path: Path
    axes: tuple[str, ...] = ()
    n_samples: int = 0
    n_dropped: int = 0  # lines that were not whole samples
    has_clock: bool = False  # whether the board sends its time
    why_ended: str = ""  # empty when it ended as asked for
    times: list[float] = field(default_factory=list, repr=False)  # of the first and the last sample
    recent: deque[tuple[int, ...]] = field(default_factory=lambda: deque(maxlen=_RECENT), repr=False)
    mark: int = 0  # of the last sample: microseconds, or its number

    @property
    def rate(self) -> float | None:
        """Samples per second as they arrived, None for recordings of less than a second."""
        seconds = self.times[-1] - self.times[0] if len(self.times) == 2 else 0.0
        return (self.n_samples + self.n_dropped - 1) / seconds if seconds >= 1 else None


def capture(port: str, label: str, out: str | Path, *, group: str | None = None,
            axes: Sequence[str] | None = None, seconds: float | None = None, baudrate: int = 115200,
            progress: Callable[[Captured], object] = lambda recording: None) -> Captured:  # fmt: skip
    """Write a recording of a label until it is interrupted, or for some seconds.

    `progress` is called while samples come, and ends the recording by returning True.

    The file is `out/LABEL/TIME.csv`, or `out/LABEL/GROUP/TIME.csv`. It has a temporary name until the end.
    The first line is dropped, because it may have begun before the port was opened. Later lines that are not
    whole samples are dropped and counted. Ctrl-C, a silent board and a port that goes away end the recording,
    and what was written is kept.
    """
    folder = Path(out) / check_name("label", label)
    if group is not None:
        folder /= check_name("group", group)
    if seconds is not None:
        check_number("seconds", seconds, 0.01, 1e7)
    with closing(_opened(port, baudrate)) as serial:
        folder.mkdir(parents=True, exist_ok=True)
        recording = Captured(_free(folder, time.strftime("%Y%m%d-%H%M%S")), tuple(axes or ()))
        with open_atomically(recording.path) as file:
            _record(serial, file, recording, seconds, progress)
    return recording


def write_sketch(sketch: str, out: str | Path, rate: float = USUAL_RATE) -> Path:
    """Write the program for a board that prints samples, and return its path."""
    if sketch not in SKETCHES:
        raise ValueError(f"sketch is {sketch!r}. It must be {' or '.join(SKETCHES)}.")
    check_number("rate", rate, 0.1, 10000)
    name, place = SKETCHES[sketch]
    text = resources.files("ethereal.device").joinpath(name).read_text(encoding="utf-8")
    path = Path(out) / place
    if path.exists():
        raise FileExistsError(17, "It is there already. Move it away, or give another out=", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text.replace("@RATE@", f"{rate:g}"))
    return path


def check_name(parameter: str, text: str) -> str:
    """Return what names a folder, or refuse it."""
    if not text or text != text.strip() or text.startswith(".") or re.search(r'[/\\:*?"<>|\x00-\x1f]', text):
        raise ValueError(f"{parameter} is {text!r}. It names a folder, so give letters, numbers and dashes.")
    return text


def _free(folder: Path, stem: str) -> Path:
    """Return a path that is not there yet."""
    names = (f"{stem}.csv" if i == 1 else f"{stem}-{i}.csv" for i in range(1, 10_000))
    return next(folder / name for name in names if not (folder / name).exists())


def _opened(port: str, baudrate: int) -> Any:
    try:
        import serial
        from serial.tools import list_ports
    except ImportError:
        raise ImportError(lacks("Capturing", "pyserial", "capture")) from None
    try:
        return serial.serial_for_url(port, baudrate=baudrate, timeout=0.1)
    except (OSError, ValueError) as error:
        ports = ", ".join(one.device for one in list_ports.comports()) or "none"
        raise CaptureError(f"cannot open the serial port {port} ({error}). Ports found: {ports}.") from None


def _record(serial: Any, file: BinaryIO, recording: Captured, seconds: float | None,
            progress: Callable[[Captured], object]) -> None:  # fmt: skip
    """Copy samples until the end. Nothing at all is an error."""
    begin = heard = time.monotonic()
    waiting, is_first, last = b"", True, b""
    try:
        while seconds is None or time.monotonic() - begin < seconds:
            data = serial.read(max(1, serial.in_waiting))
            now = time.monotonic()
            *lines, waiting = (waiting + data).split(b"\n")
            waiting = waiting[-_MOST_LINE:]
            if lines and is_first:
                lines, is_first = lines[1:], False
            for line in lines:
                last = line.strip() or last
                heard = now if _write(line.strip(), file, recording, now) else heard
            if lines and progress(recording) is True:
                break
            if now - heard > SILENT_SECONDS:
                recording.why_ended = f"the board sent no samples for {SILENT_SECONDS:g} seconds"
                break
    except KeyboardInterrupt:
        pass
    except OSError as error:  # serial errors are such
        recording.why_ended = f"the port went away ({error})"
    recording.n_dropped += bool(waiting.strip()) and not is_first
    if not recording.n_samples:
        sent = f"Its last line was {last[:40]!r}" if last else "It sent no line"
        raise CaptureError(
            f"no samples came from {serial.port}. {sent}. A line must be integers such as 12,-34,980. Put "
            "the program of `ethereal capture --sketch arduino` on the board, and check baudrate=."
        )


def _write(line: bytes, file: BinaryIO, recording: Captured, now: float) -> bool:
    """Write a line if it is a sample, and return whether it is one."""
    if not line or line.startswith(b"#"):
        return False
    clock = _CLOCK.fullmatch(line)
    cells = [cell.strip() for cell in (line if clock is None else clock[2]).split(b",")]
    if not recording.n_samples and all(map(_NAME.fullmatch, cells)) and len(cells) <= _MOST_AXES:
        recording.axes = recording.axes or tuple(cell.decode() for cell in cells)
        return False
    is_sample = all(map(_NUMBER.fullmatch, cells)) and all(_LEAST <= int(cell) <= _MOST for cell in cells)
    is_like_others = not recording.n_samples or recording.has_clock == (clock is not None)
    if not (is_sample and is_like_others and len(cells) in range(1, _MOST_AXES + 1)) or (
        recording.axes and len(cells) != len(recording.axes)
    ):
        recording.n_dropped += 1
        return False
    if not recording.n_samples:
        _begin(file, recording, len(cells), clock is not None)
        recording.mark = 0 if clock is None else int(clock[1])
    if clock is None:
        recording.mark = recording.n_samples + recording.n_dropped
    else:
        recording.mark += (int(clock[1]) - recording.mark) % _WRAP
    sample = tuple(map(int, cells))
    file.write(b",".join(str(number).encode() for number in (recording.mark, *sample)) + b"\n")
    recording.recent.append(sample)
    recording.n_samples += 1
    recording.times[recording.n_samples > 1 :] = [now if clock is None else recording.mark / 1e6]
    return True


def _begin(file: BinaryIO, recording: Captured, n_axes: int, has_clock: bool) -> None:
    """Write the names of the columns."""
    usual = _USUAL_AXES[:n_axes] if n_axes in (2, 3, 6) else tuple(f"c{i}" for i in range(n_axes))
    recording.axes, recording.has_clock, recording.n_dropped = recording.axes or usual, has_clock, 0
    file.write(",".join(("time_us" if has_clock else "sample", *recording.axes)).encode() + b"\n")
