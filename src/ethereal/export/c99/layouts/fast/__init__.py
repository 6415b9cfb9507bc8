"""The layout "fast": masks, lists and trees that look at few literals of a row."""

from ethereal.export.c99.layouts.plan import CLayout

FAST = CLayout(
    "fast", "the fewest instructions for one row", code_bytes=1200, singles_first=True, smaller=(0,)
)
