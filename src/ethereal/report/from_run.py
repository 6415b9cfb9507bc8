"""The report of a run, from what its stages left in its folder."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from ethereal.pipeline import MACHINES, Rows, load_model
from ethereal.report.page import Report
from ethereal.runfolder import RunFolder

DEVICE_COLUMNS = ("model", "instructions", "+ Booleanize", "code", "tables", "RAM", "stack", "agrees")
_NAMES = {
    "redress": "ETHEREAL, REDRESS scan",
    "vanilla": "vanilla, REDRESS scan",
    "forest": "forest, through emlearn",
}
_RIVALS = {"vanilla": "vanilla scan", "forest": "forest"}  # on the cards


def report_of(folder: RunFolder, rows: Rows) -> Report:
    """Everything a finished run has to show."""
    results = {stage: folder.result(stage) for stage in (*MACHINES, "forest", "device", "facts")}
    missing = [stage for stage, found in results.items() if found is None]
    if missing:
        raise ValueError(
            f"{folder.path} is no finished run: {', '.join(missing)} missing; run it again to go on"
        )
    vanilla, ethereal, forest, device, facts = (results[k] or {} for k in results)
    machines = {"ETHEREAL": ethereal, "vanilla": vanilla}
    return Report(
        title=rows.name,
        subtitle=f"{len(rows.X_train):,} training rows, {len(rows.X_test):,} test rows ({rows.split}), "
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
            *_flash(device, {"vanilla": vanilla, "forest": forest}, ethereal),
        ],
        device={
            "note": f"Exported C, compiled for a {device['target']} and executed in an emulator on "
            f"{device['rows']} test rows. Instructions are per row, bytes those of the linked code. "
            "At 216 MHz and one instruction per cycle, 1000 of them take about 5 microseconds: estimated."
            + "".join(f" Left out: {_NAMES[k]} ({why})." for k, why in device["left_out"].items()),
            "columns": list(DEVICE_COLUMNS),
            "rows": device_rows(device),
        },
        snippets=snippets(folder, rows),
        facts={"command": facts["command"], "folder": str(folder.path), **facts["versions"]},
        image_shape=rows.image_shape,
    )


def history_csv(history: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """All records of all machines, a line each.

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
    """Cards: the ETHEREAL machine's figure, and the others' beside it."""
    board = {m["name"]: m for m in device["measured"]}
    # One row at a time: what comes in 32 at once does not compare.
    fast = min((m for n, m in board.items() if n in ("fast", "compact")), key=lambda m: m["instructions"])
    small = min((m for n, m in board.items() if n not in _NAMES), key=_flash_bytes)
    others = [(short, board[k]) for k, short in _RIVALS.items() if k in board]
    fewer = 100 * (1 - ethereal["includes"] / max(vanilla["includes"], 1))
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
                ("as REDRESS words", redress_bytes(ethereal)),
                ("vanilla, compact", f"{vanilla['bytes']['compact']:,}"),
            ],
        ),
        (
            f"Instructions per row, {device['target']}",
            f"{fast['instructions']:,.0f}",
            [(name, f"{m['instructions']:,.0f}") for name, m in others],
        ),
        (
            "Flash, code included",
            f"{_flash_bytes(small):,} bytes",
            [(name, f"{_flash_bytes(m):,}") for name, m in others],
        ),
        (
            "Training, rows per second",
            f"{ethereal['rows_per_second']:,.0f}",
            [("vanilla", f"{vanilla['rows_per_second']:,.0f}")],
        ),
    ]


def redress_bytes(result: dict[str, Any]) -> str:
    """Size of a machine in REDRESS words, as trained.

    >>> redress_bytes({"bytes_trained": {"redress": 1234}}), redress_bytes({"bytes_trained": {}})
    ('1,234', 'too many Booleans')
    """
    size = result["bytes_trained"].get("redress")
    return "too many Booleans" if size is None else f"{size:,.0f}"


def device_rows(device: dict[str, Any]) -> list[list[str]]:
    """The device table's rows, as texts."""
    return [
        [
            _NAMES.get(m["name"], f"ETHEREAL, {m['name']}"),
            f"{m['instructions']:,.0f}",
            f"{m['booleanize_instructions']:,.0f}",
            f"{m['code_bytes']:,}",
            f"{m['table_bytes']:,}",
            f"{m['ram_bytes']:,}",
            f"{m['stack_bytes']:,}",
            f"{100 * m['agreement']:.0f} %",
        ]
        for m in device["measured"]
    ]


def _flash(
    device: dict[str, Any], others: dict[str, dict[str, Any]], ethereal: dict[str, Any]
) -> list[tuple[str, float, float]]:
    """Points of flash on the device: what really is linked, code included."""
    return [
        (
            f"{_NAMES.get(m['name'], 'ETHEREAL, ' + m['name'])}, flash",
            float(_flash_bytes(m)),
            100 * others.get(m["name"], ethereal)["accuracy"],
        )
        for m in device["measured"]
    ]


def _flash_bytes(measured: dict[str, Any]) -> int:
    return int(measured["code_bytes"] + measured["table_bytes"])


def snippets(folder: RunFolder, rows: Rows) -> list[tuple[str, str]]:
    """Code to paste: the model in Python, on a board and on the command line."""
    path = folder.path / "ethereal.etm"
    boards = [
        (
            "arduino",
            "Arduino, PlatformIO",
            "/* {}: a library with examples; copy it to `libraries`, or to `lib` of the project */\n"
            "#include <model.h>\n\nSerial.println(model_class_name(model_predict(features)));",
        ),
        (
            "micropython",
            "MicroPython",
            "# {}: copy model.py to the board; or all of it, with a self-test:\n"
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
        (
            "C, on a board",
            f"/* {folder.path / 'c'}: model.h, model.c, a self-test, build files and a README */\n"
            '#include "model.h"\n\nunsigned label = model_predict(features);',
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
