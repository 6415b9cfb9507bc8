"""Read the files inside a downloaded archive without ever unpacking it to disk.

Nothing is extracted, so no member can be written anywhere. The memory for a member is bounded before and
while it is read. Zips inside a zip are opened as if they were folders, because several archives of the UCI
repository come wrapped once more.
"""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ethereal.datasets.catalogue import DatasetError

MAX_TOTAL = 2 << 30  # bytes in all members together, the largest set (sports) has 0.4 GB
MAX_MEMBERS = 50_000  # sports has 9120 files
MAX_RATIO = 200  # uncompressed to compressed of one member, text of numbers stays below 20
MAX_DEPTH = 2  # a zip within a zip, no deeper
_SMALL = 1 << 20  # members up to this size may compress as well as they like
_DAMAGE = (OSError, EOFError, zlib.error)  # what reading a damaged file raises, in a zip others as well


class Archive:
    """The members of a zip file, nested zips included, looked up by the end of their path.

    >>> import tempfile, zipfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.zip"
    >>> with zipfile.ZipFile(path, "w") as z:
    ...     z.writestr("Dataset/batch1.dat", "1 2 3")
    >>> with Archive(path) as archive:
    ...     archive.read("batch1.dat")
    b'1 2 3'
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._members: dict[str, tuple[zipfile.ZipFile, zipfile.ZipInfo]] = {}
        self._total = 0
        self._zips: list[zipfile.ZipFile] = []
        try:
            with self._damage_named(path.name):
                self._add(zipfile.ZipFile(path), "", depth=1)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Members cannot be read after that."""
        for z in self._zips:
            z.close()

    def names(self, pattern: str) -> list[str]:
        """Paths of the members whose whole path matches a regular expression, sorted."""
        return sorted(name for name in self._members if re.fullmatch(pattern, name))

    def read(self, name: str) -> bytes:
        """Return the bytes of the one member whose path is `name` or ends in `/name`."""
        if name in self._members:
            return self._read(name)
        matches = [n for n in self._members if n.endswith("/" + name)]
        if len(matches) != 1:
            what = f"{name} more than once ({', '.join(matches[:3])})" if matches else f"no file {name}"
            some = ", ".join(sorted(self._members)[:5]) or "nothing"
            more = ", ..." if len(self._members) > 5 else "."
            raise DatasetError(f"{self.path}: holds {what}. It has {some}{more}")
        return self._read(matches[0])

    def _add(self, z: zipfile.ZipFile, prefix: str, depth: int) -> None:
        self._zips.append(z)
        for info in z.infolist():
            name = prefix + info.filename
            if info.is_dir() or "__MACOSX/" in name:
                continue
            self._check(name, info)
            if name.lower().endswith(".zip") and depth < MAX_DEPTH:
                with self._damage_named(name):
                    inner = zipfile.ZipFile(io.BytesIO(self._decompress(z, info)))
                self._add(inner, name + "/", depth + 1)
            else:
                self._members[name] = (z, info)

    def _check(self, name: str, info: zipfile.ZipInfo) -> None:
        self._total += info.file_size
        if self._total > MAX_TOTAL:
            raise DatasetError(f"{self.path}: unpacks to more than {MAX_TOTAL >> 20} MiB, which is refused")
        if len(self._members) >= MAX_MEMBERS:
            raise DatasetError(f"{self.path}: holds more than {MAX_MEMBERS} files, which is refused")
        if info.file_size > _SMALL and info.file_size > MAX_RATIO * max(info.compress_size, 1):
            raise DatasetError(f"{self.path}: {name} unpacks to more than {MAX_RATIO} times its size")
        if info.flag_bits & 1:
            raise DatasetError(f"{self.path}: {name} is encrypted")

    def _read(self, name: str) -> bytes:
        with self._damage_named(name):
            return self._decompress(*self._members[name])

    @staticmethod
    def _decompress(z: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
        # zipfile never returns more than the checked file_size and compares the checksum at the end.
        with z.open(info) as file:
            data = file.read()
        if len(data) != info.file_size:
            raise zipfile.BadZipFile(f"{len(data)} bytes instead of {info.file_size}")
        return data

    @contextmanager
    def _damage_named(self, name: str) -> Iterator[None]:
        try:
            yield
        except (*_DAMAGE, zipfile.BadZipFile, NotImplementedError, ValueError, IndexError) as e:
            raise DatasetError(
                f"{self.path}: {name} is damaged or not whole ({e}). Delete {self.path} and fetch it again."
            ) from e


def read_gzip(path: Path, limit: int) -> bytes:
    """Return the uncompressed bytes of a .gz file (or of a plain one), at most `limit` of them.

    >>> import gzip, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.gz"
    >>> _ = path.write_bytes(gzip.compress(b"abc"))
    >>> read_gzip(path, 10)
    b'abc'
    """
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as file:
            data = file.read(limit + 1)
    except _DAMAGE as e:
        raise DatasetError(f"{path}: damaged or not whole ({e}). Delete it and fetch it again.") from e
    if len(data) > limit:
        raise DatasetError(f"{path}: unpacks to more than the {limit} bytes expected")
    return data
