"""Tables in files, read in chunks: CSV and Parquet by pyarrow, numpy matrices as they are.

Memory does not grow with the file. Errors name the place. A CSV that pyarrow refuses is read once more,
slowly, to find the line.
"""

from __future__ import annotations

import codecs
import csv
import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.npz import FAULTS
from ethereal.datasets import charset as charsets

# Missing values of features. A label may be called NA, so only the first two are missing labels.
NULLS = ("", "?", "NA", "N/A", "#N/A", "na", "n/a", "NaN", "nan", "-nan", "null", "NULL", "None", "none")
_BLOCK_BYTES = 1 << 20  # of a CSV, of which Arrow reads up to 32 ahead
_CELL_BYTES = 64  # a block must hold a line
_CHUNK_VALUES = 1 << 21
_CHUNK_ROWS = 1 << 16


class TableError(ValueError):
    """A file cannot be read as a table. The message says where and what to do."""


@dataclass(frozen=True)
class Chunk:
    """Some rows of a table."""

    X: NDArray[Any]  # rows x chosen columns, numbers, NaN where missing
    label: NDArray[Any] | None  # rows, None or NaN where missing, see `is_missing`
    first_row: int
    share_read: float  # of the file, this chunk included


class Table(ABC):
    """A file with rows and columns."""

    path: Path
    names: tuple[str, ...] | None  # of the columns, if they have any
    n_columns: int

    @abstractmethod
    def chunks(self, columns: Sequence[int], label: int | None = None) -> Iterator[Chunk]:
        """Yield the numeric columns with these indices, in this order, and labels from one of any type."""

    def place(self, row: int) -> str:
        """Where row `row`, counted from 0, is in the file."""
        return f"row {row + 1}"

    def column(self, index: int) -> str:
        """How to call a column in a message."""
        return f"column {index + 1}" if self.names is None else f"column {self.names[index]!r}"


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are not there.

    >>> is_missing(np.array(["a", None], dtype=object)), is_missing(np.array([1.0, np.nan]))
    (array([False,  True]), array([False,  True]))
    """
    if values.dtype.kind != "O":
        return np.asarray(values != values)
    return np.array([value is None or value != value for value in values.tolist()], dtype=bool)


def open_table(
    path: str | os.PathLike[str], *, header: bool = True, charset: str | None = None, decimal: str = "."
) -> Table:
    """Open a `.csv`, `.tsv`, `.txt`, `.parquet` or `.npy` file.

    The keywords are for CSV. They say whether it begins with names, its character set (None is UTF-8), and
    the sign before decimals.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "t.csv")
    ...     _ = path.write_text("a,b\\n1,2\\n3,\\n")
    ...     table = open_table(path)
    ...     table.names, next(table.chunks([1, 0])).X
    (('a', 'b'), array([[ 2.,  1.],
           [nan,  3.]]))
    """
    path = Path(path)
    kinds = {".csv": CsvTable, ".tsv": CsvTable, ".txt": CsvTable, ".parquet": ParquetTable, ".npy": NpyTable}
    kind = kinds.get(path.suffix.lower())
    if kind is None:
        raise TableError(f"{path}: no table ends in {path.suffix!r}. Tables end in {', '.join(kinds)}.")
    if not path.is_file():
        raise TableError(f"{path}: there is no such file")
    try:
        if kind is CsvTable:
            return CsvTable(path, header, charset, decimal)
        return kind(path)  # type: ignore[no-any-return,call-arg]
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror or error}") from error


class CsvTable(Table):
    """Text with a line per row. The separator is a comma, semicolon or tab, as most in the first line."""

    def __init__(
        self, path: Path, header: bool = True, charset: str | None = None, decimal: str = "."
    ) -> None:
        _pyarrow(path)
        self.path, self._charset, self._decimal = path, charset, decimal
        _check_options(charset, decimal)
        if charset is None and (why := charsets.fault(path, whole=False)) is not None:
            raise TableError(f"{path}: {why}")
        with self._text() as file:
            first = file.readline()
            if not first.strip():
                raise TableError(f"{path}: the first line is empty. It should hold the names of the columns.")
            self._separator = max(",;\t".replace(decimal, ""), key=first.count)
            file.seek(0)
            self._header_lines, cells = self._record(file, 0)
        self.n_columns = len(cells)
        self.names = None
        if not header:
            self._header_lines = 0
        else:
            self.names = tuple(cell.strip() for cell in cells)
            repeated = {name for name in self.names if self.names.count(name) > 1}
            if repeated:
                hint = (
                    ". If the first line is a row, say --no-header." if any(map(is_number, repeated)) else ""
                )
                raise TableError(f"{path}: the column name {min(repeated)!r} occurs more than once{hint}")
            if all(is_number(cell) for cell in cells):
                raise TableError(
                    f"{path}: the first line, {first.strip()[:60]!r}, holds numbers instead of the names of "
                    "columns. Add a line of names, or say --no-header."
                )

    def chunks(self, columns: Sequence[int], label: int | None = None) -> Iterator[Chunk]:
        """Rows, a block of a few megabytes at a time."""
        import pyarrow as pa
        import pyarrow.csv

        keys = [f"c{i}" for i in range(self.n_columns)]
        types: dict[str, Any] = dict.fromkeys((keys[i] for i in columns), pa.float64())
        if label is not None:
            types[keys[label]] = pa.string()
        read = pyarrow.csv.ReadOptions(
            block_size=max(_BLOCK_BYTES, _CELL_BYTES * self.n_columns),
            use_threads=False,
            column_names=keys,
            skip_rows=self._header_lines,
            encoding=self._charset or "utf8",
        )
        parse = pyarrow.csv.ParseOptions(delimiter=self._separator, newlines_in_values=True)
        first, size = 0, self.path.stat().st_size
        if not self._has_rows():
            return
        try:
            for key in self._boolean_columns(read, parse, keys, columns):
                types[key] = pa.bool_()
            convert = pyarrow.csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=list(NULLS),
                decimal_point=self._decimal,
            )
            with open(self.path, "rb") as file, pyarrow.csv.open_csv(file, read, parse, convert) as reader:
                for batch in reader:
                    X = _matrix([batch.column(keys[i]) for i in columns], batch.num_rows)
                    labels = None
                    if label is not None:
                        labels = batch.column(keys[label]).to_numpy(zero_copy_only=False)
                        labels[(labels == NULLS[0]) | (labels == NULLS[1])] = None
                    yield Chunk(X, labels, first, file.tell() / size)
                    first += batch.num_rows
        except pa.ArrowInvalid as error:
            raise self._fault(columns) or TableError(f"{self.path}: {error}") from error
        except UnicodeError as error:
            raise TableError(f"{self.path}: it is not written in {self._charset} ({error})") from error

    def place(self, row: int) -> str:
        """Line of a row, counted from 1."""
        with self._text() as file:
            return f"line {self._record(file, row + (self._header_lines > 0))[0]}"

    def ends_within_a_line(self) -> bool:
        """Whether the last line has no end and may be cut off."""
        with open(self.path, "rb") as file:
            file.seek(0, os.SEEK_END)
            if file.tell() == 0:
                return False
            file.seek(-min(file.tell(), 2), os.SEEK_END)
            return file.read().strip(b"\0")[-1:] not in b"\r\n"  # two bytes are a character of UTF-16

    @contextmanager
    def _text(self) -> Iterator[Any]:
        with open(self.path, encoding=self._charset or "utf-8-sig", errors="replace", newline="") as file:
            yield file

    def _record(self, file: Any, index: int) -> tuple[int, list[str]]:
        """Line number and cells of a record, counted from 0 without empty lines."""
        reader = csv.reader(file, delimiter=self._separator)
        records = ((reader.line_num, cells) for cells in reader if cells)
        return next(itertools.islice(records, index, None))

    def _has_rows(self) -> bool:
        with self._text() as file:
            try:
                self._record(file, int(self._header_lines > 0))
            except StopIteration:
                return False
        return True

    def _boolean_columns(self, read: Any, parse: Any, keys: list[str], columns: Sequence[int]) -> list[str]:
        """Keys of the chosen columns that hold true and false, judged by the first block."""
        import pyarrow as pa
        import pyarrow.csv

        convert = pyarrow.csv.ConvertOptions(
            null_values=list(NULLS),
            include_columns=[keys[i] for i in columns],
            decimal_point=self._decimal,
        )
        with open(self.path, "rb") as file, pyarrow.csv.open_csv(file, read, parse, convert) as reader:
            return [field.name for field in reader.schema if field.type == pa.bool_()]

    def _fault(self, columns: Sequence[int]) -> TableError | None:
        """Say what is wrong with the first line that cannot be read."""
        if self._charset is None and (why := charsets.fault(self.path, whole=True)) is not None:
            return TableError(f"{self.path}: {why}")
        with self._text() as file:
            reader = csv.reader(file, delimiter=self._separator, strict=True)
            try:
                for number, cells in enumerate(cells for cells in reader if cells):
                    where = f"{self.path}, line {reader.line_num}"
                    if len(cells) != self.n_columns:
                        cut = not file.read(1) and self.ends_within_a_line()
                        why = ". The file ends there, in mid-line. It seems to be cut off." if cut else ""
                        return TableError(
                            f"{where}: {len(cells)} values where the first line has {self.n_columns}{why}"
                        )
                    if number == 0 and self._header_lines:
                        continue
                    for i in columns:
                        cell = cells[i].strip()
                        point = cell.replace(self._decimal, ".") if "." not in cell else cell
                        if not (cell in NULLS or is_number(point) or cell.lower() in ("true", "false")):
                            comma = self._decimal == "." and is_number(cell.replace(",", ".", 1))
                            remedy = "Encode it as one, or leave the column out."
                            remedy = "If that is a decimal comma, say --decimal ," if comma else remedy
                            what = f"{self.column(i)} has {cell[:40]!r}, which is not a number"
                            return TableError(f"{where}: {what}. {remedy}")
            except csv.Error as error:
                cut = "end of data" in str(error)
                why = "the file ends within quotes. It seems to be cut off." if cut else str(error)
                return TableError(f"{self.path}, line {reader.line_num}: {why}")
        return None


class ParquetTable(Table):
    """Columns of numbers with names and types of their own."""

    def __init__(self, path: Path) -> None:
        pa = _pyarrow(path)
        import pyarrow.parquet

        self.path = path
        try:
            self._file = pyarrow.parquet.ParquetFile(path, pre_buffer=False)
            self.names = tuple(self._file.schema_arrow.names)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:  # names, too, may be damaged
            raise TableError(f"{path}: is not a Parquet file, or is damaged ({error})") from error
        self.n_columns = len(self.names)

    def chunks(self, columns: Sequence[int], label: int | None = None) -> Iterator[Chunk]:
        """Rows, some ten thousand at a time."""
        pa = _pyarrow(self.path)
        for i in columns:
            kind = self._file.schema_arrow.field(i).type
            if pa.types.is_dictionary(kind):
                kind = kind.value_type
            taken = ("integer", "floating", "boolean", "decimal", "null")
            if not any(getattr(pa.types, f"is_{name}")(kind) for name in taken):
                what = f"{self.column(i)} is of type {kind}"
                raise TableError(f"{self.path}: {what}. Encode it as numbers, or leave it out.")
        names = self._file.schema_arrow.names
        wanted = [names[i] for i in columns] + ([] if label is None else [names[label]])
        first, n_rows = 0, max(self._file.metadata.num_rows, 1)
        try:
            for batch in self._file.iter_batches(batch_size=_chunk_rows(len(wanted)), columns=wanted):
                X = _matrix([batch.column(names[i]) for i in columns], batch.num_rows)
                labels = None
                if label is not None:
                    labels = _decoded(batch.column(names[label])).to_numpy(zero_copy_only=False)
                first += batch.num_rows
                yield Chunk(X, labels, first - batch.num_rows, first / n_rows)
        except (pa.ArrowInvalid, UnicodeDecodeError, OSError) as error:
            raise TableError(f"{self.path}: damaged after row {first} ({error})") from error


class NpyTable(Table):
    """A matrix in numpy's own format, in either memory order."""

    names = None

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        except FAULTS as error:
            raise TableError(f"{path}: is not a .npy file of numbers, or is cut off ({error})") from error
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
            what = f"dtype {matrix.dtype} of shape {matrix.shape}"
            raise TableError(f"{path}: holds {what}. It must be a matrix of numbers.")
        self._n_rows, self.n_columns = matrix.shape

    def chunks(self, columns: Sequence[int], label: int | None = None) -> Iterator[Chunk]:
        """Rows, mapped into memory a chunk at a time and let go again."""
        step = _chunk_rows(self.n_columns)
        everything = list(columns) == list(range(self.n_columns))
        for first in range(0, self._n_rows, step):
            rows = np.load(self.path, mmap_mode="r", allow_pickle=False)[first : first + step]
            X = np.asarray(rows) if everything else np.asarray(rows)[:, list(columns)]
            labels = None if label is None else np.array(rows[:, label])
            yield Chunk(X, labels, first, min(first + step, self._n_rows) / self._n_rows)


def _chunk_rows(n_columns: int) -> int:
    return min(_CHUNK_ROWS, max(1, _CHUNK_VALUES // max(n_columns, 1)))


def _matrix(columns: list[Any], n_rows: int) -> NDArray[Any]:
    """Return an Arrow batch as a matrix of Booleans when all are, else of float64 with NaN for null."""
    arrays = [_decoded(column).to_numpy(zero_copy_only=False) for column in columns]
    is_boolean = bool(arrays) and all(array.dtype == bool for array in arrays)
    matrix = np.empty((n_rows, len(arrays)), dtype=bool if is_boolean else np.float64, order="F")
    for i, array in enumerate(arrays):
        matrix[:, i] = array  # an object array of True, False and None becomes 1, 0 and NaN
    return matrix


def _decoded(column: Any) -> Any:
    return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column


def _check_options(charset: str | None, decimal: str) -> None:
    if decimal not in (".", ","):
        raise TableError(f"--decimal is {decimal!r}. It must be a point or a comma.")
    try:
        codecs.lookup(charset or "utf-8")
    except LookupError:
        raise TableError(f"--charset is {charset!r}. Give one such as latin-1, cp1252 or utf-16.") from None


def is_number(cell: str) -> bool:
    """Whether a cell is written as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _pyarrow(path: Path) -> Any:
    try:
        import pyarrow
    except ImportError as error:
        why = f"reading {path.suffix} files needs pyarrow"
        raise TableError(f"{path}: {why}. Run: pip install 'ethereal-tm[frames]'") from error
    return pyarrow
