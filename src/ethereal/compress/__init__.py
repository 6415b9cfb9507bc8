"""Model to smaller Model."""

from ethereal.compress.simplify import simplify

__all__ = ["simplify"]
