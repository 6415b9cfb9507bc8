"""What a model may take on a board, and how long to search for the best one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from ethereal.base.checks import check_integer, check_number, parse_bytes, parse_count, parse_seconds
from ethereal.base.options import option
from ethereal.chips.fpgas import FPGAS
from ethereal.chips.targets import find_core, find_target
from ethereal.model.deployment import BOUNDS, Deployment

if TYPE_CHECKING:
    from ethereal.model import Model
    from ethereal.tuning.footprint import Footprint


# Accuracy that half the flash or half the instructions may cost: lab/notes/tuning.md. Where a model learned
# from few rows and nothing is bounded, half the flash may cost more, and flash has a bound. It grows with the
# classes from six on.
PER_HALVING, PER_HALVING_OF_FEW = 0.0015, 0.002
FEW_ROWS = 1100
FLASH_OF_FEW, _CLASSES = 8192, 6
# Where models come from, an option of searches and of runs: machines, boosted trees, or the better of both.
Learner = Literal["auto", "machine", "trees"]
LEARNERS: tuple[Learner, ...] = get_args(Learner)
FROM = "auto", f"Where the model comes from: {', '.join(LEARNERS)}.", "--from"  # default, help and flag
_TRIALS = 40  # when neither trials nor time are given
# Share of the lookup tables of a whole FPGA. Flip-flops that are alone in a cell take others of them.
_OF_FPGA = 0.7


def check_learner(learner: str) -> None:
    """Refuse an unknown origin of models."""
    if learner not in LEARNERS:
        raise ValueError(f"learner is {learner!r}. It must be one of {', '.join(map(repr, LEARNERS))}.")


def worth_of(accuracy: float, amount: float, per_halving: float = PER_HALVING) -> float:
    """Return the accuracy less the price of an amount, half of which may cost `per_halving`.

    >>> worth_of(0.9, 1024.0), worth_of(0.9, 512.0)
    (0.885, 0.8865000000000001)
    """
    return accuracy - per_halving * math.log2(max(1.0, amount))


@dataclass(frozen=True)
class Budget:
    """Bounds for a model on a core, as numbers or texts. None sets no bound.

    "8k" is 8192 bytes of flash or RAM, and 8000 instructions of the most expensive row. With `luts`, or an
    FPGA as the target, there are lookup tables instead. `settled` then returns `Gates`.

    >>> Budget(flash="8k", instructions="20k").on_chip().describe()
    '8192 bytes of flash, 327680 bytes of RAM and 20000 instructions per row on cortex-m7'
    """

    flash: float = option(None, "Bytes of flash, code included: 900, 8k.", kind=str | None)
    ram: float = option(None, "Bytes of RAM, stack included.", kind=str | None)
    # Of the most expensive row, from features to class.
    instructions: float = option(None, "Instructions per row: 20k.", kind=str | None)
    # A bound that holds for every row, not only for those tried: lab/notes/worst-case.md.
    worst_instructions: float = option(None, "Instructions that no row may exceed: 20k.", kind=str | None)
    target: str = option("cortex-m7", "Core, name of the board, or an FPGA.", "--board", "--target")
    luts: float = option(None, "Lookup tables on an FPGA, in place of the others: 2000.", kind=str | None)

    def __post_init__(self) -> None:
        """Turn texts into numbers."""
        for name in (*BOUNDS, "luts"):
            given: Any = getattr(self, name)
            if isinstance(given, str):
                given = parse_bytes(name, given) if name in ("flash", "ram") else parse_count(name, given)
            if given is not None:
                check_number(name, given, 1 if name == "luts" else 0, math.inf)
            object.__setattr__(self, name, math.inf if given is None else given)

    def settled(self) -> Budget:
        """Return the budget, as `Gates` where lookup tables are bounded or the target is an FPGA.

        Without `luts`, a model may take most of the FPGA. Without an FPGA, it is one that has so many tables.

        >>> Budget(luts="6k").settled().target, round(Budget(target="ice40-up5k").settled().luts)
        ('ice40-hx8k', 3696)
        """
        is_fpga = self.target in FPGAS
        if not is_fpga and self.luts == math.inf:
            return self
        if given := [f"{name}={getattr(self, name):g}" for name in BOUNDS if getattr(self, name) < math.inf]:
            asked = f"target={self.target!r}" if self.luts == math.inf else f"luts={self.luts:g}"
            raise ValueError(f"{asked} and {given[0]} are both given. A board has flash, an FPGA has tables.")
        if not is_fpga and self.target != Budget.target:
            raise ValueError(
                f"luts={self.luts:g} and target={self.target!r} are both given. A board has no lookup "
                f"tables. FPGAs are {', '.join(FPGAS)}."
            )
        if not is_fpga:
            large = [name for name, fpga in FPGAS.items() if fpga.luts >= self.luts]
            return Gates(target=large[0] if large else list(FPGAS)[-1], luts=self.luts)
        most = FPGAS[self.target].luts
        if most < self.luts < math.inf:
            raise ValueError(
                f"luts is {self.luts:g}, but {self.target} has {most}. Lower it, or take another target."
            )
        return Gates(target=self.target, luts=_OF_FPGA * most if self.luts == math.inf else self.luts)

    def on_chip(self) -> Budget:
        """Return the budget with the flash and RAM of the target's chip where they are not bounded."""
        if self.luts < math.inf:
            raise ValueError(
                f"luts={self.luts:g} is for an FPGA, but this looks for a program on a board. `ethereal run` "
                "and `ethereal prune` take lookup tables."
            )
        chip, bounds = find_core(self.target), dict[str, float]()
        for name, most in (("flash", chip.flash_bytes), ("ram", chip.ram_bytes)):
            given = getattr(self, name)
            bounds[name] = most if given == math.inf else parse_bytes(name, given)
            if bounds[name] > most:
                raise ValueError(
                    f"{name} is {bounds[name]} bytes, but {chip.name} ({chip.chip}) has {most}. Lower it, or "
                    "take another target."
                )
        if self.instructions < math.inf:
            bounds["instructions"] = parse_count("instructions", self.instructions)
        return replace(self, **bounds, target=chip.name)

    @property
    def on_size(self) -> bool:
        """Whether flash, instructions or RAM are bounded."""
        return min(self.flash, self.instructions, self.ram, self.worst_instructions) < math.inf

    @property
    def is_gates(self) -> bool:
        """Whether lookup tables of an FPGA count, and nothing else."""
        return isinstance(self, Gates)

    @property
    def keywords(self) -> dict[str, Any]:
        """What `on_device` has to know of the bounds."""
        return {"flash": self.flash, "worst": self.worst_instructions < math.inf}

    def excess(self, footprint: Footprint) -> float:
        """Return how many times the tightest bound is used. A model fits with 1 or less.

        >>> from ethereal.tuning import Footprint
        >>> Budget(flash=100, ram=10).excess(Footprint(50, 7.0, 20))
        2.0
        """
        return max(self._shares(footprint))

    def cost(self, footprint: Footprint) -> float:
        """Return what decides between models that are equally good. The smaller cost wins.

        It is the sum of the shares of all bounds. If instructions are not bounded but another size is, it is
        the instructions, because the size may be used up to its bound. Without any bound it is the bytes.

        >>> from ethereal.tuning import Footprint
        >>> Budget(flash=100, instructions=10).cost(Footprint(50, 7.0, 20))
        1.2
        >>> Budget(flash=100).cost(Footprint(50, 7.0)), Budget().cost(Footprint(50, 7.0))
        (7.0, 50.0)
        """
        if not self.on_size:
            return float(footprint.bytes)
        if self.instructions == math.inf:
            return float(footprint.instructions)
        return sum(self._shares(footprint))

    def for_rows(self, n_rows: int, n_classes: int) -> Budget:
        """Return the budget for a model that learns from so many rows: this one, if it has any bound.

        >>> Budget(flash=900).for_rows(200, 3).flash, Budget().for_rows(200, 3).flash
        (900, 8192)
        >>> Budget().for_rows(200, 12).flash, Budget().for_rows(2000, 3).flash
        (16384, inf)
        """
        if self.on_size or n_rows > FEW_ROWS:
            return self
        return OfFewRows(FLASH_OF_FEW * max(_CLASSES, n_classes) // _CLASSES, target=self.target)

    @property
    def counts(self) -> Literal["flash", "instructions"] | None:
        """What is worth accuracy though it is not bounded, for the same reasons as in `cost`."""
        if not self.on_size:
            return "flash"
        return "instructions" if self.instructions == math.inf else None

    @property
    def per_halving(self) -> float:
        """Accuracy that half of what counts may cost."""
        return 0.0 if self.counts is None else PER_HALVING

    def counted(self, footprint: Footprint) -> float:
        """Return the flash or the instructions, whichever `counts` says."""
        return float(footprint.bytes if self.counts == "flash" else footprint.instructions)

    @property
    def rule(self) -> str:
        """What is said to the user about instructions that are not bounded, else nothing."""
        if self.counts != "instructions":
            return ""
        points = f"{100 * PER_HALVING:g} points of accuracy"
        return f"half the instructions may cost {points}. instructions='20k' sets a bound instead."

    def worth(self, accuracy: float, footprint: Footprint) -> float:
        """Return the accuracy less what the flash or the instructions count, see `counts`.

        Half of them may cost 0.15 points. Where instructions are bounded, it is the accuracy. So a bound of
        your own, such as "100M", lifts the rule.

        >>> from ethereal.tuning import Footprint
        >>> slow, quick = Footprint(3000, 160_000.0), Footprint(4000, 10_000.0)
        >>> Budget(flash=4096).worth(0.970, slow) < Budget(flash=4096).worth(0.965, quick)
        True
        >>> Budget(flash=4096, instructions="100M").worth(0.970, slow)
        0.97
        """
        return worth_of(accuracy, self.counted(footprint), self.per_halving)

    def _shares(self, footprint: Footprint) -> list[float]:
        used = [footprint.bytes, footprint.instructions, footprint.ram]
        bounds = [self.flash, self.instructions, self.ram]
        if self.worst_instructions < math.inf and footprint.layout is not None:  # an estimate has no bound
            used.append(footprint.worst or math.inf)
            bounds.append(self.worst_instructions)
        return [u / b if b else (math.inf if u else 0.0) for u, b in zip(used, bounds, strict=True)]

    @property
    def promises(self) -> list[str]:
        """What is bounded, as it was given."""
        bounds = {name: getattr(self, name) for name in BOUNDS}
        return [f"{name}={value:g}" for name, value in bounds.items() if value < math.inf]

    def takes(self, footprint: Footprint) -> str:
        """Return what a model takes, in words."""
        return (
            f"{footprint.bytes} bytes, {footprint.instructions:g} instructions per row, "
            f"{footprint.ram} bytes of RAM"
        )

    def describe(self) -> str:
        """Return the bounds in words."""
        speed = "" if self.instructions == math.inf else f" and {self.instructions:g} instructions per row"
        if self.worst_instructions < math.inf:
            speed += f" and {self.worst_instructions:g} instructions for any row"
        between = "," if speed else " and"
        return f"{self.flash:.0f} bytes of flash{between} {self.ram:.0f} bytes of RAM{speed} on {self.target}"


@dataclass(frozen=True)
class OfFewRows(Budget):
    """What a model may take that learned from few rows, where nothing else was asked for.

    Flash counts, and it has a bound of its own. On few rows the largest model is often right on one held-out
    row more, by chance, and takes a hundred times the bytes.
    """

    counts = "flash"  # though it is bounded
    per_halving = PER_HALVING_OF_FEW

    @property
    def rule(self) -> str:
        """What is said to the user about the bound that nobody asked for."""
        points = f"{100 * PER_HALVING_OF_FEW:g} points"
        return (
            f"{self.flash / 1024:g} kB of flash at most, because rows are few, and half of it may cost "
            f"{points}. flash= sets another."
        )


@dataclass(frozen=True)
class Gates(Budget):
    """What a model may take on an FPGA: lookup tables, as `ethereal.tuning.footprint.in_gates` counts them.

    >>> Gates(luts="2k").luts
    2000.0
    """

    counts = None
    on_size = True

    @property
    def promises(self) -> list[str]:
        """The bound, as it was given."""
        return [f"luts={self.luts:g}"]

    def cost(self, footprint: Footprint) -> float:
        """Return the lookup tables."""
        return float(getattr(footprint, "luts", math.inf))

    def takes(self, footprint: Footprint) -> str:
        """Return what a model takes, in words."""
        return f"about {self.cost(footprint):.0f} lookup tables"

    def _shares(self, footprint: Footprint) -> list[float]:
        return [self.cost(footprint) / self.luts]

    def describe(self) -> str:
        """Return the bound in words."""
        return f"{self.luts:g} lookup tables of {self.target}"


@dataclass(frozen=True)
class Search:
    """How `tune` searches, and where it keeps what it tried.

    - `trials`, `seconds`: when to stop. `trials` counts those in the storage too. A time may be "10m".
      Without both there are 40 trials. Trials go in batches of four.
    - `folds`: with 1 a fifth of the rows validates, with more there is cross-validation. The default is 3 up
      to 5000 rows, else 1.
    - `learner`: where the model for use comes from. "auto" is the better of machines and of boosted trees.
    - `epochs`, `max_clauses`: epochs of each training, and most clauses per class to try.
    - `storage`, `study`: an Optuna storage URL or the path of an SQLite file, and the study's name there. An
      interrupted search continues. Without a storage nothing is kept. Without a name there is a study for
      each set of data and options.
    - `random_state`: seed of the folds, the machines and the sampler.
    """

    trials: int | None = option(None, "Trials in all. Default 40 without --time.")
    seconds: float | None = option(None, "When to stop: 90s, 10m, 2h.", "--time", kind=str | None)
    folds: int | None = option(None, "Folds, 1 for a fifth of the rows. Default 3 up to 5000 rows, else 1.")
    epochs: int = option(30, "Passes over the training rows.")
    max_clauses: int = option(300, "Most clauses per class to try.")
    learner: Learner = option(*FROM, kind=str)
    storage: str | None = option(
        None, "SQLite file or Optuna URL. Default: beside the model. A search there continues."
    )
    study: str | None = "tune"  # name in the storage, None for one per set of data and options
    random_state: int = option(0, "The same seed gives the same model.", "--seed")

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.seconds is not None:
            object.__setattr__(self, "seconds", parse_seconds("seconds", self.seconds))
        elif self.trials is None:
            object.__setattr__(self, "trials", _TRIALS)
        if self.trials is not None:
            check_integer("trials", self.trials, 1, 10**6)
        if self.folds is not None:
            check_integer("folds", self.folds, 1, 100)
        check_learner(self.learner)
        check_integer("epochs", self.epochs, 1, 10**6)
        check_integer("max_clauses", self.max_clauses, 4, 1_000_000)
        check_integer("random_state", self.random_state, 0, 2**31 - 1)


def made_for(model: Model, budget: Budget, footprint: Footprint | None) -> Model:
    """Return the model with what it was pruned for, so that its export is the program that was measured.

    Flash and RAM of the whole chip do not count as bounds. Without any bound the record has the core alone.
    An FPGA runs no program, so a model for it has no record.

    >>> from ethereal import Model
    >>> from ethereal.tuning import Budget, Footprint
    >>> model = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=["a", "b"])
    >>> own = made_for(model, Budget(flash="4k").on_chip(), Footprint(3767, 9000.0, 96, "compact")).deployment
    >>> own.layout, own.flash, own.ram, own.target
    ('compact', 4096, None, 'cortex-m7')
    >>> made_for(model, Budget(), None).deployment.as_dict()
    {'target': 'cortex-m7'}
    """
    if budget.is_gates:
        return model
    chip = find_target(budget.target)
    whole = {"flash": chip.flash_bytes, "ram": chip.ram_bytes}
    given = {name: getattr(budget, name) for name in BOUNDS}
    bounds = {name: value for name, value in given.items() if value < whole.get(name, math.inf)}
    form: dict[str, Any] = {}
    if bounds and footprint is not None and footprint.layout is not None:
        form = {"layout": footprint.layout, "clause_bytes": footprint.clause_bytes, "input": "float"}
    return model.with_deployment(Deployment(target=chip.name, **form, **bounds))
