"""Put a model on a MicroPython board through its serial prompt, and let the board check itself."""

from __future__ import annotations

import ast
import contextlib
import errno
import io
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ethereal.base.package import lacks
from ethereal.export import mpy
from ethereal.export.mpy import CHECK, LOADER, Code
from ethereal.export.mpy.tables import SUPPORTS, Floats, micropython_tables
from ethereal.export.names import check_module_name
from ethereal.model import Model

ANSWER_SECONDS = 10  # a silent board must not hang us
_RUN_SECONDS = 900  # of one piece of source, of which the self-test takes longest
# Some boards cannot say when they are ready, and lose characters. They get so many bytes at once, with a
# pause in seconds that may become `_SLOWEST` times longer. Lost characters make the errors in `_GARBLED`.
_PIECE, PAUSE, _SLOWEST = 32, 0.005, 4
_GARBLED = ("SyntaxError", "IndentationError", "NameError", "AttributeError", "ImportError", "UnicodeError")
# Compiling the whole runtime takes three times the heap of the result. Boards with less heap get it in
# pieces, and their self-test leaves batches out.
SMALL_HEAP = 40_000
_HEAP_OF_CODE = {False: 9000, True: 5000}  # of the compiled runtime and self-test, by whether it is in pieces
_SMALL_GOLD = 1024  # bytes of golden rows for a small board
_TRIES = 3  # to write a file and find it there unchanged
_PROBE = """\
import gc, sys
from struct import pack, unpack
gc.collect()
bits = unpack('<I', pack('<f', 1 / 3))[0]
floats = 'float64' if 1.0 + 1e-9 > 1.0 else 'float32' if bits & 3 else 'float30'
about = sys.implementation
print((about[0], about[1], getattr(about, '_machine', sys.platform), floats, gc.mem_free()))
"""
_PROBE_VIPER = """\
try:
    exec('import micropython\\n@micropython.viper\\ndef f(x: int) -> int:\\n    return x\\nprint(f(1))')
except Exception:
    print(0)
"""
_PROBE_CLOCK = """\
try:
    import machine
    hz = machine.freq()
    print(hz[0] if isinstance(hz, tuple) else hz)
except Exception:
    print(0)
"""
_DIGEST = """\
def digest(path):
    d = 0
    with open(path, 'rb') as f:
        while True:
            b = f.read(64)
            if not b:
                return d
            for x in b:
                d = (d * 31 + x) & 0xffffff
print(digest(%r))
"""
# Files in memory, for a board that cannot store any. Modules are run at the prompt then and find this `open`.
_MEMORY = """\
import io
files = {}
def open(path, mode='rb'):
    return io.BytesIO(files[path])
"""


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
                return str(out.decode(errors="replace").strip())
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


@dataclass(frozen=True)
class Board:
    """What a board says of itself."""

    machine: str
    version: str
    floats: Floats
    heap_free: int
    has_viper: bool
    clock_hz: int | None  # of the core, None if the board does not say


@dataclass(frozen=True)
class Deployment:
    """What was written to a board, and how the model does there."""

    board: Board
    code: Code
    files: dict[str, int]  # bytes by name
    is_stored: bool  # False if the board has no file system and forgets the model when it is switched off
    rows: int  # golden rows
    wrong: int  # of them, one at a time and many at once
    microseconds: int  # per row, one at a time
    microseconds_many: int | None  # per row, many at once, None if there is not enough heap
    heap_code: int
    heap_model: int
    heap_free: int  # with all of it loaded

    @property
    def cycles(self) -> int | None:
        """Cycles of the core per row, one at a time. None if the board does not tell its clock."""
        clock = self.board.clock_hz
        return None if clock is None else round(self.microseconds * clock / 1e6)


def deploy(model: Model, port: str, *, name: str = "model", code: Code | Literal["auto"] = "auto",
           baudrate: int = 115200,
           report: Callable[[str], None] = lambda text: None) -> Deployment:  # fmt: skip
    """Copy runtime, tables and golden rows to the board at `port`, run the self-test there, and measure.

    On the board, `ethereal_tm.load("NAME.etb")` then gives the model. Thresholds are rounded down to the
    board's own floats before they are sent.

    The `code` is "plain", "viper" (machine code), or "auto" for viper if the board has it. The `port` is a
    serial port ("/dev/ttyACM0", "COM3"). Boards on USB ignore `baudrate`. `report` is told what happens.
    """
    check_module_name(name)
    SUPPORTS.check(model.needs)
    model = model.drop_unused_kernels()
    with Repl(port, baudrate) as repl:
        report("asking the board")
        board = _ask(repl)
        files, chosen = _files(model, board, name, code)
        is_stored = True
        try:
            _copy(repl, files, board, report)
        except NoFilesError:
            if board.heap_free < SMALL_HEAP:
                raise
            is_stored = False
            files = {path: data for path, data in files.items() if not path.endswith(".py")}
        report("running the self-test")
        repl.restart()
        free = _load(repl, name) if is_stored else _load_in_memory(repl, name, model, chosen, files)
        gold, many = repr(f"{name}.gold"), None
        rows, wrong, one = ast.literal_eval(repl.run(f"print(check(model, {gold}))", "checking rows"))
        if board.heap_free >= SMALL_HEAP:
            get = f"from {CHECK} import check_many\n" if is_stored else ""
            said = repl.run(f"{get}print(check_many(model, {gold}))", "checking many rows")
            _, wrong_many, many = ast.literal_eval(said)
            wrong = max(wrong, wrong_many)
    return Deployment(
        board, chosen, {path: len(data) for path, data in files.items()}, is_stored,
        rows=rows, wrong=wrong, microseconds=one, microseconds_many=many,
        heap_code=free[0] - free[1], heap_model=free[1] - free[2], heap_free=free[2],
    )  # fmt: skip


def _ask(repl: Repl) -> Board:
    said = repl.run(_PROBE, "asking for its version")
    kind, version, machine, floats, free = ast.literal_eval(said)
    if kind != "micropython":
        raise BoardError(f"{repl.port} runs {kind}. Install MicroPython on it.")
    has_viper = repl.run(_PROBE_VIPER, "trying viper") == "1"
    clock = int(repl.run(_PROBE_CLOCK, "asking for its clock")) or None
    return Board(machine, ".".join(str(part) for part in version[:3]), floats, free, has_viper, clock)


def _files(model: Model, board: Board, name: str, code: str) -> tuple[dict[str, bytes], Code]:
    """Return contents by name, and whether the code is plain or viper."""
    is_small = board.heap_free < SMALL_HEAP
    if code == "viper" and (is_small or not board.has_viper):
        why = "has too little heap to compile it" if board.has_viper else "has no viper emitter"
        raise BoardError(f'{board.machine} {why}. Use code="plain".')
    chosen: Code = "viper" if code != "plain" and board.has_viper and not is_small else "plain"
    tables = micropython_tables(model, board.floats)
    need = len(tables) + _HEAP_OF_CODE[is_small]
    if need > board.heap_free:
        raise BoardError(
            f"{board.machine} has {board.heap_free} bytes of heap free, but the model needs {need}, "
            f"{len(tables)} of them for its tables. Simplify or prune it, or take a board with more memory."
        )
    if is_small and (model.front_end is not None or model.output.kind != "classes"):
        raise BoardError(
            f"{board.machine} has {board.heap_free} bytes of heap free, too few for raw windows, for "
            "unknown answers and for numbers. Take a board with more memory, or a model of the features that "
            "always answers with a class."
        )
    if is_small:
        pieces = ["booleans", "votes", "batch", "check"]
        sources = {f"ethereal_{part}.py": mpy.piece(part) for part in pieces}
        sources[f"{LOADER}.py"] = mpy.piece("model")
    else:
        sources = {f"{LOADER}.py": mpy.runtime(chosen, model), f"{CHECK}.py": mpy.self_test(model)}
    n_rows = mpy.n_golden(model, _SMALL_GOLD) if is_small else mpy.n_golden(model)
    files = {path: strip(source).encode() for path, source in sources.items()}
    files[f"{name}.etb"] = tables
    files[f"{name}.gold"] = mpy.golden_file(model, tables, mpy.golden_rows(model, n_rows=n_rows))
    return files, chosen


def _copy(repl: Repl, files: dict[str, bytes], board: Board, report: Callable[[str], None]) -> None:
    for path, data in files.items():
        for attempt in range(_TRIES):
            report(f"copying {path}, {len(data)} bytes")
            try:
                repl.write(path, data, 64 if board.heap_free < SMALL_HEAP else 512)
            except NoFilesError:
                if attempt == _TRIES - 1 or not repl.slow_down():
                    raise
                continue
            if int(repl.run(_DIGEST % path, f"reading {path} back")) == digest(data):
                break
            repl.slow_down()
        else:
            raise BoardError(
                f"{path} is not on the board as it was sent, after {_TRIES} tries. Check cable and baudrate."
            )


def _load(repl: Repl, name: str) -> list[int]:
    """Load everything from files. Return the bytes free before, with the code, and with the model."""
    steps = {
        "looking at its heap": "import gc",
        f"importing {LOADER} and {CHECK}": f"from {LOADER} import load\nfrom {CHECK} import check",
        f"loading {name}.etb": f"model = load({name + '.etb'!r})",
    }
    return [_free_after(repl, step, what) for what, step in steps.items()]


def _load_in_memory(repl: Repl, name: str, model: Model, code: Code, files: dict[str, bytes]) -> list[int]:
    """Load everything without files. Modules are run at the prompt, and the tables are bytes there."""
    free = [_free_after(repl, "import gc", "looking at its heap")]
    sources = {"defining files": _MEMORY, LOADER: mpy.runtime(code, model), CHECK: mpy.self_test(model)}
    for what, source in sources.items():
        repl.run(strip(source), f"running {what}")
    free.append(_free_after(repl, "", "looking at its heap"))
    for path, data in files.items():
        chunks = (f"d.extend({data[i : i + 512]!r})" for i in range(0, len(data), 512))
        for step in ("d = bytearray()", *chunks, f"files[{path!r}] = bytes(d)\ndel d"):
            repl.run(step, f"receiving {path}")
    return [*free, _free_after(repl, f"model = load({name + '.etb'!r})", f"loading {name}.etb")]


def digest(data: bytes) -> int:
    """Return a checksum that every board can compute, even without hash and crc32.

    >>> digest(b"ab")
    3105
    """
    value = 0
    for byte in data:
        value = (value * 31 + byte) & 0xFFFFFF
    return value


def _free_after(repl: Repl, step: str, what: str) -> int:
    """Return the free heap after a step, in a command of its own, because garbage may wait for that."""
    repl.run(f"{step}\ngc.collect()", what)
    return int(repl.run("print(gc.mem_free())", "looking at its heap"))


def strip(source: str) -> str:
    """Return source without comments and with short indents, which is less to send and to store.

    >>> strip("def f(x):  # twice\\n    return 2 * x\\n")
    'def f(x):\\n return 2 * x\\n'
    """
    text = ast.unparse(ast.parse(source))
    return re.sub(r"(?m)^ +", lambda indent: " " * (len(indent[0]) // 4), text) + "\n"
