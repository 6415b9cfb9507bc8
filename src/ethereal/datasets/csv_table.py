"""Text files with a line per row. One that pyarrow refuses is read once more, slowly, to find the line."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ethereal.base.atomic import open_atomically
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

_THOUSANDS = re.compile(r"[-+]?\d{1,3}([., '_\u00a0\u2019\u202f]\d{3})+([.,]\d+)?")


_BLOCK_BYTES = 1 << 20  # of a CSV, of which Arrow reads up to 32 ahead
_CELL_BYTES = 64  # a block must hold a line
SEPARATORS = ",;\t|"
_LONG_LINE = 1 << 16  # characters
_FIRST_CELLS = 100_000  # by which it is seen whether decimals have commas
_SEPARATOR_LINE = re.compile(r"sep=(.)\s*")  # that Excel takes and leaves out
_COMMENT = "#"


class CsvTable(Table):
    """Text with a line per row. The separator is the one of SEPARATORS that the first line has most."""

    def __init__(
        self, path: Path, header: bool = True, encoding: str | None = None, decimal: str = "auto"
    ) -> None:
        pyarrow_for(path)
        self.path, self._encoding = path, encoding  # no encoding is UTF-8
        if decimal not in ("auto", ".", ","):
            raise TableError(f"decimal is {decimal!r}. It must be a point, a comma or auto.")
        self.decimal = "." if decimal == "auto" else decimal
        try:
            codecs.lookup(encoding or "utf-8")
        except LookupError:
            known = "Give one such as latin-1, cp1252 or utf-16."
            raise TableError(f"encoding is {encoding!r}. {known}") from None
        if path.stat().st_size == 0:
            raise TableError(f"{path}: the file is empty. It should hold names of columns, and rows.")
        if (other := charset.other_kind(path)) is not None:
            raise TableError(f"{path}: {other}")
        if encoding is None and (marked := charset.marked(path)) is not None:
            self._encoding = marked
        elif encoding is None and (why := charset.fault(path, whole=False)) is not None:
            raise TableError(f"{path}: {why}")
        try:
            first, cells = self._first_record(header)
        except UnicodeError as error:
            raise self._not_written(error) from error
        self.n_columns = check_columns(path, len(cells))
        if self._header_lines > 1 and (fault := self._fault([])):  # a quote in the names lacks its end
            raise fault
        self.names = None
        if header:
            self.names = tuple(cell.strip() or unnamed(i) for i, cell in enumerate(cells))
            repeated = {name for name, n in Counter(self.names).items() if n > 1 and is_number(name)}
            if repeated:
                hint = "If the first line is a row, give header=False."
                raise TableError(f"{path}: the column name {min(repeated)!r} occurs more than once. {hint}")
            if all(is_number(cell) for cell in cells):
                what = (
                    f"the first line, {first.strip()[:60]!r}, holds numbers instead of the names of columns"
                )
                raise TableError(f"{path}: {what}. Add a line of names, or give header=False.")
            if self._tells_kinds():
                what = "lines 2 and 3 hold kinds and roles of the columns, as Orange writes them"
                raise TableError(f"{path}: {what}. Take these two lines out.")
        if decimal == "auto" and self._separator != "," and self._has_commas():
            self.decimal = ","

    def _has_commas(self) -> bool:
        """Whether decimals of the first rows have commas, and none has a point.

        Cells such as 1,234 may have a comma between thousands. They alone decide nothing.
        """
        has_comma = False
        with self._text() as file, suppress(csv.Error):  # a later reader says what is wrong
            records = (cells for cells in csv.reader(file, delimiter=self._separator) if cells)
            n_rows = 20 + _FIRST_CELLS // self.n_columns
            for column in itertools.zip_longest(*itertools.islice(records, self._header_lines > 0, n_rows)):
                cells = {cell.strip() for cell in column if cell} - set(NULLS)
                if all(map(is_number, cells)):
                    if any("." in cell for cell in cells):
                        return False
                elif all(is_number(cell.replace(",", ".", 1)) for cell in cells):
                    has_comma |= any("," in cell and not _THOUSANDS.fullmatch(cell) for cell in cells)
        return has_comma

    def _tells_kinds(self) -> bool:
        """Whether two lines below the names say what the columns are."""
        with self._text() as file:  # a cell of any length may follow
            lines = (file.readline(_LONG_LINE).strip("\r\n") for _ in range(3))
            _, kinds, marks = (line.split(self._separator) for line in lines)
        roles = {cell.strip() for cell in marks}
        return bool(roles & {"class", "meta"}) and roles <= {"", "class", "meta", "ignore"} and all(kinds)

    def _first_record(self, header: bool) -> tuple[str, list[str]]:
        """Return the first line and the cells of the first record, and find the separator by them."""
        self._skipped = 0  # lines before the names
        with self._text() as file:
            n_before, comment, first, separator = 0, "", file.readline(), None
            if (match := _SEPARATOR_LINE.fullmatch(first)) is not None:
                n_before, first, separator = 1, file.readline(), match[1]
            while first.startswith(_COMMENT):
                n_before, comment, first = n_before + 1, first, file.readline()
        if not first.strip():
            what = "the first line is empty. It should hold the names of the columns. Take it out."
            if n_before and not first:
                what = f"has no rows below {n_before} lines of comments. Add some."
            raise TableError(f"{self.path}: {what}")
        self._separator = separator or max(SEPARATORS.replace(self.decimal, ""), key=first.count)
        if header and comment and separator is None and (names := self._names_in_comment(comment, first)):
            self._skipped, self._header_lines = n_before - 1, 1
            return comment, names
        self._skipped = n_before
        with self._text() as file:
            last, cells = self._record(file, 0)
        self._header_lines = last - n_before if header else 0  # of the names
        return first, cells

    def _names_in_comment(self, comment: str, first: str) -> list[str] | None:
        """Return the names in a comment above the first row, as `numpy.savetxt` writes them."""
        names, row = (next(csv.reader([line], delimiter=self._separator)) for line in (comment, first))
        names[0] = names[0].lstrip(_COMMENT)
        is_row = len(names) == len(row) > 1 and any(map(is_number, row)) and not any(map(is_number, names))
        return names if is_row else None

    def chunks(
        self, columns: Sequence[int], label: int | None = None, categories: Categories = NO_CATEGORIES
    ) -> Iterator[Chunk]:
        """Rows, a block of a few megabytes at a time."""
        import pyarrow as pa

        if not self._has_rows():
            return
        first, is_checked, numeric = 0, False, [i for i in columns if i not in categories]
        try:
            texts = [i for i in columns if i in categories] + ([] if label is None else [label])
            types = {i: pa.bool_() if self._inferred[i] == pa.bool_() else pa.float64() for i in numeric}
            types |= dict.fromkeys(texts, pa.string())
            with self._reader(types) as (file, reader):
                size = file.size()
                for batch in reader:
                    X = np.empty((batch.num_rows, 0))
                    if columns:
                        X = matrix_of([batch.column(f"c{i}") for i in columns], columns, categories)
                    if not is_checked and np.isinf(X).any():  # 1e400 is read as infinite, as "inf" is
                        is_checked = True
                        if (fault := self._fault(numeric)) is not None:
                            raise fault
                    labels = None if label is None else values_of(batch.column(f"c{label}"))
                    if labels is not None:
                        labels[(labels == NULLS[0]) | (labels == NULLS[1])] = None
                        if label is not None and self.decimal == "," and _is_numeric(self._inferred[label]):
                            labels = np.array([_with_point(text) for text in labels], dtype=object)
                    yield Chunk(X, labels, first, file.tell() / size)
                    first += batch.num_rows
            self._check_quotes(first)
        except pa.ArrowInvalid as error:
            raise self._fault(numeric) or TableError(f"{self.path}: {error}") from error

    def categories(self, columns: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Return the names in columns of text, judged by the first block.

        A column in which most cells are numbers is not one of them, so that a wrong cell is found.
        """
        import pyarrow as pa

        if not self._has_rows():
            return {}
        categories = {}
        try:
            texts = [i for i in columns if not _is_numeric(self._inferred[i])]
            for i, counts in self._count_texts(texts).items() if texts else ():
                n_rows = sum(counts.values())
                n_numbers = sum(n for cell, n in counts.items() if _is_like_number(cell))
                if n_rows and n_numbers == n_rows:
                    raise self._fault([i]) or TableError(f"{self.path}: {self.column(i)} is not of numbers")
                if 2 * n_numbers <= n_rows:
                    categories[i] = self.names_in(i, list(counts), n_rows)
        except pa.ArrowInvalid as error:
            raise self._fault([]) or TableError(f"{self.path}: {error}") from error
        return categories

    def _count_texts(self, columns: Sequence[int]) -> dict[int, Counter[str]]:
        """How often each text is in some columns, without missing values."""
        import pyarrow as pa

        counts: dict[int, Counter[str]] = {i: Counter() for i in columns}
        n_rows = 0
        with self._reader(dict.fromkeys(columns, pa.string())) as (_, reader):
            for batch in reader:
                n_rows += batch.num_rows
                for i in columns:
                    count_texts(counts[i], batch.column(f"c{i}"))
        self._check_quotes(n_rows)
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
        read.skip_rows -= self._skipped  # which `_text` has left out
        parse.invalid_row_handler = lambda row: "skip"  # a later reader says what is wrong
        # Not a streaming reader, whose thread would still be reading ahead.
        table = pyarrow.csv.read_csv(io.BytesIO(head.encode()), read, parse, convert)
        return list(table.schema.types)

    def _options(self, types: Mapping[int, Any] | None = None) -> tuple[Any, Any, Any]:
        """Return Arrow's options for the columns that have types, or for all columns."""
        import pyarrow.csv

        keys = [f"c{i}" for i in range(self.n_columns)]
        read = pyarrow.csv.ReadOptions(
            block_size=max(_BLOCK_BYTES, _CELL_BYTES * self.n_columns),
            use_threads=False,
            column_names=keys,
            skip_rows=self._skipped + self._header_lines,
        )
        parse = pyarrow.csv.ParseOptions(delimiter=self._separator, newlines_in_values=True)
        convert = pyarrow.csv.ConvertOptions(
            column_types={keys[i]: kind for i, kind in (types or {}).items()},
            include_columns=[keys[i] for i in types or range(self.n_columns)],
            null_values=list(NULLS),
            decimal_point=self.decimal,
        )
        return read, parse, convert

    def place(self, row: int) -> str:
        """Line of a row, counted from 1."""
        with self._text() as file:
            return f"line {self._record(file, row + (self._header_lines > 0))[0]}"

    @contextmanager
    def _reader(self, types: Mapping[int, Any]) -> Iterator[tuple[Any, Any]]:
        """Open the file in UTF-8, and a reader of the columns that have types, which reads ahead.

        A thread of Arrow does that, and may still do so when the process ends after an error. It must not
        need the interpreter then, so it gets neither a file of Python nor a character set to decode.
        """
        import pyarrow as pa
        import pyarrow.csv

        path = self.path if self._encoding is None else self._in_utf8
        with (
            pa.OSFile(os.fspath(path), "rb") as file,
            pyarrow.csv.open_csv(file, *self._options(types)) as reader,
        ):
            yield file, reader

    @cached_property
    def _in_utf8(self) -> Path:
        """A copy in UTF-8, which lasts as long as this object."""
        self._folder = TemporaryDirectory(prefix="ethereal-")
        path = Path(self._folder.name, "table.csv")
        try:
            with (
                open(self.path, encoding=self._encoding, newline="") as text,
                open_atomically(path, is_cache=True) as copy,
            ):
                while piece := text.read(_BLOCK_BYTES):
                    copy.write(piece.encode())
        except UnicodeError as error:
            raise self._not_written(error) from error
        return path

    def _not_written(self, error: UnicodeError) -> TableError:
        what = f"it is not written in {self._encoding} ({error})"
        return TableError(f"{self.path}: {what}. Give another encoding=.")

    def _check_quotes(self, n_rows: int) -> None:
        """Refuse quotes that are not closed or hold whole rows, which Arrow reads as one cell.

        Reading line by line is slow, so it is only done where quotes come in an odd number, or where there
        are quotes and more lines than rows.
        """
        n_lines, n_quotes = self._counted
        is_longer = n_rows < n_lines - self._skipped - self._header_lines
        if n_quotes and (is_longer or n_quotes % 2) and (fault := self._fault([])):
            raise fault

    @cached_property
    def _counted(self) -> tuple[int, int]:
        """Number of line ends and of quotes."""
        n_lines = n_returns = n_quotes = 0
        with open(self.path, "rb") as file:
            while piece := file.read(_BLOCK_BYTES):
                n_quotes += piece.count(b'"')
                n_lines += piece.count(b"\n")
                n_returns += piece.count(b"\r") if n_lines == 0 else 0
        return n_lines or n_returns, n_quotes

    def _has_rows(self) -> bool:
        with self._text() as file, suppress(StopIteration):
            self._record(file, int(self._header_lines > 0))
            return True
        return False

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
        """Open the file at the line of the names, or the first row."""
        with open(self.path, encoding=self._encoding or "utf-8-sig", errors="replace", newline="") as file:
            for _ in range(self._skipped):
                file.readline()
            yield file

    def _record(self, file: Any, index: int) -> tuple[int, list[str]]:
        """Line number and cells of a record, counted from 0 without empty lines."""
        reader = csv.reader(file, delimiter=self._separator)
        begin = 0
        try:
            for number, cells in enumerate(cells for cells in reader if cells):
                if number == index:
                    return self._skipped + reader.line_num, cells
                begin = reader.line_num
        except csv.Error as error:
            raise self._broken(begin + 1, reader.line_num, error) from error
        raise StopIteration

    def _broken(self, first: int, last: int, error: csv.Error) -> TableError:
        """Say what is wrong with quotes that open in one line and are read up to another."""
        first, last = first + self._skipped, last + self._skipped
        why = f"{error}. Quotes are doubled within quotes."
        if "end of data" in str(error):
            why = "a quote opens here and is never closed. Close it, or take it out."
        elif "field limit" in str(error):
            limit = f"{csv.field_size_limit():,}"
            why = f"a cell that begins here has more than {limit} characters. A quote may lack its end."
        elif last > first:
            closed = f"a quote opens here and is closed in line {last}"
            why = f"{closed}, in the middle of a cell. Mend one of them."
        return TableError(f"{self.path}, line {first}: {why}")

    def _holds_rows(self, cell: str) -> bool:
        """Whether a cell of several lines has rows of the table in it, most of them numbers."""
        lines = cell.splitlines()[1:]  # the first one begins within a row
        rows = [next(csv.reader([line], delimiter=self._separator), []) for line in lines]
        n = self.n_columns
        return any(len(row) == n > 1 and 2 * sum(map(is_number, row)) >= n for row in rows)

    def _fault(self, columns: Sequence[int]) -> TableError | None:
        """Say what is wrong with the first line that cannot be read."""
        if self._encoding is None and (why := charset.fault(self.path, whole=True)) is not None:
            return TableError(f"{self.path}: {why}")
        with self._text() as file:
            reader = csv.reader(file, delimiter=self._separator, strict=True)
            begin = end = 0
            try:
                for number, cells in enumerate(cells for cells in reader if cells):
                    begin, end = end + 1, reader.line_num
                    where = f"{self.path}, line {self._skipped + begin}"
                    if end > begin and any(map(self._holds_rows, cells)):
                        closed = f"a quote opens here and is closed in line {self._skipped + end}"
                        return TableError(f"{where}: {closed}, with whole rows between. Mend one of them.")
                    if len(cells) != self.n_columns:
                        why = "Mend the line. Values with a separator in them need quotes"
                        if not file.read(1) and self.ends_within_a_line():
                            why = "The file ends there, in mid-line. It seems to be cut off"
                        what = f"{len(cells)} values where the first line has {self.n_columns}"
                        return TableError(f"{where}: {what}. {why}.")
                    if number == 0 and self._header_lines:
                        continue
                    for i in columns:
                        cell = cells[i].strip()
                        point = cell.replace(self.decimal, ".") if "." not in cell else cell
                        if is_number(point) and math.isinf(float(point)) and "inf" not in point.lower():
                            what = f"{self.column(i)} has {cell[:40]!r}"
                            return TableError(f"{where}: {what}, which is beyond the range of a number.")
                        if not (cell in NULLS or is_number(point) or cell.lower() in ("true", "false")):
                            comma = self.decimal == "." and is_number(cell.replace(",", ".", 1))
                            name = str(i + 1) if self.names is None else self.names[i]
                            remedy = "Make it a number, leave the cell empty, or leave the column out"
                            remedy = f"{remedy} with drop=[{name!r}]."
                            remedy = "If that is a decimal comma, give decimal=','." if comma else remedy
                            if _THOUSANDS.fullmatch(cell):
                                groups = "If signs in it separate thousands, take them out."
                                remedy = f"{groups} {remedy}" if comma else groups
                            what = f"{self.column(i)} has {cell[:40]!r}, which is not a number"
                            return TableError(f"{where}: {what}. {remedy}")
            except csv.Error as error:
                return self._broken(end + 1, reader.line_num, error)
        return None


def unnamed(index: int) -> str:
    """Return the name of a column whose head is empty.

    >>> unnamed(0)
    'column 1'
    """
    return f"column {index + 1}"


def _with_point(cell: str | None) -> str | None:
    """Return a number with a decimal comma as one with a point, and other cells as they are."""
    if cell is None or "," not in cell:
        return cell
    point = cell.replace(",", ".", 1)
    return point if is_number(point) else cell


def _is_like_number(cell: str) -> bool:
    """Whether a cell is meant as a number, in any digits, with a decimal comma or with signs for thousands.

    >>> _is_like_number("1_000"), _is_like_number("1,5"), _is_like_number("1.5 V")
    (True, True, False)
    """
    try:
        float(cell.replace(",", ".", 1))
    except ValueError:
        return _THOUSANDS.fullmatch(cell) is not None
    return True


def _is_numeric(kind: Any) -> bool:
    import pyarrow.types as types

    kinds = types.is_integer, types.is_floating, types.is_boolean, types.is_null
    return any(is_kind(kind) for is_kind in kinds)
