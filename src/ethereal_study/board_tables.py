"""The paper's table 3, in C and in MicroPython, and the layouts of the C beside their rivals."""

from __future__ import annotations

from typing import Any

from ethereal_study.board import N_ROWS
from ethereal_study.interpreted import N_ROWS as N_INTERPRETED
from ethereal_study.run import Results
from ethereal_study.settings import PUBLISHED_SAVINGS, SETTINGS, OnBoard
from ethereal_study.store import Protocol
from ethereal_study.table import Table, columns
from ethereal_study.tables import HOW, by_set, less, mark, note_incomplete

LAYOUTS = ("straight", "fast", "compact", "sliced")
_EXECUTED = (
    f"Up to {N_ROWS} test rows were executed on an emulated Cortex-M7 (-Os). The accuracy is that of all "
    "test rows. Instructions are per row, from a Booleanized row to its class. The forest begins with scaled "
    "features, and straight code with the features."
)
_FOREST = (
    "The forest is the chosen one of table 2 (trees x depth) through emlearn. Missing values become medians."
)
_LESS = (
    '"less" is what ETHEREAL saves of REDRESS TM, in percent. Published figures are in brackets, and '
    "they are those of ETHEREAL in words."
)


def layouts(results: Results, protocol: Protocol) -> Table:
    """Make the table of ETHEREAL in every layout beside the scan of its words, a forest and a network."""
    table = Table(
        f"device-{protocol}",
        "On the device: layouts, and what they are compared with",
        columns(
            "set | form | accuracy:acc. %:.1f | instructions:instr.:,.0f | range:from - to:>s | "
            "less:scan/instr.:,.1f | code:code:,d | tables:tables:,d | of_scan:% of scan:.0f | "
            "booleanize:Booleanize:,.0f | ram:RAM:,d | stack:stack:,d | agreement:agrees %:.4g"
        ),
        notes=[
            HOW[protocol] + " " + _EXECUTED,
            "The scan reads the REDRESS words of the same model, not simplified. scan/instr. divides its "
            "instructions by those of the form. Code and tables are flash without Booleanizing. % of scan is "
            "their share of the scan's code and words. Booleanize has the instructions from raw features to "
            "a Booleanized row.",
            _FOREST,
        ],
    )
    forms = [("redress scan", "ethereal", "REDRESS scan"), *((form, "ethereal", form) for form in LAYOUTS)]
    forms += [("forest", "forest", "forest"), ("bnn", "bnn256", "BNN FC256")]
    for name, found in by_set(results).items():
        scan = found["ethereal"][0]["forms"]["redress scan"]
        for form, method, label in forms:
            result = found.get(method, [{}])[0]
            figures = result.get("forms", {}).get(form)
            if figures is None:
                continue
            table.rows.append(
                {
                    "set": name,
                    **mark(result["completeness"]),
                    "form": label,
                    "accuracy": 100 * result["accuracy"],
                    "instructions": figures["instructions"],
                    "range": f"{figures['instructions_min']:,} - {figures['instructions_max']:,}",
                    "less": scan["instructions"] / figures["instructions"],
                    "code": figures["clause_code_bytes"],
                    "tables": figures["clause_table_bytes"],
                    "of_scan": 100 * figures["clause_flash_bytes"] / scan["clause_flash_bytes"],
                    "booleanize": figures["booleanize_instructions"] if form in LAYOUTS[1:] else None,
                    "ram": figures["ram_bytes"],
                    "stack": figures["stack_bytes"],
                    "agreement": 100 * figures["agreement"],
                }
            )
    return table


def table3(results: Results, protocol: Protocol) -> Table:
    """Make the paper's on-platform table: models in C on the emulated core, the published figures beside."""
    table = Table(
        f"table3-{protocol}",
        "Table 3: on the board (C on an emulated Cortex-M7, published figures from MicroPython)",
        columns(
            "set | method | form | accuracy:acc. %:.1f | instructions:instr.:,.0f | "
            "microseconds:est. us:,.0f | microjoules:est. uJ:,.2f | flash:flash B:,d | ram:RAM B:,d | "
            "heap:heap kB:,.1f | time_text:less time %:>s | memory_text:less flash %:>s | "
            "energy_text:less energy %:>s | published_seconds:publ. s:.3f | "
            "published_kilobytes:publ. kB:,.0f | published_millijoules:publ. mJ:,.1f"
        ),
        notes=[
            HOW[protocol] + " " + _EXECUTED,
            "Time and energy are estimates with 216 MHz, cycles by kind of instruction and 0.24 W. They "
            "include the Booleanizing of the layouts. Flash includes it too, and the check at start-up. RAM "
            "is static memory and stack. Heap is that of MicroPython (WebAssembly port) for code and model. "
            "For REDRESS words it is the heap of their list alone.",
            "REDRESS TM scans the words of the vanilla machine, which is the paper's way. " + _FOREST,
            _LESS + " Energy is estimated from time, so that the same share is saved.",
        ],
    )
    for name, found in by_set(results).items():
        published = SETTINGS[name].published
        rows: list[tuple[str, str, str, Any]] = [
            ("forest", "forest", "RF", published.forest_board),
            ("bnn256", "bnn", "BNN FC256", published.bnn_board),
            ("vanilla", "redress scan", "REDRESS TM", published.redress_board),
            ("ethereal", "redress scan", "ETHEREAL, words", published.ethereal_board),
            *(("ethereal", layout, f"ETHEREAL, {layout}", None) for layout in LAYOUTS),
        ]
        made = [
            {"set": name, "method": label, **_costs(found[method][0], form, board)}
            | mark(found[method][0]["completeness"])
            for method, form, label, board in rows
            if form in found.get(method, [{}])[0].get("forms", {})
        ]
        _add_savings(made, time="microseconds", memory="flash", energy="microjoules")
        table.rows += made
        note_incomplete(table, name, found["ethereal"])
    return table


def _costs(result: dict[str, Any], form: str, board: OnBoard | None) -> dict[str, Any]:
    """Return what a form costs, and the published figures where there are any."""
    figures, heap = result["forms"][form], result.get("heap")
    if heap is not None:
        heap = (heap["words"] if form == "redress scan" else heap["code"] + heap["model"]) / 1000
    return {
        "form": f"{result['trees']} x {result['depth']}" if "trees" in result else None,
        "accuracy": 100 * result["accuracy"],
        "instructions": figures["instructions"],
        "microseconds": 1e6 * figures["estimated_seconds"],
        "microjoules": 1e6 * figures["estimated_joules"],
        "flash": figures["flash_bytes"],
        "ram": figures["ram_bytes"] + figures["stack_bytes"],
        # MicroPython has one form of a machine beside the list of words.
        "heap": None if form in LAYOUTS and form != "fast" else heap,
        **_published(board),
    }


def _published(board: OnBoard | None) -> dict[str, float]:
    if board is None:
        return {}
    return {f"published_{what}": getattr(board, what) for what in ("seconds", "kilobytes", "millijoules")}


def _add_savings(rows: list[dict[str, Any]], **keys: str) -> None:
    """Add what each form of ETHEREAL saves of REDRESS TM. `keys` names what is compared."""
    base = next((row for row in rows if row["method"] == "REDRESS TM"), None)
    if base is None:
        return
    for row in (row for row in rows if row["method"].startswith("ETHEREAL")):
        published = PUBLISHED_SAVINGS.get(row["set"]) if "published_seconds" in row else None
        for i, (what, key) in enumerate(keys.items()):
            row[f"less_{what}"] = less(row[key], base[key])
            row[f"published_less_{what}"] = None if published is None else published[i]
            row[f"{what}_text"] = _beside(row[f"less_{what}"], row[f"published_less_{what}"], ".1f")


def _beside(own: float, published: float | None, form: str) -> str:
    """Return a figure with the published one in brackets.

    >>> _beside(15.49, 20.0, ",.1f"), _beside(2.0, None, ",.1f")
    ('15.5 (20.0)', '2.0')
    """
    return f"{own:{form}}" + ("" if published is None else f" ({published:{form}})")


def table3_interpreted(results: Results, protocol: Protocol) -> Table:
    """Make the paper's table as the paper made it: all four methods in MicroPython, published beside."""
    table = Table(
        f"table3-micropython-{protocol}",
        "Table 3: in MicroPython (WebAssembly port, published figures from an STM32F746G-DISCO)",
        columns(
            "set | method | form | accuracy:acc. %:.1f | milliseconds:ms:,.2f | heap:heap kB:,.1f | "
            "time_of_e:time / E:>s | memory_of_e:heap / E:>s | time_text:less time %:>s | "
            "memory_text:less heap %:>s | "
            "published_seconds:publ. s:.3f | published_kilobytes:publ. kB:,.0f"
        ),
        notes=[
            HOW[protocol] + f" {N_INTERPRETED} test rows were interpreted, and every answer is the host's. "
            "The accuracy is that of all test rows.",
            "Time is CPU time of this computer per row, of 20 rows at a time as in the study, the forest of "
            "one. Heap is that of code and model. Compare ratios, not times: E is ETHEREAL TM.",
            "REDRESS TM has the words of the vanilla machine. The forest has the study's own trees x depth. "
            "The BNN is from the trainer of this package.",
            _LESS,
        ],
    )
    for name, found in by_set(results).items():
        published = SETTINGS[name].published
        rows: dict[str, tuple[str, OnBoard | None]] = {
            "forest": ("RF", published.forest_board),
            "bnn256": ("BNN FC256", published.bnn_board),
            "vanilla": ("REDRESS TM", published.redress_board),
            "ethereal": ("ETHEREAL TM", published.ethereal_board),
        }
        made = [
            {
                "set": name,
                "method": label,
                "form": found[method][0]["form"],
                "accuracy": 100 * found[method][0]["accuracy"],
                "milliseconds": found[method][0]["microseconds"] / 1000,
                "heap": found[method][0]["heap"] / 1000,
                **_published(board),
                **mark(found[method][0]["completeness"]),
            }
            for method, (label, board) in rows.items()
        ]
        _add_savings(made, time="milliseconds", memory="heap")
        for row in made:
            for what, ours, theirs in (("time", "milliseconds", "seconds"), ("memory", "heap", "kilobytes")):
                ratio, key, published_ratio = row[ours] / made[-1][ours], f"published_{theirs}", None
                if key in row and key in made[-1]:
                    published_ratio = row[key] / made[-1][key]
                row |= {f"{what}_ratio": ratio, f"published_{what}_ratio": published_ratio}
                row[f"{what}_of_e"] = _beside(ratio, published_ratio, ",.2f")
        table.rows += made
        note_incomplete(table, name, found["ethereal"])
    return table
