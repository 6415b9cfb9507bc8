"""Tuned and pruned models beside the study's own, its REDRESS words and forests: docs/tuning.md.

    python benchmarks/budget.py run --sets har,gas --seeds 5  # the models, measured on a Cortex-M7
    python benchmarks/budget.py table                        # what is there, as Markdown
    python benchmarks/budget.py try --sets statlog --plan 64,300,16,3,60,4 --seeds 6  # validation rows only

Honest protocol: test rows choose nothing. Per seed a fifth of the training rows validates (several fifths in
turn where rows are few): it chooses the epochs, the teacher and the point of the pruned curve; then machines
learn from all training rows and are pruned to the same price. The machine is a committee: machines of several
seeds, joined, then pruned. Each result is a cell in a JSON file in --out; cells that are there are not
computed again, so a run that was broken off goes on.
--minutes ends a run between two cells.
"""

import argparse
import json
import math
import os
import sys
import time
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import train_test_split

from ethereal import Booleanizer, EtherealClassifier, datasets, device
from ethereal.base.atomic import write_text
from ethereal.compress import join
from ethereal.model import Model
from ethereal.model import codes as encode
from ethereal.study import rivals
from ethereal.study.cells import compute, prepare
from ethereal.study.settings import SETTINGS
from ethereal.study.store import Cell, Store
from ethereal.tuning import BudgetError, PrunedModel, estimate, on_device, prune
from ethereal.tuning.bounds import Bounds
from ethereal.tuning.choice import Choice

SETS = ("statlog", "mammography", "har", "gas", "emg", "sensorless", "sports", "gesture", "mnist")
TARGET, DEVICE_ROWS = "cortex-m7", 64
TEACHERS = ("votes", "blends", "labels")
SIZES = (300, 600, 1000, 2000, 4000, 8000)  # bytes


@cache
def rows_of(name):
    """Training and test rows as the study's honest protocol has them."""
    rows = prepare(datasets.load(name), SETTINGS[name], "honest")
    return rows.X[~rows.test], rows.y[~rows.test], rows.X[rows.test], rows.y[rows.test]


# Bins (None: the features are Boolean, or have one fixed threshold), clauses, T, s, epochs, machines. No
# exclusion: pruning shortens clauses anyway. Chosen by validation rows (docs/tuning.md).
PLANS = {
    "statlog": (64, 300, 16, 3.0, 100, 4),
    "mammography": (8, 50, 7, 3.0, 60, 4),
    "har": (8, 200, 14, 3.0, 60, 4),
    "gas": (8, 300, 12, 5.0, 60, 4),
    "emg": (8, 300, 14, 3.75, 60, 4),
    "sensorless": (None, 300, 15, 5.0, 60, 4),
    "sports": (16, 150, 12, 3.0, 25, 2),
    "gesture": (32, 500, 25, 9.0, 60, 4),
    "mnist": (None, 200, 14, 5.0, 25, 2),
}

SPLITS = {"statlog": 5, "mammography": 5, "gas": 4}  # validations, where rows or groups are few; else one


def booleanizer(name, bins, X):
    """The thresholds of a set, fitted once: the machines of a committee share them."""
    own = SETTINGS[name]
    if bins is not None:
        missing = "ignore" if np.isnan(X).any() else "raise"
        return Booleanizer(thresholds=Booleanizer(bins).fit(X).feature_map_, missing=missing)
    return None if own.threshold is None else Booleanizer(thresholds=own.threshold)


def machine(name, plan, seed, train, **choice):
    """A fitted classifier."""
    bins, n, T, s, epochs, _ = plan
    booleans = booleanizer(name, bins, train[0])
    clf = EtherealClassifier(n, T, s, epochs=epochs, exclude_every=None, booleanizer=booleans,
                             validation_fraction=0, random_state=seed)  # fmt: skip
    return clf.fit(*train, **choice)


def best_epoch(clf):
    """The epoch that validation rows chose."""
    return max(clf.history_, key=lambda r: (r["validation_accuracy"], -r["includes_per_clause"]))["epoch"]


def split(name, seed):
    """Rows to learn from and to validate with: a fifth of the rows, or of the groups where it must be groups.

    Where test rows come from people or times that training rows do not have, so do validation rows.
    """
    X, y, _, _ = rows_of(name)
    held = np.zeros(len(y), dtype=bool)
    data = datasets.load(name)
    if data.group is not None and np.setdiff1d(data.group[data.test], data.group_train).size:
        own = np.unique(data.group_train)
        some = np.random.default_rng(seed).permutation(own)[: round(len(own) / 5)]
        held = np.isin(data.group_train, some)
    else:
        held[train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)[1]] = True
    return (X[~held], y[~held]), (X[held], y[held])


def share(answers, y):
    return float((answers == y).mean())


# --- cells


def paper_cell(out, name, seed):
    """The study's two machines, the REDRESS words of ETHEREAL and their scan, and the forest."""
    X, y, X_test, y_test = rows_of(name)
    store = Store(out / "study")
    cells = {m: Cell(name, m, "honest", seed) for m in ("ethereal", "vanilla")}
    accuracy = {m: compute(cell, store)["accuracy"] for m, cell in cells.items()}
    model = Model.load(store.model_path(cells["ethereal"]))
    some = X_test[:: max(1, len(X_test) // DEVICE_ROWS)][:DEVICE_ROWS]
    scan = device.measure_program(rivals.redress(model, some), TARGET)
    numbers = [np.nan_to_num(a.astype(np.float32), nan=-1.0) for a in (X, X_test, some)]
    forest = RandomForestClassifier(25, max_depth=14, random_state=seed).fit(numbers[0], y)
    trees = roomy(rivals.forest(forest, numbers[2]))
    return {
        **accuracy,
        "includes": model.n_includes,
        "redress_bytes": encode.sizes(model)["redress"],
        "scan_instructions": scan.instructions,
        "forest": share(forest.predict(numbers[1]), y_test),
        "forest_flash": trees[0],
        "forest_instructions": trees[1],
    }


def roomy(rival):
    """Flash and mean instructions of a rival on a chip with flash for it: mnist's forest takes 1.3 MB."""
    chip = replace(device.find_target(TARGET), flash_bytes=1 << 24)
    elf = device.compile_elf(rival.files, chip, [rival.function], optimize="-Os")
    answers, counts = device.EmulatedCore(elf, chip).call_by_row(rival.function, rival.rows)
    assert share(answers, rival.expected) >= 0.95  # thresholds are rounded to 16 bits: rivals.forest
    return elf.code_bytes + elf.table_bytes, float(np.mean(counts))


def smoothed(curve):
    """Points with the mean accuracy of five neighbours: a lucky one among forty should not be chosen."""
    accuracies = [p.accuracy for p in curve]
    means = [float(np.mean(accuracies[max(0, i - 2) : i + 3])) for i in range(len(curve))]
    return [replace(p, accuracy=mean, footprint=None) for p, mean in zip(curve, means, strict=True)]


def falling(accuracies):
    """From the best point on, accuracies that do not rise as models get smaller: what rises is chance.

    Rises are levelled (isotonic regression); of equals the larger one is a little better, so that it is
    chosen where it fits.
    """
    level, best = np.array(accuracies), int(np.argmax(accuracies))
    smaller = np.arange(best, len(level))
    level[best:] = IsotonicRegression(increasing=False).fit_transform(smaller, level[best:])
    level[best:] -= 1e-6 * (smaller - best)
    return level.tolist()


def mean_of(found):
    """What prunings after several splits found, as one: the mean accuracy at each price, smoothed."""
    curve = [replace(p, accuracy=np.mean([f.accuracy_at(p.price) for f in found])) for p in found[0].curve]
    scale = math.exp(np.mean([math.log(f.scale) for f in found]))
    return replace(found[0], curve=tuple(smoothed(curve)), scale=scale)


def curve_cell(out, name, seed):
    """For each teacher the curve of a machine that learnt from all training rows; models go to files."""
    plan, (X, y, _, _) = PLANS[name], rows_of(name)
    seeds = range(1000 * seed, 1000 * seed + plan[-1])
    parts = [split(name, seed + 1000 * i) for i in range(SPLITS.get(name, 1))]
    tried = [[machine(name, plan, s, train, validation_set=held) for s in seeds] for train, held in parts]
    epochs = round(np.mean([best_epoch(clf) for machines in tried for clf in machines]))
    some = [join([clf.model_ for clf in machines]) for machines in tried]
    last = join([machine(name, (*plan[:4], epochs, 0), own, (X, y)).model_ for own in seeds])
    accuracies = {}
    for teacher in TEACHERS:
        found = [
            prune(model, *train, validation=held, teacher=teacher, random_state=seed)
            for model, (train, held) in zip(some, parts, strict=True)
        ]
        curve = prune(last, X, y, like=mean_of(found), random_state=seed).curve
        for i, point in enumerate(curve):
            point.model.save(model_path(out, name, seed, teacher, i))
        accuracies[teacher] = [point.accuracy for point in curve]
    return {"plan": plan, "epochs": epochs, "accuracies": accuracies}


def try_plan(name, plan, seeds):
    """Print what a plan reaches on validation rows, in percent, mean of the seeds: to choose plans by.

    Per teacher the best point of the curve, and the best one within so many bytes of compact code and
    thresholds.
    """
    joined, pruned = [], []
    for seed in range(seeds):
        train, held_out = split(name, seed)
        own = range(1000 * seed, 1000 * seed + plan[-1])
        model = join([machine(name, plan, s, train, validation_set=held_out).model_ for s in own])
        joined.append(share(model.predict(held_out[0]), held_out[1]))
        curves = [
            smoothed(prune(model, *train, validation=held_out, teacher=t, random_state=seed).curve)
            for t in TEACHERS
        ]
        within = (math.inf, *SIZES)
        pruned.append([[max(p.accuracy for p in c if p.estimate.bytes <= n) for n in within] for c in curves])
    print(f"{name} {plan}, {seeds} seeds: joined {100 * np.mean(joined):.1f} %\n")
    print(f"| teacher | best | {' | '.join(map(str, SIZES))} |\n|---|{'---:|' * (1 + len(SIZES))}")
    for teacher, row in zip(TEACHERS, 100 * np.mean(pruned, axis=0), strict=True):
        print(f"| {teacher} | {' | '.join(f'{a:.1f}' for a in row)} |", flush=True)


def model_path(out, name, seed, teacher, i):
    folder = out / "models" / f"{name}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{teacher}-{i:03}.etm"


def tuned_cell(out, name, seed):
    """The tuned machine, its best point, and the best points within bounds set by the study's models."""
    paper = cell(out, f"paper-{name}-{seed}", paper_cell, name, seed)
    found = cell(out, f"curve-{name}-{seed}", curve_cell, name, seed)
    X, _, X_test, y_test = rows_of(name)
    curves = []
    for teacher, accuracies in found["accuracies"].items():
        models = [Model.load(model_path(out, name, seed, teacher, i)) for i in range(len(accuracies))]
        pairs = zip(models, falling(accuracies), strict=True)
        curves.append([PrunedModel(m, a, estimate(m)) for m, a in pairs])
    best = max((p for curve in curves for p in curve), key=lambda p: (p.accuracy, -p.estimate.bytes))
    result = {
        "joined": share(curves[0][0].model.predict(X_test), y_test),
        "best": {"accuracy": share(best.model.predict(X_test), y_test), "includes": best.model.n_includes},
    }
    scan, flash = paper["scan_instructions"], paper["forest_flash"]
    worst, usual = (once(on_device(X, TARGET, of_rows=f)) for f in (np.max, np.mean))
    bounds = {
        "1/5": (Bounds(paper["redress_bytes"] / 5, scan / 10), worst),
        "1/12": (Bounds(paper["redress_bytes"] / 12, scan / 10), worst),
        "forest/4": (Bounds(flash / 4), usual),
        "forest/4, faster": (Bounds(flash / 4, paper["forest_instructions"]), usual),
    }
    for label, (bound, measure) in bounds.items():
        point = choose(curves, bound, measure)
        result[label] = {
            "fits": point.footprint is not None and bound.excess(point.footprint) <= 1,
            "accuracy": share(point.model.predict(X_test), y_test),
            "includes": point.model.n_includes,
            "clauses": point.model.n_clauses,
            "footprint": asdict(point.footprint or point.estimate),
        }
    return result


def choose(curves, bound, measure):
    """The most accurate point of all curves that keeps the bound, else the nearest."""
    inside, nearest = [], []
    for curve in curves:
        try:
            inside.append(Choice(curve, bound, measure).make())
        except BudgetError as error:
            nearest.append(error.nearest)
    if inside:
        return max(inside, key=lambda p: p.accuracy)
    return min(nearest, key=lambda p: bound.excess(p.footprint or p.estimate))


def once(measure):
    """Measures every model once: the curve keeps the models alive."""
    seen = {}

    def remembered(model):
        if id(model) not in seen:
            seen[id(model)] = tuple(measure(model))
        return seen[id(model)]

    return remembered


# --- the store


def read(out, key):
    try:
        return json.loads((out / f"{key}.json").read_text())
    except (OSError, ValueError):
        return None


def cpu_seconds():
    """Of this process and of the compilers it started."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def cell(out, key, compute_it, *arguments):
    found = read(out, key)
    if found is None:
        start = cpu_seconds()
        found = compute_it(out, *arguments)
        found["cpu_seconds"] = round(cpu_seconds() - start, 2)
        write_text(out / f"{key}.json", json.dumps(found))
        print(key, f"{found['cpu_seconds']:.1f} s", file=sys.stderr, flush=True)
    return found


# --- tables


def mean(values, digits=1):
    values = [v for v in values if v is not None]
    spread = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"


def table(out, sets, seeds):
    found = {}
    for name in sets:
        kinds = "paper", "tuned", "curve"
        pairs = [tuple(read(out, f"{kind}-{name}-{s}") for kind in kinds) for s in range(seeds)]
        pairs = [p for p in pairs if None not in p]
        if pairs:
            found[name] = pairs
    print("**At the accuracy of the study's ETHEREAL**\n")
    print(
        "| set | n | ETHEREAL % | REDRESS bytes | scan | bound | ours % | flash | fewer | instructions "
        "| fewer |"
    )
    print("|---|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|")
    for name, pairs in found.items():
        for label in ("1/5", "1/12"):
            ours = [t[label] for _, t, _ in pairs]
            sizes = [o["footprint"]["bytes"] for o in ours]
            steps = [o["footprint"]["instructions"] for o in ours]
            words, scan = (
                [p["redress_bytes"] for p, _, _ in pairs],
                [p["scan_instructions"] for p, _, _ in pairs],
            )
            missed = "" if all(o["fits"] for o in ours) else " (not met)"
            print(
                f"| {name} | {len(pairs)} | {mean([100 * p['ethereal'] for p, _, _ in pairs])} "
                f"| {np.mean(words):.0f} | {np.mean(scan):.0f} | {label}{missed} "
                f"| {mean([100 * o['accuracy'] for o in ours])} "
                f"| {np.mean(sizes):.0f} | {np.mean(words) / np.mean(sizes):.1f} | {np.mean(steps):.0f} "
                f"| {np.mean(scan) / np.mean(steps):.1f} |"
            )
    print("\n**Accuracy, and a quarter of the forest's flash**\n")
    print(
        "| set | n | vanilla % | forest % | tuned % | forest flash | forest instr. | bound | ours % | flash "
        "| instructions |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|")
    for name, pairs in found.items():
        for label in ("forest/4", "forest/4, faster"):
            ours = [t[label] for _, t, _ in pairs]
            missed = "" if all(o["fits"] for o in ours) else " (not met)"
            print(
                f"| {name} | {len(pairs)} | {mean([100 * p['vanilla'] for p, _, _ in pairs])} "
                f"| {mean([100 * p['forest'] for p, _, _ in pairs])} "
                f"| {mean([100 * t['best']['accuracy'] for _, t, _ in pairs])} "
                f"| {np.mean([p['forest_flash'] for p, _, _ in pairs]):.0f} "
                f"| {np.mean([p['forest_instructions'] for p, _, _ in pairs]):.0f} | {label}{missed} "
                f"| {mean([100 * o['accuracy'] for o in ours])} "
                f"| {np.mean([o['footprint']['bytes'] for o in ours]):.0f} "
                f"| {np.mean([o['footprint']['instructions'] for o in ours]):.0f} |"
            )
    print("\n**Settings, and CPU seconds per seed**\n")
    print("| set | bins | clauses | T | s | epochs | machines | study's models | curves | choice |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, pairs in found.items():
        plan = ["" if v is None else f"{v:g}" for v in pairs[0][2]["plan"]]
        spent = [np.mean([pair[i]["cpu_seconds"] for pair in pairs]) for i in (0, 2, 1)]
        print(f"| {name} | {' | '.join(plan)} | {' | '.join(f'{s:.0f}' for s in spent)} |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "table", "try"])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--plan", help="bins (0: none), clauses, T, s, epochs, machines; else the set's own")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--out", type=Path, default=Path("budget"))
    options = parser.parse_args()
    sets = options.sets.split(",")
    options.out.mkdir(parents=True, exist_ok=True)
    jobs = []
    if options.what == "run":
        for seed in range(options.first_seed, options.seeds):
            for name in sets:
                jobs.append((f"paper-{name}-{seed}", paper_cell, name, seed))
                jobs.append((f"curve-{name}-{seed}", curve_cell, name, seed))
                jobs.append((f"tuned-{name}-{seed}", tuned_cell, name, seed))
    end = time.monotonic() + 60 * options.minutes
    for key, compute_it, *arguments in jobs:
        if time.monotonic() > end:
            sys.exit(f"time is up before {key}; the same command goes on")
        cell(options.out, key, compute_it, *arguments)
    for name in sets if options.what == "try" else ():
        plan = PLANS[name]
        if options.plan is not None:
            bins, n, T, s, epochs, machines = map(float, options.plan.split(","))
            plan = (int(bins) or None, int(n), int(T), s, int(epochs), int(machines))
        try_plan(name, plan, options.seeds)
    if options.what == "table":
        table(options.out, sets, options.seeds)


if __name__ == "__main__":
    main()
