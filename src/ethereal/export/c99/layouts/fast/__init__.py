"""The layout "fast": masks, lists and trees that look at few literals of a row."""

from ethereal.export.c99.layouts.plan import CLayout
from ethereal.model.needs import ANSWERS, WINDOWS, Supports

SUPPORTS = Supports(
    "layout fast", n_classes=1 << 16, heaviest_vote=(1 << 15) - 1, front_ends=WINDOWS, outputs=ANSWERS
)
FAST = CLayout("fast", "quickest for one row", SUPPORTS, code_bytes=1200, singles_first=True, smaller=(0,))
