"""What a part is: a capability that the C of some models has beside a prediction."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ethereal.export.c99.ctext import filled, read

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    from ethereal.chips.targets import Target
    from ethereal.export.c99.ctext import Tables
    from ethereal.export.c99.device_rows import NumberType
    from ethereal.export.c99.layouts import CLayout
    from ethereal.export.c99.program import Program
    from ethereal.export.options import ExportOptions
    from ethereal.model import Model


@dataclass
class Draft:
    """What a program will be made of. A part may change it before the clauses are arranged."""

    model: Model
    small: Model  # the model, simplified
    options: ExportOptions
    kind: NumberType
    columns: NDArray[np.intp] | None = None  # features of the given model that are read, None for all
    n_new_classes: int = 0  # that the board is yet to learn
    simplified: Model = field(init=False)  # as it was before any part changed it

    def __post_init__(self) -> None:
        self.simplified = self.small


@dataclass(frozen=True)
class Assumed:
    """Values of a number in a variable that stand for all that it can have, or that take the most.

    They are those before a call, or whenever it is read. Where it is a pointer, `points_to` is a variable.
    """

    variable: str
    values: tuple[int, ...] = ()
    offset: int = 0
    width: int = 0  # bytes, those of the variable if 0
    always: bool = False
    points_to: str = ""


@dataclass(frozen=True)
class Part:
    """A capability of the C. What a part does not say is nothing.

    Its template NAME.c.in has sections, which begin with a line such as `//// source`. `values` fills them.
    These are written where they are: "macros", "header" and "source" of the model, "before" for what
    predictions call, "golden" for data and functions of the self-test, "test" for its lines, and "readme".
    Other sections are the part's own affair.
    """

    name: ClassVar[str] = ""
    includes: ClassVar[tuple[str, ...]] = ()  # headers that its declarations need
    tables: ClassVar[frozenset[str]] = frozenset()  # that a prediction may read
    writes_tables: ClassVar[bool] = False
    stack_bytes: ClassVar[int] = 0  # beside that of a prediction from features, estimated for a Cortex-M
    row_variable: ClassVar[str] = ""  # where `predicts` keeps the features that it makes
    # Functions behind NAME_: those that firmware calls in place of `predict`, those that flash is counted for
    # as well, and those that have a bound of instructions of their own.
    predicts: ClassVar[tuple[str, ...]] = ()
    functions: ClassVar[tuple[str, ...]] = ()
    bounded: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of(cls, draft: Draft) -> Self | None:
        """Return the part if a program is to have it. What cannot be is refused."""
        raise NotImplementedError

    @classmethod
    def prepared(cls, model: Model, options: ExportOptions) -> Model:
        """Return the model that a program is chosen for, in place of the one that was given."""
        return model

    @classmethod
    def layouts(cls, options: ExportOptions) -> tuple[CLayout, ...]:
        """Return the layouts that it needs, the quickest first."""
        return ()

    def values(self, program: Program) -> dict[str, str]:
        """Return what its template is filled with, beside the name of the model."""
        return {}

    def fills(self, program: Program) -> dict[str, str]:
        """Return what other templates are filled with in place of the usual."""
        return {}

    def write_tables(self, out: Tables, options: ExportOptions) -> None:
        """Write its tables and definitions, behind those of the clauses."""

    def section(self, which: str, program: Program, /, **values: str) -> str:
        """Return a section of its template, filled with `values` and the name of the model."""
        return filled(sections(self.name).get(which, ""), named(program) | values)

    def text(self, which: str, program: Program) -> str:
        """Return what it adds to the C under the name of a section."""
        return self.section(which, program, **self.values(program)) if which in sections(self.name) else ""

    def golden(self, program: Program, features: NDArray[Any]) -> dict[str, str]:
        """Return the sections "golden" and "test" of the self-test, whose rows are `features`.

        Whatever else it returns fills templates of projects.
        """
        return {which: self.text(which, program) for which in ("golden", "test")}

    def about(self, program: Program) -> str:
        """Return a sentence that says what answers are like."""
        return ""

    def classes(self) -> list[str]:
        """Return the names of classes that it adds to those of the model."""
        return []

    def answers(self, program: Program) -> list[str]:
        """Return the names of answers that are not classes."""
        return []

    def runtime(self) -> dict[str, str]:
        """Return texts of runtime files that stand beside the model's, by name."""
        return {}

    def beside(self, program: Program) -> dict[str, str | bytes]:
        """Return other files of a project, by path."""
        return {}

    def code_bytes(self) -> int:
        """Return an upper bound of its code on a Cortex-M, where the layout's does not count it."""
        return 0

    def ram_bytes(self, options: ExportOptions) -> int:
        """Return the RAM of its variables."""
        return 0

    def excess(self, program: Program, chip: Target) -> str:
        """Return why it does not fit a chip, nothing if it does."""
        return ""

    def assumed(self, program: Program, function: str) -> list[list[Assumed]]:
        """Return what a bound assumes of variables. The function is followed for each list.

        `function` is one of the `bounded` of any part, or "" for a prediction.
        """
        return [[]]


@functools.cache
def sections(part: str) -> dict[str, str]:
    """Return the sections of a part's template by name. What stands before the first is for readers.

    >>> list(sections("check"))
    ['tables', 'no tables']
    """
    _, *rest = re.split(r"(?m)^//// (.*)\n", read(f"c99/parts/{part}.c.in")) if part else [""]
    return dict(zip(rest[::2], rest[1::2], strict=True))


def named(program: Program) -> dict[str, str]:
    """Return the values that every template may use."""
    return {"name": program.name, "NAME": program.name.upper()}
