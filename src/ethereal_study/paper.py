"""The paper's two machines, vanilla and ETHEREAL: `ethereal run --paper` trains, measures and reports them.

`ethereal.runs.paper` finds this module by an entry point, and says what it asks of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from numpy.typing import NDArray

from ethereal.chips.toolchain import missing_tools
from ethereal.datasets.rows import Rows
from ethereal.device.baselines import redress_scan
from ethereal.export.c99.layouts import LAYOUTS, find_layout
from ethereal.model import codes as encode
from ethereal.runs.folder import RunFolder
from ethereal.runs.pipeline import DEVICE_ROWS, TYPICAL_ROWS, load_model
from ethereal.runs.results import Measured
from ethereal.train import checkpoint
from ethereal.train.classifier import EtherealClassifier
from ethereal_study.table import Column, Table

MACHINES = {"vanilla": "vanilla", "ethereal": "ETHEREAL"}  # stage -> name shown
DEVICE_COLUMNS = ("program", "instructions", "flash", "RAM", "stack", "agrees")
_SCANS = {"scan": "ETHEREAL", "vanilla scan": "vanilla"}  # the paper's way to evaluate a machine
# In tables, after the program that would be exported.
_ORDER = (*LAYOUTS, "vanilla", "scan", "vanilla scan")


def train(
    folder: RunFolder,
    rows: Rows,
    make: Callable[[bool], EtherealClassifier],
    target: str,
    tell: Callable[[str], None],
) -> None:
    """Train both machines and measure their programs. `make` takes whether it is the vanilla one."""
    for stage, name in MACHINES.items():
        kept = ": kept from before" if folder.result(stage) is not None else ""
        tell(f"train {name}, with the paper's settings{kept}")
        folder.stage(stage, lambda stage=stage: _machine(folder, rows, make, stage))  # type: ignore[misc]
    folder.stage("device", lambda: _device(folder, rows, target))


def _device(folder: RunFolder, rows: Rows, target: str) -> dict[str, Any]:
    """Measure both machines in the layouts and in the paper's scan. What cannot be had says why."""
    from ethereal import device
    from ethereal.export import choose

    left_out: dict[str, str] = {}  # name: why
    board: dict[str, Any] = {
        "target": target,
        "rows": min(DEVICE_ROWS, len(rows.y_test)),
        "exported": None,
        "left_out": left_out,
        "measured": [],
    }
    if missing_tools():
        return board
    model, trained, vanilla = (
        load_model(folder, k) for k in ("ethereal", "ethereal-trained", "vanilla-trained")
    )
    X, typical = rows.X_test[:DEVICE_ROWS], rows.X_train[:TYPICAL_ROWS]
    work: dict[str, Callable[[], Any]] = {
        name: lambda name=name: device.measure(model, X, target, name, rows=typical)  # type: ignore[misc]
        for name in LAYOUTS
    }
    try:
        layout = board["exported"] = choose(model, target=target, rows=typical).layout
    except ValueError as error:
        layout, left_out["C"] = "auto", str(error)
    work |= {
        "vanilla scan": lambda: device.measure_program(redress_scan(vanilla, X), target),
        "scan": lambda: device.measure_program(redress_scan(trained, X), target),
        "vanilla": lambda: device.measure(vanilla, X, target, layout, rows=typical),
    }
    for name, measure in work.items():
        try:
            took = measure()
            figures = {one.name: getattr(took, one.name) for one in fields(Measured)}
            board["measured"].append(figures | {"name": name})
        except ValueError as error:  # too large for the layout or the board, or not to be had in C
            left_out[name] = str(error)
            folder.log(f"device: {name} left out: {error}")
    return board


def _machine(
    folder: RunFolder, rows: Rows, make: Callable[[bool], EtherealClassifier], stage: str
) -> dict[str, Any]:
    clf = make(stage == "vanilla")
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


def results(folder: RunFolder) -> dict[str, Any]:
    """Return what is kept of each machine that was trained, by its stage."""
    return {stage: result for stage in MACHINES if (result := folder.result(stage))}


def of_report(folder: RunFolder) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the fields of the report that the two machines fill and files beside it, none without them."""
    made = {name: folder.result(stage) for stage, name in MACHINES.items()}
    device = folder.result("device")
    if device is None or None in made.values():
        return {}, {}
    machines = {name: result or {} for name, result in reversed(made.items())}
    history = {name: result["history"] for name, result in machines.items()}
    shown = {
        "headline": headline(machines["ETHEREAL"], machines["vanilla"], device),
        "history": history,
        "chosen": {name: result["chosen_epoch"] for name, result in machines.items()},
        "device": device_table(device),
    }
    return shown, {"history.csv": history_csv(history)}


def test_rows(name: str) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return test rows of a set of the study as Booleans, with their labels. None for any other name."""
    from ethereal import datasets
    from ethereal_study.cells import prepare
    from ethereal_study.settings import SETTINGS

    if name not in SETTINGS:
        return None
    rows = prepare(datasets.load(name), SETTINGS[name], "paper")
    return rows.bits()[rows.test], rows.y_test


def history_csv(history: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return all records of all machines, a line each.

    >>> history_csv({"vanilla": [{"epoch": 1, "phase": "train"}]}).splitlines()
    ['machine,epoch,phase', 'vanilla,1,train']
    """
    records = [{"machine": name, **record} for name, of_machine in history.items() for record in of_machine]
    return Table("history", "", [Column(key, key) for key in records[0]], records).csv()


def headline(
    ethereal: dict[str, Any], vanilla: dict[str, Any], device: dict[str, Any]
) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return cards with the figures of the ETHEREAL machine, and those of the vanilla one beside them.

    The vanilla machine is compared in the same layout, so that the cards compare machines.
    """
    saved = 100 * (1 - ethereal["includes"] / max(vanilla["includes"], 1))
    figures: dict[str, Callable[[dict[str, Any]], str]] = {
        "Accuracy on test rows": lambda m: _percent(m["accuracy"]),
        "Includes": lambda m: f"{m['includes']:,}",
        "Includes, simplified": lambda m: f"{m['simplified']['includes']:,}",
        "Bytes, compact code": lambda m: f"{m['bytes']['compact']:,}",
        "Training, rows per second": lambda m: f"{m['rows_per_second']:,.0f}",
    }
    code, fewer = "Bytes, compact code", ("fewer" if saved >= 0 else "more", f"{abs(saved):.0f} %")
    names, before = {code: "vanilla, compact"}, {code: [("as REDRESS words", redress_bytes(ethereal))]}
    after = {"Includes": [fewer]}
    cards = []
    for title, text in figures.items():
        beside = (names.get(title, "vanilla"), text(vanilla))
        cards.append((title, text(ethereal), [*before.get(title, []), beside, *after.get(title, [])]))
    return [cards[0], *_board_cards(device), *cards[1:]]


def _board_cards(device: dict[str, Any]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return instructions, flash and RAM of the exported program, or no card without one."""
    board = {m["name"]: m for m in device["measured"]}
    exported = board.get(device["exported"])
    if exported is None:
        return []
    others = [(_label(k, device), board[k]) for k in ("vanilla",) if k in board]
    figures: dict[str, Callable[[dict[str, Any]], str]] = {
        f"Instructions per row, {device['target']}": lambda m: f"{m['total_instructions']:,.0f}",
        "Flash, code included": lambda m: f"{m['flash_bytes']:,} bytes",
        "RAM, stack included": lambda m: f"{m['ram_bytes'] + m['stack_bytes']:,} bytes",
    }
    return [
        (f"{title}, layout {device['exported']}", show(exported), [(name, show(m)) for name, m in others])
        for title, show in figures.items()
    ]


def device_table(device: dict[str, Any]) -> dict[str, Any]:
    """Return what the two machines cost on the board, as a table with a note."""
    left_out = "".join(f" Left out: {_label(k, device)} ({why})." for k, why in device["left_out"].items())
    return {
        "note": f"C, compiled for a {device['target']} and executed in an emulator on {device['rows']} test "
        "rows. Instructions are per row, from features to class: Booleanizing is counted, except in the "
        "paper's scans. Flash is that of a prediction and of the check at start-up, with all code."
        + left_out,
        "columns": list(DEVICE_COLUMNS),
        "rows": device_rows(device),
    }


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
    if name == "C":
        return "exported C"
    at_once = find_layout(name).rows_per_call
    note = ", chosen" if name == device["exported"] else f", {at_once} rows at a time" if at_once > 1 else ""
    return f"ETHEREAL, {name}{note}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
