"""What an export refuses."""

from __future__ import annotations

from ethereal.base.errors import DoesNotFit


class ModelTooLarge(DoesNotFit):
    """A model does not fit the chip, or the flash that it may take."""
