"""What a table holds, column by column, as the reader takes it.

The figures are those of the first rows, which a table of any length shows at once. A run reads all of them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.npz import NpzError
from ethereal.datasets.files import are_numbers, labelled_arrays, labels_from, remarks
from ethereal.datasets.options import TableOptions
from ethereal.datasets.tables import Table, TableError, is_missing, is_number, open_table

MOST_ROWS, MOST_COLUMNS = 10_000, 300  # that are shown
_BINS, _MOST_CLASSES, _MOST_POINTS = 24, 12, 800
_REST = "others"


@dataclass
class Column:
    """A column of the first rows."""

    name: str
    kind: str  # "number", "text" or "refused"
    values: NDArray[Any]  # numbers, or texts as objects
    remark: str = ""
    role: str = "feature"  # that the reader would give it, "drop" for one that it refuses

    @property
    def missing(self) -> float:
        """Share of the rows without a value."""
        return float(is_missing(self.values).mean()) if len(self.values) else 0.0

    def facts(self) -> dict[str, Any]:
        """Return what the page lists."""
        there = self.values[~is_missing(self.values)]
        different = len(set(there.tolist()))
        some: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "remark": self.remark,
            "role": self.role,
        }
        some |= {"missing": self.missing, "different": different, "is_number": self._is_number(there)}
        if self.kind == "number" and len(there):
            some |= {"least": float(there.min()), "most": float(there.max())}
        return some

    def _is_number(self, there: NDArray[Any]) -> bool:
        """Whether the reader would learn it as a number, if it were the label."""
        try:
            return self.kind == "number" and are_numbers(there, "auto", self.name)
        except TableError:
            return False


@dataclass(frozen=True)
class Shown:
    """The first rows of a table."""

    columns: tuple[Column, ...]
    n_rows: int  # of these
    is_whole: bool
    more_columns: int = 0
    note: str = ""
    _by_name: dict[str, Column] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Find columns by name."""
        self._by_name.update({column.name: column for column in self.columns})

    def facts(self) -> dict[str, Any]:
        """Return what the page lists, with a guess of the label: the last column that could be one."""
        columns = [column.facts() for column in self.columns]
        few = [c for c in columns if 2 <= c["different"] <= max(2, min(100, self.n_rows // 5))]
        label = few[-1]["name"] if few else None
        shown = {"columns": columns, "rows": self.n_rows, "whole": self.is_whole, "label": label}
        return shown | {"more_columns": self.more_columns, "note": self.note}

    def column(self, name: str) -> Column:
        """Return a column by its name."""
        if name not in self._by_name:
            raise TableError(f"there is no column {name!r} in the table.")
        return self._by_name[name]

    def classes(self, label: str | None) -> tuple[NDArray[np.intp], list[str]]:
        """Return the class of each row and the names, the frequent ones by themselves. -1 has no label."""
        if label is None:
            return np.zeros(self.n_rows, dtype=np.intp), ["all rows"]
        values = self.column(label).values
        there = ~is_missing(values)
        names, codes, counts = np.unique(
            labels_from(values[there]).astype(str), return_inverse=True, return_counts=True
        )
        kept = np.sort(np.argsort(-counts, kind="stable")[:_MOST_CLASSES])
        place = np.full(len(names), len(kept))
        place[kept] = np.arange(len(kept))
        of_row = np.full(self.n_rows, -1)
        of_row[there] = place[codes]
        return of_row, [*names[kept].tolist(), *([_REST] if len(names) > len(kept) else [])]

    def histogram(self, name: str, label: str | None) -> dict[str, Any]:
        """Return counts per bin and class of a column, whose bins are numbers or texts."""
        column, (classes, names) = self.column(name), self.classes(label)
        there = ~is_missing(column.values) & (classes >= 0)
        values, classes = column.values[there], classes[there]
        if column.kind == "number":
            values = values.astype(np.float64)
            low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
            edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
            bins = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, _BINS - 1)
            heads = [f"{edge:.5g}" for edge in edges.tolist()]
        else:
            texts, bins, counts = np.unique(values.astype(str), return_inverse=True, return_counts=True)
            order = np.argsort(-counts, kind="stable")
            place = np.empty(len(order), dtype=np.intp)
            place[order] = np.minimum(np.arange(len(order)), _BINS - 1)
            bins, heads = place[bins], texts[order][:_BINS].tolist()
            if len(texts) > _BINS:
                heads[-1] = _REST
        n_bins = _BINS if column.kind == "number" else max(1, len(heads))
        counts = np.zeros((len(names), n_bins), dtype=int)
        np.add.at(counts, (classes, bins), 1)
        return {"heads": heads, "classes": names, "counts": counts.tolist(), "kind": column.kind}

    def points(self, x: str, y: str, label: str | None) -> dict[str, Any]:
        """Return some rows as points of two features, with the class of each."""
        classes, names = self.classes(label)
        one, other = (self.column(name) for name in (x, y))
        for column in (one, other):
            if column.kind != "number":
                raise TableError(f"column {column.name!r} holds texts. Choose a column of numbers.")
        there = ~is_missing(one.values) & ~is_missing(other.values) & (classes >= 0)
        chosen = np.flatnonzero(there)
        chosen = chosen[np.linspace(0, len(chosen) - 1, min(len(chosen), _MOST_POINTS)).astype(int)]
        numbers = np.column_stack([one.values[chosen], other.values[chosen]]).astype(float)
        return {"points": numbers.tolist(), "of": classes[chosen].tolist(), "classes": names}


class Tables:
    """The first rows of tables, read once per version of a file. Few are kept."""

    _MOST = 4

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], Shown] = {}
        self._lock = threading.Lock()

    def of(
        self, path: Path, *, header: bool = True, encoding: str | None = None, decimal: str = "auto"
    ) -> Shown:
        """Return the first rows of a table. What cannot be read raises `TableError`."""
        about = path.stat()
        key = path, about.st_mtime_ns, about.st_size, header, encoding, decimal
        with self._lock:
            if key not in self._kept:
                while len(self._kept) >= self._MOST:
                    del self._kept[next(iter(self._kept))]
                if path.suffix.lower() == ".npz":
                    self._kept[key] = _of_npz(path)
                else:
                    table = open_table(path, header=header, encoding=encoding, decimal=decimal)
                    self._kept[key] = _of_table(table)
            return self._kept[key]


def _of_table(table: Table) -> Shown:
    names = table.names or tuple(str(i + 1) for i in range(table.n_columns))
    shown = range(min(table.n_columns, MOST_COLUMNS))
    columns, is_whole, n_rows = list[Column](), True, 0
    for i in shown:
        values, whole = _first_values(table, i)
        is_whole, n_rows = is_whole and whole, max(n_rows, len(values))
        columns.append(_column(table, i, names[i], values))
    return _with_remarks(columns, n_rows, is_whole, table.n_columns - len(shown))


def _first_values(table: Table, i: int) -> tuple[NDArray[Any], bool]:
    """Return the first values of a column as they are written, and whether they are all."""
    parts, n = list[NDArray[Any]](), 0
    for chunk in table.chunks([], i):
        assert chunk.label is not None
        parts.append(chunk.label)
        if (n := n + len(chunk.label)) >= MOST_ROWS:
            values = np.concatenate([part.astype(object) for part in parts])[:MOST_ROWS]
            return values, n == MOST_ROWS and chunk.share_read >= 1
    return np.concatenate([part.astype(object) for part in parts]) if parts else np.empty(0, object), True


def _column(table: Table, i: int, name: str, values: NDArray[Any]) -> Column:
    there = values[~is_missing(values)]
    if not len(there):
        return Column(name, "number", np.full(len(values), np.nan), "It is empty in every row shown.", "drop")
    if all(isinstance(value, (int, float, np.number, bool)) for value in there.tolist()):
        return Column(name, "number", np.array([_number(v) for v in values.tolist()]))
    if all(map(is_number, set(map(str, there.tolist())))):
        column = np.full(len(values), np.nan)
        column[~is_missing(values)] = [float(str(value)) for value in there.tolist()]
        return Column(name, "number", column)
    try:
        different = sorted({str(value) for value in there.tolist()})
        table.names_in(i, different, len(there))
    except TableError as error:
        # The message of the reader, without the file, and with what this page has for the option.
        reason = str(error).removeprefix(f"{table.path}: ")
        return Column(name, "refused", values, reason.split(". Leave it out")[0].rstrip(".") + ".", "drop")
    return Column(name, "text", values)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _with_remarks(columns: list[Column], n_rows: int, is_whole: bool, more: int = 0, note: str = "") -> Shown:
    for column in columns:
        if column.kind == "refused":
            continue
        values, names = column.values, dict[int, list[str]]()
        if column.kind == "text":
            texts, codes = np.unique(
                np.where(is_missing(values), "", values).astype(str), return_inverse=True
            )
            values, names = codes.astype(float), {0: texts.tolist()}
        said = remarks(values[:, None], np.zeros(n_rows), [column.name], names)
        column.remark = column.remark or " ".join(
            re.split(r"\. (?:Give|If) ", text)[0] + "." for text in said
        )
    return Shown(tuple(columns), n_rows, is_whole, more, note)


def _of_npz(path: Path) -> Shown:
    try:
        arrays = labelled_arrays(path, TableOptions())
    except NpzError as error:
        raise TableError(f"{path}: cannot be read ({error})") from error
    X, y = arrays["X"], arrays.get("y")
    if X.ndim != 2:
        return Shown((), len(X), True, 0, "Windows of samples. Give their length and start a run.")
    names: Sequence[str] = arrays.get("feature_names", np.arange(X.shape[1])).astype(str).tolist()
    columns = [Column(name, "number", X[:MOST_ROWS, i]) for i, name in enumerate(names[:MOST_COLUMNS])]
    note = "An npz file knows its labels and groups, so roles cannot be changed here."
    if y is not None:
        columns.append(Column("y", "text" if y.dtype.kind in "UO" else "number", y[:MOST_ROWS], role="label"))
    more = max(0, X.shape[1] - MOST_COLUMNS)
    return _with_remarks(columns, min(len(X), MOST_ROWS), len(X) <= MOST_ROWS, more, note)
