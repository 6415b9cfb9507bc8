"""The paper's two machines, vanilla and ETHEREAL, which `ethereal run --paper` trains and measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ethereal.chips.toolchain import missing_tools
from ethereal.datasets.rows import Rows
from ethereal.model import codes as encode
from ethereal.runs.folder import RunFolder
from ethereal.runs.pipeline import DEVICE_ROWS, TYPICAL_ROWS, Rivals, kept_of, load_model
from ethereal.train import checkpoint
from ethereal.train.classifier import EtherealClassifier

MACHINES = {"vanilla": "vanilla", "ethereal": "ETHEREAL"}  # stage -> name shown


@dataclass(frozen=True)
class PaperPlan:
    """How the two machines are made."""

    make: Callable[[bool], EtherealClassifier]  # from whether it is vanilla
    target: str
    rivals: Rivals


def train(folder: RunFolder, rows: Rows, plan: PaperPlan, tell: Callable[[str], None]) -> None:
    """Train both machines and measure their programs."""
    for stage, name in MACHINES.items():
        kept = ": kept from before" if folder.result(stage) is not None else ""
        tell(f"train {name}, with the paper's settings{kept}")
        folder.stage(stage, lambda stage=stage: _machine(folder, rows, plan, stage))  # type: ignore[misc]
    folder.stage("device", lambda: _device(folder, rows, plan))


def _device(folder: RunFolder, rows: Rows, plan: PaperPlan) -> dict[str, Any]:
    """Measure both machines in the layouts and in the paper's scan. What cannot be had says why."""
    from ethereal import device
    from ethereal.export import LAYOUTS, choose

    left_out: dict[str, str] = {}  # name: why
    found: dict[str, Any] = {
        "target": plan.target,
        "rows": min(DEVICE_ROWS, len(rows.y_test)),
        "exported": None,
        "left_out": left_out,
        "measured": [],
    }
    if missing_tools():
        return found
    model, trained, vanilla = (
        load_model(folder, k) for k in ("ethereal", "ethereal-trained", "vanilla-trained")
    )
    X, typical = rows.X_test[:DEVICE_ROWS], rows.X_train[:TYPICAL_ROWS]
    work: dict[str, Callable[[], Any]] = {
        name: lambda name=name: device.measure(model, X, plan.target, name, rows=typical)  # type: ignore[misc]
        for name in LAYOUTS
    }
    try:
        layout = found["exported"] = choose(model, target=plan.target, rows=typical).layout
    except ValueError as error:
        layout, left_out["C"] = "auto", str(error)
    work |= {
        "vanilla scan": lambda: device.measure_program(plan.rivals.scan(vanilla, X), plan.target),
        "scan": lambda: device.measure_program(plan.rivals.scan(trained, X), plan.target),
        "vanilla": lambda: device.measure(vanilla, X, plan.target, layout, rows=typical),
    }
    for name, make in work.items():
        try:
            found["measured"].append(kept_of(make()) | {"name": name})
        except ValueError as error:  # too large for the layout or the board, or not to be had in C
            left_out[name] = str(error)
            folder.log(f"device: {name} left out: {error}")
    return found


def _machine(folder: RunFolder, rows: Rows, plan: PaperPlan, stage: str) -> dict[str, Any]:
    clf = plan.make(stage == "vanilla")
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
