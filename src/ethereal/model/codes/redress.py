"""REDRESS words, 16 bits per include, as the study's boards read them.

    bit 15     polarity: 1 in a clause that votes against its class
    bit 14     toggle: flips between one non-empty clause of a class and the next
    bits 13-1  index of the Boolean
    bit 0      1 when the Boolean is negated

The words of one class follow those of the class before. Their numbers are kept beside them. Each class starts
a new run, so the toggle says nothing across classes. A clause with weight +-w is written w times, a clause
with votes for several classes once for each of them. Empty clauses never vote and are not written.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.model.clauses import decode
from ethereal.model.codes.container import CodeError, check_memory
from ethereal.model.needs import NotSupported, Supports

if TYPE_CHECKING:
    from ethereal.model import Model

MAX_BOOLEANS = 8192  # what 13 bits can number
MAX_WORDS = 2**26  # 128 MB, beyond which weights were never meant to be repeated clauses
BOARD_WORDS = 2**21  # 4 MB, more than the flash of any chip here
_NEGATIVE, _TOGGLE = 0x8000, 0x4000
_RANK_BITS = 14  # of a literal within a word, negated first, which is the order of a Model
_BYTES_PER_WORD = 12  # of memory, to read it, the word itself included
_INSTEAD = 'Use fewer bins or the "compact" code.'
SUPPORTS = Supports("the REDRESS code", n_booleans=MAX_BOOLEANS, instead=_INSTEAD)


def words(model: Model, *, most: int = MAX_WORDS) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Return the words of all classes, and how many words (includes) each class has.

    A model that takes more than `most` words is refused.

    >>> from ethereal import Model
    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> all_words, includes_per_class = words(model)
    >>> [f"{word:016b}" for word in all_words]  # doctest: +NORMALIZE_WHITESPACE
    ['0000000000000010', '0100000000000010', '0000000000000000', '0000000000000011', '1100000000000010']
    >>> includes_per_class
    array([2, 3])
    """
    SUPPORTS.check(model.needs)
    clauses = model.clauses
    includes_per_class = clauses.redress_words()
    if includes_per_class.sum() > most:
        raise NotSupported(
            f"the model takes {includes_per_class.sum()} REDRESS words, because a clause of weight w is "
            f"written w times. At most {most} are written. Lower the weights or use the compact code."
        )
    parts = [np.empty(0, dtype=np.uint16)]
    for c in range(model.n_classes):
        copies = np.where(clauses.lengths > 0, np.abs(clauses.weights[:, c]), 0)
        run = clauses.take(np.repeat(np.arange(len(clauses)), copies))
        head = np.where(run.weights[:, c] < 0, _NEGATIVE, 0) + np.where(np.arange(len(run)) % 2, _TOGGLE, 0)
        boolean, negated = decode(run.literals, run.n_booleans)
        parts.append((np.repeat(head, run.lengths) + 2 * boolean + negated).astype(np.uint16))
    return np.concatenate(parts), includes_per_class


def read_words(
    words: ArrayLike,
    includes_per_class: ArrayLike,
    *,
    n_booleans: int | None = None,
    classes: ArrayLike | None = None,
    lenient: bool = False,
    **keywords: Any,
) -> Model:
    """Return a model from REDRESS words, each clause as it is written. `CodeError` when they are not valid.

    Parameters
    ----------
    words
        Words of all classes.
    includes_per_class
        How many of them each class has.
    n_booleans
        Number of Boolean features. None is up to the highest one named.
    classes
        Labels. None is 0, 1, ...
    lenient
        Whether the polarity may change within a clause. The last word then tells it, as the decoder has it
        that belongs to encoders of such words.
    keywords
        Those of `Model`, such as the Booleanizer.
    """
    from ethereal.model import Model

    code = _whole_numbers(words, "words", 0xFFFF).astype(np.uint16, copy=False)
    counts = _whole_numbers(includes_per_class, "includes_per_class", MAX_WORDS).astype(np.int64)
    if counts.sum() != len(code):
        raise CodeError(
            f"includes_per_class adds up to {counts.sum()} but there are {len(code)} words. "
            "The code is cut off or belongs to other counts."
        )
    starts = _changes(code, _TOGGLE)
    ends = np.cumsum(counts)
    starts[(ends - counts)[counts > 0]] = True  # each class starts a new run
    check_memory(code.nbytes, int(np.count_nonzero(starts)), len(counts), _BYTES_PER_WORD * len(code))
    n = _n_booleans(code, n_booleans)
    if not lenient:
        _check_polarity(code, starts, ends)
    weights = _votes(code, starts, ends, counts)
    literals, offsets = _literals(code, starts, n)
    del code, starts
    classes = np.arange(len(counts)) if classes is None else classes
    return Model(literals, offsets, weights, n_booleans=n, classes=classes, **keywords)


def _votes(
    code: NDArray[np.uint16], starts: NDArray[np.bool_], ends: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int8]:
    """Return the votes of the clauses, 1 or -1 for their own class, clauses x classes."""
    last_words = np.append(starts[1:], True)[: len(code)]
    signs = np.where(code[last_words] & _NEGATIVE, np.int8(-1), np.int8(1))
    votes = np.zeros((len(signs), len(counts)), dtype=np.int8)
    first = 0
    for c, (end, count) in enumerate(zip(ends.tolist(), counts.tolist(), strict=True)):
        last = first + int(np.count_nonzero(starts[end - count : end]))
        votes[first:last, c] = signs[first:last]
        first = last
    return votes


def _literals(code: NDArray[Any], starts: NDArray[np.bool_], n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the literals of all clauses and where each begins, in narrow types that the Model copies."""
    ranks: NDArray[np.uint16] = (code >> 1 & 0x1FFF) | (code & 1) << 13  # type: ignore[assignment]
    ranks, starts = _in_order(ranks, starts)
    offsets = np.append(np.flatnonzero(starts).astype(np.uint32), np.uint32(len(ranks)))
    negated = ranks > 0x1FFF
    literals: NDArray[Any] = (ranks & 0x1FFF).astype(np.uint16 if n <= 2**15 else np.uint32, copy=False)
    literals[negated] += literals.dtype.type(n)
    return literals, offsets


def _changes(code: NDArray[np.uint16], bit: int) -> NDArray[np.bool_]:
    """Return which words have another bit than the word before. The first word counts as changed."""
    changes = np.ones(len(code), dtype=bool)
    np.not_equal(code[1:] & bit, code[:-1] & bit, out=changes[1:])
    return changes


def _n_booleans(code: NDArray[np.uint16], given: int | None) -> int:
    """Return the number of Booleans that was given, else as many as the words name."""
    index = code >> 1 & 0x1FFF
    named = int(index.max()) + 1 if len(code) else 0
    n = named if given is None else given
    if named > n:
        place = int(np.argmax(index >= n))
        raise CodeError(
            f"word {place} ({code[place]}) names Boolean {index[place]}, but there are {n} (numbered from "
            "0). The words belong to other rows."
        )
    return n


def _check_polarity(code: NDArray[np.uint16], starts: NDArray[np.bool_], ends: NDArray[np.int64]) -> None:
    mixed = _changes(code, _NEGATIVE)
    mixed &= ~starts
    if mixed.any():
        place = int(np.argmax(mixed))
        c = int(np.searchsorted(ends, place, side="right"))
        raise CodeError(
            f"word {place} ({code[place]}) changes the polarity within a clause of class {c}. Bit 15 differs "
            "from the word before, but bit 14, which separates clauses, does not. Encoders that flip bit 14 "
            "on empty clauses, too, write such words. To read them as those encoders' decoder does, by the "
            "last word of a clause, give lenient=True. To mend them, encode the "
            "machine again without its empty clauses, as ethereal.model.codes.redress.words does."
        )


def _in_order(ranks: NDArray[Any], starts: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return ranks of literals, ascending within each clause and each once, and where clauses start.

    Other encoders order literals otherwise, or repeat them, which does not change an AND.
    """
    wrong = ranks[1:] <= ranks[:-1]
    wrong &= ~starts[1:]
    if not wrong.any():
        return ranks, starts
    del wrong
    # Keys of a clause number and a rank sort clause by clause. 32 bits have room for so many clauses at once.
    first_words = np.append(np.flatnonzero(starts)[:: 2 ** (32 - _RANK_BITS)], len(ranks)).tolist()
    keep = np.ones(len(ranks), dtype=bool)
    for begin, end in itertools.pairwise(first_words):
        keys = np.cumsum(starts[begin:end], dtype=np.uint32)
        keys -= np.uint32(1)
        keys <<= np.uint32(_RANK_BITS)
        keys |= ranks[begin:end]
        keys.sort()
        np.not_equal(keys[1:], keys[:-1], out=keep[begin + 1 : end])
        keys &= np.uint32(2**_RANK_BITS - 1)
        ranks[begin:end] = keys
    return ranks[keep], starts[keep]


def write_text(model: Model) -> tuple[str, str]:
    """Return the text form, one decimal word per line, and one count per line and class."""
    code, counts = words(model)
    return "".join(f"{w}\n" for w in code.tolist()), "".join(f"{n}\n" for n in counts.tolist())


def read_text(words: str, includes_per_class: str | Sequence[int], **keywords: Any) -> Model:
    """Return a model from the text form of other exporters, with a decimal word or a count per line.

    The counts are given as text too, one per line, or as numbers. Empty lines are skipped. The keywords are
    those of `read_words`.
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
            raise CodeError(f"line {i} of {name} is {entry[:40]!r}. It must be one whole decimal number.")
        numbers.append(int(entry))
    return np.array(numbers, dtype=np.int64)


def _whole_numbers(values: ArrayLike, name: str, most: int) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise CodeError(
            f"{name} has shape {array.shape}, dtype {array.dtype}. It must be a list of integers."
        )
    if array.size and (array.min() < 0 or array.max() > most):
        place = int(np.argmax((array < 0) | (array > most)))
        raise CodeError(f"{name}[{place}] is {array[place]}. It must be from 0 to {most}.")
    return array
