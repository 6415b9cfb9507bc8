"""What is asked of a compiled program. `ethereal.chips.elf.Elf` has it, and so may any other reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class Segment(Protocol):
    """A piece of memory that is loaded."""

    @property
    def address(self) -> int:
        """Where it lies."""

    @property
    def data(self) -> bytes:
        """What is loaded there."""


class Section(Protocol):
    """A named piece of memory."""

    @property
    def address(self) -> int:
        """Where it lies."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def is_writable(self) -> bool:
        """Whether instructions may change it."""


class Symbol(Protocol):
    """A function or a variable."""

    @property
    def address(self) -> int:
        """Where it lies. For Thumb functions it is without the lowest bit."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def is_function(self) -> bool:
        """Whether it is a function."""


class Elf(Protocol):
    """A program that was compiled and linked."""

    @property
    def segments(self) -> Sequence[Segment]:
        """What is loaded."""

    @property
    def sections(self) -> Sequence[Section]:
        """What lies where."""

    @property
    def symbols(self) -> Mapping[str, Symbol]:
        """Functions and variables by their names."""

    @property
    def code_marks(self) -> Sequence[int]:
        """Where code begins, at the start or behind constants."""

    def symbol_at(self, address: int) -> str:
        """Return the name of the function that contains an address."""
