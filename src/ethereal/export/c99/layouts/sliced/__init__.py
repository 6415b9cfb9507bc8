"""The layout "sliced": 32 rows at once, one bit of a word each."""

from ethereal.export.c99.layouts.plan import CLayout
from ethereal.model.needs import ANSWERS, Supports

SUPPORTS = Supports(
    "layout sliced", n_classes=1 << 16, heaviest_vote=(1 << 15) - 1, longest_clause=256, outputs=ANSWERS
)
SLICED = CLayout("sliced", "quickest for 32 rows at once", SUPPORTS, code_bytes=1700, rows_per_call=32)
