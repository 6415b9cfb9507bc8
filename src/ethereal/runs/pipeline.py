"""The stages of a run: learn, prune, grow a forest beside it, export, and measure on the emulated core.

Each stage leaves its result in the run's folder, so that an interrupted run continues and `report` can make
the page again without training.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.messages import Progress
from ethereal.chips.targets import find_target
from ethereal.chips.toolchain import TOOLS, missing_tools
from ethereal.compress.curve import PruneRows, prune_at
from ethereal.datasets.rows import Rows
from ethereal.model import Model
from ethereal.runs import forest, sensor
from ethereal.runs.folder import RunFolder
from ethereal.runs.kernels import offered_and_gains
from ethereal.runs.sample import MOST_ROWS_OF_SPLIT, chosen_rows
from ethereal.runs.scores import scores
from ethereal.runs.tuned_forest import ForestShape
from ethereal.train import checkpoint
from ethereal.train.classifier import EtherealClassifier
from ethereal.train.unknown import calibrated
from ethereal.tuning.budget import Budget
from ethereal.tuning.choice import Neighbour, PrunedModel, neighbours
from ethereal.tuning.frontiers import Train, for_board, machines_for
from ethereal.tuning.machines import committee

TYPICAL_ROWS = 500  # training rows that the exporter arranges its tests by
DEVICE_ROWS = 100  # test rows executed on the board
_CURVE_POINTS = 8  # models of the curve that are compiled for the page
_WORST_STEPS = 100_000  # that the board stage follows the code for, 5 to 20 s; `measure` follows it longer
_FOREST_TOOLS = ("emlearn",)
# What a run keeps of a measurement.
MEASURED = ("instructions", "booleanize_instructions", "total_instructions", "code_bytes", "table_bytes",
            "flash_bytes", "ram_bytes", "stack_bytes", "agreement", "estimated_cycles",
            "estimated_seconds", "estimated_joules", "worst_instructions", "worst_stack_bytes")  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What a run does."""

    make: Callable[[int], EtherealClassifier]  # the classifier, from how much it shows
    make_plain: Callable[[], EtherealClassifier]  # its machine alone, which is pruned
    budget: Budget
    seed: int
    with_forest: bool = True
    quiet: bool = False
    unknown: Mapping[str, float | None] | None = None  # the wanted accuracy or share of answers
    novelty: bool = False  # whether the model knows its training rows


def learn(folder: RunFolder, rows: Rows, plan: Plan, tell: Callable[[str], None]) -> None:
    """Train the classifier, prune its machine, and grow the forest beside it."""
    _told(folder, "learn", tell, lambda: _learn(folder, rows, plan))
    _told(folder, "prune", tell, lambda: _prune(folder, rows, plan))
    if plan.with_forest:
        found = _told(folder, "forest", tell, lambda: _forest(folder, rows, plan))
        if "left_out" in found:
            tell(f"forest: left out, because {found['left_out']}.")


def board(folder: RunFolder, rows: Rows, plan: Plan, tell: Callable[[str], None]) -> None:
    """Write the exports, execute the C on the emulated core, and measure the curve and the forests."""
    _told(folder, "board", tell, lambda: _board(folder, rows, plan, tell))


def _told(
    folder: RunFolder, stage: str, tell: Callable[[str], None], work: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    if folder.result(stage) is not None:
        tell(f"{stage}: kept from before.")
    return folder.stage(stage, work)


def _learn(folder: RunFolder, rows: Rows, plan: Plan) -> dict[str, Any]:
    clf, begin = plan.make(0 if plan.quiet else 1), time.perf_counter()
    with checkpoint.until_done(folder.path / "learn.checkpoint") as kept:
        checkpoint.fit_or_go_on(clf, rows.X_train, rows.y_train, kept, categories=rows.categories)
        clf.plain_model_.with_feature_names(rows.feature_names).save(folder.path / "machine.etm")
        whole = clf.model_.with_feature_names(rows.feature_names)
        whole.simplify().save(folder.path / "host.etm")
    return {
        **scores(whole.predict(rows.X_test), rows.y_test, rows.groups_test),
        "seconds": time.perf_counter() - begin,
        "history": clf.history_,
        "clauses": whole.n_clauses,
        "includes": whole.n_includes,
    }


def _prune(folder: RunFolder, rows: Rows, plan: Plan) -> dict[str, Any]:
    # Models of windows are large by their kernels, and several machines would use more of them.
    n_machines = machines_for(*rows.X_train.shape) if rows.front_end is None else 1

    def train(X: NDArray[Any], y: NDArray[Any]) -> Model:
        some = chosen_rows(y, MOST_ROWS_OF_SPLIT, plan.seed)
        X, y = (X, y) if len(some) == len(y) else (X[some], y[some])
        first = plan.make_plain().fit(X, y, categories=rows.categories)
        return committee(first, (X, y), n_machines, rows.categories)

    begin = time.perf_counter()
    if n_machines == 1:
        machine = load_model(folder, "machine")
    else:
        machine = train(rows.X_train, rows.y_train).with_feature_names(rows.feature_names)
    with Progress("prune", 1.0, quiet=plan.quiet) as bar:
        found = for_board(
            train,
            machine,
            rows.X_train,
            rows.y_train,
            budget=plan.budget,
            groups=rows.groups_train,
            seed=plan.seed,
            n_jobs=plan.make_plain().n_jobs,
            progress=lambda done, total: bar.show(done / total, f"step {done} of {total}"),
        )
    model = found.model.simplify().drop_unused_kernels()
    doubt = {} if plan.unknown is None else _calibrate(model, found.point.price, train, rows, plan)
    model = doubt.pop("model", model)
    if plan.novelty:
        model = model.with_seen(rows.X_train, rows.y_train, rows.groups_train)
    model.save(folder.path / "model.etm")
    curve, beside = _spread(found.curve), neighbours(found.curve, found.point)
    (folder.path / "curve").mkdir(exist_ok=True)
    for i, point in enumerate(curve):
        point.model.save(folder.path / "curve" / f"{i}.etm")
    for name, other in beside.items():
        other.point.model.save(folder.path / "curve" / f"{name}.etm")
    return {
        **scores(model.with_unknown(None).predict(rows.X_test), rows.y_test, rows.groups_test),
        **doubt,
        "people": sensor.per_group(model, rows),
        "teaching": sensor.teaching(model, rows),
        "groups_are": rows.groups_are,
        "seconds": time.perf_counter() - begin,
        "expected": found.point.accuracy,
        "held_out": found.held_out,
        "learned_from": len(rows.y_train),
        "clauses": model.n_clauses,
        "includes": model.n_includes,
        "bounds": _bounds(plan.budget),
        "form": _form(found.point),
        "neighbours": {name: _told_of(other) for name, other in beside.items()},
        "curve": [float((p.model.predict(rows.X_test) == rows.y_test).mean()) for p in curve],
    }


def _calibrate(model: Model, price: float, train: Train, rows: Rows, plan: Plan) -> dict[str, Any]:
    """Return the model that may answer "unknown", its margin, and how it does on test rows."""
    X, y = rows.X_train, rows.y_train

    def train_pruned(some: NDArray[np.intp], left_out: NDArray[np.intp]) -> Model:
        machine = train(X[some], y[some])
        known = left_out[np.isin(y[left_out], machine.classes)]
        own, others = (PruneRows.read(machine, X[part], y[part]) for part in (some, known))
        return prune_at(machine, own, others, "votes", price, plan.seed)

    assert plan.unknown is not None
    made, found = calibrated(model, train_pruned, X, y, rows.groups_train, seed=plan.seed, **plan.unknown)
    there = made.output.indices(made.class_sums(rows.X_test)) < made.n_classes
    right = made.predict(rows.X_test)[there] == rows.y_test[there]
    test = {"accuracy": float(right.mean()) if len(right) else None, "answered": float(there.mean())}
    return {"model": made, "unknown": {**found.as_dict(), "curve": found.curve, "test": test}}


def _told_of(other: Neighbour) -> dict[str, Any]:
    """Return what a run keeps of the model beside the chosen one. Figures are of held-out rows."""
    return {"accuracy": other.right / other.rows, "rows": other.rows, "more": other.more,
            "error": other.error}  # fmt: skip


def _form(point: PrunedModel) -> dict[str, Any]:
    """Return the options of the export that a bounded model was measured in."""
    took = point.footprint
    if took is None or took.layout is None:
        return {}
    return {"layout": took.layout} | (
        {} if took.clause_bytes is None else {"clause_bytes": took.clause_bytes}
    )


def _bounds(budget: Budget) -> dict[str, float]:
    bounds = {name: getattr(budget, name) for name in ("flash", "ram", "instructions")}
    return {name: value for name, value in bounds.items() if np.isfinite(value)}


def _spread(curve: tuple[PrunedModel, ...]) -> list[PrunedModel]:
    """Return a few models of a curve, evenly by the logarithm of their bytes, without empty ones."""
    voting = [point for point in curve if point.model.n_clauses]
    marks = np.log([point.estimate.bytes for point in voting])
    wanted = np.linspace(marks.min(), marks.max(), _CURVE_POINTS)
    return [voting[i] for i in sorted({int(np.abs(marks - mark).argmin()) for mark in wanted})]


def _forest(folder: RunFolder, rows: Rows, plan: Plan) -> dict[str, Any]:
    own = sum((folder.result(stage) or {}).get("seconds", 0.0) for stage in ("learn", "prune"))
    with Progress("forest", forest.SIZES[-1], quiet=plan.quiet) as bar:
        return forest.grow(
            rows.of_features(), plan.seed, own, lambda trees: bar.show(trees, f"{trees} trees")
        )


def _board(folder: RunFolder, rows: Rows, plan: Plan, tell: Callable[[str], None]) -> dict[str, Any]:
    """Measure the exported program and the others. What cannot be had is left out with its reason."""
    model, target = load_model(folder, "model"), plan.budget.target
    X, typical = rows.X_test[:DEVICE_ROWS], rows.X_train[:TYPICAL_ROWS]
    form = {"rows": typical, **(folder.result("prune") or {})["form"]}
    found: dict[str, Any] = {"target": target, "rows": len(X), "exported": None, "left_out": {}}
    found |= {"measured": {}, "curve": [], "forests": []}

    def attempt(name: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except (ValueError, ModuleNotFoundError) as error:  # too large, or not to be had in C
            found["left_out"][name] = str(error)
            folder.log(f"board: {name} left out: {error}")
            return None

    found["exported"] = attempt("the exported C", lambda: export_all(model, folder, target, form))
    found["neighbours"] = _neighbours_on_board(folder, target, form, X)
    if missing_tools():
        return found
    from ethereal import device

    if found["exported"] is not None:
        own = attempt("the model", lambda: device.measure(model, X, target, worst=_WORST_STEPS, **form))
        if own is not None:
            found["measured"]["model"] = kept_of(own)
        if rows.front_end is not None and find_target(target).isa != "avr":
            offered, gains = offered_and_gains(folder, rows.front_end.front_end_)
            total = None if own is None else own.total_instructions
            costs = attempt("kernels", lambda: sensor.kernel_costs(model, offered, target, total, gains))
            found["kernels"] = costs
    with Progress("board", 1.0, quiet=plan.quiet) as bar:
        accuracies = (folder.result("prune") or {})["curve"]
        for i, accuracy in enumerate(accuracies):
            bar.show(i / len(accuracies), f"model {i + 1} of {len(accuracies)} of the curve")
            costs = _costs_of(load_model(folder, f"curve/{i}"), target, X, rows=typical)
            if costs is not None:
                found["curve"].append([costs[0], accuracy, costs[1]])
        bar.show(1.0, "programs of the forests")
        if plan.with_forest:
            _forests_on_board(folder, rows, plan, X, found, attempt)
    return found


def _neighbours_on_board(
    folder: RunFolder, target: str, form: Mapping[str, Any], X: NDArray[Any]
) -> dict[str, Any]:
    """Return the next smaller and larger model with their flash, in the form of the exported one."""
    found = {}
    for name, told in (folder.result("prune") or {}).get("neighbours", {}).items():
        costs = _costs_of(load_model(folder, f"curve/{name}"), target, X, **form)
        if costs is not None:
            found[name] = {**told, "flash_bytes": costs[0], "instructions": costs[1]}
    return found


def _costs_of(model: Model, target: str, X: NDArray[Any], **form: Any) -> tuple[int, float | None] | None:
    """Return flash and mean instructions of a model in its quickest program, or None when none fits.

    The compiler for an AVR is not a wheel. So its flash is an upper bound, and instructions are not known. So
    it is where no compiler is installed.
    """
    from ethereal.device.program import execute, on_rows
    from ethereal.export import choose

    try:
        program = choose(model, target=target, **form)
    except ValueError:
        return None
    chip = find_target(target)
    if chip.isa == "avr" or missing_tools():
        return program.flash_bytes, None
    found = execute(on_rows(program, X), chip)
    return found.elf.code_bytes + found.elf.table_bytes, float(found.counts.mean())


def _forests_on_board(
    folder: RunFolder,
    rows: Rows,
    plan: Plan,
    X: NDArray[Any],
    found: dict[str, Any],
    attempt: Callable[[str, Callable[[], Any]], Any],
) -> None:
    from ethereal import device
    from ethereal.device.baselines import forest_program

    grown = folder.result("forest") or {}
    chip = find_target(plan.budget.target)
    if missing_tools(*_FOREST_TOOLS):
        found["left_out"]["the forest on the board"] = (
            "emlearn is not installed. Install it with pip install 'ethereal-tm[study]'"
        )
        return
    front_end = None if rows.front_end is None else rows.front_end.front_end_
    filled = forest.without_missing(rows.of_features())
    features = filled.X_test[: len(X)]
    for size in reversed(grown.get("sizes", ())):
        one = {**size, "random_state": grown["random_state"]}

        def measured(one: dict[str, Any] = one) -> Any:
            grown_again = forest.again(one, filled, chip.flash_bytes)
            program = forest_program(grown_again, features)
            alone = device.measure_program(program, chip.name)
            return alone if front_end is None else device.from_samples(alone, front_end, X)

        shape = ForestShape(size["trees"], size["leaves"])
        result = attempt(f"the forest of {shape}", measured)
        if result is not None:
            costs = result.flash_bytes, result.total_instructions
            found["forests"].append([costs[0], size["accuracy"], size["trees"], costs[1], size["leaves"]])
            if size is grown["sizes"][-1]:
                found["measured"]["forest"] = kept_of(result)
            elif size["trees"] == forest.SIZES[-1]:
                found["measured"]["plain_forest"] = kept_of(result)


def kept_of(measured: Any) -> dict[str, Any]:
    """Return what a run keeps of a measurement."""
    return {key: getattr(measured, key) for key in MEASURED} | {"name": measured.name}


def export_all(model: Model, folder: RunFolder, target: str, form: Mapping[str, Any]) -> str:
    """Write all exports, those in C with the options of `form`, and return the layout of the C."""
    from ethereal import export

    program = export.choose(model, target=target, **form)
    export.c(model, folder.path / "c", target=target, force=True, **form)
    export.arduino(model, folder.path / "arduino", target=target, force=True, **form)
    try:
        export.micropython(model, folder.path / "micropython", rows=form["rows"], force=True)
    except ValueError as error:  # more classes or Booleans than its tables hold
        folder.log(f"no MicroPython package: {error}")
    return program.layout


def versions() -> dict[str, str]:
    """Return versions of what a run depends on."""
    found = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for name in ("ethereal-tm", "numpy", "scikit-learn", *TOOLS):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def load_model(folder: RunFolder, name: str) -> Model:
    """Return a model of a run: "model" for the board, "machine" unpruned, "host" the whole classifier."""
    return Model.load(folder.path / f"{name}.etm")


def results(folder: RunFolder) -> Mapping[str, Any]:
    """Return the results of the stages of a finished run, those that it may lack as empty ones."""
    found = {stage: folder.result(stage) for stage in ("learn", "prune", "board", "facts")}
    missing = [stage for stage, result in found.items() if result is None]
    if missing:
        raise ValueError(
            f"{folder.path} is not a finished run: {', '.join(missing)} missing. Run it again to continue"
        )
    return {**found, "forest": folder.result("forest") or {"left_out": "--no-forest was given"}}


def is_balanced(folder: RunFolder) -> bool:
    """Whether a run visited rare classes as often as frequent ones."""
    return bool((folder.parameters() or {}).get("balanced"))


def rows_are(rows: Rows) -> str:
    """Return what a row is called."""
    return "rows" if rows.front_end is None else "windows"
