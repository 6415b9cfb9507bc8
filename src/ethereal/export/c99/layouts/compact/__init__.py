"""The layout "compact": the compact code of the clauses, decoded while a row is predicted."""

from ethereal.export.c99.layouts.plan import CLayout

COMPACT = CLayout("compact", "the least flash", code_bytes=1200)
