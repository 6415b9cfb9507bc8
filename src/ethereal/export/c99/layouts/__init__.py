"""Ways to lay out the C (`CLayout`), the `Plan` that each makes of a model, and estimates of `Costs`.

A new layout is a folder with a function `plan` and its runtime header, and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from ethereal.model.needs import ALL_ANSWERS, ANSWERS, FRAMED, WINDOWS, Supports

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ethereal.export.c99.ctext import Tables
    from ethereal.export.c99.device_rows import Cells, Slots


FRAMES = 100  # bytes of stack for return addresses, saved registers and small variables


@dataclass(frozen=True)
class Costs:
    """Costs of one row on a Cortex-M7, from features to class, estimated from the tables alone."""

    instructions: float
    stack_bytes: int
    code_bytes: int = 0  # of the clauses, where they are code, rounded up


@dataclass(frozen=True)
class Plan:
    """The clauses of one model in one layout."""

    write: Callable[[Tables], None]  # the tables of the clauses
    cells: Cells | None  # the class of every row, when there are few
    costs: Costs  # of a row, estimated
    unfolds: bool = False  # whether the C makes Booleans of the states of a row
    reads_states: bool = False  # whether the C asks how many states a slot has
    may_fuse: bool = False  # whether a state may be used as soon as it is known, without a Booleanized row


@dataclass(frozen=True)
class CLayout:
    """A way to lay out the C.

    Its folder holds the function `plan` and its runtime header NAME.h, unless `headers` names others. A
    layout that takes 32 rows per call has the templates predict.c.in and batch.c.in too, and one without rows
    has model.c.in.
    """

    name: str
    about: str  # when to take it, for the help
    supports: Supports
    code_bytes: int  # all instructions on a Cortex-M, Booleanizer and self-check included, rounded up
    rows_per_call: int = 1  # 1 or 32
    by_name: bool = False  # whether it is only taken by name, never by "auto"
    singles_first: bool = False  # whether slots with one threshold come first
    learns: bool = False  # whether it tells which clauses fire, so that an export can learn
    has_rows: bool = True  # whether rows are Booleanized, so that the C can do it in two steps, with tables
    is_code: bool = False  # whether clauses are code, without tables
    headers: tuple[str, ...] | None = None  # folders and names of runtime headers, where its own is not all
    smaller: tuple[int, ...] = ()  # bounds for the clauses that "auto" tries after the layout's own choice

    @property
    def has_tables(self) -> bool:
        """Whether clauses are tables."""
        return not self.is_code

    @property
    def runtime(self) -> dict[str, str]:
        """Runtime headers as the export names them, in their order, and where each lies."""
        paths = (f"layouts/{self.name}/{self.name}",) if self.headers is None else self.headers
        return {f"ethereal_{path.split('/')[-1]}.h": f"c99/{path}.h" for path in paths}

    def plan(self, slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
        """Arrange clauses by typical `rows`. `max_bytes` may bound the tables with their code."""
        # Loaded at its first use, so that a command knows the names of the layouts quickly.
        module = import_module(f"ethereal.export.c99.layouts.{self.name}")
        return cast(Plan, module.plan(slots, rows, max_bytes))

    def forms(self, clause_bytes: int | None) -> tuple[int | None, ...]:
        """Return the bounds for the clauses that are tried, the quickest program first."""
        return (clause_bytes,) if self.smaller and clause_bytes is not None else (None, *self.smaller)


_ROWS = Supports("layout", n_classes=1 << 16, heaviest_vote=(1 << 15) - 1, outputs=ALL_ANSWERS)
_ALL = replace(_ROWS, front_ends=WINDOWS)
_LEARNING = replace(_ALL, consumer="an export that learns", n_classes=255, outputs=Supports.outputs)
MOST_LITERALS = 1 << 13  # of code, which takes some ten bytes per literal, and compilers some milliseconds
_CODE = replace(_ALL, n_classes=256, n_literals=MOST_LITERALS, early=True)
_PLANES = replace(_ROWS, longest_clause=256, outputs=ANSWERS)
_WORDS = replace(_ROWS, n_booleans=1 << 13)  # that a word can number


def _layout(name: str, about: str, code_bytes: int, supports: Supports, **others: Any) -> CLayout:
    return CLayout(name, about, replace(supports, consumer=f"layout {name}"), code_bytes, **others)


COMPACT = _layout("compact", "the least flash", 1200, _ALL)
FAST = _layout("fast", "quickest for one row", 1200, _ALL, singles_first=True, smaller=(0,))
# Trees are arranged quickly, each alone. Other clauses are refused by its `plan` above MOST_LITERALS. Equal
# leaves of several trees become one, with the sum of their votes.
_TREES = replace(_CODE, n_literals=1 << 18, heaviest_vote=1 << 24)
STRAIGHT = _layout("straight", "the fewest instructions, as code without tables", 100, _TREES, has_rows=False,
                   is_code=True)  # fmt: skip
SLICED = _layout("sliced", "quickest for 32 rows at once", 1700, _PLANES, rows_per_call=32)
# "fast" is quicker and its smallest form is smaller, so there is no model for which "auto" should take it.
REDRESS = _layout("redress", "the paper's words", 700, _WORDS, by_name=True)
# Two layouts tell which clauses fire. Only an export with `learn` takes them.
BRANCHES = CLayout(
    "branches",
    "code without tables that tells which clauses fire, for learning",
    replace(_LEARNING, n_literals=MOST_LITERALS),
    code_bytes=1900,
    learns=True,
    has_rows=False,
    is_code=True,
    headers=("runtime/votes", "runtime/learn", "layouts/straight/straight"),
)
LISTS = CLayout(
    "lists",
    "clauses one after the other, for learning",
    replace(_LEARNING, longest_clause=255, heaviest_vote=1 << 19),
    code_bytes=1900,
    learns=True,
    headers=("runtime/votes", "runtime/learn", "layouts/lists/lists"),
)
# Only models without clauses take it, those of an `EtherealDetector`.
DISTANCE = CLayout(
    "distance",
    "centres of what is normal",
    Supports("layout distance", outputs=frozenset({"normal"}), front_ends=WINDOWS),
    code_bytes=100,
    has_rows=False,
    is_code=True,
    headers=(),
)
OF_OUTPUTS = {"normal": (DISTANCE,)}  # layouts for answers that the usual ones do not give
# From the smallest to the quickest, then those that are only taken by name.
REGISTRY: tuple[CLayout, ...] = (COMPACT, FAST, STRAIGHT, SLICED, REDRESS)
LEARNING: tuple[CLayout, ...] = (BRANCHES, LISTS)
# For clauses that look for a patch anywhere, which no other layout takes.
PATCHES = _layout(
    "patches",
    "planes of bits, for clauses over patches",
    1000,
    replace(
        _ROWS,
        patches=frozenset({"frames", "images"}),
        front_ends=FRAMED - {"windows"},
        n_classes=256,
        longest_clause=255,
    ),
    has_rows=False,
    headers=("runtime/order", "runtime/best", "runtime/planes", "layouts/patches/patches"),
)
PATCH_CODE = _layout(
    "patch_code",
    "the fewest instructions, for clauses over patches",
    500,
    replace(PATCHES.supports, n_literals=MOST_LITERALS),
    has_rows=False,
    headers=("runtime/order", "runtime/best", "runtime/planes"),
)
OF_PATCHES: tuple[CLayout, ...] = (PATCHES, PATCH_CODE)  # from the smallest to the quickest
LAYOUTS: tuple[str, ...] = tuple(layout.name for layout in REGISTRY)


def find_layout(name: str) -> CLayout:
    """Return the layout of that name.

    >>> find_layout("sliced").rows_per_call
    32
    """
    for layout in OF_PATCHES:
        if name == layout.name:
            return layout
    if name not in LAYOUTS:
        raise ValueError(f"layout is {name!r}. It must be one of {', '.join(LAYOUTS)} or auto.")
    return REGISTRY[LAYOUTS.index(name)]


def booleanizing(slots: Slots) -> float:
    """Return the instructions from features to a Booleanized row, fitted to what ten models take."""
    if slots.model.fitted is None:
        return 7.0 * slots.n_slots
    accepts = slots.model.feature_map.accepts_missing  # such a feature is tested for NaN first
    return sum(18.0 + 2.8 * len(slot.thresholds) + 15.0 * accepts(slot.feature) for slot in slots.slots)


def reading_a_cell(n_slots: int) -> float:
    """Return the instructions from a Booleanized row to its class in a table of all rows."""
    return 8.0 * n_slots + 10.0


def costs_of_row(slots: Slots, instructions: float, stack: int) -> Costs:
    """Return the costs when the clauses take `instructions`, and `stack` bytes besides row and sums."""
    sums = 4 * slots.model.n_classes
    return Costs(booleanizing(slots) + instructions, row_bytes(slots) + sums + stack + FRAMES)


def costs_of_cells(slots: Slots) -> Costs:
    """Return the costs if the class of every row is in a table."""
    return Costs(booleanizing(slots) + reading_a_cell(slots.n_slots), row_bytes(slots) + FRAMES)


def row_bytes(slots: Slots) -> int:
    """Return the bytes of a Booleanized row."""
    return (slots.n_slots + 3) // 4 * 4
