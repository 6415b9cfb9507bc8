"""A CSV line by line, slowly: where something stands, and what is wrong with a line."""

from __future__ import annotations

import csv
import math
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ethereal.datasets import charset
from ethereal.datasets.tables import NULLS, Table, TableError, is_number

THOUSANDS = re.compile(r"[-+]?\d{1,3}([., '_\u00a0\u2019\u202f]\d{3})+([.,]\d+)?")


class CsvLines(Table):
    """What both readers of a CSV know, and the slow one of them."""

    _encoding: str | None  # None is UTF-8
    _decimal: str
    _separator: str
    _skipped: int  # lines before the names
    _header_lines: int  # of the names, 0 without names

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
            why = (
                f"a quote opens here and is closed in line {last}, in the middle of a cell. Mend one of them."
            )
        return TableError(f"{self.path}, line {first}: {why}")

    def _holds_rows(self, cell: str) -> bool:
        """Whether a cell of several lines has rows of the table in it, most of them numbers."""
        lines = cell.splitlines()[1:]  # the first one begins within a row
        rows = [next(csv.reader([line], delimiter=self._separator), []) for line in lines]
        return any(
            len(row) == self.n_columns > 1 and 2 * sum(map(is_number, row)) >= self.n_columns for row in rows
        )

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
                        if is_number(point) and math.isinf(float(point)) and "inf" not in point.lower():
                            what = f"{self.column(i)} has {cell[:40]!r}"
                            return TableError(f"{where}: {what}, which is beyond the range of a number.")
                        if not (cell in NULLS or is_number(point) or cell.lower() in ("true", "false")):
                            comma = self._decimal == "." and is_number(cell.replace(",", ".", 1))
                            own = str(i + 1) if self.names is None else self.names[i]
                            remedy = "Make it a number, leave the cell empty, or leave the column out"
                            remedy = f"{remedy} with --drop {shlex.quote(own)}."
                            remedy = "If that is a decimal comma, say --decimal ," if comma else remedy
                            if THOUSANDS.fullmatch(cell):
                                groups = "If signs in it separate thousands, take them out."
                                remedy = f"{groups} {remedy}" if comma else groups
                            what = f"{self.column(i)} has {cell[:40]!r}, which is not a number"
                            return TableError(f"{where}: {what}. {remedy}")
            except csv.Error as error:
                return self._broken(end + 1, reader.line_num, error)
        return None
