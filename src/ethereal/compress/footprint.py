"""What a model takes on a device: guessed without a compiler, or compiled and executed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.encode import compact
from ethereal.rows import evenly

if TYPE_CHECKING:
    from ethereal.model import Model

_THRESHOLD_BYTES = 4
_MOST_ROWS = 64  # that a program is executed on
_PLENTY = 1 << 20  # bytes of RAM: how much a program needs is found out, not whether a chip has it


@dataclass(frozen=True)
class Footprint:
    """What a model takes, from features to class."""

    bytes: int  # flash: code and tables
    instructions: float  # of one row: of the most expensive one, unless another number was asked for
    ram: int = 0  # bytes: variables and stack
    layout: str | None = None  # of `ethereal.export.c`; None: guessed, not compiled
    clause_bytes: int | None = None  # of `ethereal.export.c`


# What a model takes in the forms that it may be exported in, the fastest first and made when asked for; none:
# it cannot be exported.
Measure = Callable[["Model"], Footprint | Iterable[Footprint]]
_FORMS: tuple[tuple[Literal["fast", "compact"], int | None], ...] = (
    ("fast", None),
    ("fast", 0),
    ("compact", None),
)


def estimate(model: Model) -> Footprint:
    """Guess without a compiler: the compact code and the thresholds in use; ten instructions per test.

    Literals are taken to be tested in turn until one is false, each true as often as its Boolean was in the
    training rows (half of them when the model does not know), and every Boolean in use to be made once. The
    code that reads the tables, some hundred bytes and the same for all models, is left out.

    >>> from ethereal import Model
    >>> estimate(Model([0, 3], [0, 2], [[1]], n_booleans=2, classes=["x"]))
    Footprint(bytes=2, instructions=35.0, ram=0, layout=None, clause_bytes=None)
    """
    used = np.unique(model.literals % max(model.n_booleans, 1))
    stored = len(compact.payload(model).data)
    if model.booleanizer is not None:
        stored += _THRESHOLD_BYTES * len(used)
    rates = np.full(model.n_booleans, 0.5) if model.boolean_rates is None else model.boolean_rates
    rates = np.concatenate([rates, 1 - rates])  # per literal
    tests = 0.0
    for j in range(model.n_clauses):
        own = rates[model.literals[model.offsets[j] : model.offsets[j + 1]]]
        tests += np.cumprod(np.concatenate([[1.0], np.sort(own)]))[: len(own)].sum()
    return Footprint(stored, round(10 * float(tests) + 10 * len(used), 1))


def on_device(
    X: ArrayLike, target: str = "cortex-m7", *, of_rows: Callable[[NDArray[np.int64]], float] = np.max
) -> Measure:
    """Measure models by what `ethereal.export.c` writes, compiled for `target` and executed on rows of `X`.

    A model is tried in the layout "fast", in "fast" with as few bytes as it can do with, and in "compact",
    each when it is asked for, and executed on up to 64 rows, spread evenly over `X`. `of_rows` makes one
    number of the instructions of all of them; the most expensive row counts when nothing else is asked for.

    >>> from ethereal import Model
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> [(found.layout, found.bytes < 1000) for found in on_device([[True, True], [False, False]])(model)]
    [('fast', True), ('fast', True), ('compact', True)]
    """
    from ethereal.device import find_core

    chip = find_core(target)
    rows = np.asarray(X)
    if rows.ndim != 2 or len(rows) == 0:
        raise ValueError(f"X has shape {rows.shape}; give rows of features to execute the model on")
    rows = rows[evenly(len(rows), _MOST_ROWS)]

    def measure(model: Model) -> Iterator[Footprint]:
        from ethereal.device import Machine, compile_elf
        from ethereal.export import make_program

        for layout, clause_bytes in _FORMS if model.simplify().n_clauses else ():
            program = make_program(model, layout, max_bytes=clause_bytes)
            function = f"{program.name}_predict"
            elf = compile_elf(program.files, chip, [function], optimize="-Os")
            machine = Machine(elf, chip, ram_bytes=_PLENTY)
            _, counts = machine.call_by_row(function, program.features(rows))
            flash, ram = elf.code_bytes + elf.table_bytes, elf.ram_bytes + machine.stack_bytes
            yield Footprint(flash, float(of_rows(counts)), ram, layout, clause_bytes)

    return measure
