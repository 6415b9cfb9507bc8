"""The options of every export to C, and which of them come from a model that was pruned for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ethereal.adapt.learn_options import LearnOptions, check_learning
from ethereal.base.options import option, refuse, split_kwargs
from ethereal.chips.targets import TARGETS
from ethereal.export.c99.layouts import REGISTRY, find_layout

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ethereal.model import Model
    from ethereal.model.deployment import Deployment


DEFAULT_TARGET = "cortex-m7"
_LAYOUTS = ", ".join(f"{layout.name} ({layout.about})" for layout in REGISTRY)


@dataclass(frozen=True)
class ProgramOptions:
    """What decides on the program of a model."""

    layout: str = option("auto", f"{_LAYOUTS}, or auto: the quickest that fits and answers row by row.")
    input: str = option("float", "Type of the features: float, int16, uint16, int8 or uint8.")
    rows: ArrayLike | None = None
    flash: int | None = option(
        None, "Flash the model may take, such as 8k. Default: that of the target's chip.", kind=str | None
    )
    target: str = option(
        DEFAULT_TARGET,
        f"Core or board that counts: {', '.join(TARGETS)}, m7 for cortex-m7, or one of `ethereal boards`.",
        "--board",
        "--target",
    )
    clause_bytes: int | None = option(None, "Bytes for the clauses in layout fast, 0 for as few as possible.")
    early: float = option(
        0.0,
        "Share of training rows whose answer may change, such as 0.001, so that most rows take less time.",
    )


@dataclass(frozen=True)
class ExportOptions(LearnOptions, ProgramOptions):
    """Options of an export to C, which functions take as keywords: `export.c(model, folder, flash=8192)`.

    Parameters
    ----------
    layout
        "straight" takes the fewest instructions for a single row, as code without tables. "fast" takes less
        flash for large models, and "compact" the least. "sliced" predicts 32 rows at once. "redress" holds
        the paper's words. "auto" is the quickest of the first three that fits, see `ethereal.export.choose`.
        A model that was pruned to a bound keeps its layout and the bound unless `layout`, `flash` or
        `clause_bytes` is given. It keeps its `target` and `input` as well.
    input
        Number type of the features on the device: "float", "int16", "uint16", "int8" or "uint8". Whole
        numbers stay what they are. Other features are scaled by a power of two, so that integers are compared
        exactly like the numbers, and `NAME_convert` in the export does the scaling. Where a type has no room
        for that, a warning says how many of `rows` change their class. A feature whose thresholds fall
        together is refused. Without a Booleanizer features are bytes, 0 or 1.
    rows
        Typical rows of features, best some hundred training rows. "fast" arranges its tests by them, and the
        golden rows of the self-test are taken from them. By default they are those that the model carries.
    flash
        Flash limit in bytes, for a prediction and the check at start-up with all code. If the model does not
        fit, `ModelTooLarge` names the excess and the layouts that fit. With None, the limit is the flash of
        the target's chip.
    target
        Core whose chip counts: "cortex-m7" and the others of `ethereal.device.TARGETS`, or a board of
        `ethereal.chips.boards.BOARDS`, such as "pico". The C is the same for every core.
    clause_bytes
        Bytes for the clauses in the layout "fast", tables and code, instead of what `flash` leaves. 0 takes
        as few as possible. With None, tables that take twice the bytes must save 30 % of the instructions.
    early
        Share of `rows` whose answer may change, such as 0.001. Rows that are clear after a part of the
        clauses are then answered early, in the layout "straight". See `ethereal.export.answering_early`. The
        export holds the model with early answers as NAME.etm, whose `predict` answers as the board does.
    learn, learn_rows, guard, classes, anchors, margin
        How the board goes on learning, see `ethereal.adapt.LearnOptions`. `rows=60` beside `learn` is
        `learn_rows=60`.
    majority
        For models of windows: `NAME_push` returns the most frequent of so many last answers.
    own_normal
        Centres with which the board learns what is normal on its own machine, such as 8. The model must know
        what is normal. `ethereal.adapt.Normal` does the same on the computer. 0 is for none.
    name
        Name of the files, and prefix of all C names.
    with_names
        Whether to add functions that return the names of classes and features.
    single_header
        Whether to write everything into one header.
    force
        Whether to replace an earlier export in the folder. Without it, the folder must be new or empty.
    """

    name: str = "model"
    majority: int = option(
        1, "Answers that vote on each answer of a stream of samples, for models of windows."
    )
    own_normal: int = option(
        0, "Centres with which the board learns what is normal on its own machine, 0 for none."
    )
    with_names: bool = option(False, "Add names of classes and features.", "--names")
    single_header: bool = option(False, "Everything in one header.", "--single-header")
    force: bool = option(False, "Replace an earlier export in the folder.", "--force")

    @classmethod
    def for_model(cls, function: str, model: Model, keywords: dict[str, Any]) -> tuple[ExportOptions, Kept]:
        """Fill the options from the keywords of `function`, then from what the model was pruned for.

        A keyword that is None was not given.
        """
        from ethereal.model import checks

        checks.a_model(model)
        given = {name: value for name, value in keywords.items() if value is not None}
        options, kept = cls.of(function, given), Kept.of(model, given)
        return replace(options, **kept.options), kept

    @classmethod
    def of(cls, function: str, keywords: dict[str, Any]) -> ExportOptions:
        """Fill the options from the keywords of `function`. One that does not exist is refused by name."""
        from ethereal.base.checks import check_integer, check_number  # which load numpy

        if keywords.get("learn") is not None and isinstance(keywords.get("rows"), int):
            keywords = {**keywords, "rows": None, "learn_rows": keywords["rows"]}
        options, rest = split_kwargs(cls, keywords)
        refuse(function, rest, cls)
        if options.layout != "auto":
            find_layout(options.layout)
        check_learning(options)
        learns = "an export that learns"
        if options.learn is not None and options.layout != "auto":
            given = f"layout is {options.layout!r}"
            raise ValueError(f"{given}, but {learns} has a layout of its own. Leave the layout out.")
        if options.learn is not None and options.early:
            needs = f"{learns} needs the votes of all clauses"
            raise ValueError(f"early is {options.early}, but {needs}. Give either early or learn.")
        if options.flash is not None:
            check_integer("flash", options.flash, 1, 2**31 - 1)
        check_integer("majority", options.majority, 1, 255)
        check_integer("own_normal", options.own_normal, 0, 64)
        if options.own_normal and options.learn is not None:
            raise ValueError(
                f"own_normal is {options.own_normal} and learn is {options.learn!r}. A board learns one of "
                "them."
            )
        check_number("early", options.early, 0, 0.5)
        if options.clause_bytes is not None:
            check_integer("clause_bytes", options.clause_bytes, 0, 2**31 - 1)
            if options.flash is not None:
                raise ValueError(
                    f"flash is {options.flash} and clause_bytes is {options.clause_bytes}. Give one of them."
                )
        return options


_FORM = ("layout", "clause_bytes", "flash")  # one of them given replaces all three


@dataclass(frozen=True)
class Kept:
    """The options that a model's record adds to those that were given."""

    deployment: Deployment | None
    options: dict[str, Any]

    @classmethod
    def of(cls, model: Model, given: Mapping[str, Any]) -> Kept:
        """Return what is kept beside the options that were `given`, where None is not given.

        The core and the number type stay unless others are given. The layout, its `clause_bytes` and the
        bound on flash stay together: they were found together, so one of them replaces all three. An export
        that learns has code that the bound did not count, so nothing but the core and the type stays.

        >>> from ethereal import Model
        >>> from ethereal.model.deployment import Deployment
        >>> model = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=["a", "b"])
        >>> model = model.with_deployment(Deployment(target="cortex-m4", layout="compact", flash=4096))
        >>> Kept.of(model, {}).options
        {'target': 'cortex-m4', 'layout': 'compact', 'flash': 4096}
        >>> Kept.of(model, {"layout": "auto"}).options
        {'target': 'cortex-m4'}
        """
        deployment = model.deployment
        if deployment is None:
            return cls(None, {})
        names = ["target", "input"]
        if all(given.get(name) is None for name in (*_FORM, "learn")):
            names += ["flash"] if given.get("early") else _FORM
        values = {name: getattr(deployment, name) for name in names if given.get(name) is None}
        if values.get("flash") is not None:
            values["flash"] = int(values["flash"])
        return cls(deployment, {name: value for name, value in values.items() if value is not None})

    @property
    def keeps_layout(self) -> bool:
        """Whether the layout is the model's own."""
        return "layout" in self.options

    @property
    def keeps_flash(self) -> bool:
        """Whether the bound on flash is the model's own."""
        return "flash" in self.options

    @property
    def worst_instructions(self) -> float | None:
        """The bound for every row, if the layout that keeps it is the model's own."""
        deployment = self.deployment
        return None if deployment is None or not self.keeps_layout else deployment.worst_instructions

    @property
    def purpose(self) -> str:
        """What the model was pruned for, in words."""
        return "" if self.deployment is None else self.deployment.describe()
