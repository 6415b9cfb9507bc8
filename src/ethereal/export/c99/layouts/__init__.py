"""Ways to lay out the C, one folder each. A new one is a folder and an entry of `REGISTRY`."""

from ethereal.export.c99.layouts.compact import COMPACT
from ethereal.export.c99.layouts.fast import FAST
from ethereal.export.c99.layouts.plan import CLayout
from ethereal.export.c99.layouts.redress import REDRESS
from ethereal.export.c99.layouts.sliced import SLICED
from ethereal.export.c99.layouts.straight import STRAIGHT

REGISTRY: tuple[CLayout, ...] = (
    COMPACT,
    FAST,
    STRAIGHT,
    SLICED,
    REDRESS,
)  # from the smallest to the quickest, then REDRESS
LAYOUTS: tuple[str, ...] = tuple(layout.name for layout in REGISTRY)


def find_layout(name: str) -> CLayout:
    """Return the layout of that name.

    >>> find_layout("sliced").rows_per_call
    32
    """
    for layout in REGISTRY:
        if layout.name == name:
            return layout
    raise ValueError(f"layout is {name!r}. It must be one of {', '.join(LAYOUTS)} or auto.")
