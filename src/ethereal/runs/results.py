"""What the stages of a run leave in its folder: a dataclass for each, kept as JSON."""

from __future__ import annotations

import types
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

from ethereal.train.unknown import Calibration

T = TypeVar("T")
Group = tuple[str, str]  # kernel and source of a group of features


@dataclass(frozen=True)
class ClassScore:
    """How many rows of a class are found."""

    label: Any
    recall: float
    rows: int


@dataclass(frozen=True, kw_only=True)
class Errors:
    """How far numbers are from the true ones on test rows, in the unit of the label."""

    mean: float  # absolute
    interval: tuple[float, float] | None  # of the mean, None with too few groups
    root_mean_square: float
    half_width: float | None  # of the interval around an answer
    inside: float | None  # share of the rows within it


@dataclass(frozen=True, kw_only=True)
class Scores:
    """How good predictions are on test rows. Where they are numbers, accuracy is R2."""

    accuracy: float
    interval: tuple[float, float] | None  # None with too few groups
    interval_level: float
    balanced: float  # mean recall of the classes
    classes: tuple[ClassScore, ...]
    rows: int
    groups: int | None  # how many, None where rows are not of groups
    errors: Errors | None = None  # of numbers


@dataclass(frozen=True, kw_only=True)
class Learned(Scores):
    """The classifier on this computer."""

    STAGE: ClassVar = "learn"
    seconds: float
    history: tuple[dict[str, Any], ...]  # a record per epoch
    clauses: int
    includes: int


@dataclass(frozen=True)
class GroupScore:
    """Accuracy of a person, recording or batch."""

    name: str
    rows: int
    accuracy: float


@dataclass(frozen=True)
class Neighbour:
    """The next smaller or larger model on held-out rows, and what it takes where that is known."""

    accuracy: float
    rows: int
    more: int | float  # right answers more than the chosen model has, below 0 for fewer
    error: float  # standard error of the difference in accuracy
    flash_bytes: int | None = None
    instructions: float | None = None


@dataclass(frozen=True)
class Answered:
    """Test rows that are not unknown."""

    accuracy: float | None  # None where none is answered
    answered: float  # share of the rows


@dataclass(frozen=True, kw_only=True)
class Unknown(Calibration):
    """The margin of a model that may answer "unknown", and what it does on test rows."""

    test: Answered


@dataclass(frozen=True)
class Origin:
    """What another source of models would have given, on held-out rows."""

    name: str
    accuracy: float
    flash_bytes: int
    instructions: float
    luts: int | None = None  # where lookup tables of an FPGA count


@dataclass(frozen=True, kw_only=True)
class Pruned(Scores):
    """The model for the board."""

    STAGE: ClassVar = "prune"
    seconds: float
    expected: float  # accuracy on held-out rows
    held_out: int  # rows
    learned_from: int  # rows
    clauses: int
    includes: int
    bounds: dict[str, float]
    layout: str | None  # in which a bounded model was measured
    clause_bytes: int | None
    neighbours: dict[str, Neighbour]  # "smaller" and "larger"
    curve: tuple[float, ...]  # accuracy of the models in the folder `curve`
    unknown: Unknown | None = None
    people: tuple[GroupScore, ...] = ()  # the weakest first
    teaching: dict[str, Any] | None = None  # note, columns and rows of the page's table
    groups_are: str = "groups"
    origin: str = ""  # where the model comes from
    others: tuple[Origin, ...] = ()  # of each other kind the best

    @property
    def form(self) -> dict[str, Any]:
        """Options of the export that a bounded model was measured in."""
        form = {"layout": self.layout, "clause_bytes": self.clause_bytes}
        return {name: value for name, value in form.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class ForestScores(Scores):
    """A forest by the vote that runs on the board."""

    trees: int
    leaves: int | None  # of a tree at most
    nodes: int
    tuned: bool = False
    rate: float | None = None  # of boosted trees


@dataclass(frozen=True, kw_only=True)
class Forest(ForestScores):
    """The forest beside the model, and all that were grown for it."""

    STAGE: ClassVar = "forest"
    sizes: tuple[ForestScores, ...]  # plain ones first, this one last
    random_state: int
    missing: int  # values that became medians
    seconds: float
    per_halving: float | None = None  # accuracy that half the nodes may cost
    boosted: tuple[ForestScores, ...] = ()  # boosted trees, beside numbers


@dataclass(frozen=True)
class LeftOut:
    """Why there is no forest."""

    STAGE: ClassVar = "forest"
    left_out: str


@dataclass(frozen=True)
class KernelStep:
    """A choice of kernels on the way from all of them."""

    groups: int
    accuracy: float
    instructions: float


@dataclass(frozen=True)
class KernelGain:
    """What a simple model lost in accuracy when a group of features went."""

    kernel: str
    source: str
    accuracy: float


@dataclass(frozen=True)
class Kernels:
    """The features of windows that are kept."""

    STAGE: ClassVar = "kernels"
    groups: tuple[Group, ...]
    instructions: float
    offered: tuple[Group, ...]
    path: tuple[KernelStep, ...]
    gains: tuple[KernelGain, ...]


@dataclass(frozen=True)
class KernelCost:
    """What a group of features adds to the others."""

    kernel: str
    source: str
    instructions: float
    flash: int
    uses: int = 0  # conditions in rules
    accuracy: float | None = None  # of a dropped one, where it is known

    def __str__(self) -> str:
        return f"{self.kernel} of {self.source}"


@dataclass(frozen=True)
class KernelCosts:
    """What the features of a window take."""

    instructions: float
    flash: int
    share: float | None  # of all instructions
    kept: tuple[KernelCost, ...]
    dropped: tuple[KernelCost, ...]


@dataclass(frozen=True)
class Measured:
    """A program on the emulated core."""

    name: str
    instructions: float
    booleanize_instructions: float
    total_instructions: float
    code_bytes: int
    table_bytes: int
    flash_bytes: int
    ram_bytes: int
    stack_bytes: int
    agreement: float
    estimated_cycles: float
    estimated_seconds: float
    estimated_joules: float
    worst_instructions: int | None
    worst_stack_bytes: int | None


@dataclass(frozen=True)
class CurvePoint:
    """Accuracy on test rows beside what a model takes."""

    flash_bytes: int
    accuracy: float
    instructions: float | None  # of an average row, None where they are not known


@dataclass(frozen=True)
class ForestPoint(CurvePoint):
    """The same of a forest."""

    trees: int
    leaves: int | None
    boosted: bool = False


@dataclass(frozen=True)
class OnFpga:
    """The gates of a model: estimated, and built where yosys and nextpnr are installed."""

    chip: str
    bound: float  # lookup tables that were allowed
    estimated_luts: int
    clocks: int  # of a row
    curve: tuple[tuple[int, float], ...]  # estimated lookup tables and accuracy on test rows
    luts: int | None = None
    flip_flops: int | None = None
    block_rams: int | None = None
    mhz: float | None = None  # None where it was not built, or does not fit
    rows_per_second: float | None = None
    simulated: tuple[int, int] | None = None  # rows, and those of them with another class


@dataclass(frozen=True)
class Board:
    """What was exported and measured. What could not be had is left out with its reason."""

    STAGE: ClassVar = "board"
    target: str
    rows: int  # that were executed
    exported: str | None = None  # the layout of the C
    left_out: dict[str, str] = field(default_factory=dict)
    measured: dict[str, Measured] = field(
        default_factory=dict
    )  # "model", "forest", "plain_forest" and "boosted"
    curve: tuple[CurvePoint, ...] = ()
    forests: tuple[ForestPoint, ...] = ()
    neighbours: dict[str, Neighbour] = field(default_factory=dict)
    kernels: KernelCosts | None = None
    gates: OnFpga | None = None


@dataclass(frozen=True)
class Facts:
    """Of which rows a run is, and how it was made."""

    STAGE: ClassVar = "facts"
    command: str
    date: str
    versions: dict[str, str]
    how: str  # test rows were chosen
    rows_are: str  # "rows" or "windows"


def from_json(kind: Any, value: Any) -> Any:
    """Return a value of a type from what JSON has of it. TypeError says that it is of another type.

    >>> from_json(tuple[CurvePoint, ...], [{"flash_bytes": 900, "accuracy": 1, "instructions": None}])
    (CurvePoint(flash_bytes=900, accuracy=1.0, instructions=None),)
    >>> from_json(LeftOut, {"trees": 5})
    Traceback (most recent call last):
        ...
    TypeError: LeftOut lacks left_out, and has trees
    """
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        for one in args:
            with suppress(TypeError):
                return from_json(one, value)
        raise TypeError(f"{value!r} is not of {kind}")
    if is_dataclass(kind):
        return _dataclass_from(kind, value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, list if origin is tuple else origin or kind):
        raise TypeError(f"{value!r} is not of {kind}")
    if isinstance(value, dict):
        return {key: from_json(args[1] if args else Any, one) for key, one in value.items()}
    if origin is not tuple:
        return value
    kinds = [args[0]] * len(value) if args[-1] is Ellipsis else args
    if len(kinds) != len(value):
        raise TypeError(f"{value!r} has not {len(kinds)} entries")
    return tuple(map(from_json, kinds, value))


def _dataclass_from(kind: Any, value: Any) -> Any:
    known, hints = fields(kind), get_type_hints(kind)
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    needed = {one.name for one in known if one.default is MISSING and one.default_factory is MISSING}
    lacking, more = needed - set(value), set(value) - {one.name for one in known}
    if lacking or more:
        lacks, has = (", ".join(sorted(names)) or "nothing" for names in (lacking, more))
        raise TypeError(f"{kind.__name__} lacks {lacks}, and has {has}")
    return kind(**{name: from_json(hints[name], one) for name, one in value.items()})
