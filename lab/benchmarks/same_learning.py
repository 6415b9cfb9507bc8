"""Does it learn the same? Accuracy and includes per clause beside pyTsetlinMachine, mean over several seeds.

    python lab/benchmarks/same_learning.py [--sets mnist,statlog,gesture] [--seeds 5] [--jobs 2] [--json]

Vanilla machines learn with the study's parameters on the same Boolean rows. The last epoch is one reading.
The mean over all epochs has the least noise. The epoch of the best test accuracy is what the study reports.
Each difference stands beside its standard error.

pyTsetlinMachine's own `predict` cuts class sums at T, and the lower class wins the ties that this makes. That
is reading out, not learning, so its machines are read with whole sums. `--baseline pytsetlinmachine` takes
its own `predict`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean, variance

from rich.console import Console
from rich.table import Table

from ethereal_study.speed import protocol, sets

EPOCHS = {"mnist": 10}  # else those of the study
BASELINES = ("pytsetlinmachine-unclipped", "pytsetlinmachine")
READINGS = ("last epoch", "all epochs", "best epoch")


def readings(answer: protocol.Answer) -> dict[str, tuple[float, float]]:
    """Percent of test rows right, and includes per clause, for each of the readings."""
    accuracy, includes = [100 * share for share in answer.accuracy], answer.includes_per_clause
    best = accuracy.index(max(accuracy))
    return {
        "last epoch": (accuracy[-1], includes[-1]),
        "all epochs": (mean(accuracy), mean(includes)),
        "best epoch": (accuracy[best], includes[best]),
    }


def measure(name: str, who: list[protocol.Baseline], *, epochs: int, seeds: int, jobs: int) -> dict:
    """Train every baseline with every seed; the values of the seeds per quantity, reading, baseline."""
    rows = sets.load(name)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        data = Path(folder) / "rows.npz"
        rows.save(data)

        def run(baseline: protocol.Baseline, seed: int) -> dict[str, tuple[float, float]]:
            request = rows.request(data, epochs=epochs, seed=seed)
            return readings(protocol.run(baseline.python, baseline.adapter, request))

        runs = {c.name: [pool.submit(run, c, seed) for seed in range(1, seeds + 1)] for c in who}
        got = {name: [future.result() for future in futures] for name, futures in runs.items()}
    return {
        "set": name,
        "real": rows.real,
        "epochs": epochs,
        "seeds": seeds,
        "accuracy": {r: {c: [run[r][0] for run in got[c]] for c in got} for r in READINGS},
        "includes": {r: {c: [run[r][1] for run in got[c]] for c in got} for r in READINGS},
    }


def difference(values: dict[str, list[float]]) -> tuple[float, float, float, float]:
    """Return ours, theirs, the difference of the means, and its standard error."""
    ours, theirs = values.values()
    error = math.sqrt(variance(ours) / len(ours) + variance(theirs) / len(theirs))
    return mean(ours), mean(theirs), mean(ours) - mean(theirs), error


def add_rows(table: Table, result: dict) -> None:
    for reading in READINGS:
        ours, theirs, apart, error = difference(result["accuracy"][reading])
        accuracy = (f"{ours:.2f}", f"{theirs:.2f}", f"{apart:+.2f} ± {error:.2f}")
        ours, theirs, apart, error = difference(result["includes"][reading])
        percent = 100 / theirs
        includes = (f"{ours:.2f}", f"{theirs:.2f}", f"{apart * percent:+.1f} % ± {error * percent:.1f}")
        kind = "" if result["real"] else " (synthetic)"
        table.add_row(f"{result['set']}{kind}, {result['epochs']} epochs", reading, *accuracy, *includes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="mnist,statlog,gesture")
    parser.add_argument("--epochs", type=int, help="default: mnist 10, else those of the study")
    parser.add_argument("--baseline", choices=BASELINES, default=BASELINES[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2, help="processes at once; nothing is timed here")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.seeds < 2:
        parser.error("--seeds must be 2 or more: the spread comes from them")
    who = [protocol.ethereal(), protocol.baseline(options.baseline, Console(stderr=True).print)]
    table = Table(
        title=f"Learning beside {options.baseline}, mean over {options.seeds} seeds", title_justify="left"
    )
    table.add_column("set", no_wrap=True)
    table.add_column("reading", no_wrap=True)
    for heading in ("accuracy %", "theirs", "difference", "includes", "theirs", "difference"):
        table.add_column(heading, justify="right")
    results = []
    for name in options.sets.split(","):
        epochs = options.epochs or EPOCHS.get(name) or sets.shape_named(name).settings.epochs
        print(f"{name}: {epochs} epochs, {options.seeds} seeds ...", file=sys.stderr)
        results.append(measure(name, who, epochs=epochs, seeds=options.seeds, jobs=options.jobs))
        add_rows(table, results[-1])
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        Console().print(table)


if __name__ == "__main__":
    main()
