"""The layout "straight": code over features, without tables of its own and without a Booleanized row."""

from ethereal.export.c99.layouts.plan import CLayout
from ethereal.model.needs import ANSWERS, WINDOWS, Supports

# Its code takes some ten bytes per literal, and compilers some milliseconds.
SUPPORTS = Supports(
    "layout straight",
    n_classes=256,
    n_literals=1 << 13,
    heaviest_vote=(1 << 15) - 1,
    front_ends=WINDOWS,
    outputs=ANSWERS,
    early=True,
)
STRAIGHT = CLayout(
    "straight", "the fewest instructions, as code without tables", SUPPORTS, code_bytes=100, has_rows=False
)
