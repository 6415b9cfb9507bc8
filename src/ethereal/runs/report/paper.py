"""What the page and the terminal show of the paper's two machines, made with `ethereal run --paper`."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ethereal.export.c99.layouts import LAYOUTS, find_layout

DEVICE_COLUMNS = ("program", "instructions", "flash", "RAM", "stack", "agrees")
_SCANS = {"scan": "ETHEREAL", "vanilla scan": "vanilla"}  # the paper's way to evaluate a machine
# In tables, after the program that would be exported.
_ORDER = (*LAYOUTS, "vanilla", "scan", "vanilla scan")


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
    ethereal: dict[str, Any], vanilla: dict[str, Any], device: dict[str, Any]
) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return cards with the figures of the ETHEREAL machine, and those of the vanilla one beside them.

    The vanilla machine is compared in the same layout, so that the cards compare machines.
    """
    saved = 100 * (1 - ethereal["includes"] / max(vanilla["includes"], 1))
    return [
        (
            "Accuracy on test rows",
            _percent(ethereal["accuracy"]),
            [("vanilla", _percent(vanilla["accuracy"]))],
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
    others = [(_label(k, device), board[k]) for k in ("vanilla",) if k in board]
    figures: dict[str, Callable[[dict[str, Any]], str]] = {
        f"Instructions per row, {device['target']}": lambda m: f"{m['total_instructions']:,.0f}",
        "Flash, code included": lambda m: f"{m['flash_bytes']:,} bytes",
        "RAM, stack included": lambda m: f"{m['ram_bytes'] + m['stack_bytes']:,} bytes",
    }
    return [
        (f"{title}, layout {device['exported']}", show(own), [(name, show(m)) for name, m in others])
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
