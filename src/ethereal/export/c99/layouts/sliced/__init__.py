"""The layout "sliced": 32 rows at once, one bit of a word each."""

from ethereal.export.c99.layouts.plan import CLayout

SLICED = CLayout(
    "sliced", "the fewest instructions when 32 rows are predicted at once", 1700, rows_per_call=32
)
