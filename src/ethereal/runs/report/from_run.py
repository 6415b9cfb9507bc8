"""The report of a run, from what its stages left in its folder."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethereal.base.options import with_flags
from ethereal.datasets.rows import Rows
from ethereal.export.page.payload import MOST_ROWS
from ethereal.model.engine import features_of
from ethereal.runs.options import FLAGS
from ethereal.runs.report.page import Report
from ethereal.runs.results import Board, CurvePoint, Pruned, Unknown
from ethereal.runs.sensor import cost_table, shown_windows
from ethereal.runs.table import beside_notes, unknown_note

if TYPE_CHECKING:
    from ethereal.runs.run import Run

_FAR_BELOW = 0.25  # the best accuracy. Models further below would only stretch the axis.


def report_of(run: Run, rows: Rows, more: Mapping[str, Any]) -> Report:
    """Return everything that a finished run has to show, with `more` fields of the page.

    Options are named as on the command line.
    """
    pruned, facts, model, table, gates = run.pruned, run.facts, run.model, run.table, run.board.gates
    times = 100.0 if pruned.errors is None else 1.0  # per cent, or R2
    notes = [*table.notes, *beside_notes(run)]  # which a terminal shows below the files
    return Report(
        title=rows.name,
        subtitle=_subtitle(rows, "a number" if rows.is_number else f"{len(pruned.classes)} classes"),
        model=model,
        X_test=features_of(model, rows.X_test),
        y_test=rows.y_test,
        command=f"{facts.command}, {facts.date}",
        table={**asdict(table), "notes": [with_flags(note, FLAGS) for note in notes]},
        sizes=_against(run.board, lambda one: one.flash_bytes, times)
        if gates is None
        else {"ethereal, pruned": [(luts, times * accuracy) for luts, accuracy in sorted(gates.curve)]},
        sizes_are="bytes of flash" if gates is None else "lookup tables",
        speeds=_against(run.board, lambda one: one.instructions, times),
        this=_this(run),
        unknown=_unknown(pruned.unknown),
        kernels=cost_table(run.board.kernels),
        people=_people(pruned),
        teaching=pruned.teaching,
        windows=None if model.front_end is None else shown_windows(model.front_end, rows.X_test[:MOST_ROWS]),
        snippets=snippets(run.folder, rows),
        facts={"command": facts.command, "date": facts.date, "folder": str(run.folder)} | facts.versions,
        image_shape=rows.image_shape,
        **more,
    )


def _against(
    board: Board, cost: Callable[[CurvePoint], float | None], times: float
) -> dict[str, list[tuple[float, float]]]:
    """Return accuracy, so many times, against a cost of our models and of the trees, where it is known."""
    best = max((one.accuracy for one in board.curve), default=0.0)
    boosted = [one for one in board.forests if one.boosted]
    shown = [one for one in board.curve if one.accuracy > best - _FAR_BELOW]
    series: dict[str, Sequence[CurvePoint]] = {"ethereal, pruned": shown}
    series["forest"] = [one for one in board.forests if not one.boosted]
    series["boosted trees"] = boosted
    by_model = {
        name: sorted((x, times * one.accuracy) for one in models if (x := cost(one)) is not None)
        for name, models in series.items()
    }
    return {name: points for name, points in by_model.items() if points}


def _this(run: Run) -> dict[str, tuple[float, float]]:
    """Return flash and instructions of the model of the run, each beside its accuracy in per cent."""
    times = 100 if run.pruned.errors is None else 1
    took, accuracy = run.board.measured.get("model"), times * run.pruned.accuracy
    if run.board.gates is not None:
        return {"sizes": (run.board.gates.estimated_luts, accuracy)}
    if took is None:
        return {}
    return {"sizes": (took.flash_bytes, accuracy), "speeds": (took.total_instructions, accuracy)}


def _unknown(unknown: Unknown | None) -> dict[str, Any] | None:
    """Return the curve of accuracy against the share of rows that are answered."""
    if unknown is None:
        return None
    points = [[100 * answered, 100 * accuracy] for _, accuracy, answered in unknown.curve]
    chosen = [100 * unknown.answered, 100 * unknown.accuracy]
    return {"note": unknown_note(unknown), "points": sorted(points), "chosen": chosen}


def _people(pruned: Pruned) -> dict[str, Any] | None:
    """Return the table of accuracy per group."""
    if len(pruned.people) < 2:
        return None
    accuracies = [100 * one.accuracy for one in pruned.people]
    return {
        "note": f"Test {pruned.groups_are} have from {min(accuracies):.1f} to {max(accuracies):.1f} %. New "
        "ones will differ as much.",
        "columns": [pruned.groups_are, "rows", "accuracy"],
        "rows": [[one.name, one.rows, f"{100 * one.accuracy:.1f} %"] for one in pruned.people],
    }


def _subtitle(rows: Rows, answer: str) -> str:
    """Return how many rows or windows there are, of what."""
    kind, columns = ("rows", "features") if rows.front_end is None else ("windows", "axes")
    return (
        f"{len(rows.X_train):,} training {kind}, {len(rows.X_test):,} test {kind} ({rows.how}), "
        f"{rows.X_train.shape[-1]} {columns}, {answer}"
    )


def snippets(folder: Path, rows: Rows) -> list[tuple[str, str]]:
    """Return code to paste for Python, for a board and for the command line."""
    path = folder / "model.etm"
    typed = shlex.quote(str(path))
    if rows.front_end is None:
        reads = f"rows x {rows.X_train.shape[1]} features"
        in_c = "unsigned label = model_predict(features);"
        in_arduino = "Serial.println(model_class_name(model_predict(features)));"
        in_python = "label = model.predict(features)\nlabels = model.predict_many(rows)"
        if rows.is_number:
            in_c = "float number = model_value(features);"
            in_arduino = "Serial.println(model_value(features));"
            in_python = "number = model.value(features)"
    else:
        front_end = rows.front_end.front_end_
        reads = f"windows x {front_end.window} samples x {len(front_end.axes)} axes"
        in_c = "int label = model_push(sample); /* or -1 */"
        in_arduino = (
            "int label = model_push(sample);\nif (label >= 0) Serial.println(model_class_name(label));"
        )
        in_python = "label = model.push(sample)  # or None"
    c, arduino, micropython, verilog = (folder / name for name in ("c", "arduino", "micropython", "verilog"))
    boards = {
        c: ("C, on a board", f"/* {c}: model.h, model.c, a self-test, build files and a README */\n"
            f'#include "model.h"\n\n{in_c}'),
        arduino: ("Arduino, PlatformIO", f"/* {arduino}: a library with examples. Copy it to `libraries`, "
                  f"or to `lib` of the project */\n#include <model.h>\n\n{in_arduino}"),
        micropython: ("MicroPython", f"# {micropython}: copy model.py to the board, or all of it with a "
                      f"self-test:\n#   ethereal deploy {typed} --port /dev/ttyACM0\n"
                      f"import model\n\n{in_python}"),
        verilog: ("Verilog, in an FPGA", f"# {verilog}: model.v with AXI4-Stream on both sides, a test "
                  "bench and a README\nmake sim      # needs iverilog\nmake lint     # and verilator\n"
                  "make ice40    # yosys and nextpnr"),
    }  # fmt: skip
    python = (
        f"from ethereal import Model\n\nmodel = Model.load({str(path)!r})\n"
        f"labels = model.predict(X)        # X: {reads}\n"
        "print(model.describe(max_rules=3))\nprint(model.explain(X[0]))"
    )
    on_boards = [code for place, code in boards.items() if place.is_dir()]
    return [("Python", python), *on_boards, ("Command line", words_to_use(path))]


def words_to_use(model: Path) -> str:
    """Return the commands that read a model file."""
    typed = shlex.quote(str(model))
    return f"ethereal inspect {typed} --rules\nethereal predict {typed} data.csv --out labels.csv"
