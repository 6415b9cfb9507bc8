"""In which character set a text file is written."""

from __future__ import annotations

import codecs
from pathlib import Path

_PIECE = 1 << 20


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
