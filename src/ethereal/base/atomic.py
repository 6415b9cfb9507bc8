"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def open_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing. It gets its name when the block ends well, and vanishes otherwise."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        _keep_name(target)
    except BaseException as error:
        with suppress(OSError):  # the first error says what is wrong
            temporary.unlink(missing_ok=True)
        name_target(error, target, temporary)
        raise


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
        if named is None or Path(named) == temporary or temporary in Path(named).parents:
            error.filename = os.fspath(target)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file under a temporary name and rename it, so that nobody ever sees half of it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes(f"{folder}/a.bin", b"all of it")
    ...     os.listdir(folder)
    ['a.bin']
    """
    with open_atomically(path) as file:
        file.write(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text in UTF-8 with `write_bytes`."""
    write_bytes(path, text.encode())
