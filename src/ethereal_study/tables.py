"""The paper's tables from finished cells, the published figures beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ethereal_study import additions
from ethereal_study.cells import MACHINES, METHODS, prepare
from ethereal_study.run import Results
from ethereal_study.settings import SETTINGS
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


def table1(sets: Iterable[str], protocol: Protocol) -> Table:
    """Make the table of the sets and the study's settings, with what is there of each set."""
    table = Table(
        f"table1-{protocol}",
        "Table 1: data sets and settings",
        columns(
            "set | train:train:,d | test:test:,d | features:features:d | booleans:Booleans:,d | "
            "literals:literals:,d | classes:classes:d | clauses:clauses:d | T:T:d | s:s:g | "
            "epochs:epochs:d | k:k:d | bins | data"
        ),
        notes=[
            "Train and test are rows. Literals are the Booleans and their negations. Clauses are per class. "
            "k is the number of epochs between two exclusions. " + HOW[protocol]
        ],
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
    table = Table(
        f"table2-{protocol}",
        "Table 2: accuracy and includes",
        columns(
            "set | method | accuracy:accuracy %:.2f± | published_accuracy:paper:.2f | "
            "includes/forest:includes:.2f± | published_includes/published_forest:paper:.2f | "
            "change:change:+.2f | published_change:paper:+.2f | "
            "reduction:less %:.1f | published_reduction:paper:.1f | seeds:n:d"
        ),
        notes=[
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
        ],
    )
    for name, found in by_set(results).items():
        partial = mark(next(iter(found.values()))[0]["completeness"])
        for method in (m for m in (*METHODS, *additions.ADDED.methods) if m in found):
            table.rows += [row | partial for row in _rows_of(name, method, found)]
        note_incomplete(table, name, next(iter(found.values())))
    return table


def _rows_of(name: str, method: str, found: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the rows of one method on one set. ETHEREAL has three."""
    per_seed, published = found[method], SETTINGS[name].published

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
    if "vanilla" in found:
        base = np.mean([_per_clause(r) for r in found["vanilla"]])
        accuracy = 100 * np.mean([r["accuracy"] for r in found["vanilla"]])
        for each in (row, small, simple):
            each["reduction"] = less(each["includes"], float(base))
            each["change"] = each["accuracy"] - float(accuracy)
    return [row, small, simple]


def sizes(results: Results, protocol: Protocol) -> Table:
    """Make the table of bytes of the machines in every code, before and after simplify()."""
    table = Table(
        f"sizes-{protocol}",
        "Sizes: includes, clauses, bytes in each code",
        columns(
            "set | machine | includes:includes:,.0f | clauses:clauses:,.0f | redress:REDRESS:,.0f | "
            "compact:compact:,.0f | bound:bound:,.0f | of_redress:of REDRESS:.2f | of_bound:of bound:.2f"
        ),
        notes=[
            HOW[protocol] + " Figures are means over seeds.",
            "REDRESS, compact and bound are bytes of the clauses alone, without labels, thresholds and "
            "header. The bound has log2 C(literals, k) bits per clause of k includes, and its votes. "
            '"of" gives compact as a share. Trained machines count empty clauses. Simplified ones have none.',
        ],
    )
    for name, found in by_set(results).items():
        for method in (m for m in MACHINES if m in found):
            for kind, label in (("model", NAMES[method]), ("simplified", "simplified")):
                counted = [r if kind == "model" else r[kind] for r in found[method]]
                row: dict[str, Any] = {
                    "set": name,
                    "machine": label,
                    **_means(counted, "includes", "clauses"),
                }
                row |= _means([r["bytes"][kind] for r in found[method]], "redress", "compact", "bound")
                row["of_redress"] = row["compact"] / row["redress"] if row["redress"] else None
                row["of_bound"] = row["compact"] / row["bound"] if row["bound"] else None
                table.rows.append(row | mark(found[method][0]["completeness"]))
    return table


def training(results: Results, protocol: Protocol) -> Table:
    """Make the table of the speed of training and of what exclusion costs, means over seeds."""
    table = Table(
        f"training-{protocol}",
        "Training: speed and the cost of exclusion",
        columns(
            "set | method | rows_per_second:rows/s:,.0f | exclusion:exclusion %:.2f | "
            "seconds:seconds per cell:.1f | cpu_seconds:of a core:.1f"
        ),
        notes=[
            "Exclusion is a share of the time of training. A cell has one thread and does everything: "
            "training, evaluation after every epoch, simplify(). Rows/s and seconds are wall clock, so other "
            "work on the machine counts. It does not count in seconds of a core."
        ],
    )
    for name, found in by_set(results).items():
        for method in (m for m in (*METHODS, *additions.ADDED.methods) if m in found):
            row: dict[str, Any] = {"set": name, "method": NAMES.get(method, method)}
            if method in MACHINES:
                row |= _means(found[method], "rows_per_second")
            if method == "ethereal":
                row["exclusion"] = 100 * _means(found[method], "exclusion_share")["exclusion_share"]
            row |= mark(found[method][0]["completeness"])
            table.rows.append(row | _means(found[method], "seconds", "cpu_seconds"))
    return table


def by_set(results: Results) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the results of all seeds by set and method, in the order of the cells."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for cell, result in results.items():
        of_set = found.setdefault(cell.dataset, {})
        of_set.setdefault(cell.measured, []).append(result)
    return found


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
