"""Write C: tables, names, comments, strings."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

_DTYPES = {
    "uint8_t": "u1",
    "int8_t": "i1",
    "uint16_t": "<u2",
    "int16_t": "<i2",
    "uint32_t": "<u4",
    "int32_t": "<i4",
}
_WIDTH = 108
# Bytes of tables that an AVR can address: 15 bits within a table, 16 bits in all, beside the other constants.
_MOST_AVR_TABLE, _MOST_AVR_TABLES = 32767, 60000
_KEYWORDS = frozenset(  # of C and C++, and a name that is taken
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const
    constexpr const_cast continue decltype default delete do double dynamic_cast else enum explicit
    export extern false float for friend goto if inline int long mutable namespace new noexcept not
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast restrict return
    short signed sizeof static static_assert static_cast struct switch template this thread_local throw
    true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
    main
    """.split()  # noqa: SIM905
)


class Tables:
    """The definitions and constant tables of a model, with their checksum."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._names: list[str] = []
        self.checksum = 0
        self.bytes = 0
        self._largest = 0

    def define(self, name: str, value: object) -> None:
        """Write a macro."""
        self._parts.append(f"#define {name} {value}")

    def text(self, text: str) -> None:
        """Write anything."""
        self._parts.append(text)

    def array(self, ctype: str, name: str, values: Iterable[Any], comment: str, *, typedef: str = "") -> None:
        """Write a table of numbers; `typedef` is the name to give its type."""
        self._add(name, np.asarray(list(values)).astype(_DTYPES[ctype]).tobytes())
        numbers = [
            f"0x{x:08X}u" if ctype == "uint32_t" else str(x) for x in np.asarray(list(values)).tolist()
        ]
        if typedef:
            self._parts.append(f"typedef {ctype} {typedef};")
        self._parts.append(
            f"/* {comment} */\nstatic const ET_FLASH {typedef or ctype} {name}[{len(numbers)}] = {{"
        )
        self._parts.append(wrap(numbers) + "\n};")

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
        self._add(name, np.array([tuple(v) for v in values], dtype=dtype).tobytes())
        inner = "".join(f"    {ctype} {field};\n" for ctype, field in fields)
        self._parts.append(f"typedef struct {{\n{inner}}} {typedef};")
        self._parts.append(f"/* {comment} */\nstatic const ET_FLASH {typedef} {name}[{len(values)}] = {{")
        self._parts.append(wrap([f"{{{', '.join(map(str, v))}}}" for v in values]) + "\n};")

    def _add(self, name: str, data: bytes) -> None:
        self._names.append(name)
        self.checksum = zlib.crc32(data, self.checksum)
        self.bytes += len(data)
        self._largest = max(self._largest, len(data))

    def render(self) -> str:
        """All of it, and the list of tables for the self-check."""
        listed = ",\n".join(f"    {{{name}, (uint32_t)sizeof {name}}}" for name in self._names)
        return (
            self._avr_limit()
            + "\n".join(self._parts)
            + "\n\n/* What the checksum is of. */\nstatic const ET_FLASH struct {\n    const void *data;\n"
            + f"    uint32_t size;\n}} et_tables[{len(self._names)}] = {{\n{listed}\n}};\n"
        )

    def _avr_limit(self) -> str:
        """An error for AVR where its 16-bit addresses do not reach every table."""
        if self._largest <= _MOST_AVR_TABLE and self.bytes <= _MOST_AVR_TABLES:
            return ""
        return (
            f'#if defined(__AVR__)\n#error "The tables take {self.bytes} bytes, the largest {self._largest}. '
            f"An AVR reads tables of up to {_MOST_AVR_TABLE} bytes, {_MOST_AVR_TABLES} in all. "
            'Use the layout compact, or prune the model."\n#endif\n'
        )


def wrap(items: Sequence[str]) -> str:
    """Items with commas, in indented lines."""
    lines, line = [], "   "
    for i, item in enumerate(items):
        text = f" {item}{',' if i + 1 < len(items) else ''}"
        if len(line) + len(text) > _WIDTH and line.strip():
            lines.append(line)
            line = "   "
        line += text
    return "\n".join([*lines, line])


def unsigned_type(most: int) -> str:
    """Smallest unsigned type that holds `most`."""
    return "uint8_t" if most < 1 << 8 else "uint16_t" if most < 1 << 16 else "uint32_t"


def check_identifier(name: str) -> str:
    """Return `name`, which becomes part of C names and of files', or say why it cannot.

    >>> check_identifier("ethereal")
    Traceback (most recent call last):
        ...
    ValueError: name is 'ethereal', but files of the runtime are called so; how about 'model'?
    """
    if re.match(r"ethereal(_|$)", name, re.IGNORECASE):
        raise ValueError(f"name is {name!r}, but files of the runtime are called so; how about 'model'?")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name in _KEYWORDS or name.startswith("et_"):
        proposal = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower() or "model"
        proposal = f"model_{proposal}" if proposal[0].isdigit() or proposal in _KEYWORDS else proposal
        raise ValueError(
            f"name is {name!r}, but it becomes part of C names: letters, digits and _, not beginning with a "
            f"digit or et_, no word of C or C++; how about {proposal!r}?"
        )
    return name


def comment(text: str) -> str:
    """Text that is safe within a comment, on one line."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    return clean.replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/").rstrip("\\")


def string(text: str) -> str:
    """A C string literal in UTF-8."""
    out = []
    for byte in text.encode("utf-8"):
        char = chr(byte)
        if char in '"\\?':
            out.append("\\" + char)
        else:
            out.append(char if 32 <= byte < 127 else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'
