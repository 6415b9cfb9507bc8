"""Model to bytes and back, in REDRESS words or the compact code.

Bytes carry the clauses, labels and thresholds, which are all that predictions need. The feature names, the
rates of the Booleans and the provenance stay in the model file (`Model.save`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from ethereal.model.codes import compact, container, redress
from ethereal.model.codes.container import CodeError

if TYPE_CHECKING:
    from ethereal.model import Model

__all__ = ["CodeError", "compact", "from_bytes", "redress", "sizes", "to_bytes"]

Code = Literal["redress", "compact"]


def to_bytes(model: Model, code: Code = "compact") -> bytes:
    """Return self-describing bytes of a model, in REDRESS words or in the compact code."""
    if code == "redress":
        words, includes_per_class = redress.words(model)
        body = includes_per_class.astype("<u4").tobytes() + words.astype("<u2").tobytes()
        return container.pack(model, container.REDRESS, 0, body)
    if code == "compact":
        stream = compact.payload(model)
        return container.pack(model, container.COMPACT, stream.choices, stream.data)
    raise ValueError(f'code is {code!r}. It must be "redress" or "compact".')


def from_bytes(data: bytes) -> Model:
    """Return the model from what `to_bytes` wrote. Raise `CodeError` when it is damaged or foreign.

    The clauses come back in the order of the code. The compact code merges equal ones, REDRESS repeats those
    with weights. The class sums are the same.
    """
    from ethereal.model import Model

    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"data is a {type(data).__name__}. It must be bytes.")
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


def sizes(model: Model) -> dict[str, float]:
    """Return the bytes of the clauses in each code and at the combinatorial bound, without header and labels.

    "redress" is 2 bytes per word. It is left out when there are more Booleans than a word can number. "bound"
    is log2 C(literals, k) bits for a clause of k includes, and for each of its votes the sign and the size,
    log2(2 * largest weight) bits. It takes every choice of k literals as equally likely. A code that treats
    clauses as a set and knows their habits can go below.

    >>> from ethereal import Model
    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> sizes(model)
    {'redress': 10, 'compact': 4, 'bound': 1.32...}
    """
    lengths = model.clauses.lengths
    votes = np.abs(model.weights.astype(np.int64)) * (lengths > 0)[:, None]  # an empty clause never votes
    n_bytes: dict[str, float] = {}
    if model.n_booleans <= redress.MAX_BOOLEANS:
        n_bytes["redress"] = 2 * int(model.clauses.redress_words().sum())
    n_bytes["compact"] = len(compact.payload(model).data)
    counts = np.bincount(lengths[votes.any(axis=1)]).tolist()  # clauses of each length
    n, lgamma, log_2 = 2 * model.n_booleans, math.lgamma, math.log(2)  # C(n, k) by its logarithm
    bits = sum(
        m * ((lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log_2) for k, m in enumerate(counts) if m
    )
    bits += np.count_nonzero(votes) * math.log2(2 * max(int(votes.max(initial=0)), 1))
    n_bytes["bound"] = float(bits) / 8
    return n_bytes
