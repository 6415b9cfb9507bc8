"""Class sums as fields of as few 32-bit words as their ranges allow, and the votes that are added to them.

A word is added to as a whole. A borrow between two fields is undone by the votes to come, because every
field holds a number from zero on at the end: it starts with an offset that no row can take below zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.layouts.straight.tree import Block, If, Votes

_WORD = 32


@dataclass(frozen=True)
class Field:
    """Where the sum of a class is. A class that nothing votes for has no bits."""

    word: int
    shift: int
    bits: int
    offset: int  # what a sum of zero is in the field


@dataclass(frozen=True)
class Fields:
    """The fields of all classes."""

    of_class: tuple[Field, ...]
    n_words: int
    n_bits: int = 0  # of the fields at the end, which are a bit each and are not sums

    @property
    def has_one_offset(self) -> bool:
        """Whether fields can be compared as they are."""
        return len({field.offset for field in self.of_class}) == 1

    def words(self, votes: Sequence[int]) -> list[int]:
        """Return what votes add to each word.

        >>> Fields((Field(0, 0, 4, 1), Field(0, 4, 4, 1)), 1).words([-1, 1])
        [15]
        """
        words = [0] * self.n_words
        for field, vote in zip(self.of_class, votes, strict=True):
            if field.bits:
                words[field.word] += int(vote) << field.shift
        return [word % (1 << _WORD) for word in words]


def make_fields(parts: Sequence[Block]) -> Fields:
    """Arrange the sums of code in parts, behind each of which they are looked at.

    Fields can be compared as they are if that takes no more words.
    """
    limits = [bounds(part) for part in parts]
    low, high = (np.cumsum([limit[i] for limit in limits], axis=0) for i in (0, 1))
    return sum_fields(low.min(axis=0), high.max(axis=0))


def sum_fields(low: Votes, high: Votes) -> Fields:
    """Arrange sums by the lowest and the highest that each can be."""
    used = (low != 0) | (high != 0)
    same = np.full(len(low), int(-low.min(initial=0)))
    ways = [_packed(used, high + offset, offset) for offset in (same, -low)]
    return min(ways, key=lambda way: way.n_words)


def bounds(code: Block) -> tuple[Votes, Votes]:
    """Return the lowest and the highest sum of each class that any way through the code can give."""
    low, high = code.votes.copy(), code.votes.copy()
    for item in code.items:
        then, otherwise = bounds(item.then), bounds(item.otherwise)
        low += np.minimum(then[0], otherwise[0])
        high += np.maximum(then[1], otherwise[1])
    return low, high


def _packed(used: NDArray[np.bool_], most: NDArray[np.int64], offset: NDArray[np.int64]) -> Fields:
    """Return fields of numbers up to `most`, the widest placed first.

    A used class has at least one bit. Its field may be 0 in every row, which is not a sum of 0 where there is
    an offset.
    """
    bits = np.array(
        [
            max(1, int(number).bit_length()) if is_used else 0
            for number, is_used in zip(most, used, strict=True)
        ]
    )
    left_in: list[int] = []
    places = {}
    for c in np.argsort(-bits, kind="stable").tolist():
        width = int(bits[c])
        word = next((w for w, left in enumerate(left_in) if width <= left), len(left_in))
        if word == len(left_in):
            left_in.append(_WORD)
        places[c] = Field(word, _WORD - left_in[word], width, int(offset[c]))
        left_in[word] -= width
    return Fields(tuple(places[c] for c in range(len(bits))), len(left_in))


def move_votes(code: Block, fields: Fields) -> None:
    """Move votes to where fewer rows add them. The sums at the end stay what they are.

    Votes of the likelier side of a question are taken before it, and the other side makes up for them.
    What comes before all questions costs nothing, because the words begin with it.
    """
    words = np.array([field.word if field.bits else -1 for field in fields.of_class])
    for word in range(fields.n_words):
        _Mover(words == word).move(code, is_free=True)


class _Mover:
    """Moves the votes of the classes of one word."""

    def __init__(self, in_word: NDArray[np.bool_]) -> None:
        self._in_word = in_word
        self._costs: dict[int, float] = {}

    def move(self, block: Block, *, is_free: bool) -> None:
        """Move votes within a block. With `is_free`, its own votes cost nothing."""
        if not is_free and not self._adds(block):
            for item in block.items:
                self.move(item.then, is_free=False)
                self.move(item.otherwise, is_free=False)
            return
        for item in block.items:
            likely, other = min(_both_ways(item), key=lambda sides: self._cost(*sides))
            self.move(likely, is_free=True)
            moved = np.where(self._in_word, likely.votes, 0)
            likely.votes -= moved
            other.votes -= moved
            block.votes += moved
            self.move(other, is_free=False)

    def _adds(self, block: Block) -> bool:
        """Return whether a block should add votes of its own."""
        if block.votes[self._in_word].any():
            return True
        still = sum(self._paid(side) for item in block.items for side in (item.then, item.otherwise))
        return block.weight + self._free(block) < still

    def _free(self, block: Block) -> float:
        """Return the additions in a block if its own votes cost nothing."""
        if id(block) not in self._costs:
            self._costs[id(block)] = sum(
                min(self._cost(*sides) for sides in _both_ways(item)) for item in block.items
            )
        return self._costs[id(block)]

    def _paid(self, block: Block) -> float:
        """Return the additions in a block if its own votes are added there."""
        if not block.items and not block.votes[self._in_word].any():
            return 0.0
        return block.weight + self._free(block)

    def _cost(self, likely: Block, other: Block) -> float:
        """Return the additions of a question if the votes of one side are taken before it."""
        is_same = (
            not likely.items and not other.items and not (likely.votes - other.votes)[self._in_word].any()
        )
        return 0.0 if is_same else self._free(likely) + other.weight + self._free(other)


def _both_ways(item: If) -> tuple[tuple[Block, Block], tuple[Block, Block]]:
    return (item.then, item.otherwise), (item.otherwise, item.then)
