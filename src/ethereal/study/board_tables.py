"""Tables of what models cost on the emulated board."""

from __future__ import annotations

from typing import Any

from ethereal.study.board import DEPTH, N_ROWS, PREFIX, TREES
from ethereal.study.run import Results
from ethereal.study.settings import SETTINGS
from ethereal.study.store import Protocol
from ethereal.study.table import Column, Table
from ethereal.study.tables import HOW

LAYOUTS = ("fast", "compact", "sliced")
_EXECUTED = (
    f"Cortex-M7, -Os, up to {N_ROWS} test rows executed in the emulator; accuracy: of all test rows. "
    "Instructions: per row, from a Booleanized row (the forest: from scaled features) to its class."
)
_FOREST = f"forest: {TREES} trees of depth {DEPTH} through emlearn, inline; missing values become medians."

_Found = dict[str, dict[str, Any]]  # method -> result


def layouts(results: Results, protocol: Protocol) -> Table:
    """Every layout of the ETHEREAL machine beside the scan of its own REDRESS words, a forest, a network."""
    table = Table(
        f"device-{protocol}",
        "On the device: layouts, and what they are compared with",
        [
            Column("set", "set"),
            Column("form", "form"),
            Column("accuracy", "acc. %", ".1f"),
            Column("instructions", "instr.", ",.0f"),
            Column("range", "from - to", ">s"),
            Column("less", "scan/instr.", ",.1f"),
            Column("code", "code", ",d"),
            Column("tables", "tables", ",d"),
            Column("of_scan", "% of scan", ".0f"),
            Column("booleanize", "Booleanize", ",.0f"),
            Column("ram", "RAM", ",d"),
            Column("stack", "stack", ",d"),
            Column("agreement", "agrees %", ".4g"),
        ],
        notes=[
            HOW[protocol] + ". " + _EXECUTED,
            "scan: REDRESS words of the same model, not simplified. scan/instr.: its instructions over those "
            "of the form. code, tables: flash without Booleanizing, % of scan: their share of the scan's "
            "code and words. Booleanize: instructions from raw features to a Booleanized row.",
            _FOREST,
        ],
    )
    for name, found in _by_set(results).items():
        scan = found["ethereal"]["forms"]["redress scan"]
        forms: list[tuple[str, str, str]] = [("redress scan", "ethereal", "REDRESS scan")]
        forms += [(layout, "ethereal", layout) for layout in LAYOUTS]
        forms += [("forest", "forest", "forest"), ("bnn", "bnn256", "BNN FC256")]
        for form, method, label in forms:
            figures = found.get(method, {}).get("forms", {}).get(form)
            if figures is None:
                continue
            row = {
                "set": name,
                "form": label,
                "accuracy": 100 * found[method]["accuracy"],
                "instructions": figures["instructions"],
                "range": f"{figures['instructions_min']:,} - {figures['instructions_max']:,}",
                "less": scan["instructions"] / figures["instructions"],
                "code": figures["clause_code_bytes"],
                "tables": figures["clause_table_bytes"],
                "of_scan": 100 * figures["clause_flash_bytes"] / scan["clause_flash_bytes"],
                "booleanize": figures["booleanize_instructions"] if form in LAYOUTS else None,
                "ram": figures["ram_bytes"],
                "stack": figures["stack_bytes"],
                "agreement": 100 * figures["agreement"],
            }
            table.rows.append(row)
    return table


def table3(results: Results, protocol: Protocol) -> Table:
    """The paper's on-platform table: models in C on the emulated core, the published figures beside."""
    table = Table(
        f"table3-{protocol}",
        "Table 3: on the board (C on an emulated Cortex-M7; published: MicroPython on the board)",
        [
            Column("set", "set"),
            Column("method", "method"),
            Column("accuracy", "acc. %", ".1f"),
            Column("instructions", "instr.", ",.0f"),
            Column("microseconds", "est. us", ",.0f"),
            Column("microjoules", "est. uJ", ",.2f"),
            Column("flash", "flash B", ",d"),
            Column("ram", "RAM B", ",d"),
            Column("heap", "heap kB", ",.1f"),
            Column("published_seconds", "publ. s", ".3f"),
            Column("published_kilobytes", "publ. kB", ",.0f"),
            Column("published_millijoules", "publ. mJ", ",.1f"),
        ],
        notes=[
            HOW[protocol] + ". " + _EXECUTED,
            "Time and energy are estimates: 216 MHz, one cycle per instruction, 0.24 W, Booleanizing of the "
            "layouts included. flash: with it too, and with the check at start-up. RAM: static and stack. "
            "heap: MicroPython (WebAssembly port), code and model; for REDRESS words the list of them alone.",
            "REDRESS TM: words of the vanilla machine, scanned; the paper's way. " + _FOREST,
        ],
    )
    for name, found in _by_set(results).items():
        published = SETTINGS[name].published
        rows: list[tuple[str, str, str, Any]] = [
            ("forest", "forest", "RF", published.forest_board),
            ("bnn256", "bnn", "BNN FC256", published.bnn_board),
            ("vanilla", "redress scan", "REDRESS TM", published.redress_board),
            ("ethereal", "redress scan", "ETHEREAL, words", published.ethereal_board),
            *(("ethereal", layout, f"ETHEREAL, {layout}", None) for layout in LAYOUTS),
        ]
        table.rows += [
            {"set": name, "method": label, **_costs(found[method], form, board)}
            for method, form, label, board in rows
            if form in found.get(method, {}).get("forms", {})
        ]
        if not (data := found["ethereal"]["completeness"]).startswith("complete"):
            table.notes.append(f"{name}: {data}; not to be compared with the published figures closely.")
    return table


def _costs(result: dict[str, Any], form: str, board: Any) -> dict[str, Any]:
    """What a form costs, and the published figures where there are any."""
    figures = result["forms"][form]
    published = ("seconds", "kilobytes", "millijoules") if board is not None else ()
    return {
        "accuracy": 100 * result["accuracy"],
        "instructions": figures["instructions"],
        "microseconds": 1e6 * figures["estimated_seconds"],
        "microjoules": 1e6 * figures["estimated_joules"],
        "flash": figures["flash_bytes"],
        "ram": figures["ram_bytes"] + figures["stack_bytes"],
        "heap": _heap(result.get("heap"), form),
        **{f"published_{what}": getattr(board, what) for what in published},
    }


def _heap(heap: dict[str, int] | None, form: str) -> float | None:
    """Kilobytes; MicroPython has one form of a machine beside the list of words."""
    if heap is None or form in ("compact", "sliced"):
        return None
    return (heap["words"] if form == "redress scan" else heap["code"] + heap["model"]) / 1000


def _by_set(results: Results) -> dict[str, _Found]:
    """The first seed's results by set and method."""
    found: dict[str, _Found] = {}
    for cell, result in results.items():
        found.setdefault(cell.dataset, {}).setdefault(cell.method.removeprefix(PREFIX), result)
    return found
