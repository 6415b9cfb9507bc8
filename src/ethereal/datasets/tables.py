"""Tables in files, read in chunks: CSV and Parquet by pyarrow, numpy matrices as they are.

Memory does not grow with the file. Errors name the place.
"""

from __future__ import annotations

import difflib
import math
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import missing_file
from ethereal.base.npz import FAULTS
from ethereal.datasets import charset
from ethereal.features import categories as category_names

# Missing values of features. A label may be called NA, so only the first two are missing labels.
NULLS = ("", "?", "NA", "N/A", "#N/A", "na", "n/a", "NaN", "nan", "-nan", "null", "NULL", "None", "none")
_CHUNK_VALUES = 1 << 21
_CHUNK_ROWS = 1 << 16
_MOST_COLUMNS = 1 << 14
_MOST_TEXTS = 1 << 16  # different ones of a column, many more than categories


Categories = Mapping[int, Sequence[str]]  # column -> names of the values 0, 1, ...
NO_CATEGORIES: Categories = {}


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
    n_rows: int | None = None  # None where it is not known before all is read
    places: Mapping[str, Sequence[Any]] = {}  # columns that say where in its recording a row is

    @abstractmethod
    def chunks(
        self, columns: Sequence[int], label: int | None = None, categories: Categories = NO_CATEGORIES
    ) -> Iterator[Chunk]:
        """Yield the columns with these indices as numbers, in this order, and labels from one of any type.

        A name in a column of `categories` becomes its number, NaN where it is not among them.
        """

    def categories(self, columns: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Return the names in those of the columns that hold texts. Refuse dates and ids."""
        return {}

    def place(self, row: int) -> str:
        """Where row `row`, counted from 0, is in the file."""
        return f"row {row + 1}"

    def names_in(self, index: int, values: Sequence[str], n_rows: int) -> tuple[str, ...]:
        """Return the categories of a column with these different texts in so many rows."""
        name = str(index + 1) if self.names is None else self.names[index]
        leave_out = f"Leave it out with drop=[{name!r}]"
        try:
            return category_names.of_values(values, n_rows, f"{self.path}: {self.column(index)}", leave_out)
        except ValueError as error:
            raise TableError(str(error)) from None

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
    return np.asarray((values == None) | (values != values), dtype=bool)  # noqa: E711


def open_table(
    path: str | os.PathLike[str], *, header: bool = True, encoding: str | None = None, decimal: str = "auto"
) -> Table:
    """Open a `.csv`, `.tsv`, `.tab`, `.txt`, `.parquet` or `.npy` file.

    The keywords are for CSV. They say whether it begins with names, its character set (None is UTF-8, or
    UTF-16 with its mark), and the sign before decimals ("auto" finds commas).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "t.csv")
    ...     _ = path.write_text("a,b\\n1,2\\n3,\\n")
    ...     table = open_table(path)
    ...     table.names, next(table.chunks([1, 0])).X
    (('a', 'b'), array([[ 2.,  1.],
           [nan,  3.]]))
    """
    from ethereal.datasets.csv_table import CsvTable

    path = Path(path)
    text = partial(CsvTable, path, header, encoding, decimal)
    kinds: dict[str, Callable[[], Table]] = dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), text)
    kinds |= {".parquet": partial(ParquetTable, path), ".npy": partial(NpyTable, path)}
    if path.is_dir():
        raise TableError(f"{path}: is a folder. Name a file in it.")
    if (opened := kinds.get(path.suffix.lower())) is None:
        hint = charset.other_kind(path) if path.is_file() else None
        known = f"Tables end in {', '.join(kinds)}."
        raise TableError(f"{path}: {hint or f'no table ends in {path.suffix!r}. {known}'}")
    if why := missing_file(path):
        raise TableError(why)
    if not path.is_file():
        why = "is a pipe or a device, but rows are read twice. Write them to a file first."
        raise TableError(f"{path}: {why}")
    try:
        return opened()
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror or error}") from error


class ParquetTable(Table):
    """Columns of numbers with names and types of their own."""

    def __init__(self, path: Path) -> None:
        pa = pyarrow_for(path)
        import pyarrow.parquet

        self.path = path
        try:
            self._schema = pyarrow.parquet.read_schema(path)
            self.names = tuple(self._schema.names)
            texts = [name for i, name in enumerate(self.names) if self._is_a(i, "string", "large_string")]
            # A text of many rows is read once.
            self._file = pyarrow.parquet.ParquetFile(path, pre_buffer=False, read_dictionary=texts)
            self.n_rows = self._file.metadata.num_rows
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:  # names, too, may be damaged
            raise TableError(f"{path}: is not a Parquet file, or is damaged ({error})") from error
        self.n_columns = check_columns(path, len(self.names))

    def categories(self, columns: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Return the names in columns of text."""
        categories, names = {}, self._schema.names
        for i in columns:
            if self._is_a(i, "temporal"):
                where, kind = f"{self.path}: {self.column(i)}", str(self._schema.field(i).type)
                raise TableError(category_names.refuse_dates(where, kind, f"Give drop=[{names[i]!r}]"))
            if self._is_a(i, "string", "large_string"):
                counts: Counter[str] = Counter()
                for batch in self._file.iter_batches(batch_size=_CHUNK_ROWS, columns=[names[i]]):
                    count_texts(counts, batch.column(0))
                categories[i] = self.names_in(i, list(counts), sum(counts.values()))
        return categories

    def _is_a(self, column: int, *kinds: str) -> bool:
        """Whether a column holds one of these kinds of values, by Arrow's names."""
        pa = pyarrow_for(self.path)
        kind = self._schema.field(column).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        return any(getattr(pa.types, f"is_{name}")(kind) for name in kinds)

    def chunks(
        self, columns: Sequence[int], label: int | None = None, categories: Categories = NO_CATEGORIES
    ) -> Iterator[Chunk]:
        """Rows, some ten thousand at a time."""
        pa = pyarrow_for(self.path)
        for i in set(columns) - set(categories):
            if not self._is_a(i, "integer", "floating", "boolean", "decimal", "null"):
                kind = self._schema.field(i).type
                what = f"{self.column(i)} is of type {kind}"
                raise TableError(f"{self.path}: {what}. Encode it as numbers, or leave it out.")
        names = self._schema.names
        wanted = [names[i] for i in columns] + ([] if label is None else [names[label]])
        first, n_rows = 0, max(self._file.metadata.num_rows, 1)
        try:
            for batch in self._file.iter_batches(batch_size=_chunk_rows(len(wanted)), columns=wanted):
                X = matrix_of([batch.column(names[i]) for i in columns], columns, categories)
                labels = None if label is None else values_of(batch.column(names[label]))
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
        self.n_rows, self.n_columns = matrix.shape

    def chunks(
        self, columns: Sequence[int], label: int | None = None, categories: Categories = NO_CATEGORIES
    ) -> Iterator[Chunk]:
        """Rows, mapped into memory a chunk at a time and let go again."""
        step = _chunk_rows(self.n_columns)
        everything = list(columns) == list(range(self.n_columns))
        n_rows = self.n_rows or 0
        for first in range(0, n_rows, step):
            rows = np.load(self.path, mmap_mode="r", allow_pickle=False)[first : first + step]
            X = np.asarray(rows) if everything else np.asarray(rows)[:, list(columns)]
            labels = None if label is None else np.array(rows[:, label])
            yield Chunk(X, labels, first, min(first + step, n_rows) / n_rows)


def _chunk_rows(n_columns: int) -> int:
    return min(_CHUNK_ROWS, max(1, _CHUNK_VALUES // max(n_columns, 1)))


def matrix_of(batch: list[Any], columns: Sequence[int], categories: Categories) -> NDArray[Any]:
    """Return Arrow columns as a matrix of Booleans when all are, else of float64 with NaN for null."""
    arrays = [
        _numbers(column, categories[i]) if i in categories else _decoded(column)
        for i, column in zip(columns, batch, strict=True)
    ]
    is_boolean = bool(arrays) and all(array.dtype == bool for array in arrays)
    n_rows = len(batch[0]) if batch else 0
    matrix = np.empty((n_rows, len(arrays)), dtype=bool if is_boolean else np.float64, order="F")
    for i, array in enumerate(arrays):
        matrix[:, i] = array  # an object array of True, False and None becomes 1, 0 and NaN
    return matrix


def _numbers(column: Any, names: Sequence[str]) -> NDArray[Any]:
    """Numbers of the categories in a column of texts."""
    import pyarrow as pa
    import pyarrow.compute as compute

    values, indices = _encoded(column)
    texts = compute.utf8_trim_whitespace(values.cast(pa.string()))
    numbers = compute.index_in(texts, value_set=pa.array(names, pa.string())).cast(pa.float64())
    return np.append(numbers.to_numpy(zero_copy_only=False), np.nan)[indices]


def values_of(column: Any) -> NDArray[Any]:
    """Values of an Arrow column. A text of several rows is one object."""
    import pyarrow.types as types

    kinds = types.is_string, types.is_large_string, types.is_dictionary
    if not any(is_kind(column.type) for is_kind in kinds):
        return column.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    values, indices = _encoded(column)
    return np.array([*values.to_pylist(), None], dtype=object)[indices]


def _encoded(column: Any) -> tuple[Any, NDArray[np.intp]]:
    """Return the different values of a column, and an index for each row, their number for a missing one."""
    encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    indices = encoded.indices.cast("int64").fill_null(len(encoded.dictionary))
    return encoded.dictionary, indices.to_numpy(zero_copy_only=False)


def count_texts(counts: Counter[str], column: Any) -> None:
    """Add how often each text is in an Arrow column, without missing values. Far too many are not counted."""
    if len(counts) > _MOST_TEXTS:
        return
    values, indices = _encoded(column)
    for text, n in zip(values.to_pylist(), np.bincount(indices, minlength=len(values)), strict=False):
        if text is not None and n and text.strip() not in NULLS:
            counts[text.strip()] += int(n)


def _decoded(column: Any) -> Any:
    plain = column.dictionary_decode() if hasattr(column, "dictionary_decode") else column
    return plain.to_numpy(zero_copy_only=False)


def check_columns(path: Path, n_columns: int) -> int:
    """Return the number of columns. Each takes some kB to read, so that too many are refused."""
    if n_columns > _MOST_COLUMNS:
        what = f"has {n_columns:,} columns. At most {_MOST_COLUMNS:,} are read"
        raise TableError(f"{path}: {what}. Give an npz file.")
    return n_columns


def is_number(cell: str) -> bool:
    """Whether a cell is written as a number, as other programs read it.

    >>> is_number("-1.5e3"), is_number("1_000"), is_number("\u0663")
    (True, False, False)
    """
    try:
        float(cell)
    except ValueError:
        return False
    return cell.isascii() and "_" not in cell


def pyarrow_for(path: Path) -> Any:
    """Return pyarrow, or say how it is installed."""
    try:
        import pyarrow
    except ImportError as error:
        why = f"reading {path.suffix} files needs pyarrow"
        raise TableError(f"{path}: {why}. Run: pip install pyarrow") from error
    return pyarrow


FACTOR = 2  # bytes of content for a byte of a file
LEAST = 100 << 20  # bytes of content that any file may have


class Room:
    """What is left of the memory that a file may take.

    >>> Room(Path(__file__)).take(LEAST)
    """

    def __init__(self, path: Path, large: bool = False) -> None:
        self.path, self.size = path, path.stat().st_size
        self.most = max(LEAST, FACTOR * self.size)
        self.left: float = math.inf if large else self.most

    def take(self, n_bytes: float) -> None:
        """Refuse the file if it takes more than is left."""
        self.left -= n_bytes
        if self.left < 0:
            raise TableError(
                f"{self.path}: the file has {self.size / 1e6:.1f} MB, but its content takes more than the "
                f"{self.most / 1e6:,.0f} MB of memory that are allowed for it. If it is really that large, "
                "give large=True."
            )


def all_rows(
    table: Table,
    columns: Sequence[int],
    label: int | None = None,
    categories: Categories = NO_CATEGORIES,
    *,
    large: bool = False,
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return some columns of a whole table, and one as labels."""
    memory, parts, labels = Room(table.path, large), list[NDArray[Any]](), list[NDArray[Any]]()
    if table.n_rows is not None:
        Room(table.path, large).take(8 * table.n_rows * (len(columns) + (label is not None)))
    for chunk in table.chunks(columns, label, categories):
        parts.append(chunk.X)
        memory.take(chunk.X.nbytes)
        if chunk.label is not None:
            labels.append(chunk.label)
            memory.take(chunk.label.nbytes)
    if not parts:
        raise TableError(f"{table.path}: has no rows below the names of the columns. Add some.")
    return joined(parts), joined(labels) if labels else None


def joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Return arrays one after the other. The list is empty afterwards, so that no part is held twice.

    >>> joined([np.array([1, 2]), np.array([3])])
    array([1, 2, 3])
    """
    shape = sum(map(len, parts)), *parts[0].shape[1:]
    order: Any = "F" if all(part.flags.f_contiguous for part in parts) else "C"
    whole, end = np.empty(shape, np.result_type(*parts), order), shape[0]
    while parts:
        part = parts.pop()
        whole[end - len(part) : end] = part
        end -= len(part)
    return whole


def columns_named(table: Table, names: Iterable[str]) -> set[int]:
    """Return the columns to leave out, all of a name that several have."""
    chosen: set[int] = set()
    for name in names:
        alike = [i for i, head in enumerate(table.names or ()) if head == name]
        chosen.update(alike or [column_index(table, name, "drop")])
    return chosen


def check_different(table: Table, columns: Sequence[int]) -> None:
    """Refuse columns to read of which two have the same name."""
    names = Counter(table.names[i] for i in columns) if table.names is not None else {}
    for name in sorted(name for name, n in names.items() if n > 1):
        what = f"the column name {name!r} occurs more than once. Rename one of them"
        raise TableError(f"{table.path}: {what}, or leave all of them out with drop=[{name!r}].")


def column_index(table: Table, name: str, option: str) -> int:
    """Index of a column given by name, or by number where columns have no names."""
    if table.names is None:
        if name.isdecimal() and 1 <= int(name) <= table.n_columns:
            return int(name) - 1
        numbers = f"a number from 1 to {table.n_columns}"
        raise TableError(f"{table.path}: {option} is {name!r}. The columns have no names, so give {numbers}.")
    if name in table.names:
        if table.names.count(name) > 1:
            what = f"{option} is {name!r}, but several columns are called that way"
            raise TableError(f"{table.path}: {what}. Rename one of them.")
        return table.names.index(name)
    near = [head for head in table.names if head.lower() == name.strip().lower()]
    near = near or difflib.get_close_matches(name, table.names, 1)
    hint = f"Did you mean {near[0]!r}?" if near else all_columns(table)
    raise TableError(f"{table.path}: {option} is {name!r}, but there is no such column. {hint}")


def listed(names: Iterable[str]) -> str:
    """Some columns, for a message.

    >>> listed(["a", "b"])
    "the columns 'a', 'b'"
    """
    names = list(names)
    return f"the column{'s' * (len(names) > 1)} {_shown(names, 8)}"


def _shown(names: Sequence[str], most: int) -> str:
    """Return names for a message, the last one too, because that column is usually the label.

    >>> _shown(["a", "b", "c", "d"], 3)
    "'a', 'b', ..., 'd'"
    """
    if len(names) <= most:
        return ", ".join(map(repr, names))
    return f"{', '.join(map(repr, names[: most - 1]))}, ..., {names[-1]!r}"


def all_columns(table: Table) -> str:
    """Say which columns there are."""
    if table.names is None:
        return f"There are {table.n_columns} columns."
    if table.n_columns == 1:
        separators = "Columns are separated by commas, semicolons, tabs or |."
        return f"The only column is {table.names[0][:60]!r}. {separators}"
    return f"The columns are {_shown(table.names, 12)}."
