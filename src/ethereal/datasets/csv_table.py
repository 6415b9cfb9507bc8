"""Text files with a line per row. One that pyarrow refuses is read once more, slowly, to find the line."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ethereal.datasets import charset
from ethereal.datasets.tables import (
    NO_CATEGORIES,
    NULLS,
    Categories,
    Chunk,
    Table,
    TableError,
    check_columns,
    count_texts,
    is_number,
    matrix_of,
    pyarrow_for,
    values_of,
)

_BLOCK_BYTES = 1 << 20  # of a CSV, of which Arrow reads up to 32 ahead
_CELL_BYTES = 64  # a block must hold a line
SEPARATORS = ",;\t|"
_THOUSANDS = re.compile(r"[-+]?\d{1,3}([., '\u00a0\u2019\u202f]\d{3})+([.,]\d+)?")


class CsvTable(Table):
    """Text with a line per row. The separator is the one of SEPARATORS that the first line has most."""

    def __init__(
        self, path: Path, header: bool = True, encoding: str | None = None, decimal: str = "."
    ) -> None:
        pyarrow_for(path)
        self.path, self._encoding, self._decimal = path, encoding, decimal
        _check_options(encoding, decimal)
        if path.stat().st_size == 0:
            raise TableError(f"{path}: the file is empty. It should hold names of columns, and rows.")
        if (other := charset.other_kind(path)) is not None:
            raise TableError(f"{path}: {other}")
        if encoding is None and charset.is_marked_utf16(path):
            self._encoding = "utf-16"
        elif encoding is None and (why := charset.fault(path, whole=False)) is not None:
            raise TableError(f"{path}: {why}")
        try:
            first, cells = self._first_record()
        except UnicodeError as error:
            raise TableError(
                f"{path}: it is not written in {encoding} ({error}). Give another --encoding."
            ) from error
        if len(cells) == 1 and first.startswith("#"):
            what = f"the first line, {first.strip()[:60]!r}, is a comment"
            raise TableError(f"{path}: {what}. Take out what stands before the names of the columns.")
        self.n_columns = check_columns(path, len(cells))
        self.names = None
        if not header:
            self._header_lines = 0
        else:
            self.names = tuple(cell.strip() or unnamed(i) for i, cell in enumerate(cells))
            repeated = {name for name, n in Counter(self.names).items() if n > 1}
            if repeated:
                is_row = any(map(is_number, repeated))
                hint = "If the first line is a row, say --no-header." if is_row else "Rename one of them."
                raise TableError(f"{path}: the column name {min(repeated)!r} occurs more than once. {hint}")
            if all(is_number(cell) for cell in cells):
                raise TableError(
                    f"{path}: the first line, {first.strip()[:60]!r}, holds numbers instead of the names of "
                    "columns. Add a line of names, or say --no-header."
                )

    def _first_record(self) -> tuple[str, list[str]]:
        """Return the first line and the cells of the first record, and find the separator by them."""
        with self._text() as file:
            first = file.readline()
            if not first.strip():
                what = "the first line is empty. It should hold the names of the columns"
                raise TableError(f"{self.path}: {what}. Take it out.")
            self._separator = max(SEPARATORS.replace(self._decimal, ""), key=first.count)
            file.seek(0)
            self._header_lines, cells = self._record(file, 0)
        return first, cells

    def chunks(
        self, columns: Sequence[int], label: int | None = None, categories: Categories = NO_CATEGORIES
    ) -> Iterator[Chunk]:
        """Rows, a block of a few megabytes at a time."""
        import pyarrow as pa

        first, size = 0, self.path.stat().st_size
        if not self._has_rows():
            return
        try:
            inferred = self._inferred
            types = {i: pa.bool_() if inferred[i] == pa.bool_() else pa.float64() for i in columns}
            types |= dict.fromkeys([i for i in columns if i in categories], pa.string())
            types |= {} if label is None else {label: pa.string()}
            with open(self.path, "rb") as file, self._reader(file, types) as reader:
                for batch in reader:
                    X = np.empty((batch.num_rows, 0))
                    if columns:
                        X = matrix_of([batch.column(f"c{i}") for i in columns], columns, categories)
                    labels = None
                    if label is not None:
                        labels = values_of(batch.column(f"c{label}"))
                        labels[(labels == NULLS[0]) | (labels == NULLS[1])] = None
                    yield Chunk(X, labels, first, file.tell() / size)
                    first += batch.num_rows
        except pa.ArrowInvalid as error:
            numeric = [i for i in columns if i not in categories]
            raise self._fault(numeric) or TableError(f"{self.path}: {error}") from error
        except UnicodeError as error:
            raise TableError(f"{self.path}: it is not written in {self._encoding} ({error})") from error

    def categories(self, columns: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Return the names in columns of text, judged by the first block.

        A column in which most cells are numbers is not one of them, so that a wrong cell is found.
        """
        import pyarrow as pa

        if not self._has_rows():
            return {}
        found = {}
        try:
            texts = [i for i in columns if not _is_numeric(self._inferred[i])]
            for i, counts in self._count_texts(texts).items():
                n_rows = sum(counts.values())
                n_numbers = sum(n for cell, n in counts.items() if is_number(cell.replace(",", ".", 1)))
                if n_rows and all(map(_THOUSANDS.fullmatch, counts)):
                    raise self._fault([i]) or TableError(f"{self.path}: {self.column(i)} is not of numbers")
                if 2 * n_numbers <= n_rows:
                    found[i] = self.names_in(i, list(counts), n_rows)
        except (pa.ArrowInvalid, UnicodeError) as error:
            raise self._fault([]) or TableError(f"{self.path}: {error}") from error
        return found

    def _count_texts(self, columns: Sequence[int]) -> dict[int, Counter[str]]:
        """How often each text is in some columns, without missing values."""
        import pyarrow as pa

        counts: dict[int, Counter[str]] = {i: Counter() for i in columns}
        if not columns:
            return counts
        with open(self.path, "rb") as file, self._reader(file, dict.fromkeys(columns, pa.string())) as reader:
            for batch in reader:
                for i in columns:
                    count_texts(counts[i], batch.column(f"c{i}"))
        return counts

    @cached_property
    def _inferred(self) -> list[Any]:
        """Arrow's types of all columns, judged by the first lines."""
        import pyarrow.csv

        size = max(_BLOCK_BYTES, _CELL_BYTES * self.n_columns)
        with self._text() as file:
            head = file.read(size)
        if len(head) == size:
            head = head[: head.rfind("\n") + 1] or head
        read, parse, convert = self._options()
        read.encoding, parse.invalid_row_handler = (
            "utf8",
            lambda row: "skip",
        )  # a later reader says what is wrong
        # Not a streaming reader, whose thread would still be reading ahead.
        found = pyarrow.csv.read_csv(io.BytesIO(head.encode()), read, parse, convert)
        return list(found.schema.types)

    def _reader(self, file: Any, types: Mapping[int, Any]) -> Any:
        """Return a reader of the columns that have types."""
        import pyarrow.csv

        return pyarrow.csv.open_csv(file, *self._options(types))

    def _options(self, types: Mapping[int, Any] | None = None) -> tuple[Any, Any, Any]:
        """Return Arrow's options for the columns that have types, or for all columns."""
        import pyarrow.csv

        keys = [f"c{i}" for i in range(self.n_columns)]
        read = pyarrow.csv.ReadOptions(
            block_size=max(_BLOCK_BYTES, _CELL_BYTES * self.n_columns),
            use_threads=False,
            column_names=keys,
            skip_rows=self._header_lines,
            encoding=self._encoding or "utf8",
        )
        parse = pyarrow.csv.ParseOptions(delimiter=self._separator, newlines_in_values=True)
        convert = pyarrow.csv.ConvertOptions(
            column_types={keys[i]: kind for i, kind in (types or {}).items()},
            include_columns=[keys[i] for i in types or range(self.n_columns)],
            null_values=list(NULLS),
            decimal_point=self._decimal,
        )
        return read, parse, convert

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
        with open(self.path, encoding=self._encoding or "utf-8-sig", errors="replace", newline="") as file:
            yield file

    def _record(self, file: Any, index: int) -> tuple[int, list[str]]:
        """Line number and cells of a record, counted from 0 without empty lines."""
        reader = csv.reader(file, delimiter=self._separator)
        records = ((reader.line_num, cells) for cells in reader if cells)
        try:
            return next(itertools.islice(records, index, None))
        except csv.Error as error:
            raise self._broken(reader.line_num, error) from error

    def _broken(self, line: int, error: csv.Error) -> TableError:
        why = str(error)
        if "end of data" in why:
            why = "the file ends within quotes. It seems to be cut off."
        elif "field limit" in why:
            why = f"a cell has more than {csv.field_size_limit():,} characters. A quote may lack its end."
        return TableError(f"{self.path}, line {line}: {why}")

    def _has_rows(self) -> bool:
        with self._text() as file:
            try:
                self._record(file, int(self._header_lines > 0))
            except StopIteration:
                return False
        return True

    def _fault(self, columns: Sequence[int]) -> TableError | None:
        """Say what is wrong with the first line that cannot be read."""
        if self._encoding is None and (why := charset.fault(self.path, whole=True)) is not None:
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
                            f"{where}: {len(cells)} values where the first line has {self.n_columns}"
                            f"{why or '. Mend the line. Values with a separator in them need quotes.'}"
                        )
                    if number == 0 and self._header_lines:
                        continue
                    for i in columns:
                        cell = cells[i].strip()
                        point = cell.replace(self._decimal, ".") if "." not in cell else cell
                        if not (cell in NULLS or is_number(point) or cell.lower() in ("true", "false")):
                            comma = self._decimal == "." and is_number(cell.replace(",", ".", 1))
                            own = str(i + 1) if self.names is None else self.names[i]
                            remedy = "Make it a number, leave the cell empty, or leave the column out"
                            remedy = f"{remedy} with --drop {shlex.quote(own)}."
                            remedy = "If that is a decimal comma, say --decimal ," if comma else remedy
                            if _THOUSANDS.fullmatch(cell):
                                groups = "If signs in it separate thousands, take them out."
                                remedy = f"{groups} {remedy}" if comma else groups
                            what = f"{self.column(i)} has {cell[:40]!r}, which is not a number"
                            return TableError(f"{where}: {what}. {remedy}")
            except csv.Error as error:
                return self._broken(reader.line_num, error)
        return None


def unnamed(index: int) -> str:
    """Return the name of a column whose head is empty.

    >>> unnamed(0)
    'column 1'
    """
    return f"column {index + 1}"


def _check_options(encoding: str | None, decimal: str) -> None:
    if decimal not in (".", ","):
        raise TableError(f"--decimal is {decimal!r}. It must be a point or a comma.")
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        raise TableError(f"--encoding is {encoding!r}. Give one such as latin-1, cp1252 or utf-16.") from None


def _is_numeric(kind: Any) -> bool:
    import pyarrow.types as types

    kinds = types.is_integer, types.is_floating, types.is_boolean, types.is_null
    return any(is_kind(kind) for is_kind in kinds)
