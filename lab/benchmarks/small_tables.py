"""The model that `ethereal run` hands over on small tables, beside the forest: for lab/notes/tuning.md.

    python lab/benchmarks/small_tables.py record TABLES --out small.jsonl
    python lab/benchmarks/small_tables.py show small.jsonl

TABLES is a folder of CSV files with a header, whose last column is the label. Every table is split, learned
and pruned as `run` does by default. Flash is that of the exported program, compiled for a Cortex-M7. The test
rows judge and choose nothing. Finished tables stay in --out. --flash 1k,2k prunes to these bounds too.
"""

import argparse
import csv
import json
import math
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ethereal import export
from ethereal.chips.targets import find_target
from ethereal.datasets.options import SourceOptions
from ethereal.datasets.reading import read
from ethereal.datasets.rows import split
from ethereal.export.c99.choose import compiled
from ethereal.train.options import TrainingOptions
from ethereal.tuning.frontiers import for_board, machines_for
from ethereal.tuning.machines import committee

TARGET, TYPICAL_ROWS = "cortex-m7", 500
FEW_CLASSES, LARGE, TOO_LARGE = 6, 8192, 16384


def rows_of(path, seed, test=0.2):
    """Return the rows of a table as `run` splits them."""
    with path.open(newline="", encoding="utf-8") as file:
        label = next(csv.reader(file))[-1]
    return split(read(str(path), SourceOptions(label=label)), test, seed)


def flash_of(model, rows):
    """Return the flash of the exported program, compiled."""
    program = export.choose(model, target=TARGET, rows=rows.X_train[:TYPICAL_ROWS])
    elf = compiled(program.files, find_target(TARGET), program.entry_points, optimize="-Os", compiler="zig")
    return elf.code_bytes + elf.table_bytes, program.layout


def machines(rows, seed):
    """Return the model of all training rows, and what trains the machines that are pruned."""
    options = TrainingOptions(seed=seed, jobs=1)

    def train(X, y, **changes):
        return options.classifier(0).set_params(**changes).fit(X, y, categories=rows.categories)

    def plain(X, y):
        first = train(X, y, noise_clauses=0, refit_votes=False)
        return committee(first, (X, y), machines_for(*rows.X_train.shape), rows.categories)

    return train(rows.X_train, rows.y_train).model_, plain


def forest_of(rows, seed, **limits):
    """Return the accuracy of a forest of 25 trees on test rows, None where it cannot learn."""
    forest = RandomForestClassifier(25, max_depth=14, random_state=seed, **limits)
    try:
        return float((forest.fit(rows.X_train, rows.y_train).predict(rows.X_test) == rows.y_test).mean())
    except ValueError:
        return None


def record(path, seed):
    """Return the figures of one table and seed."""
    rows = rows_of(path, seed)
    began = time.process_time()
    machine, plain = machines(rows, seed)
    learned = time.process_time()
    joined = plain(rows.X_train, rows.y_train)
    pruned = for_board(plain, joined, rows.X_train, rows.y_train, seed=seed, n_jobs=1)
    took = time.process_time() - learned
    model = pruned.model.simplify().drop_unused_kernels()
    flash, layout = flash_of(model, rows)
    return {
        "table": path.stem,
        "seed": seed,
        "rows": len(rows.y_train),
        "test": len(rows.y_test),
        "classes": machine.n_classes,
        "flash": flash,
        "layout": layout,
        "accuracy": float((model.predict(rows.X_test) == rows.y_test).mean()),
        "expected": pruned.point.accuracy,
        "unpruned": float((machine.predict(rows.X_test) == rows.y_test).mean()),
        "forest": forest_of(rows, seed),
        "seconds": [learned - began, took],
    }


def show(paths):
    """Print the means of recorded tables, one line per file."""
    print(
        f"{'file':<24}{'runs':>5}{'accuracy':>10}{'forest':>8}{'bytes':>7}{'> 8 kB':>9}{'largest':>9}{'s':>6}"
    )
    for path in paths:
        runs = [json.loads(line) for line in path.read_text().splitlines()]
        for few in (True, False):
            some = [r for r in runs if (r["classes"] <= FEW_CLASSES) == few]
            if not some:
                continue
            flash = np.array([r["flash"] for r in some])
            ours, theirs = (_mean_of_tables(some, key) for key in ("accuracy", "forest"))
            name = f"{path.stem}, {'2 to 6' if few else '7 and more'}"
            print(
                f"{name:<24}{len(some):>5}{100 * ours:>10.2f}{100 * theirs:>8.2f}"
                f"{math.exp(np.log(flash).mean()):>7.0f}{100 * (flash > LARGE).mean():>7.1f} %"
                f"{flash.max():>9}{np.mean([sum(r['seconds']) for r in some]):>6.1f}"
            )


def _mean_of_tables(runs, key):
    values = defaultdict(list)
    for run in runs:
        if run["forest"] is not None:
            values[run["table"]].append(run[key])
    return float(np.mean([np.mean(value) for value in values.values()]))


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("task", choices=["record", "show"])
    parser.add_argument("paths", type=Path, nargs="+", help="a folder of tables, or recorded files")
    parser.add_argument("--out", type=Path, default=Path("small.jsonl"))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    if options.task == "show":
        show(options.paths)
        return
    done = set()
    if options.out.exists():
        done = {(r["table"], r["seed"]) for r in map(json.loads, options.out.read_text().splitlines())}
    for seed in range(options.seeds):
        for path in sorted(p for folder in options.paths for p in folder.glob("*.csv")):
            if (path.stem, seed) in done:
                continue
            try:
                result = record(path, seed)
            except ValueError as error:  # which `run` would end with, too
                print(path.stem, seed, error, flush=True)
                continue
            with options.out.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(path.stem, seed, result["flash"], round(100 * result["accuracy"], 2), flush=True)


if __name__ == "__main__":
    main()
