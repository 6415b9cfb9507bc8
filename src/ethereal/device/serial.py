"""The serial prompt of a MicroPython board, by mpremote's transport."""

from __future__ import annotations

import contextlib
import errno
import io
import time
from typing import Any, cast

from ethereal.base.package import lacks

ANSWER_SECONDS = 10  # a silent board must not hang us
_RUN_SECONDS = 900  # of one piece of source, of which the self-test takes longest
# Some boards cannot say when they are ready, and lose characters. They get so many bytes at once, with a
# pause in seconds that may become `_SLOWEST` times longer. Lost characters make the errors in `_GARBLED`.
_PIECE, PAUSE, _SLOWEST = 32, 0.005, 4
_GARBLED = ("SyntaxError", "IndentationError", "NameError", "AttributeError", "ImportError", "UnicodeError")


class BoardError(OSError):
    """The board does not answer, does not run MicroPython, or cannot do what it is asked."""


class NoFilesError(BoardError):
    """The board has no file system, or none that can be written."""


class Repl:
    """The raw prompt of a board, as a context. Every trouble is a BoardError."""

    def __init__(self, port: str, baudrate: int) -> None:
        try:
            from mpremote import transport, transport_serial
        except ImportError:
            raise ImportError(lacks("A board's prompt", "mpremote", "deploy")) from None
        self.port = port
        self._trouble: type[Exception] = transport.TransportError
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                self._transport: Any = transport_serial.SerialTransport(port, baudrate=baudrate)
        except (transport.TransportError, OSError) as error:
            raise BoardError(f"cannot open the serial port {port}: {error}") from None
        self._serial = self._transport.serial
        self._serial.timeout = ANSWER_SECONDS
        self.pause = PAUSE
        self._write_at_once = self._serial.write
        self._serial.write = self._write

    def __enter__(self) -> Repl:
        try:
            self.restart()
        except BaseException:
            self._transport.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(self._trouble, OSError):
            self._transport.exit_raw_repl()
        self._transport.close()

    def _write(self, data: bytes) -> None:
        """Write to the port, slowly if the board has no raw paste, which tells the sender when to wait."""
        step = len(data) if self._transport.use_raw_paste else _PIECE
        for i in range(0, len(data), max(step, 1)):
            self._write_at_once(data[i : i + step])
            if len(data) > step:
                time.sleep(self.pause)

    def slow_down(self) -> bool:
        """Give the board more time after trouble that lost characters may explain. False if it had enough."""
        if self._transport.use_raw_paste or self.pause > PAUSE * _SLOWEST:
            return False
        self.pause = 4 * self.pause or 0.001
        with contextlib.suppress(self._trouble, OSError), contextlib.redirect_stdout(io.StringIO()):
            self._transport.enter_raw_repl(soft_reset=False, timeout_overall=ANSWER_SECONDS)
        return True

    def restart(self) -> None:
        """Reset the board softly, which gives an empty heap and a prompt."""
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # it prints what it does not understand
                self._transport.enter_raw_repl(timeout_overall=ANSWER_SECONDS)
        except (self._trouble, OSError) as error:
            raise BoardError(f"no MicroPython prompt answers at {self.port}: {error}") from None

    def run(self, source: str, what: str) -> str:
        """Run source on the board and return what it printed."""
        while True:
            try:
                out, err = self._transport.exec_raw(source, timeout=_RUN_SECONDS)
            except (self._trouble, OSError) as error:
                if self.slow_down():
                    continue
                raise BoardError(f"{self.port} stopped answering while {what}: {error}") from None
            if not err:
                return cast(str, out.decode(errors="replace").strip())
            last = err.decode(errors="replace").strip().splitlines()[-1]
            if not (last.startswith(_GARBLED) and self.slow_down()):
                raise BoardError(f"the board failed while {what}: {last}")

    def write(self, path: str, data: bytes, chunk: int) -> None:
        """Write a file on the board."""
        try:
            self._transport.fs_writefile(path, data, chunk_size=chunk)
        except (self._trouble, OSError) as error:
            reason = (str(error).strip() or repr(error)).splitlines()[-1]
            if getattr(error, "errno", 0) == errno.ENOSPC:
                reason = "its file system is full"
            raise NoFilesError(f"cannot write {path}, {len(data)} bytes, to the board: {reason}") from None
