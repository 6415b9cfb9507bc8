"""Model to bytes and back: REDRESS words and the compact code.

Bytes carry the clauses, labels and thresholds: all that predictions need. The names of the features, the
rates of the Booleans and the provenance stay in the model file (`Model.save`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ethereal.model.codes import compact, container, redress
from ethereal.model.codes.errors import CodeError
from ethereal.model.codes.size import sizes

if TYPE_CHECKING:
    from ethereal.model import Model

__all__ = ["CodeError", "compact", "from_bytes", "redress", "sizes", "to_bytes"]

Code = Literal["redress", "compact"]


def to_bytes(model: Model, code: Code = "compact") -> bytes:
    """Self-describing bytes of a model, in REDRESS words or in the compact code.

    >>> from ethereal import Model
    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> data = to_bytes(model, "compact")
    >>> sorted(from_bytes(data), key=lambda clause: clause.literals) == list(model)
    True
    """
    if code == "redress":
        words, includes_per_class = redress.words(model)
        body = includes_per_class.astype("<u4").tobytes() + words.astype("<u2").tobytes()
        return container.pack(model, container.REDRESS, 0, body)
    if code == "compact":
        stream = compact.payload(model)
        return container.pack(model, container.COMPACT, stream.choices, stream.data)
    raise ValueError(f'code is {code!r}; it must be "redress" or "compact"')


def from_bytes(data: bytes) -> Model:
    """Model from what `to_bytes` wrote; `CodeError` when it is damaged, cut off or something else.

    The clauses come back in the order of the code: equal ones merged by the compact code, those with weights
    repeated by REDRESS. The class sums are the same.

    >>> from_bytes(b"something else")
    Traceback (most recent call last):
    ...
    ethereal.model.codes.errors.CodeError: these are not the bytes of a model, or their beginning is cut off
    """
    from ethereal.model import Model

    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"data is a {type(data).__name__}; it must be bytes")
    contents = container.unpack(bytes(data))
    n_classes = len(contents.classes)
    try:
        if contents.code == container.REDRESS:
            return _from_redress(contents)
        stream = compact.Payload.from_choices(bytes(contents.body), contents.choices)
        clauses = compact.read_payload(stream, contents.n_booleans, n_classes)
        return Model.of(clauses, classes=contents.classes, booleanizer=contents.booleanizer)
    except CodeError:
        raise
    except ValueError as error:  # a Model that cannot be
        raise CodeError(f"the code is not valid: {error}") from error


def _from_redress(contents: container.Contents) -> Model:
    n_classes, body = len(contents.classes), contents.body
    if contents.choices or len(body) < 4 * n_classes or len(body) % 2:
        raise CodeError(f"{len(body)} bytes are not {n_classes} counts and whole REDRESS words")
    return redress.read_words(
        np.frombuffer(body[4 * n_classes :], "<u2"),
        np.frombuffer(body[: 4 * n_classes], "<u4"),
        n_booleans=contents.n_booleans,
        classes=contents.classes,
        booleanizer=contents.booleanizer,
    )
