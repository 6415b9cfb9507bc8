"""The layout "lists": clauses as lists of tests, one after the other, for exports that learn.

It hands out which clauses fire, and it alone does. So it is not in the registry of layouts: an export with
`learn` takes it, and no other export can.
"""

from ethereal.export.c99.layouts.plan import CLayout
from ethereal.model.needs import WINDOWS, Supports

SUPPORTS = Supports(
    "an export that learns", n_classes=255, longest_clause=255, heaviest_vote=1 << 19, front_ends=WINDOWS
)
LISTS = CLayout(
    "lists",
    "clauses one after the other, for learning",
    SUPPORTS,
    code_bytes=1900,
    headers=("runtime/votes", "runtime/learn", "layouts/lists/lists"),
)
