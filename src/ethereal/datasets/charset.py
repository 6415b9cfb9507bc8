"""In which character set a text file is written."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

_PIECE = 1 << 20
# How files begin that are not text, what they are, and the remedy.
_SHEET = "Open it in its program, and save it as CSV."
_OTHERS = (
    (b"PK\x03\x04", "an Excel or zip file", _SHEET),
    (b"\xd0\xcf\x11\xe0", "an old Excel file", _SHEET),
    (b"\x1f\x8b", "one compressed by gzip", "Unpack it first, for example with gunzip."),
    (b"BZh", "one compressed by bzip2", "Unpack it first, for example with bunzip2."),
    (b"\xfd7zXZ", "one compressed by xz", "Unpack it first, for example with unxz."),
    (b"PAR1", "a Parquet file", "Let its name end in .parquet."),
    (b"\x93NUMPY", "a numpy file", "Let its name end in .npy."),
    (b"SQLite", "a database", "Write the table to a CSV file."),
    (b"%PDF", "a PDF file", "Write the table to a CSV file."),
    (b'{"', "a JSON file", "Write the table to a CSV file."),
    (b'[{"', "a JSON file", "Write the table to a CSV file."),
)
_CALLED = {
    "latin-1": "Latin-1",
    "cp1252": "Windows-1252",
    "cp1251": "Windows-1251 (Cyrillic)",
    "koi8-r": "KOI8-R (Cyrillic)",
    "cp932": "Shift-JIS (Japanese)",
    "gb18030": "GB18030 (Chinese)",
}
# Characters of which texts in a character set of several bytes mostly consist.
_ASIAN = {"cp932": "[\u3040-\u30ff\u4e00-\u9fff]", "gb18030": "[\u4e00-\u9fff]"}
_GB_USUAL = range(0xB0, 0xD8)  # first bytes of the 3,755 usual characters of Chinese
_MOST_LETTERS = 0.8
_SIGNS = b"\xb0\xb5\xb2\xb3\xb1\xa0\x80\x96\x92\x84\x93\x94"  # of units, and the quotes of a typewriter


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
            return f"it is not a text file but {kind}. {remedy}"
    return None


def fault(path: Path, *, whole: bool) -> str | None:
    """Say why a file is not UTF-8, with the remedy. None when it is, by its beginning unless `whole`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_bytes("größe,kind\\n".encode("latin-1"))
    ...     fault(file, whole=False).split(", ")[0]
    'byte 3 (0xf6) is not UTF-8. The file seems to be Latin-1'
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open(path, "rb") as file:
        piece, start = file.read(_PIECE), 0
        if (other := _sixteen_bits(piece)) is not None:
            return f"it is not UTF-8 but seems to be UTF-16. Give encoding={other!r}."
        while piece:
            if (zero := piece.find(0)) >= 0:
                return f"byte {start + zero + 1} is 0, which no text has. The file is damaged, or not a text."
            waiting = len(decoder.getstate()[0])  # bytes of a character that the last piece cut
            try:
                decoder.decode(piece)
            except UnicodeDecodeError as error:
                place = start - waiting + error.start
                byte = error.object[error.start]
                return f"byte {place + 1} (0x{byte:02x}) is not UTF-8. {_remedy(piece, error)}"
            if not whole:
                return None
            start += len(piece)
            piece = file.read(_PIECE)
    return None


def marked(path: Path) -> str | None:
    """Return the character set that a file begins with the mark of, other than UTF-8."""
    with open(path, "rb") as file:
        start = file.read(4)
    if start in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "utf-32"
    return "utf-16" if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else None


def _remedy(piece: bytes, error: UnicodeDecodeError) -> str:
    """Name the character set that a file seems to be in, with a word of it to look at."""
    name = likely(piece)
    if name is None:
        return (
            "Say in which character set it is written, for example encoding='cp1252' (Western Europe), "
            "cp1250 (Central Europe), cp1251 (Cyrillic), cp932 (Japanese) or gb18030 (Chinese)."
        )
    start = piece.rfind(b"\n", 0, error.start) + 1
    line = piece[start : start + 200].split(b"\n")[0]
    words = re.findall(r"\w*[^\x00-\x7f]\w*", line.decode(name, "replace"))
    word = f", in which a word of it is {max(words, key=len)[:20]!r}" if words else ""
    return f"The file seems to be {_CALLED[name]}{word}. Give encoding={name!r} if so, else the true one."


def likely(data: bytes) -> str | None:
    """Return the character set of a text that is not UTF-8. None when the bytes do not tell.

    >>> [likely("größe,Länge".encode("latin-1")), likely("Масса,Длина тела".encode("cp1251"))]
    ['latin-1', 'cp1251']
    >>> [likely("名前,体重".encode("cp932")), likely("名称,重量和长度".encode("gb18030"))]
    ['cp932', 'gb18030']
    """
    shares = {name: _share(data, name, letters) for name, letters in _ASIAN.items()}
    best = max(shares, key=lambda name: shares[name])
    if shares[best] > _MOST_LETTERS:
        return best
    high = [byte for byte in data if byte >= 0x80]
    n_letters = sum(byte >= 0xC0 for byte in high)
    runs = re.findall(rb"[\x80-\xff]+", data)
    if 2 * len(runs) < len(high):  # whole words without an ASCII letter
        small = sum(byte >= 0xE0 for byte in high)
        if n_letters > _MOST_LETTERS * len(high):
            return "cp1251" if 2 * small >= n_letters else "koi8-r"
        return None
    if n_letters + sum(byte in _SIGNS for byte in high) < _MOST_LETTERS * len(high):
        return None
    return "latin-1" if all(byte >= 0xA0 for byte in high) else "cp1252"


def _share(data: bytes, name: str, letters: str) -> float:
    """Return the share of usual characters among those that are not ASCII. 0 where they make no words."""
    try:
        text = codecs.getincrementaldecoder(name)().decode(data)  # the end may be within a character
    except UnicodeDecodeError:
        return 0.0
    words = re.findall(r"[^\x00-\x7f]+", text)
    others = "".join(words)
    if len(others) < 2 * len(words) or not others:  # as of letters with accents among ASCII letters
        return 0.0
    usual = re.findall(letters, others)
    if name == "gb18030":
        usual = [c for c in usual if c.encode(name)[0] in _GB_USUAL]
    return len(usual) / len(others)


def _sixteen_bits(start: bytes) -> str | None:
    """Return the UTF-16 that a file begins in, by its mark or the zero bytes beside ASCII letters."""
    even, odd = start[:200:2].count(0), start[1:200:2].count(0)
    if not start or max(even, odd) * 4 < len(start[:200:2]) or min(even, odd) > 0:
        return None
    return "utf-16-be" if even > odd else "utf-16-le"
