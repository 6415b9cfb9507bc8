"""Accuracy against flash and instructions: our models, and beside them trees and the paper's scan.

Test rows choose nothing. Our models are those of `ethereal.frontier`, one call of `choose` for each point.
They are chosen for a Cortex-M7. Every model is compiled for both cores and executed on test rows, from
features to class.

Each method has a cell of its own, which rests on the code that makes and measures it. So a change in our
models does not compute baselines again. Trees read features, and the scan starts at Booleanized rows, as in
the paper.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.chips.cycles import estimate_cycles
from ethereal.compress import curve
from ethereal.compress.curve import TEACHERS, Teacher
from ethereal.datasets import Dataset
from ethereal.device import find_core
from ethereal.device.baselines import forest_program, redress_scan
from ethereal.device.program import CProgram
from ethereal.export import ExportOptions, answering_early
from ethereal.export.c99.choose import programs
from ethereal.export.c99.program import Program
from ethereal.features.booleanizer import Booleanizer
from ethereal.features.packing import evenly
from ethereal.model import Model
from ethereal.runs.forest import LEAVES as FOREST_LEAVES
from ethereal.runs.forest import choose_shape, without_missing
from ethereal.tuning import Budget, Footprint, Frontier, Setup, frontier
from ethereal.tuning.choice import best_form
from ethereal.tuning.footprint import MOST_ROWS, Measure, executed, may_fit
from ethereal.tuning.frontiers import FrontierPoint
from ethereal_study import additions, baselines, cells
from ethereal_study.baselines.boosted import missing_tools
from ethereal_study.board import TARGET, fingerprint, grown_forest
from ethereal_study.cells import MACHINES, StudyRows
from ethereal_study.run import Results
from ethereal_study.settings import SETTINGS
from ethereal_study.store import Cell, Store

_OUR_CODE = (
    *(f"ethereal/{x}" for x in ("export", "device", "chips", "model", "compress", "tuning")),
    "ethereal_study/frontier.py",
)
# Bins (None: the features are Boolean, or have one fixed threshold), clauses, T, s, epochs, machines. No
# exclusion: pruning shortens clauses anyway. Chosen by validation rows: lab/notes/tuning.md.
PLANS: dict[str, tuple[int | None, int, int, float, int, int]] = {
    "statlog": (64, 300, 16, 3.0, 100, 4),
    "mammography": (8, 50, 7, 3.0, 60, 4),
    "har": (16, 200, 14, 3.0, 60, 4),
    "gas": (8, 300, 12, 5.0, 60, 4),
    "emg": (8, 300, 14, 3.75, 60, 4),
    "sensorless": (10, 300, 15, 5.0, 60, 4),
    "sports": (8, 150, 12, 3.0, 20, 1),
    "gesture": (32, 500, 25, 9.0, 60, 4),
    "mnist": (None, 1000, 50, 10.0, 40, 1),
}
# Validations where rows or groups are few, else one.
SPLITS = {"statlog": 10, "mammography": 10, "har": 3, "gas": 4}
# What pruning learns from, else all: "blends" gives nothing where rows are alike, and doubles the time.
LESSONS: dict[str, tuple[Teacher, ...]] = {
    **dict.fromkeys(("mnist", "sensorless"), ("votes",)),
    **dict.fromkeys(("emg", "gesture", "sports"), ("votes", "labels")),
}
MORE_SWEEPS = {"har": 6}  # of pruning per price, else 2
MOST_SEEDS = {"mnist": 3}  # of sets that take long
TARGETS = (TARGET, "cortex-m0plus")
KILOBYTES = (1, 2, 4, 8, 16, 32)
SLOW = (2, 4, 9)  # kilobytes within which models may take any time
MOST = 64 * 1024  # bytes, within which models of few instructions are
INSTRUCTIONS = (50, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2000, 2400, 2800, 3200)
TIGHT = ((1500, 400),)  # bytes and instructions at once
EARLY = 0.001  # share of training rows whose answer may change by early answers
_CLEAR = 400  # instructions, from which on early answers pay
_ANY = 10**9  # instructions, more than any model takes
# A form is executed where its estimates leave a doubt. Instructions by estimate were 0.86 to 1.27 times what
# was counted, on 152 programs of mammography in "straight" and "fast".
_SURELY_MORE, _SURELY_LESS = 1.5, 0.75  # times a bound on instructions
_Form = tuple[Program, bool]  # and whether it is the last
TREE_ROWS = 64  # that a baseline is executed on
FORESTS = ((5, 5), (10, 8), (25, 14))  # trees, depth
ROUNDS, LEAVES = (5, 10, 20), 8  # of boosted trees
VECTOR_TREES, VECTOR_DEPTH = (5, 20), 4
_PLENTY = 1 << 20  # bytes of RAM
_BOARD = (
    *(f"ethereal/{x}" for x in ("chips", "device/emulator.py", "device/program.py")),
    "ethereal_study/baselines/base.py",
)
Lines = Iterator[dict[str, Any]]
_FOREST, _VECTORS = "ethereal/device/baselines.py", "ethereal_study/baselines/vector_trees.py"


def basis_of_ours(name: str) -> dict[str, Any]:
    """Return what our models on a set and their costs rest on."""
    if name not in PLANS:
        raise ValueError(f"Models are not planned for {name!r}. There are {', '.join(PLANS)}")
    plan = {"plan": PLANS[name], "splits": SPLITS.get(name, 1), "teachers": LESSONS.get(name, TEACHERS)}
    plan["sweeps"] = MORE_SWEEPS.get(name, curve.SWEEPS)
    return cells.basis(name) | plan | {"code": fingerprint(_OUR_CODE)}


def groups_of(data: Dataset) -> NDArray[Any] | None:
    """Return the groups of training rows to validate on, None where rows of all groups are in the test.

    Where test rows come from people or times that training rows do not have, so do validation rows.
    """
    groups = data.groups_train
    if data.groups is None or groups is None or np.isin(data.groups[data.test], groups).all():
        return None
    return groups


def models_of(cell: Cell, data: Dataset, rows: StudyRows) -> Frontier:
    """Our models, from large to small. No test row is seen."""
    bins, n_clauses, T, s, epochs, machines = PLANS[cell.dataset]
    X, settings = rows.X_train, SETTINGS[cell.dataset]
    booleanizer = None if settings.threshold is None else Booleanizer(thresholds=settings.threshold)
    if bins is not None:
        booleanizer = Booleanizer(bins, missing="ignore" if np.isnan(X).any() else "raise")
    return frontier(
        X,
        rows.y_train,
        Setup((), (), n_clauses, T, s, None, None, machines, "votes", 0.0),
        splits=SPLITS.get(cell.dataset, 1),
        teachers=LESSONS.get(cell.dataset, TEACHERS),
        groups=groups_of(data),
        epochs=epochs if cell.epochs is None else cell.epochs,
        booleanizer=booleanizer,
        sweeps=MORE_SWEEPS.get(cell.dataset, curve.SWEEPS),
        random_state=cell.seed,
    )


def lines(cell: Cell, store: Store, rows: StudyRows) -> Iterator[dict[str, Any]]:
    """Accuracy and costs of our models."""
    return _ours(models_of(cell, additions.load(cell.dataset), rows), rows)


def _ours(models: Frontier, rows: StudyRows) -> Iterator[dict[str, Any]]:
    """The model for each bound, by rows that were held out of training rows."""
    most, forms = MOST, _Forms()
    bench = _Bench(models.X, TARGET, forms)
    last = {target: _Bench(rows.X_test, target, forms) for target in TARGETS}

    def costs(model: Model, flash: float) -> dict[str, Footprint | None]:
        bound = Budget(flash)
        return {
            target: best_form(bound, bench_of_core.within(bound, surely=True)(model))
            for target, bench_of_core in last.items()
        }

    bounds = [("ours", f"{k} kB", Budget(1024 * k)) for k in KILOBYTES]
    bounds += [("ours", f"{n} instructions", Budget(most, instructions=n)) for n in INSTRUCTIONS]
    bounds += [
        ("ours", f"{1e-3 * bytes_:g} kB, {n} instructions", Budget(bytes_, instructions=n))
        for bytes_, n in TIGHT
    ]
    bounds += [("ours, any speed", f"{k} kB", Budget(1024 * k, instructions=_ANY)) for k in SLOW]
    for method, size, bound in bounds:
        point = _chosen(models, bound, bench)
        if point is None:  # no model is that small
            continue
        yield _line(method, size, point.model, rows, costs(point.model, bound.flash))
        if bound.flash == most and bound.instructions >= _CLEAR and point.footprint.layout == "straight":
            early = _early(point.model, models.X)
            if early is not None:
                yield _line("ours, early", f"from {size}", early, rows, costs(early, most))


def _chosen(models: Frontier, bound: Budget, bench: _Bench) -> FrontierPoint | None:
    """The model for a bound, which keeps it when it is executed, None if no model does."""
    while True:
        # Within flash alone, the quickest of equals. Else the most accurate.
        point = models.choose(bound, measure=bench.within(bound), cheapest=bound.counts == "instructions")
        took = best_form(bound, bench.within(bound, surely=True)(point.model)) if point.fits else None
        if took is None or bound.excess(took) <= 1:
            return None if took is None else replace(point, point=replace(point.point, footprint=took))


def _line(
    method: str, size: str, model: Model, rows: StudyRows, forms: dict[str, Footprint | None]
) -> dict[str, Any]:
    """What a model of ours takes on both cores, executed on test rows."""
    accuracy = float((model.predict(rows.X_test) == rows.y_test).mean())
    of_core = {target: form for target, form in forms.items() if form is not None}
    assert len(of_core) == len(TARGETS)
    made: dict[str, Any] = {"method": method, "size": size, "accuracy": accuracy}
    made["layout"] = of_core[TARGET].layout
    costs = {"flash": "bytes", "instructions": "instructions", "cycles": "cycles"}
    return made | {t: {name: getattr(f, key) for name, key in costs.items()} for t, f in of_core.items()}


def _early(model: Model, X: NDArray[Any]) -> Model | None:
    """The model with early answers, None if no check pays or if there are too few rows to learn them."""
    if len(X) * EARLY < 1:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        early = answering_early(model, X, EARLY)
    return early if early.early else None


class _Bench:
    """Measures models by mean instructions of rows, as `on_device` does, for one bound after the other.

    A form is compiled and executed once, and only if estimates do not say whether it keeps the bound.
    """

    def __init__(self, X: NDArray[Any], target: str, forms: _Forms) -> None:
        self._rows, self._chip, self._forms = X[evenly(len(X), MOST_ROWS)], find_core(target), forms
        self._found: dict[int, Footprint] = {}  # by id of the program

    def within(self, bound: Budget, *, surely: bool = False) -> Measure:
        """Return a measure for a bound. With `surely`, a form that keeps it by estimate is executed too."""

        def measure(model: Model) -> Iterator[Footprint]:
            for program, is_last in self._forms.of(model):
                if not is_last and not may_fit(program, bound.flash):
                    continue
                costs = program.costs
                guess = Footprint(program.flash_bytes, costs.instructions, costs.stack_bytes, program.layout)
                fits = guess.bytes <= bound.flash and guess.instructions <= _SURELY_LESS * bound.instructions
                exceeds = guess.instructions > _SURELY_MORE * bound.instructions
                if id(program) not in self._found and (exceeds or (fits and not surely)):
                    yield guess
                    continue
                if id(program) not in self._found:
                    self._found[id(program)] = executed(program, self._rows, self._chip, np.mean)
                yield self._found[id(program)]

        return measure


class _Forms:
    """The programs of models, each made once, and only when it is asked for."""

    def __init__(self) -> None:
        # The models are kept too, so that an id stays its own.
        self._kept: dict[int, tuple[Model, list[_Form], Iterator[_Form]]] = {}

    def of(self, model: Model) -> Iterator[_Form]:
        """Yield the programs of a model, the quickest first, and whether each is the last."""
        if id(model) not in self._kept:
            made = programs(model, ExportOptions()) if model.simplify().n_clauses else iter(())
            self._kept[id(model)] = model, [], made
        _, known, rest = self._kept[id(model)]
        for i in itertools.count():
            if i == len(known):
                following = next(rest, None)
                if following is None:
                    return
                known.append(following)
            yield known[i]


@dataclass(frozen=True)
class Part:
    """A method of the frontier."""

    basis: Callable[[str], dict[str, Any]]  # what its figures on a set rest on
    lines: Callable[[Cell, Store, StudyRows], Lines]
    missing: Callable[[], list[str]] = list  # packages without which there are no lines
    most_seeds: int | None = None  # where a seed takes long


def compute(cell: Cell, store: Store) -> dict[str, Any]:
    """Return accuracy and costs of a method at every size, if possible from the store."""
    part = PARTS[cell.method]
    without = part.missing()
    on = part.basis(cell.dataset) | {"without": without}

    def points(rows: StudyRows) -> tuple[dict[str, Any], None]:
        return {"points": [] if without else list(part.lines(cell, store, rows)), "without": without}, None

    return cells.kept_or_made(cell, store, on, points)


def grids(names: Iterable[str], seeds: int) -> list[tuple[list[str], list[str], int]]:
    """Return sets, methods and seeds of all cells."""
    return [
        ([name], [method], min(seeds, MOST_SEEDS.get(name, seeds), part.most_seeds or seeds))
        for name in names
        for method, part in PARTS.items()
    ]


def by_seed(results: Results) -> dict[str, list[dict[str, Any]]]:
    """Return the results of each set, with the lines of all methods of a seed together."""
    by_set: dict[str, dict[int, dict[str, Any]]] = {}
    for cell, result in results.items():
        of_seed = by_set.setdefault(cell.dataset, {}).setdefault(cell.seed, {"points": [], "without": []})
        of_seed["points"] += result["points"]
        of_seed["without"] += result["without"]
    return {name: list(seeds.values()) for name, seeds in by_set.items()}


def _rests_on(sizes: tuple[Any, ...], *code: str) -> Callable[[str], dict[str, Any]]:
    return lambda name: cells.basis(name) | {"sizes": sizes, "code": fingerprint(_BOARD + code)}


def _forests(cell: Cell, store: Store, rows: StudyRows) -> Lines:
    """Forests through emlearn."""
    for n_trees, depth in FORESTS:
        filled, forest = grown_forest(rows, n_trees, depth, cell.seed)
        yield _tree_line("forest", f"{n_trees} x {depth}", forest, forest_program, filled)


def _tuned(cell: Cell, store: Store, rows: StudyRows) -> Lines:
    """The forest whose trees and leaves held-out training rows choose, through emlearn."""
    filled = without_missing(rows)
    groups = groups_of(additions.load(cell.dataset))
    shape = choose_shape(filled.X_train, filled.y_train, groups, seed=cell.seed)
    forest = shape.new(cell.seed).fit(filled.X_train, filled.y_train)
    leaves = "all" if shape.leaves is None else shape.leaves
    line = _tree_line("tuned forest", "chosen", forest, forest_program, filled)
    yield line | {"layout": f"{shape.trees} x {leaves} leaves"}


def _boosted(cell: Cell, store: Store, rows: StudyRows) -> Lines:
    """Boosted trees through m2cgen."""
    filled = without_missing(rows)
    for rounds in ROUNDS:
        trees = baselines.train_boosted(filled.X_train, filled.y_train, rounds, LEAVES, cell.seed)
        yield _tree_line("boosted", f"{rounds} rounds", trees, baselines.boosted, filled)


def _vectors(cell: Cell, store: Store, rows: StudyRows) -> Lines:
    """Boosted trees with a vector of votes per leaf, through our own generator of code."""
    filled = without_missing(rows)
    for n_trees in VECTOR_TREES:
        trees = baselines.train_vector_trees(filled.X_train, filled.y_train, n_trees, VECTOR_DEPTH, cell.seed)
        yield _tree_line("vector trees", f"{n_trees} x {VECTOR_DEPTH}", trees, baselines.vector_trees, filled)


def _tree_line(
    method: str, size: str, estimator: Any, export: Callable[..., CProgram], rows: StudyRows
) -> dict[str, Any]:
    """What trees take on both cores, and the accuracy of what is exported."""
    whole = export(estimator, rows.X_test)
    accuracy = float((estimator.classes_[whole.expected] == rows.y_test).mean())
    few = evenly(len(whole.rows), TREE_ROWS)
    part = replace(whole, rows=whole.rows[few], expected=whole.expected[few])
    return {"method": method, "size": size, "accuracy": accuracy, **_tree_costs(part)}


def _scans(cell: Cell, store: Store, rows: StudyRows) -> Lines:
    """The paper's machines as scans of their REDRESS words."""
    test = rows.X_test
    for machine in MACHINES:
        machine_cell = replace(cell, method=machine)
        accuracy = cells.compute(machine_cell, store)["accuracy"]
        scan = redress_scan(Model.load(store.model_path(machine_cell)), test[evenly(len(test), TREE_ROWS)])
        yield {"method": "REDRESS scan", "size": machine, "accuracy": accuracy, **_tree_costs(scan)}


def _tree_costs(baseline: CProgram) -> dict[str, dict[str, float]]:
    return {target: costs_of(baseline, target) for target in TARGETS}


def costs_of(baseline: CProgram, target: str) -> dict[str, float]:
    """Return the flash of a baseline and its instructions on an average row, on a core with flash enough."""
    from ethereal import device
    from ethereal.device.program import execute

    chip = replace(device.find_core(target), flash_bytes=1 << 24)
    run = execute(baseline, chip, ram_bytes=_PLENTY)
    if np.mean(run.classes == baseline.expected) < 0.95:  # thresholds are rounded to 16 bits
        raise RuntimeError(f"{baseline.name} does not answer on {target} as it does on the host")
    flash = run.elf.code_bytes + run.elf.table_bytes
    return {
        "flash": flash,
        "instructions": float(np.mean(run.counts)),
        "cycles": estimate_cycles(chip.name, run.mix),
    }


PARTS = {
    "frontier-ours": Part(basis_of_ours, lines),
    "frontier-forest": Part(_rests_on(FORESTS, _FOREST), _forests),
    "frontier-tuned": Part(_rests_on(FOREST_LEAVES, _FOREST, "ethereal/runs/forest.py"), _tuned),
    "frontier-boosted": Part(
        _rests_on((ROUNDS, LEAVES), "ethereal_study/baselines/boosted.py", _FOREST), _boosted, missing_tools
    ),
    "frontier-vectors": Part(
        _rests_on((VECTOR_TREES, VECTOR_DEPTH), _VECTORS, "ethereal/export", "ethereal/model"),
        _vectors,
        most_seeds=1,
    ),
    "frontier-scan": Part(
        _rests_on(MACHINES, "ethereal/device/baselines.py", "ethereal/export", "ethereal/model"),
        _scans,
        most_seeds=1,
    ),
}
