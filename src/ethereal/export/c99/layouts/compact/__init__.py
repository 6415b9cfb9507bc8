"""The layout "compact": the compact code of the clauses, decoded while a row is predicted."""

from ethereal.export.c99.layouts.plan import CLayout
from ethereal.model.needs import ANSWERS, WINDOWS, Supports

SUPPORTS = Supports(
    "layout compact", n_classes=1 << 16, heaviest_vote=(1 << 15) - 1, front_ends=WINDOWS, outputs=ANSWERS
)
COMPACT = CLayout("compact", "the least flash", SUPPORTS, code_bytes=1200)
