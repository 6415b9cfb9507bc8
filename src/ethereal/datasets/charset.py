"""In which character set a text file is written."""

from __future__ import annotations

import codecs
from pathlib import Path

_PIECE = 1 << 20
# How files begin that are not text, what they are, and the remedy.
_SHEET = "Open it in its program, and save it as CSV."
_OTHERS = (
    (b"PK\x03\x04", "an Excel or zip file", _SHEET),
    (b"\xd0\xcf\x11\xe0", "an old Excel file", _SHEET),
    (b"\x1f\x8b", "compressed by gzip", "Unpack it first, for example with gunzip."),
    (b"BZh", "compressed by bzip2", "Unpack it first, for example with bunzip2."),
    (b"\xfd7zXZ", "compressed by xz", "Unpack it first, for example with unxz."),
    (b"PAR1", "a Parquet file", "Let its name end in .parquet."),
    (b"\x93NUMPY", "a numpy file", "Let its name end in .npy."),
    (b"SQLite", "a database", "Write the table to a CSV file."),
    (b"%PDF", "a PDF file", "Write the table to a CSV file."),
    (b'{"', "a JSON file", "Write the table to a CSV file."),
    (b'[{"', "a JSON file", "Write the table to a CSV file."),
)


def other_kind(path: Path) -> str | None:
    """Say what a file is that is not text, with the remedy. None when nothing is noticed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_bytes(b"PK\\x03\\x04...")
    ...     other_kind(file)
    'it is not a text file but an Excel or zip file. Open it in its program, and save it as CSV.'
    """
    with open(path, "rb") as file:
        start = file.read(16)
    for signature, kind, remedy in _OTHERS:
        if start.startswith(signature):
            return f"it is not a text file but {kind}. {remedy}".replace(
                "but compressed", "but one compressed"
            )
    return None


def fault(path: Path, *, whole: bool) -> str | None:
    """Say why a file is not UTF-8, with the remedy. None when it is, by its beginning unless `whole`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_bytes("größe,kind\\n".encode("latin-1"))
    ...     fault(file, whole=False)
    'byte 3 (0xf6) is not UTF-8. The file seems to be Latin-1. Say --encoding latin-1.'
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open(path, "rb") as file:
        piece, start = file.read(_PIECE), 0
        other = _sixteen_bits(piece)
        if other is not None:
            return f"it is not UTF-8 but seems to be UTF-16. Say --encoding {other}."
        while piece:
            if (zero := piece.find(0)) >= 0:
                return f"byte {start + zero + 1} is 0, which no text has. The file is damaged, or not a text."
            waiting = len(decoder.getstate()[0])  # bytes of a character that the last piece cut
            try:
                decoder.decode(piece)
            except UnicodeDecodeError as error:
                place = start - waiting + error.start
                return (
                    f"byte {place + 1} (0x{error.object[error.start]:02x}) is not UTF-8. "
                    "The file seems to be Latin-1. Say --encoding latin-1."
                )
            if not whole:
                return None
            start += len(piece)
            piece = file.read(_PIECE)
    return None


def is_marked_utf16(path: Path) -> bool:
    """Whether a file begins with the mark of UTF-16."""
    with open(path, "rb") as file:
        return file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _sixteen_bits(start: bytes) -> str | None:
    """Return the UTF-16 that a file begins in, by its mark or the zero bytes beside ASCII letters."""
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    even, odd = start[:200:2].count(0), start[1:200:2].count(0)
    if not start or max(even, odd) * 4 < len(start[:200:2]) or min(even, odd) > 0:
        return None
    return "utf-16-be" if even > odd else "utf-16-le"
