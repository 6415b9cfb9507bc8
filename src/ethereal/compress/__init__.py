"""A Model to a smaller Model. What fits a device is a matter of `ethereal.prune` and `ethereal.tune`."""

from ethereal.compress.joining import join
from ethereal.compress.shortening import shorten
from ethereal.model.simplify import simplify

__all__ = ["join", "shorten", "simplify"]
