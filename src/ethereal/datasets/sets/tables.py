"""Text of numbers to arrays. Errors name the file and the line."""

from __future__ import annotations

import io
import math

import numpy as np
from numpy.typing import NDArray

from ethereal.datasets.sets.errors import DatasetError


def text_of(data: bytes) -> str:
    """Decode a member in UTF-8, else Latin-1 (one gesture file has an accented word in the latter).

    >>> text_of(b"a\\r\\nb"), text_of(b"Prepara\\xe7\\xe3o")
    ('a\\r\\nb', 'Preparação')
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_numbers(
    text: str, where: str, columns: int, *, delimiter: str | None = None, skip: int = 0
) -> NDArray[np.float64]:
    """Return rows x columns of finite numbers, without `skip` header lines and empty lines.

    >>> read_numbers("a b\\n1 2\\n3 4\\n", "f.txt", 2, skip=1).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    >>> read_numbers("1 2\\n3 x\\n", "f.txt", 2)
    Traceback (most recent call last):
    ...
    ethereal.datasets.sets.errors.DatasetError: f.txt, line 2: 'x' is not a finite number: '3 x'
    """
    try:
        table = np.loadtxt(io.StringIO(text), delimiter=delimiter, skiprows=skip, comments=None, ndmin=2)
    except ValueError:
        table = np.empty((0, 0))
    if table.shape[0] == 0 or table.shape[1] != columns or not np.isfinite(table).all():
        raise DatasetError(_first_fault(text, where, columns, delimiter, skip))
    return table


def lines_of(
    text: str, where: str, columns: int, *, delimiter: str | None = None
) -> list[tuple[int, list[str]]]:
    """Return the number and the fields of every non-empty line, each with `columns` fields.

    >>> lines_of("1,2,van\\n\\n3,4,bus", "f.csv", 3, delimiter=",")
    [(1, ['1', '2', 'van']), (3, ['3', '4', 'bus'])]
    """
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            fields = [f.strip() for f in line.split(delimiter)]
            if len(fields) != columns:
                raise DatasetError(
                    f"{where}, line {number}: {len(fields)} fields instead of {columns}: {line[:80]!r}"
                )
            rows.append((number, fields))
    if not rows:
        raise DatasetError(f"{where}: holds no rows")
    return rows


def _first_fault(text: str, where: str, columns: int, delimiter: str | None, skip: int) -> str:
    for number, line in enumerate(text.splitlines(), 1):
        if number <= skip or not line.strip():
            continue
        fields = line.split(delimiter)
        if len(fields) != columns:
            return f"{where}, line {number}: {len(fields)} fields instead of {columns}: {line[:80]!r}"
        for field in fields:
            try:
                finite = math.isfinite(float(field))
            except ValueError:
                finite = False
            if not finite:
                return f"{where}, line {number}: {field.strip()!r} is not a finite number: {line[:80]!r}"
    return f"{where}: holds no rows"
