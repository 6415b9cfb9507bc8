"""What a way knows of the bits of unknown words."""

from __future__ import annotations

from dataclasses import dataclass, field

from ethereal_bounds.values import Masked, Origin

_MOST_SETS = 4  # of an unknown word that are remembered
Bits = dict[Origin, int]


@dataclass
class Known:
    """The bits that are not set, those that are, and sets of bits of which at least one is set."""

    zeros: Bits = field(default_factory=dict)
    ones: Bits = field(default_factory=dict)
    some: dict[Origin, frozenset[int]] = field(default_factory=dict)

    def copy(self) -> Known:
        """Return a copy."""
        return Known(dict(self.zeros), dict(self.ones), dict(self.some))

    def common(self, other: Known) -> Known:
        """Return what both know."""

        def both(a: Bits, b: Bits) -> Bits:
            return {origin: bits & b[origin] for origin, bits in a.items() if bits & b.get(origin, 0)}

        none: frozenset[int] = frozenset()
        same = {origin: sets & other.some.get(origin, none) for origin, sets in self.some.items()}
        same = {origin: sets for origin, sets in same.items() if sets}
        return Known(both(self.zeros, other.zeros), both(self.ones, other.ones), same)

    def left(self, value: Masked) -> int:
        """Return the bits of its origin that can be set in a value."""
        return value.bits & ~self.zeros.get(value.origin, 0)

    def is_not_zero(self, value: Masked) -> bool:
        """Return whether a bit is certain to be set."""
        return self.has_one(value.origin, self.left(value))

    def has_one(self, origin: Origin, bits: int) -> bool:
        """Return whether one of these bits of an unknown word is certain to be set."""
        if bits & self.ones.get(origin, 0):
            return True
        others = ~self.zeros.get(origin, 0) & ~bits
        return any(not own & others for own in self.some.get(origin, ()))

    def without(self, value: Masked, bits: int) -> Known:
        """Return what is known if these bits are not set."""
        found = self.copy()
        found.zeros[value.origin] = found.zeros.get(value.origin, 0) | bits
        return found

    def with_bit(self, value: Masked, bit: int) -> Known:
        """Return what is known if this bit is set."""
        found = self.copy()
        found.ones[value.origin] = found.ones.get(value.origin, 0) | bit
        return found

    def with_some(self, value: Masked) -> Known:
        """Return what is known if a bit of the value is set."""
        left = self.left(value)
        if left & (left - 1) == 0:
            return self.with_bit(value, left)
        found = self.copy()
        found.add(value.origin, left)
        return found

    def add(self, origin: Origin, bits: int) -> None:
        """Note that one of these bits is set. Of many such sets the smallest are kept."""
        if not self.has_one(origin, bits):
            others = {own for own in self.some.get(origin, ()) if bits & ~own}
            kept = sorted(others | {bits}, key=lambda own: (own.bit_count(), own))[:_MOST_SETS]
            self.some[origin] = frozenset(kept)
