"""The one place that writes files. A file is there whole or not at all.

A link stays a link, and the file that it leads to is replaced. A replaced file keeps its rights. What is not
a regular file, such as a pipe or a device, is written through. The name `-` is standard output.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

STANDARD_OUTPUT = "-"
# Names of what the process has open already. Opening such a name anew would cut off what is there.
_OPENED = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_STREAMS = {STANDARD_OUTPUT: 1, "/dev/stdout": 1, "/dev/stderr": 2}


@contextmanager
def open_atomically(path: str | os.PathLike[str], *, is_cache: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing. It gets its name when the block ends well, and vanishes otherwise.

    What is not a regular file, and standard output, gets the bytes as they come. A file of a cache, which
    need not outlast a power cut, takes less time.
    """
    target = Path(path)
    descriptor = _opened(target)
    if descriptor is not None:
        with _through(target, descriptor) as file:
            yield file
        return
    mode = _mode(target)
    if mode is not None and not stat.S_ISREG(mode):
        with _through(target, target) as file:
            yield file
        return
    # Not the name that was given where that is a link, which must stay one.
    real = Path(os.path.realpath(target))
    temporary = _beside(real)
    try:
        if mode is not None and not os.access(real, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(target))
        with os.fdopen(_create(temporary, is_private=mode is not None), "wb") as file:
            yield file
            file.flush()
            if not is_cache:
                os.fsync(file.fileno())
        if mode is not None:
            _keep_rights(real, temporary)
        os.replace(temporary, real)
        if not is_cache:
            _keep_name(real)
    except BaseException as error:
        with suppress(OSError):  # the first error says what is wrong
            temporary.unlink(missing_ok=True)
        name_target(error, target, temporary)
        raise


@contextmanager
def open_text(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a file for text in UTF-8, as `open_atomically` does. Line ends stay as they are written."""
    with open_atomically(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
        try:
            yield text
        except BaseException:
            with suppress(OSError, ValueError):  # the first error says what is wrong
                text.detach()
            raise
        text.detach()  # flushes


@contextmanager
def open_to_append(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing at its end: a log, or a download that goes on."""
    target = Path(path)
    try:
        with open(target, "ab") as file:
            yield file
    except OSError as error:
        name_target(error, target, target)
        raise


def rename(old: Path, new: str | os.PathLike[str]) -> None:
    """Give a whole file another name, which another file may have had."""
    os.replace(old, new)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether bytes go through this name instead of becoming a file: standard output, a pipe, a device.

    >>> is_stream("-"), is_stream("m.etm")
    (True, False)
    """
    target = Path(path)
    if _opened(target) is not None:
        return True
    mode = _mode(target)
    return mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def is_standard_output(path: str | os.PathLike[str]) -> bool:
    """Whether a name stands for standard output.

    >>> is_standard_output("-"), is_standard_output("m.etm")
    (True, False)
    """
    return _opened(Path(path)) == 1


def end_standard_output() -> None:
    """Let what standard output still holds go nowhere, or the interpreter tries to write it at its end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _opened(target: Path) -> int | None:
    """Return the descriptor that a name stands for, if it does."""
    name = os.fspath(target)
    if name in _STREAMS:
        return _STREAMS[name]
    found = _OPENED.fullmatch(name)
    return None if found is None else int(found[1])


def _mode(target: Path) -> int | None:
    """Return the mode of what a name leads to, None where nothing is there yet."""
    try:
        return target.stat().st_mode
    except FileNotFoundError:
        return None


@contextmanager
def _through(target: Path, place: Path | int) -> Iterator[BinaryIO]:
    """Open what is there, a path or a descriptor, and write into it."""
    try:
        if place == 1:
            sys.stdout.flush()  # or what was printed before comes after
            yield sys.stdout.buffer
            sys.stdout.flush()
            return
        with open(os.dup(place) if isinstance(place, int) else place, "wb") as file:
            yield file
    except OSError as error:
        name_target(error, target, target)
        raise


def _beside(target: Path) -> Path:
    """Return a name in the same folder that no file has."""
    return target.with_name(f".{target.name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")


def _create(path: Path, *, is_private: bool) -> int:
    """Make a new file. One that replaces another is private until it has the rights of the other."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, 0o600 if is_private else 0o666)


def _keep_rights(old: Path, new: Path) -> None:
    """Give a file the owner and the mode of the one that it will replace."""
    rights, own = old.stat(), new.stat()
    if (own.st_uid, own.st_gid) != (rights.st_uid, rights.st_gid):
        with suppress(OSError):  # only root may give files away
            os.chown(new, rights.st_uid, rights.st_gid)
    os.chmod(new, stat.S_IMODE(rights.st_mode))


def _keep_name(file: Path) -> None:
    """Have a new name outlast a power cut. Only POSIX can open a folder."""
    if os.name == "posix":
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def name_target(error: BaseException, target: Path, temporary: Path) -> None:
    """Let an error of the system name the file that was meant, because a full disk names none.

    >>> error = OSError(28, "No space left on device")
    >>> name_target(error, Path("m.etm"), Path(".m.etm.tmp"))
    >>> str(error)
    "[Errno 28] No space left on device: 'm.etm'"
    """
    if isinstance(error, OSError) and error.errno is not None:
        named = error.filename
        place = Path(os.fsdecode(named)) if isinstance(named, (str, bytes)) else temporary
        if place == temporary or temporary in place.parents:
            error.filename = os.fspath(target)


def write_bytes(path: str | os.PathLike[str], data: bytes, *, is_cache: bool = False) -> None:
    """Write a file under a temporary name and rename it, so that nobody ever sees half of it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes(f"{folder}/a.bin", b"all of it")
    ...     os.listdir(folder)
    ['a.bin']
    """
    with open_atomically(path, is_cache=is_cache) as file:
        file.write(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text in UTF-8 with `write_bytes`."""
    write_bytes(path, text.encode())


def write_scratch(path: Path, data: str | bytes) -> None:
    """Write a file of a temporary folder for another program. It need not outlast a power cut."""
    path.write_bytes(data.encode() if isinstance(data, str) else data)
