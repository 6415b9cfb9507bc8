"""Arrays in npz files: read from one of anybody's making, within bounds, and written."""

from __future__ import annotations

import os
import tokenize
import zipfile
import zlib
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from ethereal.base.atomic import open_atomically

MAX_BYTES = 8 << 30  # of all arrays unpacked, such as a million rows of a thousand doubles

# What numpy and zipfile raise on files that are damaged or meant to do harm.
FAULTS = (
    *(OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error),
    *(SyntaxError, TypeError, tokenize.TokenError, RecursionError),  # a header that cannot be read
    *(OverflowError, MemoryError),  # a shape beyond all memory
    *(NotImplementedError, RuntimeError),  # a compression unknown here, an encrypted member
)


class NpzError(ValueError):
    """A file that is not an npz file of plain arrays, or is cut short, or is too large."""


def read_arrays(path: str | Path, *, only: Container[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return all arrays of a file by name, or `only` some. Nothing in the file is executed."""
    with _faults_named():
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, NpzFile):
            raise NpzError("it holds one array. An npz file holds several by name.")
        with file:
            assert file.zip is not None
            size = sum(info.file_size for info in file.zip.infolist())
            if size > MAX_BYTES:
                raise NpzError(f"it unpacks to {size} bytes. At most {MAX_BYTES} are read.")
            arrays = {name: file[name] for name in file.files if only is None or name in only}
    odd = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
    if odd:
        raise NpzError(f"its member {odd[0]!r} is not an array")
    return arrays


def write_arrays(
    path: str | os.PathLike[str], arrays: Mapping[str, Any], *, compressed: bool = False
) -> None:
    """Write arrays to an npz file, whole or not at all."""
    with open_atomically(path) as file:
        (np.savez_compressed if compressed else np.savez)(file, **arrays)


def unpacked_bytes(path: str | Path) -> int:
    """Return how many bytes the members of a file have when they are unpacked, as the file says."""
    with _faults_named(), zipfile.ZipFile(path) as file:
        return sum(info.file_size for info in file.infolist())


def shape_of(path: str | Path, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of one array of a file, from its header alone."""
    with _faults_named(), zipfile.ZipFile(path) as file, file.open(f"{name}.npy") as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0
        shape, _, dtype = (read if version == (1, 0) else np.lib.format.read_array_header_2_0)(member)
        return shape, dtype


@contextmanager
def _faults_named() -> Iterator[None]:
    try:
        yield
    except NpzError:
        raise
    except FAULTS as error:
        raise NpzError(str(error) or type(error).__name__) from error
