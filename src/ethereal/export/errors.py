"""What an export refuses."""

from __future__ import annotations


class ModelTooLarge(ValueError):
    """A model does not fit the chip, or the flash that it may take."""
