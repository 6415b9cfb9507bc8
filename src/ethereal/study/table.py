"""A table to look at, to paste and to compute with: for the terminal, in Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table as RichTable


@dataclass(frozen=True)
class Column:
    """One column: the key of its values, its head, and how a number is written."""

    key: str
    head: str
    form: str = ""  # of format(); empty: text, to the left
    spread: bool = False  # whether rows may hold KEY_spread, the standard deviation over seeds

    def text(self, row: dict[str, Any]) -> str:
        """The value of a row as text; empty where there is none.

        >>> Column("a", "A", ".1f", spread=True).text({"a": 2.25, "a_spread": 0.5})
        '2.2 ± 0.5'
        """
        value = row.get(self.key)
        if value is None:
            return ""
        spread = row.get(f"{self.key}_spread") if self.spread else None
        text = format(value, self.form)
        return text if spread is None else f"{text} ± {format(spread, self.form)}"


@dataclass
class Table:
    """Rows of named values; a value may be absent.

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
        """As Markdown, the notes below."""
        lines = [f"**{self.title}**", "", "| " + " | ".join(c.head for c in self.columns) + " |"]
        lines.append("|" + "|".join("---:" if c.form else "---" for c in self.columns) + "|")
        for row in self.rows:
            lines.append("| " + " | ".join(c.text(row).replace("|", "\\|") for c in self.columns) + " |")
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """As CSV: plain numbers under the keys, spreads in columns of their own."""
        keys = [k for c in self.columns for k in ((c.key, f"{c.key}_spread") if c.spread else (c.key,))]
        text = io.StringIO()
        writer = csv.DictWriter(text, keys, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return text.getvalue()

    def as_dict(self) -> dict[str, Any]:
        """For JSON: title, rows with all their values, notes."""
        return {"name": self.name, "title": self.title, "rows": self.rows, "notes": self.notes}

    def json(self) -> str:
        """As JSON."""
        return json.dumps(self.as_dict(), indent=1) + "\n"

    def rich(self) -> RichTable:
        """For the terminal; a line between the sets."""
        from rich import box
        from rich.table import Table as RichTable

        table = RichTable(
            title=self.title,
            title_justify="left",
            caption="\n".join(self.notes),
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, 0),
        )
        for column in self.columns:
            # Numbers and names stay whole; what is long, such as the completeness of a set, folds.
            long = any(len(column.text(row)) > 25 for row in self.rows)
            table.add_column(column.head, justify="right" if column.form else "left", no_wrap=not long)
        firsts = [row.get(self.columns[0].key) for row in self.rows]
        grouped = len(set(firsts)) < len(firsts)
        for row, own, after in zip(self.rows, firsts, [*firsts[1:], None], strict=True):
            table.add_row(*(c.text(row) for c in self.columns), end_section=grouped and own != after)
        return table
