"""What is normal: scaled features, centres among them, and the largest distance that is still normal."""

from ethereal.normal.fitting import NormalOptions, normal_of, separation
from ethereal.normal.record import TENSORS, Normal

__all__ = ["TENSORS", "Normal", "NormalOptions", "normal_of", "separation"]
