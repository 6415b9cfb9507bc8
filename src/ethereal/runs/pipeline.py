"""The stages of a run: learn, prune, grow a forest beside it, export, and measure on the emulated core.

Each stage leaves its result in the run's folder, so that an interrupted run continues and `report` can make
the page again without training.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base import watched
from ethereal.base.messages import progress
from ethereal.base.npz import write_arrays
from ethereal.chips.targets import find_target
from ethereal.chips.toolchain import TOOLS, missing_tools
from ethereal.datasets.rows import Rows, columns_named
from ethereal.export.page.payload import rows_shown
from ethereal.model import Model
from ethereal.runs import forest, gates, numbers, sensor
from ethereal.runs.folder import RunFolder
from ethereal.runs.forest import ForestShape
from ethereal.runs.options import Settings
from ethereal.runs.results import (
    Answered,
    Board,
    CurvePoint,
    Forest,
    ForestPoint,
    ForestScores,
    KernelCosts,
    Learned,
    LeftOut,
    Measured,
    Neighbour,
    Origin,
    Pruned,
    Scores,
    Unknown,
)
from ethereal.runs.reuse import choose
from ethereal.runs.sample import MOST_ROWS_OF_SPLIT, chosen_rows
from ethereal.runs.scores import scores
from ethereal.train import checkpoint
from ethereal.train.classifier import EtherealClassifier
from ethereal.train.options import TrainingOptions
from ethereal.train.unknown import calibrated
from ethereal.tuning.budget import Budget
from ethereal.tuning.choice import PrunedModel, neighbours
from ethereal.tuning.footprint import GateFootprint
from ethereal.tuning.frontiers import BoardModel, Nominee, Train, machines_for
from ethereal.tuning.machines import committee
from ethereal.tuning.sources import Sources, Way, alone, refuse_trees_of_windows, ways_of

if TYPE_CHECKING:
    from ethereal.device import Measurement
    from ethereal.export.c99.program import Program
    from ethereal.features.window_features import WindowFeatures

TRIED = "tried.npz"  # some test rows, for a page that answers them
TYPICAL_ROWS = 500  # training rows that the exporter arranges its tests by
DEVICE_ROWS = 100  # test rows executed on the board
_CURVE_POINTS = 8  # models of the curve that are compiled for the page
_WORST_STEPS = 100_000  # that the board stage follows the code for, 5 to 20 s; `measure` follows it longer
_FOREST_TOOLS = ("emlearn",)


@dataclass(frozen=True)
class Plan:
    """What a run does with its rows."""

    training: TrainingOptions
    budget: Budget
    front_end: WindowFeatures | None
    unknown: dict[str, float | None] | None  # when the model answers "unknown", None for never
    novelty: bool
    with_forest: bool
    quiet: bool
    ways: tuple[Way, ...] = (Way("machine", "votes"),)  # to the model for the board

    @classmethod
    def of(cls, settings: Settings, rows: Rows, *, quiet: bool) -> Plan:
        """Return the plan for these rows. Parameters that no classifier takes are refused."""
        training, front_end = settings.training.meeting(rows.X, rows.strata), rows.front_end
        unknown, with_forest = settings.unknown, settings.extent.forest
        if settings.budget.is_gates:
            gates.check(settings, rows)
        if rows.is_number:
            numbers.check(settings, training)
        else:
            training.classifier(0).set_params(front_end=front_end).check_parameters()
        asked = training, settings.budget, front_end, unknown.wanted, unknown.novelty, with_forest, quiet
        return cls(*asked, _ways(settings, is_windows=front_end is not None))

    def plain(self) -> EtherealClassifier:
        """Return the classifier's machine alone, which boards are pruned from."""
        training = replace(self.training, noise_clauses=0, refit=False)
        return training.classifier(0).set_params(front_end=self.front_end)  # type: ignore[no-any-return]


def _ways(settings: Settings, *, is_windows: bool) -> tuple[Way, ...]:
    """Return the ways to the model for the board. A first look takes the usual one."""
    learner, usual = settings.extent.learner, (Way("machine", "votes"),)
    if is_windows:
        refuse_trees_of_windows(learner)
        return usual
    if learner == "auto" and settings.extent.quick:
        return usual
    return ways_of(learner, ("votes", "unseen"), is_gates=settings.budget.is_gates)


def learn(folder: RunFolder, rows: Rows, plan: Plan, tell: Callable[[str], None]) -> None:
    """Train the classifier, prune its machine, and grow the forest beside it."""
    with columns_named(rows.feature_names):  # one for all, so that a warning is shown once
        work = numbers.learn if rows.is_number else _learn
        _stage(folder, Learned, tell, lambda: work(folder, rows, plan))
        _stage(folder, Pruned, tell, lambda: _prune(folder, rows, plan))
        if plan.with_forest:
            _stage(folder, Forest, tell, lambda: _forest(folder, rows, plan))
    if plan.with_forest and isinstance(forest := folder.load(Forest, LeftOut), LeftOut):
        tell(f"forest: left out, because {forest.left_out}.")


def board(folder: RunFolder, rows: Rows, plan: Plan, tell: Callable[[str], None]) -> None:
    """Write the exports, execute the C on the emulated core, and measure the curve and the forests."""
    measured = _on_fpga if plan.budget.is_gates else lambda *what: _BoardStage(*what).measured()
    _stage(folder, Board, tell, lambda: measured(folder, rows, plan))


def _on_fpga(folder: RunFolder, rows: Rows, plan: Plan) -> Board:
    pruned = folder.load(Pruned)
    assert pruned is not None
    curve = [(load_model(folder, f"curve/{i}"), accuracy) for i, accuracy in enumerate(pruned.curve)]
    return gates.board(
        folder, rows, plan.budget, load_model(folder, "model"), rows.X_train[:TYPICAL_ROWS], curve
    )


def _stage(folder: RunFolder, kind: Any, tell: Callable[[str], None], work: Callable[[], Any]) -> None:
    if folder.result(kind.STAGE) is not None:
        tell(f"{kind.STAGE}: kept from before.")
    folder.stage(kind.STAGE, work)


def _learn(folder: RunFolder, rows: Rows, plan: Plan) -> Learned:
    X, y, test = rows.X_train, rows.y_train, (rows.y_test, rows.groups_test)
    X_test, begin = rows.X_test, time.perf_counter()
    clf = plan.training.classifier(0 if plan.quiet else 1).set_params(front_end=plan.front_end)
    with checkpoint.until_done(folder.path / "learn.checkpoint") as kept:
        checkpoint.fit_or_go_on(clf, X, y, kept, categories=rows.categories)
        clf.plain_model_.with_feature_names(rows.feature_names).save(folder.path / "machine.etm")
        whole = clf.model_.with_feature_names(rows.feature_names)
        whole.simplify().save(folder.path / "host.etm")
    return Learned(
        **vars(scores(whole.predict(X_test), *test)),
        seconds=time.perf_counter() - begin,
        history=tuple(clf.history_),
        clauses=whole.n_clauses,
        includes=whole.n_includes,
    )


def _prune(folder: RunFolder, rows: Rows, plan: Plan) -> Pruned:
    if rows.is_number:
        finish = partial(_finished, folder, rows, plan)
        return numbers.prune(folder, rows, plan, finish, partial(load_model, folder, "machine"))
    begin, seed, X, y = time.perf_counter(), plan.training.seed, rows.X_train, rows.y_train
    # Models of windows are large by their kernels, and several machines would use more of them.
    n_machines = machines_for(*X.shape) if rows.front_end is None else 1

    def train(X: NDArray[Any], y: NDArray[Any]) -> Model:
        some = chosen_rows(y, MOST_ROWS_OF_SPLIT, seed)
        X, y = (X, y) if len(some) == len(y) else (X[some], y[some])
        return committee(
            plan.plain().fit(X, y, categories=rows.categories), (X, y), n_machines, rows.categories
        )

    def machine() -> Model:
        if n_machines > 1 and any(way.source == "machine" for way in plan.ways):
            return train(X, y).with_feature_names(rows.feature_names)
        return load_model(folder, "machine")

    with progress("prune", 1.0, quiet=plan.quiet) as show:
        chosen = choose(folder, rows, plan, train, machine, show)
        model, unknown = chosen.model.simplify().drop_unused_kernels(), None
        if plan.unknown is not None:
            model, unknown = _calibrate(model, chosen, train, rows, plan.unknown, seed)
    if plan.novelty:
        model = model.with_normal(X, y, rows.groups_train)
    answers = model.with_unknown(None).predict(rows.X_test)
    scored = scores(answers, rows.y_test, rows.groups_test)

    def accuracy(one: Model) -> float:
        return float((one.predict(rows.X_test) == rows.y_test).mean())

    made = _finished(folder, rows, plan, model, scored, chosen, accuracy, begin)
    per_group, taught = sensor.per_group(model, rows), sensor.teaching(model, rows)
    return replace(made, unknown=unknown, people=per_group, teaching=taught)


def _finished(
    folder: RunFolder, rows: Rows, plan: Plan, model: Model, scored: Scores, chosen: BoardModel,
    score: Callable[[Model], float], begin: float,
) -> Pruned:  # fmt: skip
    """Keep the model for the board and some of the others, and return what is known of them."""
    model.save(folder.path / "model.etm")
    beside, curve = neighbours(chosen.curve, chosen.point), _spread(chosen.curve)
    (folder.path / "curve").mkdir(exist_ok=True)
    models = {str(i): point.model for i, point in enumerate(curve)}
    for name, each in (models | {name: one.point.model for name, one in beside.items()}).items():
        each.save(folder.path / "curve" / f"{name}.etm")
    took = chosen.point.footprint
    bounds = {name: getattr(plan.budget, name) for name in ("flash", "ram", "instructions", "luts")}
    return Pruned(
        **vars(scored),
        groups_are=rows.groups_are,
        seconds=time.perf_counter() - begin,
        expected=chosen.point.accuracy,
        origin=str(chosen.way),
        others=tuple(_origin(one) for one in chosen.others),
        held_out=chosen.held_out,
        learned_from=len(rows.y_train),
        clauses=model.n_clauses,
        includes=model.n_includes,
        bounds={name: value for name, value in bounds.items() if np.isfinite(value)},
        layout=None if took is None else took.layout,
        clause_bytes=None if took is None or took.layout is None else took.clause_bytes,
        neighbours={
            name: Neighbour(one.right / one.rows, one.rows, one.more, one.error)
            for name, one in beside.items()
        },
        curve=tuple(score(p.model) for p in curve),
    )


def _origin(one: Nominee) -> Origin:
    took = one.point.footprint or one.point.estimate
    luts = took.luts if isinstance(took, GateFootprint) else None
    return Origin(str(one.way), one.point.accuracy, took.bytes, took.instructions, luts)


def _calibrate(
    model: Model, chosen: BoardModel, train: Train, rows: Rows, wanted: Mapping[str, Any], seed: int
) -> tuple[Model, Unknown]:
    """Return the model that may answer "unknown", its margin, and how it does on test rows."""
    X, y = rows.X_train, rows.y_train

    def train_pruned(some: NDArray[np.intp], left_out: NDArray[np.intp]) -> Model:
        known = left_out[np.isin(y[left_out], y[some])]
        groups = None if rows.groups_train is None else rows.groups_train[some]
        learned, others = (X[some], y[some]), (X[known], y[known])
        sources = replace(chosen.sources or Sources(()), ways=(chosen.way,), groups=groups)
        return alone(learned, sources, partial(train, *learned), chosen.point.price, others, seed)

    made, calibration = calibrated(model, train_pruned, X, y, rows.groups_train, seed=seed, **wanted)
    there = made.output.codes(made.class_sums(rows.X_test)) < made.n_classes
    right = made.predict(rows.X_test)[there] == rows.y_test[there]
    test = Answered(float(right.mean()) if len(right) else None, float(there.mean()))
    return made, Unknown(**vars(calibration), test=test)


def _spread(curve: tuple[PrunedModel, ...]) -> list[PrunedModel]:
    """Return a few models of a curve, evenly by the logarithm of their bytes, without empty ones."""
    voting = [point for point in curve if not point.model.is_constant]
    marks = np.log([point.estimate.bytes for point in voting])
    wanted = np.linspace(marks.min(), marks.max(), _CURVE_POINTS)
    return [voting[i] for i in sorted({int(np.abs(marks - mark).argmin()) for mark in wanted})]


def _forest(folder: RunFolder, rows: Rows, plan: Plan) -> Forest | LeftOut:
    done = folder.load(Learned), folder.load(Pruned)
    seconds = sum(stage.seconds for stage in done if stage is not None)
    if rows.is_number:
        with progress("trees", 6, quiet=plan.quiet) as show:
            return numbers.grow(forest.of_features(rows), plan.training.seed, lambda n: show(n, ""))
    with progress("forest", forest.SIZES[-1], quiet=plan.quiet) as show:
        return forest.grow(
            forest.of_features(rows), plan.training.seed, seconds, lambda trees: show(trees, f"{trees} trees")
        )


class _BoardStage:
    """Measures programs one after the other, and keeps why some could not be had."""

    def __init__(self, folder: RunFolder, rows: Rows, plan: Plan) -> None:
        self._folder, self._rows, self._plan = folder, rows, plan
        self._model, self._target = load_model(folder, "model"), plan.budget.target
        self._X, self._typical = rows.X_test[:DEVICE_ROWS], rows.X_train[:TYPICAL_ROWS]
        pruned = folder.load(Pruned)
        assert pruned is not None
        self._pruned = pruned
        self._left_out: dict[str, str] = {}
        self._programs: dict[str, Measured] = {}

    def measured(self) -> Board:
        """Return the exported program and the others. What cannot be had is left out with its reason."""
        form = {"rows": self._typical, **self._pruned.form}
        program: Program | None = self._attempt("the exported C", lambda: self._export(form))
        is_executed = not missing_tools()
        return Board(
            target=self._target,
            rows=len(self._X),
            exported=None if program is None else program.layout,
            left_out=self._left_out,
            measured=self._programs,
            kernels=self._of_program(program) if is_executed and program is not None else None,
            neighbours=self._neighbours(form, program),
            curve=self._curve() if is_executed else (),
            forests=self._forests() if is_executed and self._plan.with_forest else (),
        )

    def _attempt(self, name: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except (ValueError, ModuleNotFoundError) as error:  # too large, or not to be had in C
            self._left_out[name] = str(error)
            self._folder.log(f"board: {name} left out: {error}")
            return None

    def _measure(self, name: str, work: Callable[[], Measurement], kept: str | None) -> Measurement | None:
        """Measure a program and keep the result under a name, if it has one."""
        took: Measurement | None = self._attempt(name, work)
        if took is not None and kept is not None:
            self._programs[kept] = Measured(**{one.name: getattr(took, one.name) for one in fields(Measured)})
        return took

    def _export(self, form: Mapping[str, Any]) -> Program:
        """Write all exports, those in C with the options of `form`, and return the program of the C."""
        from ethereal import export
        from ethereal.base.atomic import write_folder
        from ethereal.export.projects.writer import project_files

        path, n_shown = self._folder.path, rows_shown(self._model.n_features)
        shown = {"X": self._rows.X_test[:n_shown], "y": self._rows.y_test[:n_shown]}
        write_arrays(path / TRIED, shown, compressed=True)
        program = export.choose(self._model, target=self._target, **form)
        write_folder(path / "c", project_files("c", program), force=True)
        export.arduino(self._model, path / "arduino", target=self._target, force=True, **form)
        try:
            export.micropython(self._model, path / "micropython", rows=form["rows"], force=True)
        except ValueError as error:  # more classes or Booleans than its tables hold
            self._folder.log(f"no MicroPython package: {error}")
        return program

    def _of_program(self, program: Program) -> KernelCosts | None:
        """Measure the exported program, and return what its kernels cost where it reads windows."""
        from ethereal import device
        from ethereal.device.program import on_rows

        took = self._measure(
            "the model",
            lambda: device.measure_program(on_rows(program, self._X), self._target, worst=_WORST_STEPS),
            "model",
        )
        if self._rows.front_end is None or find_target(self._target).isa == "avr":
            return None
        offered, gains = sensor.offered_and_gains(self._folder, self._rows.front_end.front_end_)
        total = None if took is None else took.total_instructions
        costs: KernelCosts | None = self._attempt(
            "kernels", lambda: sensor.kernel_costs(self._model, offered, self._target, total, gains)
        )
        return costs

    def _curve(self) -> tuple[CurvePoint, ...]:
        accuracies, points = self._pruned.curve, []
        with progress("board", 1.0, quiet=self._plan.quiet) as show:
            for i, accuracy in enumerate(accuracies):
                show(i / len(accuracies), f"model {i + 1} of {len(accuracies)} of the curve")
                costs = self._costs_of(f"curve/{i}", rows=self._typical)
                if costs is not None:
                    points.append(CurvePoint(costs[0], accuracy, costs[1]))
                    watched.note_points("test", [[costs[0], accuracy]])
        return tuple(points)

    def _neighbours(self, form: Mapping[str, Any], program: Program | None) -> dict[str, Neighbour]:
        """Return the next smaller and larger model with their flash, in the form of the exported one.

        A model of fewer clauses may take more flash in a quicker layout. It is then put in a smaller one, and
        a model that is not on its side of the exported one is left out.
        """
        took, by_name = self._programs.get("model"), {}
        flash = took.flash_bytes if took is not None else 0 if program is None else program.flash_bytes
        for name, one in self._pruned.neighbours.items():
            costs = self._costs_of(f"curve/{name}", **form)
            if costs is not None and name == "smaller" and costs[0] >= flash > 1:
                costs = self._costs_of(f"curve/{name}", rows=form["rows"], flash=flash - 1)
            if costs is not None and (costs[0] < flash) == (name == "smaller"):
                by_name[name] = replace(one, flash_bytes=costs[0], instructions=costs[1])
        return by_name

    def _costs_of(self, name: str, **form: Any) -> tuple[int, float | None] | None:
        """Return flash and mean instructions of a model in its quickest program, or None when none fits.

        The compiler for an AVR is not a wheel. So its flash is an upper bound, and instructions are not
        known. So it is where no compiler is installed.
        """
        from ethereal.device.program import execute, on_rows
        from ethereal.export import choose

        try:
            program = choose(load_model(self._folder, name), target=self._target, **form)
        except ValueError:
            return None
        chip = find_target(self._target)
        if chip.isa == "avr" or missing_tools():
            return program.flash_bytes, None
        executed = execute(on_rows(program, self._X), chip)
        return executed.elf.code_bytes + executed.elf.table_bytes, float(executed.counts.mean())

    def _forests(self) -> tuple[ForestPoint, ...]:
        """Measure the forests, the largest first."""
        grown = self._folder.load(Forest, LeftOut)
        if missing_tools(*_FOREST_TOOLS) and not self._rows.is_number:
            self._left_out["the forest on the board"] = (
                "emlearn is not installed. Install it with pip install 'ethereal-tm[study]'"
            )
            return ()
        if not isinstance(grown, Forest):
            return ()
        filled, points, most = forest.without_missing(forest.of_features(self._rows)), [], forest.SIZES[-1]
        rows_are_numbers = self._rows.is_number
        for one in (*reversed(grown.sizes), *grown.boosted):
            kept = "forest" if one is grown.sizes[-1] else "plain_forest" if one.trees == most else None
            if rows_are_numbers:
                kept = None if not one.tuned else "forest" if one.rate is None else "boosted"
            measured = partial(self._forest_alone, one, grown.random_state, filled)
            took = self._measure(f"the forest of {ForestShape(one.trees, one.leaves)}", measured, kept)
            if took is not None:
                size, instructions = took.flash_bytes, took.total_instructions
                is_boosted = one.rate is not None
                points.append(
                    ForestPoint(size, one.accuracy, instructions, one.trees, one.leaves, is_boosted)
                )
        return tuple(points)

    def _forest_alone(self, one: ForestScores, seed: int, filled: Rows) -> Measurement:
        from ethereal import device
        from ethereal.device.baselines import forest_program

        if self._rows.is_number:
            program = numbers.program_of(one, seed, filled, filled.X_test[: len(self._X)])
            return device.measure_program(program, self._target)
        grown = forest.again(one, seed, filled, find_target(self._target).flash_bytes)
        program = forest_program(grown, filled.X_test[: len(self._X)])
        alone = device.measure_program(program, self._target)
        if self._rows.front_end is None:
            return alone
        return device.from_samples(alone, self._rows.front_end.front_end_, self._X)


def versions() -> dict[str, str]:
    """Return versions of what a run depends on."""
    known = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for name in ("ethereal-tm", "numpy", "scikit-learn", *TOOLS):
        try:
            known[name] = version(name)
        except PackageNotFoundError:
            continue
    return known


def load_model(folder: RunFolder, name: str) -> Model:
    """Return a model of a run: "model" for the board, "machine" unpruned, "host" the whole classifier."""
    return Model.load(folder.path / f"{name}.etm")
