"""The whole stream on one data set: Booleanize, train, simplify, encode, export, measure, report.

Each stage leaves its result in the run's folder, so that an interrupted run continues and `report` can make
the page again without training.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from ethereal.datasets.rows import Rows
from ethereal.device.program import CProgram
from ethereal.model import Model
from ethereal.model import codes as encode
from ethereal.runs.folder import RunFolder
from ethereal.train import checkpoint
from ethereal.train.classifier import EtherealClassifier

if TYPE_CHECKING:
    from ethereal.export import Program

_TYPICAL_ROWS = 500  # training rows that the exporter arranges its tests by
_NODE_BYTES = 6  # of a forest's code, at least
# What a run keeps of a measurement.
_MEASURED = ("instructions", "booleanize_instructions", "total_instructions", "code_bytes", "table_bytes",
             "flash_bytes", "ram_bytes", "stack_bytes", "agreement", "estimated_seconds",
             "estimated_joules")  # fmt: skip
MACHINES = {"vanilla": "vanilla", "ethereal": "ETHEREAL"}  # stage -> name shown


@dataclass(frozen=True)
class Rivals:
    """What a run is compared with. It is handed in, because rivals belong to the study."""

    forest: Callable[..., Any]  # makes a forest that chooses its size
    forest_program: Callable[[Any, NDArray[Any]], CProgram]  # of a fitted forest and rows
    scan: Callable[[Model, NDArray[Any]], CProgram]  # the paper's scan of REDRESS words


@dataclass(frozen=True)
class Plan:
    """What a run does: how its machines and its forest are made, and what is measured."""

    make: Callable[[int | None], EtherealClassifier]  # from `exclude_every`, None for vanilla
    exclude_every: int
    forest: Mapping[str, Any]  # keywords of ForestClassifier
    target: str  # core of the board
    rivals: Rivals
    device_rows: int = 100  # test rows executed on it


def train(folder: RunFolder, rows: Rows, plan: Plan, tell: Callable[[str], None]) -> None:
    """Train both machines and the forest. Models become `.etm` files, the rest stage results."""
    for stage, name in MACHINES.items():
        tell(f"train {name}")
        every = plan.exclude_every if stage == "ethereal" else None
        folder.stage(stage, lambda stage=stage, every=every: _machine(folder, rows, plan, stage, every))  # type: ignore[misc]
    tell("train a forest to compare with")
    forest = folder.stage("forest", lambda: _forest(rows, plan))
    if "left_out" in forest:
        tell(f"the forest is left out: {forest['left_out']}")


def deploy(folder: RunFolder, rows: Rows, plan: Plan, tell: Callable[[str], None]) -> None:
    """Write the exports. Execute the C library, and what it is compared with, on the emulated core."""
    tell(f"export C and run it on an emulated {plan.target}")
    if (found := folder.result("device")) is not None and "exported" not in found:
        folder.forget("device")  # written before the exported program was recorded
    folder.stage("device", lambda: _device(folder, rows, plan))


def _device(folder: RunFolder, rows: Rows, plan: Plan) -> dict[str, Any]:
    """Measure the program that is exported and the others. What cannot be had is left out with its reason."""
    from ethereal import device
    from ethereal.export import LAYOUTS

    model, trained, vanilla = (
        load_model(folder, k) for k in ("ethereal", "ethereal-trained", "vanilla-trained")
    )
    X, typical = rows.X_test[: plan.device_rows], rows.X_train[:_TYPICAL_ROWS]
    flash = device.find_target(plan.target).flash_bytes
    left_out: dict[str, str] = {}  # name: why

    def attempt(name: str, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except ValueError as error:  # too large for the layout or the board, or not to be had in C
            left_out[name] = str(error)
            folder.log(f"device: {name} left out: {error}")
            return None

    program = attempt("C", lambda: _export(model, folder, typical, plan.target))
    layout: Any = "auto" if program is None else program.layout
    work: dict[str, Callable[[], Any]] = {
        name: lambda name=name: device.measure(model, X, plan.target, name, rows=typical)  # type: ignore[misc]
        for name in LAYOUTS
    }
    if program is not None:
        work[layout] = lambda: device.measure_program(device.on_rows(program, X), plan.target)
    work |= {
        "vanilla scan": lambda: device.measure_program(plan.rivals.scan(vanilla, X), plan.target),
        "redress": lambda: device.measure_program(plan.rivals.scan(trained, X), plan.target),
        "vanilla": lambda: device.measure(vanilla, X, plan.target, layout, rows=typical),
        "forest": lambda: device.measure_program(_forest_on_board(folder, rows, plan, X, flash), plan.target),
    }
    measured = {name: attempt(name, make) for name, make in work.items()}
    return {
        "target": plan.target,
        "rows": len(X),
        "exported": layout if measured.get(layout) is not None else None,
        "left_out": left_out,
        "measured": [
            {"name": name} | {key: getattr(m, key) for key in _MEASURED}
            for name, m in measured.items()
            if m is not None
        ],
    }


def _export(model: Model, folder: RunFolder, typical: NDArray[Any], target: str) -> Program:
    """Write all exports, and return the program that they hold."""
    from ethereal import export

    program = export.choose(model, target=target, rows=typical)
    export.c(model, folder.path / "c", rows=typical, target=target, force=True)
    export.arduino(model, folder.path / "arduino", rows=typical, target=target, force=True)
    try:
        export.micropython(model, folder.path / "micropython", rows=typical, force=True)
    except ValueError as error:  # more classes or Booleans than its tables hold
        folder.log(f"no MicroPython package: {error}")
    return program


def _machine(folder: RunFolder, rows: Rows, plan: Plan, stage: str, every: int | None) -> dict[str, Any]:
    clf = plan.make(every)
    with checkpoint.until_done(folder.path / f"{stage}.checkpoint") as kept:
        checkpoint.fit_or_go_on(clf, rows.X_train, rows.y_train, kept, categories=rows.categories)
        trained = clf.model_.with_feature_names(rows.feature_names)
        model = trained.simplify()
        model.save(folder.path / f"{stage}.etm")
        trained.save(folder.path / f"{stage}-trained.etm")
    epochs = [r for r in clf.history_ if r["phase"] == "train"]
    return {
        "accuracy": float((model.predict(rows.X_test) == rows.y_test).mean()),
        "history": clf.history_,
        "chosen_epoch": clf.best_epoch_,
        "seconds": sum(r["seconds"] for r in clf.history_),
        "rows_per_second": len(epochs) * len(rows.X_train) / sum(r["seconds"] for r in epochs),
        "includes": trained.n_includes,
        "includes_per_clause": trained.n_includes / trained.n_clauses,
        "clauses": trained.n_clauses,
        "simplified": {"includes": model.n_includes, "clauses": model.n_clauses},
        "bytes": encode.sizes(model),
        "bytes_trained": encode.sizes(trained),
    }


def _forest(rows: Rows, plan: Plan) -> dict[str, Any]:
    """Return the forest's figures, or why there are none. A comparison must not stop the run."""
    why = _why_no_forest(rows)
    if why is not None:
        return {"left_out": why}
    fewest = int(np.unique(rows.y_train, return_counts=True)[1].min())
    keywords = {**plan.forest, "cv": min(plan.forest.get("cv", 3), fewest)}
    try:
        clf = plan.rivals.forest(**keywords).fit(rows.X_train, rows.y_train)
    except (ValueError, MemoryError) as error:
        return {"left_out": str(error)}
    nodes = sum(tree.tree_.node_count for tree in clf.forest_.estimators_)
    return {
        "accuracy": float(clf.score(rows.X_test, rows.y_test)),
        "trees": int(clf.n_trees_),
        "depth": int(clf.depth_),
        "nodes": int(nodes),
        "random_state": clf.random_state,
    }


def _why_no_forest(rows: Rows) -> str | None:
    """Return why a forest cannot learn from these rows, with the column, or None when it can."""
    labels, counts = np.unique(rows.y_train, return_counts=True)
    if counts.min() < 2:
        return f"label {labels.tolist()[counts.argmin()]!r} has one training row, too few to cross-validate"
    for X in (rows.X_train, rows.X_test):
        if X.dtype.kind != "f":
            continue
        beyond = (np.abs(X) > np.finfo(np.float32).max).any(axis=0)  # infinity too, but not NaN
        if beyond.any():
            f = int(np.argmax(beyond))
            name = f"column {f + 1}" if rows.feature_names is None else f"column {rows.feature_names[f]!r}"
            return f"{name} has values that 32-bit floats cannot hold, infinity or beyond 3.4e38"
    return None


def _forest_on_board(folder: RunFolder, rows: Rows, plan: Plan, X: NDArray[Any], flash: int) -> Any:
    """Return the forest of the run, made again from its seed, as a program."""
    found = folder.result("forest") or {}
    if "left_out" in found:
        raise ValueError(found["left_out"])
    if np.isnan(X.astype(float)).any():
        raise ValueError("forests through emlearn take no missing values")
    if found["nodes"] * _NODE_BYTES > flash:  # which a compiler would find out in many minutes
        raise ValueError(f"its {found['nodes']:,} nodes do not fit a flash of {flash:,} bytes")
    forest = RandomForestClassifier(
        found["trees"], max_depth=found["depth"], random_state=found["random_state"]
    )
    return plan.rivals.forest_program(forest.fit(rows.X_train, rows.y_train), X)


def versions() -> dict[str, str]:
    """Return versions of what a run depends on."""
    found = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for name in ("ethereal-tm", "numpy", "scikit-learn", "ziglang", "unicorn"):
        found[name] = version(name)
    return found


def load_model(folder: RunFolder, stage: str) -> Model:
    """Return a model of a finished stage, "ethereal" (simplified) or "ethereal-trained"."""
    return Model.load(folder.path / f"{stage}.etm")
