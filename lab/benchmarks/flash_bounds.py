"""Models within a bound on flash alone: is there another as good, in a quarter of the instructions?

    python lab/benchmarks/flash_bounds.py TABLES --out bounds.jsonl

TABLES is a folder of CSV files with a header, whose last column is the label. The curve of each is made once,
as `run` makes it, and a model is chosen from it within 1, 2, 4 and 8 kB. Then every other model of the curve
that is as accurate within 0.2 points on held-out rows is compiled and executed. A better one fits and
takes less than a quarter of the instructions. Accuracies are those that the choice sees, and the plain share
of right answers. Test rows judge and choose nothing. Finished tables stay in --out.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from ethereal.tuning.budget import Budget
from ethereal.tuning.choice import BudgetError, Choice, best_form
from ethereal.tuning.footprint import usable
from ethereal.tuning.frontiers import for_board
from small_tables import TARGET, machines, rows_of

BOUNDS = 1024, 2048, 4096, 8192
AS_GOOD, TIMES = 0.002, 4


def plain(point):
    """Return the share of held-out rows that a point answers right, before it is smoothed."""
    return float(point.held_out.right.mean())


def better_ones(curve, chosen, budget, measure):
    """Return bytes, instructions and accuracies of the models that are as good and four times as quick."""
    collected = []
    for point in curve:
        near = point.accuracy >= chosen.accuracy - AS_GOOD, plain(point) >= plain(chosen) - AS_GOOD
        if not point.model.n_clauses or point.model is chosen.model or not any(near):
            continue
        took = best_form(budget, measure(point.model))
        if took is None or budget.excess(took) > 1:
            continue
        if took.instructions * TIMES < chosen.footprint.instructions:
            collected.append([took.bytes, took.instructions, point.accuracy, plain(point), *near])
    return collected


def record(path, seed, bounds):
    """Return the figures of one table, one for each bound."""
    rows = rows_of(path, seed)
    _, train = machines(rows, seed)
    machine = train(rows.X_train, rows.y_train)
    curve = for_board(train, machine, rows.X_train, rows.y_train, seed=seed, n_jobs=1).curve
    for bound in bounds:
        budget = Budget(flash=bound, target=TARGET)
        inner = usable(rows.X_train, budget)
        looked = []

        def measure(model, inner=inner, looked=looked):
            looked.append(model)
            return inner(model)

        began, count = time.process_time(), {"table": path.stem, "seed": seed, "flash": bound}
        try:
            chosen = Choice(curve, budget, measure).make()
        except BudgetError:
            yield count | {"bytes": None}
            continue
        took = chosen.footprint
        yield count | {
            "bytes": took.bytes,
            "instructions": took.instructions,
            "layout": took.layout,
            "accuracy": chosen.accuracy,
            "plain": plain(chosen),
            "test": float((chosen.model.predict(rows.X_test) == rows.y_test).mean()),
            "measured": len(looked),
            "points": len(curve),
            "seconds": time.process_time() - began,
            "better": better_ones(curve, chosen, budget, inner),
        }


def show(path):
    """Print the means of each bound, and how many models have a better one."""
    runs = [run for run in map(json.loads, path.read_text().splitlines()) if run["bytes"] is not None]
    heads = {"bound": 6, "runs": 6, "test %": 8, "bytes": 7, "instructions": 14, "measured": 10, "better": 8,
             "plain": 7}  # fmt: skip
    print("".join(f"{head:>{width}}" for head, width in heads.items()))
    for bound in sorted({run["flash"] for run in runs}):
        of_bound = [run for run in runs if run["flash"] == bound]
        mean = {key: np.mean([run[key] for run in of_bound]) for key in ("test", "bytes", "measured")}
        quick = np.exp(np.mean(np.log([run["instructions"] for run in of_bound])))
        seen, raw = (sum(any(better[i] for better in run["better"]) for run in of_bound) for i in (4, 5))
        print(
            f"{bound:>6}{len(of_bound):>6}{100 * mean['test']:>8.2f}{mean['bytes']:>7.0f}{quick:>14.0f}"
            f"{mean['measured']:>10.1f}{seen:>8}{raw:>7}"
        )


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("bounds.jsonl"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    done = set()
    if options.out.exists():
        done = {run["table"] for run in map(json.loads, options.out.read_text().splitlines())}
    for path in sorted(options.folder.glob("*.csv")):
        if path.stem in done:
            continue
        lines = list(record(path, options.seed, BOUNDS))
        with options.out.open("a") as file:
            file.writelines(json.dumps(run) + "\n" for run in lines)
        print(path.stem, *(f"{run['bytes']} B" for run in lines), flush=True)
    show(options.out)


if __name__ == "__main__":
    main()
