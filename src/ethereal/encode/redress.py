"""REDRESS words: 16 bits per include, as the study's boards read them.

    bit 15     polarity: 1 in a clause that votes against its class
    bit 14     toggle: flips between one non-empty clause of a class and the next
    bits 13-1  index of the Boolean
    bit 0      1 when the Boolean is negated

The words of one class follow those of the class before; how many each class has stands beside, and each class
starts a new run, so the toggle says nothing across classes. A clause with weight +-w is written w times, a
clause with votes for several classes once for each of them. Empty clauses are not written: they never vote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.clauses import Clauses
from ethereal.encode.errors import CodeError, check_votes

if TYPE_CHECKING:
    from ethereal._model_checks import Fitted
    from ethereal.booleanize import Booleanizer
    from ethereal.model import Model

MAX_BOOLEANS = 8192  # what 13 bits can number
MAX_WORDS = 2**26  # 128 MB; a model beyond it has weights that were never meant to be repeated clauses
_NEGATIVE, _TOGGLE = 0x8000, 0x4000


def words(model: Model) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Words of all classes, and how many words (includes) each class has.

    >>> from ethereal import Model
    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> all_words, includes_per_class = words(model)
    >>> [f"{word:016b}" for word in all_words]  # doctest: +NORMALIZE_WHITESPACE
    ['0000000000000010', '0100000000000010', '0000000000000000', '0000000000000011', '1100000000000010']
    >>> includes_per_class
    array([2, 3])
    """
    if model.n_booleans > MAX_BOOLEANS:
        raise ValueError(
            f"the model has {model.n_booleans} Booleans, but a REDRESS word numbers at most {MAX_BOOLEANS}; "
            'use fewer bins or the "compact" code'
        )
    lengths = np.diff(model.offsets)
    includes_per_class = np.abs(model.weights.astype(np.int64)).T @ lengths
    if includes_per_class.sum() > MAX_WORDS:
        raise ValueError(
            f"the model takes {includes_per_class.sum()} REDRESS words, because a clause of weight w is "
            f"written w times; at most {MAX_WORDS} are written: scale the weights down or use the "
            "compact code"
        )
    clauses = Clauses.of(model)
    parts = [np.empty(0, dtype=np.uint16)]
    for c in range(model.n_classes):
        votes = np.where(lengths > 0, clauses.weights[:, c], 0)
        run = clauses.take(np.repeat(np.arange(model.n_clauses), np.abs(votes)))
        n = np.diff(run.offsets)
        head = np.where(run.weights[:, c] < 0, _NEGATIVE, 0) + np.where(np.arange(len(n)) % 2, _TOGGLE, 0)
        negated = run.literals >= model.n_booleans
        index = run.literals - negated * model.n_booleans
        parts.append((np.repeat(head, n) + 2 * index + negated).astype(np.uint16))
    return np.concatenate(parts), includes_per_class


def read_words(
    words: ArrayLike,
    includes_per_class: ArrayLike,
    *,
    n_booleans: int | None = None,
    classes: ArrayLike | None = None,
    booleanizer: Booleanizer | Fitted | None = None,
    feature_names: Sequence[str] | None = None,
) -> Model:
    """Model from REDRESS words, each clause as it is written; `CodeError` when they are not valid.

    Parameters
    ----------
    words
        Words of all classes.
    includes_per_class
        How many of them each class has.
    n_booleans
        Number of Boolean features; None: up to the highest one named.
    classes
        Labels; None: 0, 1, ...
    booleanizer, feature_names
        Those of the model.

    Examples
    --------
    >>> list(read_words([0b10, 0b11, 0b1100000000000010], [3]))
    [Clause(literals=(1, 3), weights={0: 1}), Clause(literals=(1,), weights={0: -1})]
    """
    from ethereal.model import Model

    code = _whole_numbers(words, "words", 0xFFFF)
    counts = _whole_numbers(includes_per_class, "includes_per_class", MAX_WORDS)
    if counts.sum() != len(code):
        raise CodeError(
            f"includes_per_class adds up to {counts.sum()} but there are {len(code)} words; "
            "the code is cut off or belongs to other counts"
        )
    index, negated = (code >> 1) & 0x1FFF, code & 1
    n = int(index.max(initial=-1)) + 1 if n_booleans is None else n_booleans
    if (index >= n).any():
        place = int(np.argmax(index >= n))
        raise CodeError(
            f"word {place} ({code[place]}) names Boolean {index[place]}, but there are {n} (numbered from 0)"
        )
    of_class = np.repeat(np.arange(len(counts)), counts)
    new_class = np.diff(of_class, prepend=-1) != 0
    starts = new_class | (np.diff(code & _TOGGLE, prepend=0) != 0)
    clause = np.cumsum(starts) - 1
    polarity = (code & _NEGATIVE) != 0
    mixed = ~starts & (np.diff(polarity, prepend=False) != 0)
    if mixed.any():
        place = int(np.argmax(mixed))
        raise CodeError(f"word {place} ({code[place]}) changes the polarity within a clause")
    # Other encoders order literals otherwise, or repeat them, which does not change an AND.
    clause, literals = np.divmod(np.unique(clause * (2 * n) + index + negated * n), max(2 * n, 1))
    n_clauses = int(starts.sum())
    check_votes(n_clauses, len(counts))
    weights = np.zeros((n_clauses, len(counts)), dtype=np.int32)
    weights[np.arange(n_clauses), of_class[starts]] = np.where(polarity[starts], -1, 1)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(clause, minlength=n_clauses))])
    return Model(
        literals,
        offsets,
        weights,
        n_booleans=n,
        classes=np.arange(len(counts)) if classes is None else classes,
        booleanizer=booleanizer,
        feature_names=feature_names,
    )


def write_text(model: Model) -> tuple[str, str]:
    """Text form: one decimal word per line, and one count per line and class.

    >>> from ethereal import Model
    >>> write_text(Model([0, 1], [0, 1, 2], [[1, 0], [0, -1]], n_booleans=1, classes=["a", "b"]))
    ('0\\n32769\\n', '1\\n1\\n')
    """
    code, counts = words(model)
    return "".join(f"{w}\n" for w in code.tolist()), "".join(f"{n}\n" for n in counts.tolist())


def read_text(words: str, includes_per_class: str | Sequence[int], **keywords: Any) -> Model:
    """Model from the text form that other exporters write: one decimal word per line, one count per class.

    The counts are given as text too, one per line, or as numbers. Empty lines are skipped. The keywords are
    those of `read_words`.

    >>> list(read_text("0\\n32769\\n", "1\\n1\\n"))
    [Clause(literals=(0,), weights={0: 1}), Clause(literals=(1,), weights={1: -1})]
    """
    counts: ArrayLike = includes_per_class
    if isinstance(includes_per_class, str):
        counts = _lines(includes_per_class, "includes_per_class")
    return read_words(_lines(words, "words"), counts, **keywords)


def _lines(text: str, name: str) -> NDArray[np.int64]:
    numbers = []
    for i, line in enumerate(text.splitlines(), 1):
        entry = line.strip()
        if not entry:
            continue
        if not (entry.isascii() and entry.isdigit() and len(entry) <= 9):
            raise CodeError(f"line {i} of {name} is {entry[:40]!r}; it must be one whole decimal number")
        numbers.append(int(entry))
    return np.array(numbers, dtype=np.int64)


def _whole_numbers(values: ArrayLike, name: str, most: int) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise CodeError(
            f"{name} has shape {array.shape} and dtype {array.dtype}; it must be a list of integers"
        )
    if array.size and (array.min() < 0 or array.max() > most):
        place = int(np.argmax((array < 0) | (array > most)))
        raise CodeError(f"{name}[{place}] is {array[place]}; it must be from 0 to {most}")
    return array.astype(np.int64)
