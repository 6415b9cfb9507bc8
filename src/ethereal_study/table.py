"""Tables for the terminal, in Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ethereal.base.messages import blocks, table_of

if TYPE_CHECKING:
    from rich.table import Table as RichTable


@dataclass(frozen=True)
class Column:
    """The key of a column's values, its head, and how a number is written."""

    key: str
    head: str
    form: str = ""  # for format(), empty for text, which goes to the left
    spread: bool = False  # whether rows may hold KEY_spread, the standard deviation over seeds
    other: str = ""  # key of a text that is shown where there is no value

    def text(self, row: dict[str, Any]) -> str:
        """Return the value of a row as text, empty where there is none.

        >>> Column("a", "A", ".1f", spread=True).text({"a": 2.25, "a_spread": 0.5})
        '2.2 ± 0.5'
        >>> Column("set", "set").text({"set": "gas", "partial": True})
        'gas, partial'
        """
        value = row.get(self.key)
        if value is None:
            return str(row.get(self.other, ""))
        if self.key == "set" and row.get("partial"):
            return f"{value}, partial"
        spread = row.get(f"{self.key}_spread") if self.spread else None
        text = format(value, self.form)
        return text if spread is None else f"{text} ± {format(spread, self.form)}"


def columns(text: str) -> list[Column]:
    """Read columns that are written as `key:head:format`, with ± at the end where there is a spread.

    The key may be followed by / and that of a text which is shown where there is no value.

    >>> columns("set | n/why:rows:,d±")[1]
    Column(key='n', head='rows', form=',d', spread=True, other='why')
    """
    made = []
    for keys, *rest in (part.split(":") for part in text.split(" | ")):
        key, _, other = keys.partition("/")
        head, form = [*rest, *(key, "")[len(rest) :]]
        made.append(Column(key, head, form.removesuffix("±"), form.endswith("±"), other))
    return made


def statistics(key: str, values: Iterable[float]) -> dict[str, float | None]:
    """Return the mean under the key, and the standard deviation under KEY_spread, None for one value.

    >>> statistics("a", [1.0, 3.0])
    {'a': 2.0, 'a_spread': 1.4142135623730951}
    """
    array = np.fromiter(values, dtype=float)
    spread = float(array.std(ddof=1)) if len(array) > 1 else None
    return {key: float(array.mean()), f"{key}_spread": spread}


@dataclass
class Table:
    """Rows of named values. A value may be absent.

    >>> table = Table("t", "Two sets", [Column("set", "set"), Column("n", "n", ",d")])
    >>> table.rows.append({"set": "har", "n": 1200})
    >>> print(table.markdown())
    **Two sets**
    <BLANKLINE>
    | set | n |
    |---|---:|
    | har | 1,200 |
    <BLANKLINE>
    """

    name: str  # of its files
    title: str
    columns: Sequence[Column]
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """Return the table as Markdown, with the notes below."""
        lines = [f"**{self.title}**", "", "| " + " | ".join(c.head for c in self.columns) + " |"]
        lines.append("|" + "|".join("---:" if c.form else "---" for c in self.columns) + "|")
        for row in self.rows:
            lines.append("| " + " | ".join(c.text(row).replace("|", "\\|") for c in self.columns) + " |")
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Return CSV with plain numbers under the keys and spreads in columns of their own."""
        keys = [
            key
            for column in self.columns
            for key in (column.key, f"{column.key}_spread" if column.spread else "", column.other)
            if key
        ]
        keys += ["partial"] if any("partial" in row for row in self.rows) else []
        text = io.StringIO()
        writer = csv.DictWriter(text, keys, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return text.getvalue()

    def as_dict(self) -> dict[str, Any]:
        """Return title, rows with all their values, and notes."""
        return {"name": self.name, "title": self.title, "rows": self.rows, "notes": self.notes}

    def json(self) -> str:
        """Return the table as JSON."""
        return json.dumps(self.as_dict(), indent=1) + "\n"

    def rich(self, width: int) -> list[RichTable]:
        """Return the table for a terminal of so many columns, with a line between the sets.

        One that is too wide is cut into several, which all begin with the names of their rows.
        """
        firsts = [row.get(self.columns[0].key) for row in self.rows]
        grouped = len(set(firsts)) < len(firsts)
        ends = [i for i in range(len(firsts) - 1) if grouped and firsts[i] != firsts[i + 1]]
        cells = [[column.text(row) for column in self.columns] for row in self.rows]
        heads = [column.head for column in self.columns]
        n_keys = next((i for i, column in enumerate(self.columns) if column.form), 1)
        parts = blocks(heads, cells, n_keys, width)
        return [
            table_of(
                self.title if part is parts[0] else None,
                [heads[i] for i in part],
                [[row[i] for i in part] for row in cells],
                [k for k, i in enumerate(part) if not self.columns[i].form],
                ends,
            )
            for part in parts
        ]
