"""The paper's tables from finished cells, the published figures beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ethereal import datasets
from ethereal.study.cells import MACHINES, METHODS, RIVALS, prepare
from ethereal.study.run import Results, mean_and_spread
from ethereal.study.settings import SETTINGS
from ethereal.study.store import Protocol
from ethereal.study.table import Column, Table

TOLERANCE = 0.005  # of the smaller model that is shown beside the best epoch: half a point
NAMES = {
    "forest": "RF",
    "bnn256": "BNN FC256",
    "bnn512": "BNN FC512",
    "vanilla": "vanilla TM",
    "ethereal": "ETHEREAL",
}
HOW = {
    "paper": "protocol paper: quantiles from all rows, the epoch with the best test accuracy (it leaks)",
    "honest": "protocol honest: quantiles from training rows, the epoch chosen on a tenth of those",
}


def table1(sets: Iterable[str], protocol: Protocol) -> Table:
    """The sets and the study's settings, with what is there of each set."""
    table = Table(
        f"table1-{protocol}",
        "Table 1: data sets and settings",
        [
            Column("set", "set"),
            Column("train", "training rows", ",d"),
            Column("test", "test rows", ",d"),
            Column("features", "features", "d"),
            Column("booleans", "Booleans", ",d"),
            Column("classes", "classes", "d"),
            Column("clauses", "clauses/class", "d"),
            Column("T", "T", "d"),
            Column("s", "s", "g"),
            Column("epochs", "epochs", "d"),
            Column("k", "k", "d"),
            Column("bins", "bins"),
            Column("completeness", "data"),
        ],
        notes=["k: epochs between two exclusions. " + HOW[protocol] + "."],
    )
    for name in sets:
        data, settings = datasets.load(name), SETTINGS[name]
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
                "booleans": rows.bits().shape[1],
                "classes": len(np.unique(data.y)),
                "clauses": settings.n_clauses,
                "T": settings.T,
                "s": settings.s,
                "epochs": settings.epochs,
                "k": settings.exclude_every,
                "bins": "already Boolean" if rows.booleanizer is None else bins,
                "completeness": data.completeness,
            }
        )
    return table


def table2(results: Results, protocol: Protocol) -> Table:
    """Accuracy and includes of every method on every set, mean and spread over seeds."""
    table = Table(
        f"table2-{protocol}",
        "Table 2: accuracy and includes",
        [
            Column("set", "set"),
            Column("method", "method"),
            Column("accuracy", "accuracy %", ".2f", spread=True),
            Column("published_accuracy", "paper", ".2f"),
            Column("includes", "includes", ".2f", spread=True),
            Column("published_includes", "paper", ".2f"),
            Column("reduction", "less %", ".1f"),
            Column("published_reduction", "paper", ".1f"),
            Column("seeds", "n", "d"),
        ],
        notes=[
            HOW[protocol] + "; mean ± standard deviation over seeds.",
            "includes: per clause; less: than the vanilla machine; paper: as published; n: seeds. "
            "within 0.5: ETHEREAL at the epoch with the fewest includes whose accuracy, on the rows that "
            "choose the epoch, is within half a point of the best.",
            "simplified: Model.simplify(), the same class sums on every input; per clause of the machine as "
            "trained, so that the figures compare.",
            "RF: scikit-learn's forest on raw features (5-30 trees, depth 2-20), which is stronger than the "
            "study's own. BNN: the trainer of this package, not Larq.",
        ],
    )
    for name, found in _by_set(results).items():
        for method in (m for m in METHODS if m in found):
            table.rows += _rows_of(name, method, found)
        data = next(iter(found.values()))[0]["completeness"]
        if not data.startswith("complete"):
            table.notes.append(f"{name}: {data}; not to be compared with the published figures closely.")
    return table


def _rows_of(name: str, method: str, found: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Rows of one method on one set; ETHEREAL has three."""
    per_seed, published = found[method], SETTINGS[name].published
    row = {
        "set": name,
        "method": NAMES[method],
        "published_accuracy": getattr(published, method),
        "seeds": len(per_seed),
    } | _statistics("accuracy", per_seed, lambda r: 100 * r["accuracy"])
    if method in RIVALS:
        return [row]
    row |= _statistics("includes", per_seed, lambda r: r["includes"] / r["clauses"])
    row["published_includes"] = getattr(published, f"{method}_includes")
    if method == "vanilla":
        return [row]
    row["published_reduction"] = _less(published.ethereal_includes, published.vanilla_includes)
    small: dict[str, Any] = {"set": name, "method": "within 0.5", "seeds": len(per_seed)}
    small |= _statistics("accuracy", per_seed, lambda r: 100 * _smallest(r)[0])
    small |= _statistics("includes", per_seed, lambda r: _smallest(r)[1] / r["clauses"])
    simple = {key: value for key, value in row.items() if not key.startswith("published")}
    simple |= {"method": "simplified"}
    simple |= _statistics("includes", per_seed, lambda r: r["simplified"]["includes"] / r["clauses"])
    if "vanilla" in found:
        base = mean_and_spread([r["includes"] / r["clauses"] for r in found["vanilla"]])[0]
        for each in (row, small, simple):
            each["reduction"] = _less(each["includes"], base)
    return [row, small, simple]


def sizes(results: Results, protocol: Protocol) -> Table:
    """Bytes of the machines in every code, before and after simplify(), means over seeds."""
    table = Table(
        f"sizes-{protocol}",
        "Sizes: includes, clauses, bytes in each code",
        [
            Column("set", "set"),
            Column("machine", "machine"),
            Column("includes", "includes", ",.0f"),
            Column("clauses", "clauses", ",.0f"),
            Column("redress", "REDRESS", ",.0f"),
            Column("compact", "compact", ",.0f"),
            Column("bound", "bound", ",.0f"),
            Column("of_redress", "of REDRESS", ".2f"),
            Column("of_bound", "of bound", ".2f"),
        ],
        notes=[
            HOW[protocol] + "; means over seeds. Clauses alone: no labels, thresholds, header. "
            "REDRESS, compact, bound: bytes; bound: log2 C(literals, k) bits per clause of k includes and "
            "its votes; of: compact as a share. clauses: empty ones included as trained, none simplified.",
        ],
    )
    for name, found in _by_set(results).items():
        for method in (m for m in MACHINES if m in found):
            for kind in ("model", "simplified"):
                row: dict[str, Any] = {"set": name, "machine": NAMES[method]}
                if kind == "simplified":
                    row["machine"] = "simplified"
                for key in ("includes", "clauses"):
                    row[key] = _mean(found[method], lambda r: (r if kind == "model" else r[kind])[key])  # noqa: B023
                for code in ("redress", "compact", "bound"):
                    row[code] = _mean(found[method], lambda r: r["bytes"][kind][code])  # noqa: B023
                row["of_redress"] = row["compact"] / row["redress"] if row["redress"] else None
                row["of_bound"] = row["compact"] / row["bound"] if row["bound"] else None
                table.rows.append(row)
    return table


def training(results: Results, protocol: Protocol) -> Table:
    """Speed of training and what exclusion costs, means over seeds."""
    table = Table(
        f"training-{protocol}",
        "Training: speed and the cost of exclusion",
        [
            Column("set", "set"),
            Column("method", "method"),
            Column("rows_per_second", "rows/s", ",.0f"),
            Column("exclusion", "exclusion %", ".2f"),
            Column("seconds", "seconds per cell", ".1f"),
            Column("cpu_seconds", "of a core", ".1f"),
        ],
        notes=[
            "exclusion: of the time of training. One thread per cell; a cell is everything: training, "
            "evaluation after every epoch, simplify(). Wall clock, so other work on the machine counts in "
            "rows/s and seconds; seconds of a core do not."
        ],
    )
    for name, found in _by_set(results).items():
        for method in (m for m in METHODS if m in found):
            cells = found[method]
            row: dict[str, Any] = {"set": name, "method": NAMES[method]}
            if method in MACHINES:
                row["rows_per_second"] = _mean(cells, lambda r: r["rows_per_second"])
            if method == "ethereal":
                row["exclusion"] = 100 * _mean(cells, lambda r: r["exclusion_share"])
            row |= {key: _mean(cells, lambda r: r[key]) for key in ("seconds", "cpu_seconds")}  # noqa: B023
            table.rows.append(row)
    return table


def _by_set(results: Results) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Results of all seeds by set and method, in the order of the cells."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for cell, result in results.items():
        found.setdefault(cell.dataset, {}).setdefault(cell.method, []).append(result)
    return found


def _statistics(
    key: str, results: Sequence[dict[str, Any]], value: Callable[[dict[str, Any]], float]
) -> dict[str, float | None]:
    mean, spread = mean_and_spread([value(r) for r in results])
    return {key: mean, f"{key}_spread": spread if len(results) > 1 else None}


def _mean(results: Sequence[dict[str, Any]], value: Callable[[dict[str, Any]], float]) -> float:
    return mean_and_spread([value(r) for r in results])[0]


def _less(includes: float, base: float) -> float:
    """Percent of the base that is gone."""
    return 100 * (1 - includes / base) if base else 0.0


def _smallest(result: dict[str, Any]) -> tuple[float, int]:
    """Test accuracy and includes of the smallest epoch within the tolerance of the best.

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
