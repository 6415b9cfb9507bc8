"""Errors that several layers share."""


class DoesNotFit(ValueError):
    """A model does not fit: a layout, a chip, or a budget."""
