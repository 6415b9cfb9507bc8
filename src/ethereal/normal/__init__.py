"""What is normal: scaled features, centres among them, and the largest distance that is still normal."""

from ethereal.normal.fitting import NormalOptions, Spread, normal_of, separation, without_limit
from ethereal.normal.record import TENSORS, Normal

__all__ = ["TENSORS", "Normal", "NormalOptions", "Spread", "normal_of", "separation", "without_limit"]
