"""What is known at a point of a program that is followed for all inputs, and the ways between points."""

from __future__ import annotations

from dataclasses import dataclass, field

from ethereal_bounds.flow import Function
from ethereal_bounds.known import Known
from ethereal_bounds.values import Flags, Value

STOP = 0x00010000  # where the first function returns to
STACK = 0x20080000
INPUT = 0x60000000
OUTPUT = 0x70000000

Need = tuple[int, int]  # an input, and a set of its values as bits


@dataclass(frozen=True)
class Edge:
    """A way from a point to another, with its instructions and what inputs it needs."""

    to: int
    cost: int
    needs: tuple[Need, ...] = ()


@dataclass(frozen=True)
class Graph:
    """Ways through a function, from point 0 to point -1."""

    edges: dict[int, list[Edge]]
    n_values: tuple[int, ...]  # of each input


@dataclass(frozen=True)
class Frame:
    """A function that is being executed, and where it returns to."""

    context: int
    function: Function
    back: int


@dataclass
class State:
    """What is known at a point."""

    registers: list[Value | Flags]
    memory: dict[int, Value]  # by words
    allowed: dict[int, int]  # of inputs that are restricted: their values as bits
    known: Known
    frames: tuple[Frame, ...]
    rounds: dict[tuple[int, int], int] = field(default_factory=dict)  # of loops, by depth and header
    makes_row: bool = False  # whether the program still makes the inputs that it will read
    keeps_ranges: bool = False  # whether numbers that differ become ranges even when it does not

    @property
    def has_ranges(self) -> bool:
        """Whether numbers that differ where ways meet become ranges."""
        return self.makes_row or self.keeps_ranges

    def copy(self) -> State:
        """Return a copy."""
        return State(
            list(self.registers),
            dict(self.memory),
            dict(self.allowed),
            self.known,
            self.frames,
            dict(self.rounds),
            self.makes_row,
            self.keeps_ranges,
        )
