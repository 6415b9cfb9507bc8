"""A Model as one small block of bytes that MicroPython runs in place, in few steps of the interpreter.

docs/codes.md describes the bytes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from ethereal.adapt.normal import Normal as NormalOnBoard
from ethereal.features.front_end import FrontEnd, sines
from ethereal.features.rounding import round_down
from ethereal.model import Model
from ethereal.model.codes import redress
from ethereal.model.needs import ALL_ANSWERS, WINDOWS, Supports
from ethereal.model.output import ClassesOrUnknown, Number
from ethereal.normal import Normal

Floats = Literal["float64", "float32", "float30"]
Layout = Literal["auto", "redress"]

_STONE = 255  # every such position holds the literal that is always true
_PRIME = 2147483629
# Positions of literals fit 16 bits.
SUPPORTS = Supports(
    "MicroPython", n_classes=255, n_booleans=32000, outputs=ALL_ANSWERS | {"normal"}, front_ends=WINDOWS
)
_INSTEAD = "Use fewer bins, or leave the layout out."
_WORDS = replace(SUPPORTS, consumer="MicroPython with the layout redress", n_booleans=1 << 13,
                 instead=_INSTEAD, front_ends=frozenset({None}), outputs=ALL_ANSWERS)  # fmt: skip
_BANDED = ("bands", "spectrum", "mel")  # in the order in which the runtime reads their bins
_MAX_THRESHOLDS = 16000  # of a feature
_MAX_LEVELS = 30  # a class sum is a positive 32-bit integer
_BUCKET_BYTES = 1024  # bounds the heap, because the interpreter copies a bucket to read it
_SHARED = 3  # clauses that make a bucket worth its header


def micropython_tables(
    model: Model, floats: Floats = "float64", layout: Layout = "auto", own_normal: int = 0
) -> bytes:
    """Encode a model for the MicroPython runtime, with the layout "redress" in the paper's words.

    `floats` is the precision of the thresholds. With "float64" every board rounds them down to its own floats
    when it loads the model, and one with 64-bit floats compares as if it had 32. "float32" takes half the
    bytes and is meant for boards with single-precision floats, "float30" for those that keep floats in 30
    bits (micro:bit, ESP8266). `own_normal` is the centres that a board learns, 0 for none.

    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> data = micropython_tables(model)
    >>> data[:4], len(data)
    (b'ETB1', 74)
    """
    if floats not in get_args(Floats):
        raise ValueError(f"floats is {floats!r}. It must be one of {', '.join(get_args(Floats))}.")
    if layout not in get_args(Layout):
        raise ValueError(f"layout is {layout!r}. MicroPython has {' and '.join(get_args(Layout))}.")
    magic, supports, write = _LAYOUTS[layout]
    supports.check(model.needs)
    model = model.drop_unused_kernels()
    identity = NormalOnBoard(model, own_normal).identity if own_normal else 0
    clauses = write(model)
    floats = "float32" if model.output.kind == "normal" else floats  # there are no thresholds
    start, levels = _sums(model)
    kind, labels = _labels(model)
    flags = 0
    booleanizer = b""
    if model.fitted is not None:
        feature_map = model.feature_map
        ignore = bool(feature_map.ignores_missing.any())  # of all features, as the runtime has it
        is_plain = not ignore and not feature_map.missing.any()
        simple = is_plain and (np.diff(feature_map.threshold_offsets) == 1).all()
        flags = 1 + 2 * ignore + 4 * (floats == "float64") + 8 * bool(simple)
        booleanizer = _booleanizer(model, floats)
    head = struct.pack(f"<{model.n_classes}I", *start) + labels + booleanizer
    n_thresholds = len(model.feature_map.thresholds) if booleanizer else 0
    sizes = model.n_classes, model.n_features, model.n_booleans, n_thresholds, 30 + len(head)
    body = struct.pack("<BBHHIIII", flags, kind, levels, *sizes) + head + clauses
    body += b"" if model.normal is None else _normal(model.normal, own_normal, identity)
    body += b"" if model.front_end is None else _record(model.front_end)
    body += _unknown(model) + _number(model)
    # So that runtimes for other answers refuse it.
    magic = {"number": b"N", "normal": b"D"}.get(model.output.kind, magic[:1]) + magic[1:]
    return magic + struct.pack("<I", checksum(body)) + body


def checksum(body: bytes) -> int:
    """Return the remainder of all bytes as one number. Any changed byte shows, without a table."""
    rest = 0
    for i in range(0, len(body), 64):
        rest = (rest << 512 | int.from_bytes(body[i : i + 64], "little")) % _PRIME
    return rest


def _labels(model: Model) -> tuple[int, bytes]:
    if model.is_number:
        text = model.output.columns[0].encode()[:255]
        return 0, bytes([len(text)]) + text
    kind = {"i": 1, "u": 1, "f": 2, "b": 3}.get(model.classes.dtype.kind, 0)
    result = b""
    for label in model.classes.tolist():
        text = str(int(label) if kind == 3 else label).encode()
        if len(text) > 255:
            raise ValueError(f"Label {label[:30]!r}... takes {len(text)} bytes. Shorten it to 255 or fewer.")
        result += bytes([len(text)]) + text
    return kind, result


def _unknown(model: Model) -> bytes:
    output = model.output
    if not isinstance(output, ClassesOrUnknown):
        return b""
    text = str(output.unknown).encode()[:255]
    return text + struct.pack("<BI", len(text), output.margin)


def _number(model: Model) -> bytes:
    """Return scale, offset and half of the interval, which is NaN if it is unknown."""
    output = model.output
    if not isinstance(output, Number):
        return b""
    half = math.nan if output.half_width is None else output.half_width
    return struct.pack("<fff", output.scale, output.offset, half)


def _normal(normal: Normal, own_centres: int, identity: int) -> bytes:
    """Return columns of scales, centres, and what says how many there are."""
    scales = normal.features.astype("<u4"), normal.middles.astype("<i4"), normal.exponents, normal.gains
    record = b"".join(column.tobytes() for column in (*scales, normal.centres))
    shape = len(normal.features), len(normal.centres)
    return record + struct.pack("<IHBBI", normal.limit, *shape, own_centres, identity)


def _record(front_end: FrontEnd) -> bytes:
    """Return what stands at the end of the tables: window, plan, sines, bins of bands, and its length.

    >>> len(_record(FrontEnd(("x",), 32, (("stats", "x"),))))
    14
    """
    plan, size = front_end.plan, front_end.wave_size
    record = struct.pack("<HHHBB", front_end.window, front_end.hop, size, len(front_end.axes), len(plan))
    record += plan.astype(np.uint8).tobytes()
    record += sines(size).astype("<i2").tobytes() if size else b""
    for name in _BANDED:
        if name in front_end.band_ends:
            record += front_end.band_ends[name].astype("<u2").tobytes()
    return record + struct.pack("<H", len(record))


def _booleanizer(model: Model, floats: Floats) -> bytes:
    feature_map = model.feature_map
    counts = np.diff(feature_map.threshold_offsets)
    if counts.max(initial=0) > _MAX_THRESHOLDS:
        f = int(counts.argmax())
        raise ValueError(
            f"Feature {model.input_names[f]!r} has {counts[f]} thresholds. MicroPython tables hold "
            f"{_MAX_THRESHOLDS} of each. Use fewer bins."
        )
    shapes = 4 * counts + 2 * feature_map.is_binned + feature_map.missing
    if floats == "float64":
        thresholds = feature_map.cuts.astype("<f8").tobytes()
    else:
        bits = 30 if floats == "float30" else 32
        thresholds = round_down(feature_map.thresholds_float32, bits).astype("<f4").tobytes()
    return struct.pack(f"<{len(shapes) + 1}H", *shapes, 65535) + thresholds


def _clauses(model: Model) -> bytes:
    """Return the clauses in groups of equal votes."""
    groups: dict[tuple[tuple[int, int], ...], list[int]] = {}  # votes -> clauses
    for j, clause in enumerate(model):
        if clause.weights and clause.literals:
            groups.setdefault(tuple(clause.weights.items()), []).append(j)
    data = bytearray()
    for votes, members in groups.items():
        buckets = list(_buckets(model, members))
        for some in range(0, len(buckets), 65535):
            part = buckets[some : some + 65535]
            data.append(len(votes))
            for c, weight in votes:
                if not -(2**15) <= weight < 2**15:
                    raise ValueError(
                        f"Clause {members[0]} has weight {weight} for class {model.output.columns[c]!r}. "
                        "MicroPython tables hold 16 bits. Use smaller weights."
                    )
            data += packed_votes(dict(votes))
            data += struct.pack("<H", len(part)) + b"".join(part)
    data.append(0)
    return bytes(data)


def packed_votes(votes: Mapping[int, int]) -> bytes:
    """Return classes with their weights."""
    return b"".join(struct.pack("<Bh", *vote) for vote in votes.items())


def _words(model: Model) -> bytes:
    """Return the clauses in the paper's words."""
    words, counts = redress.words(
        Model.of(model.clauses, classes=np.arange(model.n_classes)),  # whatever they answer
        most=redress.BOARD_WORDS,
    )
    return struct.pack(f"<{len(counts)}I", *counts.tolist()) + words.astype("<u2").tobytes()


_LAYOUTS: dict[str, tuple[bytes, Supports, Callable[[Model], bytes]]] = {
    "auto": (b"ETB1", SUPPORTS, _clauses),
    "redress": (b"ETW1", _WORDS, _words),
}


def _sums(model: Model) -> tuple[list[int], int]:
    """Return where the sums of a batch begin, and how many bits they need."""
    votes = model.weights.astype(np.int64)[model.clauses.lengths > 0]
    against, for_it = -np.minimum(votes, 0).sum(axis=0), np.maximum(votes, 0).sum(axis=0)
    offset = int(against.max(initial=0))
    levels = max(1, (offset + int(for_it.max(initial=0))).bit_length())
    if levels > _MAX_LEVELS:
        raise ValueError(f"Class sums need {levels} bits, but there are {_MAX_LEVELS}. Use smaller weights.")
    return (offset - against).tolist(), levels


def _buckets(model: Model, members: list[int]) -> Iterator[bytes]:
    """Gather clauses of equal votes around literals that many of them share and that are often false."""
    clauses = {j: np.array(model.clauses[j].literals) for j in members}
    owners: dict[int, list[int]] = {}
    for j, literals in clauses.items():
        for literal in literals.tolist():
            owners.setdefault(literal, []).append(j)
    counts = np.bincount(np.concatenate(list(clauses.values())), minlength=2 * model.n_booleans)
    rates = model.boolean_rates if model.boolean_rates is not None else np.full(model.n_booleans, 0.5)
    false_rates = 1.0 - np.concatenate([rates, 1.0 - rates])
    while True:
        # A bucket saves its clauses in the rows where the shared literal is false.
        saved = np.where(counts >= _SHARED, counts * (false_rates + 0.01), 0.0)
        shared = int(saved.argmax())
        if saved[shared] == 0:
            break
        inside = [j for j in owners[shared] if j in clauses]
        for j in inside:
            counts[clauses[j]] -= 1
        yield from _bucket(
            _position(shared), [[x for x in clauses.pop(j).tolist() if x != shared] for j in inside]
        )
    if clauses:
        yield from _bucket(0, [literals.tolist() for literals in clauses.values()])


def _bucket(shared: int, clauses: list[list[int]]) -> Iterator[bytes]:
    """One bucket, or several where the clauses take too many bytes."""
    part = b""
    for literals in sorted(clauses):
        steps = _steps(literals) + b"\0"
        if part and len(part) + len(steps) > _BUCKET_BYTES:
            yield struct.pack("<HH", shared, len(part)) + part
            part = b""
        part += steps
    yield struct.pack("<HH", shared, len(part)) + part


def _position(literal: int) -> int:
    return literal + 1 + literal // (_STONE - 1)


def _steps(literals: list[int]) -> bytes:
    steps, at = [], 0
    for position in map(_position, literals):
        while position - at > 255:
            stone = (at // _STONE + 1) * _STONE
            steps.append(stone - at)
            at = stone
        steps.append(position - at)
        at = position
    return bytes(steps)
