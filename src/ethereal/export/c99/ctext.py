"""Write C: tables, comments, strings, and templates that are filled."""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DTYPES = {f"{sign}int{8 * n}_t": f"<{sign or 'i'}{n}" for sign in ("u", "") for n in (1, 2, 4)}
_WIDTH = 108
_LONGEST_NAME = 200  # characters in a comment
_LONGEST_STRING = 4095  # bytes that every C99 compiler takes
# Bytes of tables that an AVR can address: 15 bits within a table, 16 bits in all, beside the other constants.
_MOST_AVR_TABLE, _MOST_AVR_TABLES = 32767, 60000


class Tables:
    """The definitions and constant tables of a model, with their checksum."""

    def __init__(self, predict_reads: frozenset[str] | None = None) -> None:
        self._parts: list[str] = []
        self._code: list[str] = []
        self._tables: dict[str, bytes] = {}
        self._predict_reads = predict_reads  # names of the tables, None for all
        self._later: Callable[[Tables], None] | None = None

    @classmethod
    def of_code(cls, write: Callable[[Tables], None]) -> Tables:
        """Return what `write` writes, once its text is asked for. It writes no tables, so sizes are known."""
        made = cls()
        made._later = write
        return made

    def _finish(self) -> None:
        if self._later is not None:
            write, self._later = self._later, None
            write(self)

    def define(self, name: str, value: object) -> None:
        """Write a macro."""
        self._parts.append(f"#define {name} {value}")

    def each(self, name: str, statement: str, n: int) -> None:
        """Write a macro with a statement for each of the numbers below `n`."""
        self.define(name, " \\\n    ".join(["", *(statement.format(i=i) for i in range(n))]).lstrip(" "))

    def text(self, text: str) -> None:
        """Write anything."""
        self._parts.append(text)

    def code(self, text: str) -> None:
        """Write a function, which stands after the runtime."""
        self._code.append(text)

    @property
    def functions(self) -> str:
        """All functions."""
        self._finish()
        return "\n".join(self._code)

    def array(self, ctype: str, name: str, values: Iterable[Any], comment: str, *, typedef: str = "") -> None:
        """Write a table of numbers. `typedef` names its type."""
        array = np.asarray(list(values))
        numbers = [f"0x{x:08X}u" if ctype == "uint32_t" else str(x) for x in array.tolist()]
        if typedef:
            self._parts.append(f"typedef {ctype} {typedef};")
        self._table(typedef or ctype, name, array.astype(_DTYPES[ctype]), numbers, comment)

    def _table(self, ctype: str, name: str, data: NDArray[Any], items: Sequence[str], comment: str) -> None:
        self._tables[name] = data.tobytes()
        head = f"/* {comment} */\nstatic const ET_FLASH {ctype} {name}[{len(items)}] = {{"
        self._parts += [head, wrap(items) + "\n};"]

    def lookup(
        self, macro: str, usual: str, ctype: str, name: str, values: Sequence[int], comment: str
    ) -> None:
        """Write a macro of one argument: what is usual if that is given, else it reads a table."""
        if not usual:
            self.array(ctype, name, values, comment)
            usual = f"ET_READ({name}[{macro[macro.index('(') + 1 : -1]}])"
        self.define(macro, usual)

    def records(
        self,
        typedef: str,
        fields: Sequence[tuple[str, str]],
        name: str,
        values: Sequence[Sequence[int]],
        comment: str,
    ) -> None:
        """Write a table of structs without padding."""
        dtype = np.dtype([(field, _DTYPES[ctype]) for ctype, field in fields])
        inner = "".join(f"    {ctype} {field};\n" for ctype, field in fields)
        self._parts.append(f"typedef struct {{\n{inner}}} {typedef};")
        items = [f"{{{', '.join(map(str, v))}}}" for v in values]
        self._table(typedef, name, np.array([tuple(v) for v in values], dtype=dtype), items, comment)

    def checksum(self, predict_reads: bool) -> int:
        """Return the CRC-32 of the tables that predictions read, or of those that only class sums read."""
        return zlib.crc32(b"".join(self._tables[name] for name in self._names(predict_reads)))

    @property
    def predict_bytes(self) -> int:
        """Size of the tables that predictions read."""
        return sum(len(self._tables[name]) for name in self._names(True))

    def render(self) -> str:
        """Return all definitions, and the lists of tables for the self-check."""
        self._finish()
        others = self._names(False)
        parts = [self._avr_limit(), *self._parts]
        if self._tables:
            parts.append("\n/* A table, for the check of all. */")
            parts.append("typedef struct {\n    const void *data;\n    uint32_t size;\n} et_table;")
            parts.append(_table_list("ET_TABLES", "What predictions read.", self._names(True)))
        if others:
            # A list of its own, so that a linker can drop these tables where class sums are not called.
            parts.append(_table_list("ET_SUM_TABLES", "What only class sums read.", others))
        return "\n".join(parts) + "\n"

    def _names(self, predict_reads: bool) -> list[str]:
        read = self._tables if self._predict_reads is None else self._predict_reads
        return [name for name in self._tables if (name in read) == predict_reads]

    def _avr_limit(self) -> str:
        """Return an error for AVR if its 16-bit addresses do not reach every table."""
        sizes = [len(data) for data in self._tables.values()]
        total, largest = sum(sizes), max(sizes, default=0)
        if largest <= _MOST_AVR_TABLE and total <= _MOST_AVR_TABLES:
            return ""
        return (
            f'#if defined(__AVR__)\n#error "The tables take {total} bytes, the largest {largest}. An AVR '
            f"reads tables of up to {_MOST_AVR_TABLE} bytes, {_MOST_AVR_TABLES} in all. Use the layout "
            'compact, or prune the model."\n#endif\n'
        )


def _table_list(name: str, comment: str, tables: Sequence[str]) -> str:
    listed = ", \\\n".join(f"    {{{table}, (uint32_t)sizeof({table})}}" for table in tables)
    return f"/* {comment} */\n#define {name} \\\n{listed}"


def wrap(items: Sequence[str]) -> str:
    """Return items with commas, in indented lines."""
    lines = ["   "]
    for i, item in enumerate(items):
        text = f" {item}{',' if i + 1 < len(items) else ''}"
        if len(lines[-1]) + len(text) > _WIDTH and lines[-1].strip():
            lines.append("   ")
        lines[-1] += text
    return "\n".join(lines)


def float_literal(value: float) -> str:
    """Return a float32 in C. Infinite ones become the largest.

    >>> float_literal(0.5), float_literal(20.0), float_literal(1e-7)
    ('0.5f', '20.0f', '1e-07f')
    """
    if np.isnan(value):
        return "0.0f / 0.0f"
    text = f"{np.clip(value, -3e38, 3e38):.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def unsigned_type(most: int) -> str:
    """Return the smallest unsigned type that holds `most`."""
    return "uint8_t" if most < 1 << 8 else "uint16_t" if most < 1 << 16 else "uint32_t"


def comment(text: str) -> str:
    """Return text that is safe within a comment, on one line and not too long."""
    text = text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}..."
    clean = "".join(c if c.isprintable() else " " for c in text)
    return clean.replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/").rstrip("\\")


def string(text: str) -> str:
    """Return a C string literal in UTF-8. A text with a 0 in it is refused, because it would end there.

    >>> print(string('a "b" ?'))
    "a \\"b\\" \\?"
    """
    if "\0" in text:
        why = "has a character of the code 0, which ends a text in C"
        raise ValueError(f"the name {text!r} {why}. Rename it.")
    data, out = text.encode("utf-8"), []
    if len(data) > _LONGEST_STRING:
        raise ValueError(
            f"the name {text[:20]!r}... has {len(data)} bytes. A text in C has at most {_LONGEST_STRING}. "
            "Rename it, or export without names."
        )
    for byte in data:
        char = f"\\{chr(byte)}" if chr(byte) in '"\\?' else chr(byte)
        out.append(char if 32 <= byte < 127 else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def fill(template: str, values: dict[str, str], folder: str = "c99/templates") -> str:
    """Return a template of a folder of this package with @key@ replaced."""
    return filled(read(f"{folder}/{template}.in"), values)


def filled(text: str, values: dict[str, str]) -> str:
    """Return text with @key@ replaced.

    >>> filled("int @name@(void);", {"name": "tiny"})
    'int tiny(void);'
    """
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], text)


@functools.cache
def read(path: str) -> str:
    """Return a file of this package."""
    return resources.files("ethereal.export").joinpath(*path.split("/")).read_text(encoding="utf-8")


@functools.cache
def package_version() -> str:
    """Return the version of this package, which `version` finds by reading a file."""
    return version("ethereal-tm")
