"""The paper's tables from finished cells, the published figures beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ethereal_study import additions
from ethereal_study.board import N_ROWS
from ethereal_study.cells import MACHINES, METHODS, prepare
from ethereal_study.interpreted import N_ROWS as N_INTERPRETED
from ethereal_study.run import Results
from ethereal_study.settings import PUBLISHED_SAVINGS, SETTINGS, OnBoard
from ethereal_study.store import Protocol
from ethereal_study.table import Table, columns, statistics

TOLERANCE = 0.005  # of the smaller model that is shown beside the best epoch: half a point
NAMES = {"forest": "RF", "bnn256": "FC256, own", "bnn512": "FC512, own"}
NAMES |= {"larq256": "FC256, Larq", "larq512": "FC512, Larq"}
NAMES |= {"vanilla": "vanilla TM", "ethereal": "ETHEREAL"}
HOW = {
    "paper": "Protocol paper: quantiles come from all rows. Test accuracy chooses the epoch, which leaks.",
    "honest": "Protocol honest: quantiles come from training rows. A tenth of these rows chooses the epoch.",
}
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


def _table(name: str, protocol: Protocol, title: str, shown: str, *notes: str) -> Table:
    return Table(f"{name}-{protocol}", title, columns(shown), notes=list(notes))


def table1(sets: Iterable[str], protocol: Protocol) -> Table:
    """Make the table of the sets and the study's settings, with what is there of each set."""
    table = _table(
        "table1",
        protocol,
        "Table 1: data sets and settings",
        "set | train:train:,d | test:test:,d | features:features:d | booleans:Booleans:,d | "
        "literals:literals:,d | classes:classes:d | clauses:clauses:d | T:T:d | s:s:g | "
        "epochs:epochs:d | k:k:d | bins | data",
        "Train and test are rows. Literals are the Booleans and their negations. Clauses are per class. "
        "k is the number of epochs between two exclusions. " + HOW[protocol],
    )
    for name in sets:
        data, settings = additions.load(name), SETTINGS[name]
        rows = prepare(data, settings, protocol)
        bins = f"{settings.n_bins} {settings.encoding}"
        if settings.threshold is not None:
            bins = f"> {settings.threshold:g}"
        elif settings.n_bins == 2:
            bins = "2"
        table.rows.append(
            {
                "set": name,
                "train": int((~data.test).sum()),
                "test": int(data.test.sum()),
                "features": rows.X.shape[1],
                "booleans": (booleans := rows.bits().shape[1]),
                "literals": 2 * booleans,
                "classes": len(np.unique(data.y)),
                "clauses": settings.n_clauses,
                "T": settings.T,
                "s": settings.s,
                "epochs": settings.epochs,
                "k": settings.exclude_every,
                "bins": "already Boolean" if rows.booleanizer is None else bins,
                "data": data.completeness.split(" (")[0],
                "completeness": data.completeness,
                **mark(data.completeness),
            }
        )
    return table


def table2(results: Results, protocol: Protocol) -> Table:
    """Make the table of accuracy and includes of every method on every set, mean and spread over seeds."""
    table = _table(
        "table2",
        protocol,
        "Table 2: accuracy and includes",
        "set | method | accuracy:accuracy %:.2f± | published_accuracy:paper:.2f | "
        "includes/forest:includes:.2f± | published_includes/published_forest:paper:.2f | "
        "change:change:+.2f | published_change:paper:+.2f | "
        "reduction:less %:.1f | published_reduction:paper:.1f | seeds:n:d",
        HOW[protocol] + " Figures are mean ± standard deviation over n seeds.",
        'Includes are per clause. "change" is the accuracy less that of the vanilla machine, in points. '
        '"less" compares the includes with that machine, and "paper" is as published. '
        '"within 0.5" is ETHEREAL at the epoch with the fewest includes whose accuracy is within half a '
        "point of the best. That accuracy is the one on the rows that choose the epoch.",
        '"simplified" is Model.simplify(), with the same class sums on every input. Its includes are per '
        "clause of the machine as trained, so that the figures compare.",
        "RF is scikit-learn's forest on raw features (5-30 trees, depth 2-20), which is stronger than "
        "the study's own. In place of includes it has its trees and depth, 25x14. "
        'FC256 and FC512 are binarized networks: "own" is the trainer of this package, '
        '"Larq" is the study\'s library and layout (--bnn larq). The published figures are from Larq.',
    )
    for name, by_method in by_set(results).items():
        partial = mark(next(iter(by_method.values()))[0]["completeness"])
        for method in (m for m in (*METHODS, *additions.ADDED.methods) if m in by_method):
            table.rows += [row | partial for row in _rows_of(name, method, by_method)]
        note_incomplete(table, name, next(iter(by_method.values())))
    return table


def _rows_of(name: str, method: str, by_method: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the rows of one method on one set. ETHEREAL has three."""
    per_seed, published = by_method[method], SETTINGS[name].published

    def over_seeds(key: str, value: Callable[[dict[str, Any]], float]) -> dict[str, float | None]:
        return statistics(key, map(value, per_seed))

    row: dict[str, Any] = {
        "set": name,
        "method": NAMES.get(method, method),
        "published_accuracy": getattr(published, method.replace("larq", "bnn"), None),
        "seeds": len(per_seed),
    } | over_seeds("accuracy", lambda r: 100 * r["accuracy"])
    if method == "forest":
        row["forest"] = ", ".join(dict.fromkeys(f"{r['trees']}x{r['depth']}" for r in per_seed))
        if published.forest_trees is not None:
            row["published_forest"] = f"{published.forest_trees}x{published.forest_depth}"
    if method not in MACHINES:
        has_size = all("includes" in r and r.get("clauses") for r in per_seed)
        return [row | over_seeds("includes", _per_clause) if has_size else row]
    row |= over_seeds("includes", _per_clause)
    row["published_includes"] = getattr(published, f"{method}_includes")
    if method == "vanilla":
        return [row]
    if published.ethereal is not None and published.vanilla is not None:
        row["published_reduction"] = less(published.ethereal_includes or 0, published.vanilla_includes or 0)
        row["published_change"] = published.ethereal - published.vanilla
    small: dict[str, Any] = {"set": name, "method": "within 0.5", "seeds": len(per_seed)}
    small |= over_seeds("accuracy", lambda r: 100 * _smallest(r)[0])
    small |= over_seeds("includes", lambda r: _smallest(r)[1] / r["clauses"])
    simple = {key: value for key, value in row.items() if not key.startswith("published")}
    simple |= {"method": "simplified"}
    simple |= over_seeds("includes", lambda r: r["simplified"]["includes"] / r["clauses"])
    if "vanilla" in by_method:
        base = np.mean([_per_clause(r) for r in by_method["vanilla"]])
        accuracy = 100 * np.mean([r["accuracy"] for r in by_method["vanilla"]])
        for each in (row, small, simple):
            each["reduction"] = less(each["includes"], float(base))
            each["change"] = each["accuracy"] - float(accuracy)
    return [row, small, simple]


def sizes(results: Results, protocol: Protocol) -> Table:
    """Make the table of bytes of the machines in every code, before and after simplify()."""
    table = _table(
        "sizes",
        protocol,
        "Sizes: includes, clauses, bytes in each code",
        "set | machine | includes:includes:,.0f | clauses:clauses:,.0f | redress:REDRESS:,.0f | "
        "compact:compact:,.0f | bound:bound:,.0f | of_redress:of REDRESS:.2f | of_bound:of bound:.2f",
        HOW[protocol] + " Figures are means over seeds.",
        "REDRESS, compact and bound are bytes of the clauses alone, without labels, thresholds and "
        "header. The bound has log2 C(literals, k) bits per clause of k includes, and its votes. "
        '"of" gives compact as a share. Trained machines count empty clauses. Simplified ones have none.',
    )
    for name, by_method in by_set(results).items():
        for method in (m for m in MACHINES if m in by_method):
            for kind, label in (("model", NAMES[method]), ("simplified", "simplified")):
                counted = [r if kind == "model" else r[kind] for r in by_method[method]]
                row: dict[str, Any] = {
                    "set": name,
                    "machine": label,
                    **_means(counted, "includes", "clauses"),
                }
                row |= _means([r["bytes"][kind] for r in by_method[method]], "redress", "compact", "bound")
                row["of_redress"] = row["compact"] / row["redress"] if row["redress"] else None
                row["of_bound"] = row["compact"] / row["bound"] if row["bound"] else None
                table.rows.append(row | mark(by_method[method][0]["completeness"]))
    return table


def training(results: Results, protocol: Protocol) -> Table:
    """Make the table of the speed of training and of what exclusion costs, means over seeds."""
    table = _table(
        "training",
        protocol,
        "Training: speed and the cost of exclusion",
        "set | method | rows_per_second:rows/s:,.0f | exclusion:exclusion %:.2f | "
        "seconds:seconds per cell:.1f | cpu_seconds:of a core:.1f",
        "Exclusion is a share of the time of training. A cell has one thread and does everything: "
        "training, evaluation after every epoch, simplify(). Rows/s and seconds are wall clock, so other "
        "work on the machine counts. It does not count in seconds of a core.",
    )
    for name, by_method in by_set(results).items():
        for method in (m for m in (*METHODS, *additions.ADDED.methods) if m in by_method):
            row: dict[str, Any] = {"set": name, "method": NAMES.get(method, method)}
            if method in MACHINES:
                row |= _means(by_method[method], "rows_per_second")
            if method == "ethereal":
                row["exclusion"] = 100 * _means(by_method[method], "exclusion_share")["exclusion_share"]
            row |= mark(by_method[method][0]["completeness"])
            table.rows.append(row | _means(by_method[method], "seconds", "cpu_seconds"))
    return table


def by_set(results: Results) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the results of all seeds by set and method, in the order of the cells."""
    of_sets: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for cell, result in results.items():
        of_set = of_sets.setdefault(cell.dataset, {})
        of_set.setdefault(cell.measured, []).append(result)
    return of_sets


def mark(completeness: str) -> dict[str, bool]:
    """Return what marks a row of a set that is not complete."""
    return {} if completeness.startswith("complete") else {"partial": True}


def note_incomplete(table: Table, name: str, results: Sequence[dict[str, Any]]) -> None:
    """Add a note to the table of a set that lacks rows."""
    if not (data := results[0]["completeness"]).startswith("complete"):
        table.notes.append(f"{name}: {data}. Do not compare it closely with the published figures.")


def _means(results: Sequence[dict[str, Any]], *keys: str) -> dict[str, float]:
    return {key: float(np.mean([r[key] for r in results])) for key in keys}


def _per_clause(result: dict[str, Any]) -> float:
    return float(result["includes"] / result["clauses"])


def less(includes: float, base: float) -> float:
    """Return the percentage of the base that is gone."""
    return 100 * (1 - includes / base) if base else 0.0


def _smallest(result: dict[str, Any]) -> tuple[float, int]:
    """Return test accuracy and includes of the smallest epoch within the tolerance of the best.

    >>> history = {"phase": ["train"] * 3, "includes": [9, 5, 2], "chosen_by": [0.9, 0.896, 0.8],
    ...            "test": [0.88, 0.87, 0.7]}
    >>> _smallest({"history": history})
    (0.87, 5)
    """
    history = result["history"]
    keys = ("phase", "includes", "chosen_by", "test")
    epochs = [e for e in zip(*(history[key] for key in keys), strict=True) if e[0] == "train"]
    best = max(chosen_by for _, _, chosen_by, _ in epochs)
    near = [e for e in epochs if e[2] >= best - TOLERANCE - 1e-12]
    _, includes, _, test = min(near, key=lambda e: (e[1], -e[2]))
    return test, includes


def layouts(results: Results, protocol: Protocol) -> Table:
    """Make the table of ETHEREAL in every layout beside the scan of its words, a forest and a network."""
    table = _table(
        "device",
        protocol,
        "On the device: layouts, and what they are compared with",
        "set | form | accuracy:acc. %:.1f | instructions:instr.:,.0f | range:from - to:>s | "
        "less:scan/instr.:,.1f | code:code:,d | tables:tables:,d | of_scan:% of scan:.0f | "
        "booleanize:Booleanize:,.0f | ram:RAM:,d | stack:stack:,d | agreement:agrees %:.4g",
        HOW[protocol] + " " + _EXECUTED,
        "The scan reads the REDRESS words of the same model, not simplified. scan/instr. divides its "
        "instructions by those of the form. Code and tables are flash without Booleanizing. % of scan is "
        "their share of the scan's code and words. Booleanize has the instructions from raw features to "
        "a Booleanized row.",
        _FOREST,
    )
    forms = [("redress scan", "ethereal", "REDRESS scan"), *((form, "ethereal", form) for form in LAYOUTS)]
    forms += [("forest", "forest", "forest"), ("bnn", "bnn256", "BNN FC256")]
    for name, by_method in by_set(results).items():
        scan = by_method["ethereal"][0]["forms"]["redress scan"]
        for form, method, label in forms:
            result = by_method.get(method, [{}])[0]
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
    table = _table(
        "table3",
        protocol,
        "Table 3: on the board (C on an emulated Cortex-M7, published figures from MicroPython)",
        "set | method | form | accuracy:acc. %:.1f | instructions:instr.:,.0f | "
        "microseconds:est. us:,.0f | microjoules:est. uJ:,.2f | flash:flash B:,d | ram:RAM B:,d | "
        "heap:heap kB:,.1f | time_text:less time %:>s | memory_text:less flash %:>s | "
        "energy_text:less energy %:>s | published_seconds:publ. s:.3f | "
        "published_kilobytes:publ. kB:,.0f | published_millijoules:publ. mJ:,.1f",
        HOW[protocol] + " " + _EXECUTED,
        "Time and energy are estimates with 216 MHz, cycles by kind of instruction and 0.24 W. They "
        "include the Booleanizing of the layouts. Flash includes it too, and the check at start-up. RAM "
        "is static memory and stack. Heap is that of MicroPython (WebAssembly port) for code and model. "
        "For REDRESS words it is the heap of their list alone.",
        "REDRESS TM scans the words of the vanilla machine, which is the paper's way. " + _FOREST,
        _LESS + " Energy is estimated from time, so that the same share is saved.",
    )
    for name, by_method in by_set(results).items():
        published = SETTINGS[name].published
        rows: list[tuple[str, str, str, Any]] = [
            ("forest", "forest", "RF", published.forest_board),
            ("bnn256", "bnn", "BNN FC256", published.bnn_board),
            ("vanilla", "redress scan", "REDRESS TM", published.redress_board),
            ("ethereal", "redress scan", "ETHEREAL, words", published.ethereal_board),
            *(("ethereal", layout, f"ETHEREAL, {layout}", None) for layout in LAYOUTS),
        ]
        made = [
            {"set": name, "method": label, **_costs(by_method[method][0], form, board)}
            | mark(by_method[method][0]["completeness"])
            for method, form, label, board in rows
            if form in by_method.get(method, [{}])[0].get("forms", {})
        ]
        _add_savings(made, time="microseconds", memory="flash", energy="microjoules")
        table.rows += made
        note_incomplete(table, name, by_method["ethereal"])
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


def _beside(figure: float, published: float | None, form: str) -> str:
    """Return a figure with the published one in brackets.

    >>> _beside(15.49, 20.0, ",.1f"), _beside(2.0, None, ",.1f")
    ('15.5 (20.0)', '2.0')
    """
    return f"{figure:{form}}" + ("" if published is None else f" ({published:{form}})")


def table3_interpreted(results: Results, protocol: Protocol) -> Table:
    """Make the paper's table as the paper made it: all four methods in MicroPython, published beside."""
    table = _table(
        "table3-micropython",
        protocol,
        "Table 3: in MicroPython (WebAssembly port, published figures from an STM32F746G-DISCO)",
        "set | method | form | accuracy:acc. %:.1f | milliseconds:ms:,.2f | heap:heap kB:,.1f | "
        "time_of_e:time / E:>s | memory_of_e:heap / E:>s | time_text:less time %:>s | "
        "memory_text:less heap %:>s | "
        "published_seconds:publ. s:.3f | published_kilobytes:publ. kB:,.0f",
        HOW[protocol] + f" {N_INTERPRETED} test rows were interpreted, and every answer is the host's. "
        "The accuracy is that of all test rows.",
        "Time is CPU time of this computer per row, of 20 rows at a time as in the study, the forest of "
        "one. Heap is that of code and model. Compare ratios, not times: E is ETHEREAL TM.",
        "REDRESS TM has the words of the vanilla machine. The forest has the study's own trees x depth. "
        "The BNN is from the trainer of this package.",
        _LESS,
    )
    for name, by_method in by_set(results).items():
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
                "form": by_method[method][0]["form"],
                "accuracy": 100 * by_method[method][0]["accuracy"],
                "milliseconds": by_method[method][0]["microseconds"] / 1000,
                "heap": by_method[method][0]["heap"] / 1000,
                **_published(board),
                **mark(by_method[method][0]["completeness"]),
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
        note_incomplete(table, name, by_method["ethereal"])
    return table
