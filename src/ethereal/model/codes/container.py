"""Self-describing bytes around a code, with labels, Booleanizer and a checksum.

All numbers are little-endian.

    0   4  magic "ETHC"
    4   1  format version
    5   1  code: 1 REDRESS words, 2 compact
    6   2  choices of the compact code, 0 for REDRESS (see docs/codes.md)
    8   4  number of Booleans
    12  4  length of the labels
    16  4  length of the Booleanizer, 0 when there is none
    20  4  length of the code
    24     labels, Booleanizer, code
    -4  4  CRC-32 of everything before
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ethereal.features.feature_map import Encoding, FeatureMap
from ethereal.model import Model
from ethereal.model.checks import Fitted
from ethereal.model.clauses import MAX_BOOLEANS
from ethereal.model.file import describe_labels, read_labels
from ethereal.model.needs import Supports

# Reading may take so many times the code's own bytes. Small codes may take the second figure, because a
# Model holds a vote for every clause and class, and a code names only those that are not zero.
MEMORY_FACTOR = 10
LEAST_MEMORY = 2**24
MAGIC = b"ETHC"
FORMAT_VERSION = 1
REDRESS, COMPACT = 1, 2
SUPPORTS = Supports("the compact code")  # REDRESS words are refused before
MAX_LABEL_BYTES = 2**20  # JSON takes many times its size in memory
_HEADER = struct.Struct("<4sBBHIIII")
_CHECKSUM = struct.Struct("<I")
_COUNT_TYPES = ("<u1", "<u2", "<u4")  # of the numbers of thresholds per feature
# Flags of a Booleanizer.
_ONEHOT, _IGNORE_MISSING, _FLOAT64 = 1, 2, 4
_COUNT_SHIFT = 3  # two bits: index into _COUNT_TYPES
_MIXED = 32  # features differ, and a bit each says whether it is one-hot
_SINGLE = 64  # values are rounded to float32 before they are compared


class CodeError(ValueError):
    """Bytes or words that are not a whole, undamaged code of a model."""


def check_memory(n_bytes: int, n_clauses: int, n_classes: int, rest: int) -> None:
    """Refuse a code of `n_bytes` that would take too much memory, before the memory is taken.

    `rest` is the memory for all that is not per clause or per vote (clauses x classes).
    """
    # A Model's offset of 8 bytes and weight of 4, what they were read into, and what checking them takes.
    need = rest + n_clauses * (21 + 7 * n_classes)
    most = max(MEMORY_FACTOR * n_bytes, LEAST_MEMORY)
    if need > most:
        raise CodeError(
            f"the code of {n_bytes:,} bytes has {n_clauses:,} clauses for {n_classes:,} classes. Reading it "
            f"would take {need:,} bytes of memory. At most {most:,} are allowed. The code is damaged, or its "
            "model is better kept in a model file (Model.save)."
        )


class Contents(NamedTuple):
    """What a container holds, its code not yet decoded."""

    code: int
    choices: int
    n_booleans: int
    classes: NDArray[Any]
    booleanizer: Fitted | None
    body: memoryview


def pack(model: Model, code: int, choices: int, body: bytes) -> bytes:
    """Container for the code of a model."""
    SUPPORTS.check(model.needs)
    texts = describe_labels(model.classes)
    if model.feature_map.categories:  # beside the labels, because it is the part that holds texts
        texts["categories"] = {str(f): names for f, names in model.feature_map.categories.items()}
    labels = json.dumps(texts, separators=(",", ":")).encode()
    booleanizer = b"" if model.fitted is None else _pack_booleanizer(model.feature_map)
    if len(labels) > MAX_LABEL_BYTES:
        raise ValueError(f"the labels take {len(labels)} bytes. At most {MAX_LABEL_BYTES} are written.")
    head = _HEADER.pack(
        MAGIC, FORMAT_VERSION, code, choices, model.n_booleans, len(labels), len(booleanizer), len(body)
    )
    data = head + labels + booleanizer + body
    return data + _CHECKSUM.pack(zlib.crc32(data))


def unpack(code: bytes) -> Contents:
    """Return the contents of a container, its code unread, or raise `CodeError` when it is damaged."""
    data = memoryview(code)  # its parts are not copied
    if len(data) < _HEADER.size + _CHECKSUM.size or data[:4] != MAGIC:
        raise CodeError("these are not the bytes of a model, or their beginning is cut off")
    _, version, kind, choices, n_booleans, *lengths = _HEADER.unpack_from(data)
    if version > FORMAT_VERSION:
        raise CodeError(
            f"the code has format version {version}, this package reads up to {FORMAT_VERSION}. "
            "Upgrade ethereal-tm to read it."
        )
    expected = _HEADER.size + sum(lengths) + _CHECKSUM.size
    if len(data) != expected:
        raise CodeError(
            f"the code should have {expected} bytes but has {len(data)}. It is cut off or padded."
        )
    if zlib.crc32(data[: -_CHECKSUM.size]) != _CHECKSUM.unpack_from(data, expected - _CHECKSUM.size)[0]:
        raise CodeError("the code is damaged, because its checksum does not fit its contents")
    if version < 1 or kind not in (REDRESS, COMPACT):
        raise CodeError(f"the header is not valid: version {version}, code {kind}")
    if n_booleans > MAX_BOOLEANS or lengths[0] > MAX_LABEL_BYTES:
        raise CodeError(
            f"the code has {n_booleans} Booleans and {lengths[0]} bytes of labels. "
            f"At most {MAX_BOOLEANS} and {MAX_LABEL_BYTES} are read."
        )
    start = _HEADER.size
    labels, booleanizer, body = (
        data[end - length : end] for end, length in zip(start + np.cumsum(lengths), lengths, strict=True)
    )
    try:
        texts = json.loads(bytes(labels))
        classes = read_labels(texts)
        categories = {int(f): names for f, names in texts.get("categories", {}).items()}
        fitted = _unpack_booleanizer(bytes(booleanizer), categories) if booleanizer else None
    except CodeError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise CodeError(f"the labels or the Booleanizer are not valid: {error}") from error
    return Contents(kind, choices, n_booleans, classes, fitted, body)


def _pack_booleanizer(feature_map: FeatureMap) -> bytes:
    """Write flags, features, those with a missing Boolean, one-hot ones, threshold counts, thresholds."""
    counts = np.diff(feature_map.threshold_offsets)
    size = int(np.searchsorted([2**8, 2**16], counts.max(initial=0), side="right"))
    with np.errstate(over="ignore"):
        singles = feature_map.thresholds.astype("<f4")
    exact = np.array_equal(singles.astype(np.float64), feature_map.thresholds)
    flags = (
        _ONEHOT * (feature_map.encoding == "onehot")
        | _IGNORE_MISSING * (feature_map.missing_policy == "ignore")
        | _FLOAT64 * (not exact)
        | size << _COUNT_SHIFT
        | _MIXED * (not isinstance(feature_map.encoding, str))
        | _SINGLE * (feature_map.precision == "float32")
    )
    mixed = np.array([e == "onehot" for e in feature_map.encoding if flags & _MIXED], dtype=bool)
    parts = [
        np.packbits(feature_map.missing, bitorder="little"),
        np.packbits(mixed, bitorder="little"),
        counts.astype(_COUNT_TYPES[size]),
        singles if exact else feature_map.thresholds.astype("<f8"),
    ]
    return struct.pack("<BI", flags, feature_map.n_features) + b"".join(part.tobytes() for part in parts)


def _unpack_booleanizer(data: bytes, categories: dict[int, list[str]]) -> Fitted:
    if len(data) < 5:
        raise CodeError("the Booleanizer is cut off")
    flags, n_features = struct.unpack_from("<BI", data)
    size = flags >> _COUNT_SHIFT & 3
    if size >= len(_COUNT_TYPES) or flags >= 2 * _SINGLE or (flags & _MIXED and flags & _ONEHOT):
        raise CodeError(f"the Booleanizer has unknown flags {flags}")
    count_type = np.dtype(_COUNT_TYPES[size])
    value_type = np.dtype("<f8" if flags & _FLOAT64 else "<f4")
    mask_size = (n_features + 7) // 8
    masks = 5 + mask_size * (2 if flags & _MIXED else 1)
    values = masks + n_features * count_type.itemsize
    if values > len(data):
        raise CodeError(f"the Booleanizer is cut off. It has no room for {n_features} features.")
    bits = np.unpackbits(np.frombuffer(data[5:masks], np.uint8), bitorder="little").astype(bool)
    missing, is_onehot = bits[:n_features], bits[8 * mask_size :][:n_features]
    encoding: Encoding | list[Encoding] = "onehot" if flags & _ONEHOT else "thermometer"
    if flags & _MIXED:
        encoding = ["onehot" if one else "thermometer" for one in is_onehot]
    counts = np.frombuffer(data[masks:values], count_type).astype(np.int64)
    if int(counts.sum()) * value_type.itemsize != len(data) - values:
        raise CodeError(
            f"the Booleanizer has {counts.sum()} thresholds but {len(data) - values} bytes for them"
        )
    feature_map = FeatureMap(
        thresholds=np.frombuffer(data[values:], value_type).astype(np.float64),
        threshold_offsets=np.concatenate([[0], np.cumsum(counts)]),
        missing=missing,
        encoding=encoding,
        missing_policy="ignore" if flags & _IGNORE_MISSING else "raise",
        precision="float32" if flags & _SINGLE else "float64",
        categories=categories,
    )
    return Fitted(feature_map, None)
