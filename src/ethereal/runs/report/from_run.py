"""The report of a run, from what its stages left in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ethereal.datasets.rows import Rows
from ethereal.model.engine import features_of
from ethereal.runs.folder import RunFolder
from ethereal.runs.paper import papers
from ethereal.runs.pipeline import is_balanced, load_model, results, rows_are
from ethereal.runs.report.page import MOST_ROWS, Report
from ethereal.runs.sensor import cost_table, shown_windows
from ethereal.runs.sizes import beside_notes
from ethereal.runs.table import doubt_note, summary

_FAR_BELOW = 0.25  # the best accuracy. Models further below would only stretch the axis.


def report_of(folder: RunFolder, rows: Rows) -> Report:
    """Return everything that a finished run has to show."""
    found = results(folder)
    facts, board = found["facts"], found["board"]
    model = load_model(folder, "model")
    table = summary(found, rows.how, is_balanced=is_balanced(folder), rows_are=rows_are(rows))
    table["notes"] += beside_notes(found)  # which a terminal shows below the files
    return Report(
        title=rows.name,
        subtitle=_subtitle(rows, len(found["prune"]["classes"])),
        model=model,
        X_test=features_of(model, rows.X_test),
        y_test=rows.y_test,
        command=f"{facts['command']}, {facts['date']}",
        table=table,
        sizes=_against(board, 0, 0),
        speeds=_against(board, 2, 3),
        this=_this(found),
        unknown=_unknown(found["prune"].get("unknown")),
        kernels=cost_table(board.get("kernels")),
        people=_people(found["prune"]),
        teaching=found["prune"].get("teaching"),
        windows=None if model.front_end is None else shown_windows(model.front_end, rows.X_test[:MOST_ROWS]),
        snippets=snippets(folder, rows),
        facts={"command": facts["command"], "date": facts["date"], "folder": str(folder.path)}
        | facts["versions"],
        image_shape=rows.image_shape,
        **{name: part for one in papers() for name, part in one.of_report(folder).items()},
    )


def _against(board: Mapping[str, Any], of_ours: int, of_forest: int) -> dict[str, list[tuple[float, float]]]:
    """Return accuracy in per cent against a figure of our models and of the forests, where it is known."""
    best = max((accuracy for _, accuracy, *_ in board["curve"]), default=0.0)
    shown = [one for one in board["curve"] if one[1] > best - _FAR_BELOW]
    series = {"ethereal, pruned": (shown, of_ours), "forest": (board["forests"], of_forest)}
    found = {
        name: sorted((one[at], 100 * one[1]) for one in models if len(one) > at and one[at] is not None)
        for name, (models, at) in series.items()
    }
    return {name: points for name, points in found.items() if points}


def _this(found: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return flash and instructions of the model of the run, each beside its accuracy in per cent."""
    took, accuracy = found["board"]["measured"].get("model"), 100 * found["prune"]["accuracy"]
    if took is None:
        return {}
    return {"sizes": (took["flash_bytes"], accuracy), "speeds": (took["total_instructions"], accuracy)}


def _unknown(doubt: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the curve of accuracy against the share of rows that are answered."""
    if doubt is None:
        return None
    points = [[100 * answered, 100 * accuracy] for _, accuracy, answered in doubt["curve"]]
    chosen = [100 * doubt["answered"], 100 * doubt["accuracy"]]
    return {"note": doubt_note(doubt), "points": sorted(points), "chosen": chosen}


def _people(prune: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the table of accuracy per group."""
    if len(prune.get("people", ())) < 2:
        return None
    groups = prune["groups_are"]
    accuracies = [100 * accuracy for _, _, accuracy in prune["people"]]
    return {
        "note": f"Test {groups} have from {min(accuracies):.1f} to {max(accuracies):.1f} %. New ones will "
        "differ as much.",
        "columns": [groups, "rows", "accuracy"],
        "rows": [[name, n, f"{100 * accuracy:.1f} %"] for name, n, accuracy in prune["people"]],
    }


def _subtitle(rows: Rows, n_classes: int) -> str:
    """Return how many rows or windows there are, of what."""
    kind, columns = ("rows", "features") if rows.front_end is None else ("windows", "axes")
    return (
        f"{len(rows.X_train):,} training {kind}, {len(rows.X_test):,} test {kind} ({rows.how}), "
        f"{rows.X_train.shape[-1]} {columns}, {n_classes} classes"
    )


def snippets(folder: RunFolder, rows: Rows) -> list[tuple[str, str]]:
    """Return code to paste for Python, for a board and for the command line."""
    path = folder.path / "model.etm"
    boards = [
        (
            "c",
            "C, on a board",
            "/* {}: model.h, model.c, a self-test, build files and a README */\n"
            '#include "model.h"\n\nunsigned label = model_predict(features);',
        ),
        (
            "arduino",
            "Arduino, PlatformIO",
            "/* {}: a library with examples. Copy it to `libraries`, or to `lib` of the project */\n"
            "#include <model.h>\n\nSerial.println(model_class_name(model_predict(features)));",
        ),
        (
            "micropython",
            "MicroPython",
            "# {}: copy model.py to the board, or all of it with a self-test:\n"
            f"#   ethereal deploy {path} --port /dev/ttyACM0\n"
            "import model\n\nlabel = model.predict(features)\nlabels = model.predict_many(rows)",
        ),
    ]
    reads = f"rows x {rows.X_train.shape[1]} features"
    calls = {}
    if rows.front_end is not None:
        own = rows.front_end.front_end_
        reads = f"windows x {own.window} samples x {len(own.axes)} axes"
        calls = {
            "unsigned label = model_predict(features);": "int label = model_push(sample); /* or -1 */",
            "Serial.println(model_class_name(model_predict(features)));": "int label = model_push(sample);\n"
            "if (label >= 0) Serial.println(model_class_name(label));",
            "label = model.predict(features)\nlabels = model.predict_many(rows)": "label = model.push(sample)"
            "  # or None",
        }

    def text_of(name: str, text: str) -> str:
        for call, instead in calls.items():
            text = text.replace(call, instead)
        return text.replace("{}", str(folder.path / name))

    on_boards = [
        (title, text_of(name, text)) for name, title, text in boards if (folder.path / name).is_dir()
    ]
    return [
        (
            "Python",
            f"from ethereal import Model\n\nmodel = Model.load({str(path)!r})\n"
            f"labels = model.predict(X)        # X: {reads}\n"
            "print(model.describe(max_rules=3))\nprint(model.explain(X[0]))",
        ),
        *on_boards,
        (
            "Command line",
            f"ethereal inspect {path} --rules\nethereal predict {path} data.csv --out labels.csv",
        ),
    ]
