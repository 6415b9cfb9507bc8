"""The report of a run, from what its stages left in its folder."""

from __future__ import annotations

from typing import Any

from ethereal.pipeline import MACHINES, Rows, load_model
from ethereal.report.page import Report
from ethereal.runfolder import RunFolder

_NODE_BYTES = 8  # of a forest in C: feature, threshold, two children as emlearn packs them


def report_of(folder: RunFolder, rows: Rows) -> Report:
    """Everything a finished run has to show."""
    results = {stage: folder.result(stage) for stage in (*MACHINES, "forest", "facts")}
    missing = [stage for stage, found in results.items() if found is None]
    if missing:
        raise ValueError(
            f"{folder.path} is no finished run: {', '.join(missing)} missing; run it again to go on"
        )
    vanilla, ethereal, forest, facts = (results[k] or {} for k in (*MACHINES, "forest", "facts"))
    machines = {"ETHEREAL": ethereal, "vanilla": vanilla}
    return Report(
        title=rows.name,
        subtitle=f"{len(rows.X_train):,} training rows, {len(rows.X_test):,} test rows ({rows.split}), "
        f"{rows.X_train.shape[1]} features, {facts['classes']} classes",
        model=load_model(folder, "ethereal"),
        X_test=rows.X_test,
        y_test=rows.y_test,
        headline=headline(ethereal, vanilla, forest),
        headline_note="Test rows were used once, after the epoch had been chosen on validation rows.",
        history={name: result["history"] for name, result in machines.items()},
        chosen={name: result["chosen_epoch"] for name, result in machines.items()},
        sizes=[
            *_sizes("ETHEREAL", ethereal),
            *_sizes("vanilla", vanilla),
            (f"forest, {forest['trees']} trees", _NODE_BYTES * forest["nodes"], 100 * forest["accuracy"]),
        ],
        snippets=snippets(folder, rows),
        facts={"command": facts["command"], "folder": str(folder.path), **facts["versions"]},
        image_shape=rows.image_shape,
    )


def headline(
    ethereal: dict[str, Any], vanilla: dict[str, Any], forest: dict[str, Any]
) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Cards: the ETHEREAL machine's figure, and the others' beside it."""
    fewer = 100 * (1 - ethereal["includes"] / max(vanilla["includes"], 1))
    return [
        (
            "Accuracy on test rows",
            _percent(ethereal["accuracy"]),
            [("vanilla", _percent(vanilla["accuracy"])), ("forest", _percent(forest["accuracy"]))],
        ),
        (
            "Includes",
            f"{ethereal['includes']:,}",
            [("vanilla", f"{vanilla['includes']:,}"), ("fewer", f"{fewer:.0f} %")],
        ),
        (
            "Includes, simplified",
            f"{ethereal['simplified']['includes']:,}",
            [("vanilla", f"{vanilla['simplified']['includes']:,}")],
        ),
        (
            "Bytes, compact code",
            f"{ethereal['bytes']['compact']:,}",
            [
                ("as REDRESS words", f"{ethereal['bytes_trained'].get('redress', 0):,.0f}"),
                ("vanilla, compact", f"{vanilla['bytes']['compact']:,}"),
            ],
        ),
        (
            "Training, rows per second",
            f"{ethereal['rows_per_second']:,.0f}",
            [("vanilla", f"{vanilla['rows_per_second']:,.0f}")],
        ),
    ]


def snippets(folder: RunFolder, rows: Rows) -> list[tuple[str, str]]:
    """Code to paste: the model in Python and on the command line."""
    path = folder.path / "ethereal.etm"
    return [
        (
            "Python",
            f"from ethereal import Model\n\nmodel = Model.load({str(path)!r})\n"
            f"labels = model.predict(X)        # X: rows x {rows.X_train.shape[1]} features\n"
            "print(model.describe(max_rules=3))\nprint(model.explain(X[0]))",
        ),
        (
            "Command line",
            f"ethereal inspect {path} --rules\nethereal predict {path} data.csv --out labels.csv",
        ),
    ]


def _sizes(name: str, result: dict[str, Any]) -> list[tuple[str, float, float]]:
    accuracy = 100 * result["accuracy"]
    codes = {"compact": result["bytes"]["compact"], "REDRESS": result["bytes_trained"].get("redress")}
    return [(f"{name}, {code}", float(size), accuracy) for code, size in codes.items() if size]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
