"""The report of a run, from what its stages left in its folder."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ethereal.datasets.rows import Rows
from ethereal.export.c99.layouts import LAYOUTS, find_layout
from ethereal.runs.folder import RunFolder
from ethereal.runs.pipeline import MACHINES, load_model
from ethereal.runs.report.page import Report

DEVICE_COLUMNS = ("program", "instructions", "flash", "RAM", "stack", "agrees")
_SCANS = {"redress": "ETHEREAL", "vanilla scan": "vanilla"}  # the paper's way to evaluate a machine
# In tables, after the program that is exported.
_ORDER = (*LAYOUTS, "vanilla", "forest", "redress", "vanilla scan")


def report_of(folder: RunFolder, rows: Rows) -> Report:
    """Return everything that a finished run has to show."""
    results = {stage: folder.result(stage) for stage in (*MACHINES, "forest", "device", "facts")}
    if "exported" not in (results["device"] or {}):  # not there, or of a version that did not record it
        results["device"] = None
    missing = [stage for stage, found in results.items() if found is None]
    if missing:
        raise ValueError(
            f"{folder.path} is not a finished run: {', '.join(missing)} missing. Run it again to continue"
        )
    vanilla, ethereal, forest, device, facts = (results[k] or {} for k in results)
    machines = {"ETHEREAL": ethereal, "vanilla": vanilla}
    return Report(
        title=rows.name,
        subtitle=f"{len(rows.X_train):,} training rows, {len(rows.X_test):,} test rows ({rows.how}), "
        f"{rows.X_train.shape[1]} features, {facts['classes']} classes",
        model=load_model(folder, "ethereal"),
        X_test=rows.X_test,
        y_test=rows.y_test,
        headline=headline(ethereal, vanilla, forest, device),
        headline_note="Test rows were used once, after the epoch had been chosen on validation rows.",
        history={name: result["history"] for name, result in machines.items()},
        chosen={name: result["chosen_epoch"] for name, result in machines.items()},
        sizes=[
            *_sizes("ETHEREAL", ethereal),
            *_sizes("vanilla", vanilla),
            *_flash(device, {"vanilla": vanilla, "vanilla scan": vanilla, "forest": forest}, ethereal),
        ],
        device={
            "note": f"Exported C, compiled for a {device['target']} and executed in an emulator on "
            f"{device['rows']} test rows. Instructions are per row, from features to class: Booleanizing is "
            "counted, except in the paper's scans. Flash is that of a prediction and of the check at "
            "start-up, with all code. At 216 MHz and one instruction per cycle, 1000 instructions take about "
            "5 microseconds. That time is an estimate."
            + "".join(f" Left out: {_label(k, device)} ({why})." for k, why in device["left_out"].items()),
            "columns": list(DEVICE_COLUMNS),
            "rows": device_rows(device),
        },
        snippets=snippets(folder, rows),
        facts={"command": facts["command"], "folder": str(folder.path), **facts["versions"]},
        image_shape=rows.image_shape,
    )


def history_csv(history: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return all records of all machines, a line each.

    >>> history_csv({"vanilla": [{"epoch": 1, "phase": "train"}]}).splitlines()
    ['machine,epoch,phase', 'vanilla,1,train']
    """
    text = io.StringIO()
    records = [{"machine": name, **record} for name, found in history.items() for record in found]
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def headline(
    ethereal: dict[str, Any], vanilla: dict[str, Any], forest: dict[str, Any], device: dict[str, Any]
) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return cards with the figures of the exported program, and those of the others beside them.

    The vanilla machine is compared in the same layout, so that the cards compare machines.
    """
    saved = 100 * (1 - ethereal["includes"] / max(vanilla["includes"], 1))
    return [
        (
            "Accuracy on test rows",
            _percent(ethereal["accuracy"]),
            [
                (name, _percent(found["accuracy"]))
                for name, found in (("vanilla", vanilla), ("forest", forest))
                if "left_out" not in found
            ],
        ),
        *_board_cards(device),
        (
            "Includes",
            f"{ethereal['includes']:,}",
            [
                ("vanilla", f"{vanilla['includes']:,}"),
                ("fewer" if saved >= 0 else "more", f"{abs(saved):.0f} %"),
            ],
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
                ("as REDRESS words", redress_bytes(ethereal)),
                ("vanilla, compact", f"{vanilla['bytes']['compact']:,}"),
            ],
        ),
        (
            "Training, rows per second",
            f"{ethereal['rows_per_second']:,.0f}",
            [("vanilla", f"{vanilla['rows_per_second']:,.0f}")],
        ),
    ]


def _board_cards(device: dict[str, Any]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return instructions, flash and RAM of the exported program, or no card without one."""
    board = {m["name"]: m for m in device["measured"]}
    own = board.get(device["exported"])
    if own is None:
        return []
    others = [(_label(k, device), board[k]) for k in ("vanilla", "forest") if k in board]
    figures: dict[str, Callable[[dict[str, Any]], str]] = {
        f"Instructions per row, {device['target']}": lambda m: f"{m['total_instructions']:,.0f}",
        "Flash, code included": lambda m: f"{m['flash_bytes']:,} bytes",
        "RAM, stack included": lambda m: f"{m['ram_bytes'] + m['stack_bytes']:,} bytes",
    }
    return [
        (f"{title}, layout {device['exported']}", show(own), [(name, show(m)) for name, m in others])
        for title, show in figures.items()
    ]


def closing_lines(device: dict[str, Any]) -> list[str]:
    """Return what could not be measured and why, then the exported program, for the end of `run`."""
    lines = [f"left out: {_label(name, device)} ({why})" for name, why in device["left_out"].items()]
    own = next((m for m in device["measured"] if m["name"] == device["exported"]), None)
    if own is not None:
        lines.append(
            f"exported: layout {own['name']}, {own['total_instructions']:,.0f} instructions per row, "
            f"{own['flash_bytes']:,} bytes of flash, {own['ram_bytes'] + own['stack_bytes']:,} bytes of RAM"
        )
    return lines


def redress_bytes(result: dict[str, Any]) -> str:
    """Return the size of a machine in REDRESS words, as trained.

    >>> redress_bytes({"bytes_trained": {"redress": 1234}}), redress_bytes({"bytes_trained": {}})
    ('1,234', 'too many Booleans')
    """
    size = result["bytes_trained"].get("redress")
    return "too many Booleans" if size is None else f"{size:,.0f}"


def device_rows(device: dict[str, Any]) -> list[list[str]]:
    """Return the device table's rows, as texts, the exported program first."""
    first = (device["exported"], *_ORDER)
    return [
        [
            _label(m["name"], device),
            f"{m['total_instructions']:,.0f}",
            f"{m['flash_bytes']:,}",
            f"{m['ram_bytes']:,}",
            f"{m['stack_bytes']:,}",
            f"{m['agreement'] * device['rows']:.0f} of {device['rows']}",
        ]
        for m in sorted(device["measured"], key=lambda m: first.index(m["name"]))
    ]


def _label(name: str, device: dict[str, Any]) -> str:
    """Return the name of a measured program in tables and cards."""
    if name in _SCANS:
        return f"{_SCANS[name]}, REDRESS scan of Booleans"
    if name == "vanilla":
        return f"vanilla, {device['exported'] or 'auto'}"
    if name == "forest":
        return "forest, through emlearn"
    if name == "C":
        return "exported C"
    at_once = find_layout(name).rows_per_call
    note = (
        ", exported" if name == device["exported"] else f", {at_once} rows at a time" if at_once > 1 else ""
    )
    return f"ETHEREAL, {name}{note}"


def _flash(
    device: dict[str, Any], others: dict[str, dict[str, Any]], ethereal: dict[str, Any]
) -> list[tuple[str, float, float]]:
    """Return points of flash on the device, which has all that is linked, code included."""
    return [
        (
            f"{_label(m['name'], device)}, flash",
            float(m["flash_bytes"]),
            100 * others.get(m["name"], ethereal)["accuracy"],
        )
        for m in device["measured"]
    ]


def snippets(folder: RunFolder, rows: Rows) -> list[tuple[str, str]]:
    """Return code to paste for Python, for a board and for the command line."""
    path = folder.path / "ethereal.etm"
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
    on_boards = [
        (title, text.replace("{}", str(folder.path / name)))
        for name, title, text in boards
        if (folder.path / name).is_dir()
    ]
    return [
        (
            "Python",
            f"from ethereal import Model\n\nmodel = Model.load({str(path)!r})\n"
            f"labels = model.predict(X)        # X: rows x {rows.X_train.shape[1]} features\n"
            "print(model.describe(max_rules=3))\nprint(model.explain(X[0]))",
        ),
        *on_boards,
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
