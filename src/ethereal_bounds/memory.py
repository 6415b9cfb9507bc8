"""What memory holds while a program is followed: tables, inputs, and what was stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ethereal_bounds.flow import Code
from ethereal_bounds.instruction import Unbounded
from ethereal_bounds.state import INPUT, State
from ethereal_bounds.values import UNKNOWN, Of, Unknown, Value, bytes_of, compute, from_bytes, of


@dataclass(frozen=True)
class Input:
    """A number in memory that a program is followed for all values of. `values` stand for all of them."""

    at: int
    width: int  # bytes
    values: tuple[int, ...]  # unsigned


def row_of(values: Sequence[Sequence[int]], width: int = 4, at: int = INPUT) -> list[Input]:
    """Return inputs side by side, as the features of a row are."""
    return [Input(at + width * i, width, tuple(own)) for i, own in enumerate(values)]


class Memory:
    """What is known of memory. The row is only read, or the program makes it first and reads it then.

    A variable has a value of its input at first. What is pinned has one whenever it is read, whatever is
    stored there. Whatever else is not known is unknown.
    """

    def __init__(
        self,
        code: Code,
        row: Sequence[Input],
        variables: Sequence[Input] = (),
        pinned: Sequence[Input] = (),
    ) -> None:
        self.code = code
        self.inputs = (*row, *variables, *pinned)
        self._pinned = {each.at + i for each in pinned for i in range(each.width)}
        self._row = (row[0].at, row[-1].at + row[-1].width) if row else (0, 0)
        self._bytes = {each.at + i: (f, i) for f, each in enumerate(self.inputs) for i in range(each.width)}
        self._words: dict[int, Value] = {}
        places = {at & ~3 for at in self._bytes if not self._is_row(at, 1)}
        self.at_first = {at: from_bytes(tuple(map(self._byte, range(at, at + 4)))) for at in places}

    def _is_row(self, at: int, width: int) -> bool:
        return self._row[0] < at + width and at < self._row[1]

    def begin_to_read(self, state: State) -> None:
        """Take the row that the program made as inputs from here on."""
        state.makes_row = False
        for at in [at for at in state.memory if self._is_row(at, 4)]:
            del state.memory[at]

    def _word(self, state: State, at: int) -> Value:
        """Return the word at an address that is a multiple of 4."""
        if self._pinned and (own := self._pinned.intersection(range(at, at + 4))):
            parts = list(bytes_of(state.memory.get(at, UNKNOWN)))
            for i in own:
                parts[i - at] = self._byte(i)
            return from_bytes(tuple(parts))
        if at in state.memory:
            return state.memory[at]
        number = self.code.constant(at, 4)
        if number is not None:
            return number
        if at not in self._words:
            is_row = [self._is_row(i, 1) or i not in self._bytes for i in range(at, at + 4)]
            found = (self._byte(at + i) if own else UNKNOWN for i, own in enumerate(is_row))
            self._words[at] = from_bytes(tuple(found))
        return self._words[at]

    def _byte(self, at: int) -> int | Of | Unknown:
        """Return what a byte is at first."""
        if at in self._bytes:
            f, i = self._bytes[at]
            return of(f, tuple(value >> 8 * i & 0xFF for value in self.inputs[f].values))
        number = self.code.constant(at, 1)  # at the end of a table
        return UNKNOWN if number is None else number

    def read(self, state: State, at: int, width: int, signed: bool) -> Value:
        """Return what a load gets from a known address."""
        if state.makes_row and self._is_row(at, width):
            self.begin_to_read(state)
        if width == 4 and at & 3 == 0:
            return self._word(state, at)
        parts = [bytes_of(self._word(state, i & ~3))[i & 3] for i in range(at, at + width)]
        found = from_bytes(tuple(parts))
        if signed and width < 4:
            return compute("sxth" if width == 2 else "sxtb", found)
        return found

    def write(self, state: State, at: int, width: int, value: Value) -> None:
        """Store a value at a known address."""
        if self.code.constant(at, 1) is not None:
            raise Unbounded(f"a store to {at:#x}, which is not RAM")
        if not state.makes_row and self._is_row(at, width):
            raise Unbounded("features change after they were read")
        if width == 4 and at & 3 == 0:
            _put(state, at, value)
            return
        own = bytes_of(value)
        for i in range(at, at + width):
            parts = list(bytes_of(state.memory.get(i & ~3, UNKNOWN)))
            parts[i & 3] = own[i - at]
            _put(state, i & ~3, from_bytes(tuple(parts)))

    def forget(self, state: State, low: int, high: int) -> None:
        """Store something at an address that is not known, so that no byte from one to another is known."""
        for at in (low, high):
            if self.code.constant(at, 1) is not None:
                raise Unbounded(f"a store to {at:#x}, which is not RAM")
        if not state.makes_row and self._row[0] <= high and low < self._row[1]:
            raise Unbounded("features change after they were read")
        for at in [at for at in state.memory if low - 4 < at <= high]:
            del state.memory[at]


def _put(state: State, at: int, value: Value) -> None:
    if value is UNKNOWN:
        state.memory.pop(at, None)
    else:
        state.memory[at] = value
