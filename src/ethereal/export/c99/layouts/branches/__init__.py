"""The layout "branches": straight code that tells which clauses fire, for exports that learn.

It is the quick one of the two layouts that tell it. Like "lists" it is not in the registry, because only an
export with `learn` takes it.
"""

from ethereal.export.c99.layouts.plan import CLayout
from ethereal.export.c99.layouts.straight import SUPPORTS as STRAIGHT
from ethereal.model.needs import WINDOWS, Supports

SUPPORTS = Supports(
    "an export that learns",
    n_classes=255,
    n_literals=STRAIGHT.n_literals,
    heaviest_vote=STRAIGHT.heaviest_vote,
    front_ends=WINDOWS,
)
BRANCHES = CLayout(
    "branches",
    "code without tables that tells which clauses fire, for learning",
    SUPPORTS,
    code_bytes=1900,
    has_rows=False,
    headers=("runtime/votes", "runtime/learn", "layouts/straight/straight"),
)
