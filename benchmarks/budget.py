"""Tuned and pruned models beside the study's own, its REDRESS words and forests: docs/tuning.md.

    python benchmarks/budget.py run --sets har,gas --seeds 5  # the models, measured on a Cortex-M7
    python benchmarks/budget.py table                        # what is there, as Markdown
    python benchmarks/budget.py holds --budgets 50           # random budgets, checked by compiling

Honest protocol: test rows choose nothing. Settings follow one recipe for all sets. Per seed a fifth of the
training rows validates: it chooses the epoch and the point of the pruned curve. The machine is a committee:
machines of several seeds, joined, then pruned. Each result is a cell in a JSON file in --out; cells that are
there are not computed again, so a run that was broken off goes on. --minutes ends a run between two cells.
"""

import argparse
import json
import math
import os
import sys
import tempfile
import time
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from ethereal import Booleanizer, EtherealClassifier, datasets, device, encode, export
from ethereal.atomic import write_text
from ethereal.compress import BudgetError, join, on_device, prune
from ethereal.compress.bounds import Bounds, Choice
from ethereal.device import rivals
from ethereal.model import Model
from ethereal.rows import is_boolean
from ethereal.study.cells import compute, prepare
from ethereal.study.settings import SETTINGS
from ethereal.study.store import Cell, Store

SETS = ("statlog", "mammography", "har", "gas", "emg", "sensorless", "sports", "gesture", "mnist")
TARGET, DEVICE_ROWS = "cortex-m7", 64


@cache
def rows_of(name):
    """Training and test rows as the study's honest protocol has them."""
    rows = prepare(datasets.load(name), SETTINGS[name], "honest")
    return rows.X[~rows.test], rows.y[~rows.test], rows.X[rows.test], rows.y[rows.test]


def recipe(name):
    """(bins or None, clauses, T, s, exclude_every), and epochs: one recipe, no choice.

    The study's clauses and T, no exclusion, half of its s, because pruning shortens clauses anyway, and more
    bins: 8, or 16 where there are few features.
    """
    own, (X, y, _, _) = SETTINGS[name], rows_of(name)
    epochs = 60 if len(y) < 2000 else 100 if len(y) < 50_000 else 12
    bins = None if own.threshold is not None or is_boolean(X) else 16 if X.shape[1] < 30 else 8
    return (bins, own.n_clauses, own.T, max(3.0, own.s / 2), None), epochs


def committee(name):
    """Machines that are joined."""
    return {"sports": 2, "mnist": 2}.get(name, 4)


def booleanizer(name, bins, X):
    """The thresholds of a set, fitted once: the machines of a committee share them."""
    own = SETTINGS[name]
    if bins is not None:
        return Booleanizer(thresholds=Booleanizer(bins).fit(X).layout_, missing="ignore")
    return None if own.threshold is None else Booleanizer(thresholds=own.threshold)


def machine(name, plan, epochs, seed, train, held_out):
    """A fitted classifier."""
    bins, n, T, s, k = plan
    booleans = booleanizer(name, bins, train[0])
    clf = EtherealClassifier(n, T, s, epochs=epochs, exclude_every=k, booleanizer=booleans, random_state=seed)
    return clf.fit(*train, validation_set=held_out)


def split(name, seed):
    X, y, _, _ = rows_of(name)
    X_train, X_held, y_train, y_held = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    return (X_train, y_train), (X_held, y_held)


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
    scan = device.measure_rival(rivals.redress(model, some), TARGET)
    numbers = [np.nan_to_num(a.astype(np.float32), nan=-1.0) for a in (X, X_test, some)]
    forest = RandomForestClassifier(25, max_depth=14, random_state=seed).fit(numbers[0], y)
    trees = device.measure_rival(rivals.forest(forest, numbers[2]), TARGET)
    return {
        **accuracy,
        "includes": model.n_includes,
        "redress_bytes": encode.sizes(model)["redress"],
        "scan_instructions": scan.instructions,
        "forest": share(forest.predict(numbers[1]), y_test),
        "forest_flash": trees.flash_bytes,
        "forest_instructions": trees.instructions,
    }


def smoothed(curve):
    """Points with the mean accuracy of five neighbours: a lucky one among forty should not be chosen."""
    accuracies = [p.accuracy for p in curve]
    means = [float(np.mean(accuracies[max(0, i - 2) : i + 3])) for i in range(len(curve))]
    return [replace(p, accuracy=mean, footprint=None) for p, mean in zip(curve, means, strict=True)]


def tuned_cell(out, name, seed):
    """The tuned machine, its best point, and the best points within bounds set by the study's models."""
    paper = read(out, f"paper-{name}-{seed}") or cell(out, f"paper-{name}-{seed}", paper_cell, name, seed)
    plan, epochs = recipe(name)
    _, _, X_test, y_test = rows_of(name)
    train, held_out = split(name, seed)
    seeds = range(1000 * seed, 1000 * seed + committee(name))
    members = [machine(name, plan, epochs, own, train, held_out).model_ for own in seeds]
    model = join(members)
    curve = smoothed(prune(model, *train, validation=held_out, random_state=seed).curve)
    device_of = on_device(held_out[0], TARGET)
    seen = {}

    def measure(model):
        if id(model) not in seen:  # the curve keeps the models alive
            seen[id(model)] = tuple(device_of(model))
        return seen[id(model)]

    best = max(curve, key=lambda p: (p.accuracy, -p.estimate.bytes))
    scan, flash = paper["scan_instructions"], paper["forest_flash"]
    bounds = {
        "1/5": Bounds(paper["redress_bytes"] / 5, scan / 10),
        "1/12": Bounds(paper["redress_bytes"] / 12, scan / 10),
        "forest/4": Bounds(flash / 4),
        "forest/4, faster": Bounds(flash / 4, paper["forest_instructions"]),
    }
    result = {
        "plan": plan,
        "member": share(members[0].predict(X_test), y_test),
        "joined": share(model.predict(X_test), y_test),
        "best": {"accuracy": share(best.model.predict(X_test), y_test), "includes": best.model.n_includes},
    }
    for label, bound in bounds.items():
        try:
            point = Choice(curve, bound, measure).make()
        except BudgetError as error:
            point = error.nearest
        result[label] = {
            "fits": point.footprint is not None and bound.excess(point.footprint) <= 1,
            "accuracy": share(point.model.predict(X_test), y_test),
            "includes": point.model.n_includes,
            "clauses": point.model.n_clauses,
            "footprint": asdict(point.footprint or point.estimate),
        }
    return result


def holds_cell(out, name, index):
    """One random budget: prune to it, then compile and execute what export.c would write."""
    rng = np.random.default_rng([index, *name.encode()])
    budget = {
        "max_bytes": int(2 ** rng.uniform(9, 13)),
        "max_instructions": int(2 ** rng.uniform(10, 16)),
        "max_ram": int(2 ** rng.uniform(8, 12)),
    }
    model, train, held_out = holds_model(name)
    try:
        found = prune(model, *train, validation=held_out, random_state=index, **budget)
    except BudgetError as error:
        return {**budget, "fits": False, "told": str(error)}
    took, answers = exported(found.model, found.footprint, held_out[0])
    exceeded = [key for key in budget if took[key] > budget[key]]
    expected = found.model.class_sums(held_out[0][: len(answers)].astype(np.float32)).argmax(axis=1)
    return {**budget, "fits": True, "took": took, "exceeded": exceeded, "accuracy": found.accuracy,
            "agreement": share(answers, expected)}  # fmt: skip


def exported(model, footprint, X):
    """What the files that `export.c` writes take, compiled, and their answers on up to 200 rows."""
    with tempfile.TemporaryDirectory() as folder:
        form = {"layout": footprint.layout, "clause_bytes": footprint.clause_bytes}
        path = export.c(model, Path(folder) / "c", **form)
        sources = {p.name: p.read_text() for p in path.iterdir() if p.suffix in (".c", ".h")}
    del sources["model_test.c"]
    chip = device.find_target(TARGET)
    elf = device.compile_elf(sources, chip, ["model_predict"], optimize="-Os")
    core, counts, answers = device.Machine(elf, chip), [], []
    rows = X[:200].astype(np.float32)
    address = core.buffer(rows[0])
    for row in rows:
        core.write(address, row)
        before = core.instructions
        answers.append(core.call("model_predict", address))
        counts.append(core.instructions - before)
    took = {
        "max_bytes": elf.code_bytes + elf.table_bytes,
        "max_instructions": float(np.mean(counts)),
        "max_ram": elf.ram_bytes + core.stack_bytes,
    }
    return took, np.array(answers)


@cache
def holds_model(name):
    """A machine to prune: 8 bins, the study's clauses, T and s where it has the set."""
    if name == "digits":
        data = datasets.load("digits")
        parts = train_test_split(
            data.X_train, data.y_train, test_size=0.2, stratify=data.y_train, random_state=0
        )
        train, held_out = (parts[0], parts[2]), (parts[1], parts[3])
        clf = EtherealClassifier(60, 10, 5.0, epochs=20, booleanizer=Booleanizer(8), random_state=0)
        return clf.fit(*train, validation_set=held_out).model_, train, held_out
    train, held_out = split(name, 0)
    own = SETTINGS[name]
    plan = (8, own.n_clauses, own.T, own.s, own.exclude_every)
    return machine(name, plan, 20, 0, train, held_out).model_, train, held_out


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
        pairs = [(read(out, f"paper-{name}-{s}"), read(out, f"tuned-{name}-{s}")) for s in range(seeds)]
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
            ours = [t[label] for _, t in pairs]
            sizes = [o["footprint"]["bytes"] for o in ours]
            steps = [o["footprint"]["instructions"] for o in ours]
            words, scan = [p["redress_bytes"] for p, _ in pairs], [p["scan_instructions"] for p, _ in pairs]
            missed = "" if all(o["fits"] for o in ours) else " (not met)"
            print(
                f"| {name} | {len(pairs)} | {mean([100 * p['ethereal'] for p, _ in pairs])} "
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
            ours = [t[label] for _, t in pairs]
            missed = "" if all(o["fits"] for o in ours) else " (not met)"
            print(
                f"| {name} | {len(pairs)} | {mean([100 * p['vanilla'] for p, _ in pairs])} "
                f"| {mean([100 * p['forest'] for p, _ in pairs])} "
                f"| {mean([100 * t['best']['accuracy'] for _, t in pairs])} "
                f"| {np.mean([p['forest_flash'] for p, _ in pairs]):.0f} "
                f"| {np.mean([p['forest_instructions'] for p, _ in pairs]):.0f} | {label}{missed} "
                f"| {mean([100 * o['accuracy'] for o in ours])} "
                f"| {np.mean([o['footprint']['bytes'] for o in ours]):.0f} "
                f"| {np.mean([o['footprint']['instructions'] for o in ours]):.0f} |"
            )
    print("\n**Settings, and CPU seconds per seed**\n")
    print("| set | bins | clauses | T | s | k | machines | study's models | tuned |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, pairs in found.items():
        plan = ["" if v is None else f"{v:g}" for v in (*pairs[0][1]["plan"], committee(name))]
        spent = [np.mean([pair[i]["cpu_seconds"] for pair in pairs]) for i in (0, 1)]
        print(f"| {name} | {' | '.join(plan)} | {spent[0]:.0f} | {spent[1]:.0f} |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "table", "holds"])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--budgets", type=int, default=50)
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
                jobs.append((f"tuned-{name}-{seed}", tuned_cell, name, seed))
    elif options.what == "holds":
        if options.sets == ",".join(SETS):
            sets = ["digits", "statlog", "mammography"]
        jobs = [
            (f"holds-{sets[i % len(sets)]}-{i}", holds_cell, sets[i % len(sets)], i)
            for i in range(options.budgets)
        ]
    end = time.monotonic() + 60 * options.minutes
    for key, compute_it, *arguments in jobs:
        if time.monotonic() > end:
            sys.exit(f"time is up before {key}; the same command goes on")
        cell(options.out, key, compute_it, *arguments)
    if options.what == "table":
        table(options.out, sets, options.seeds)
    if options.what == "holds":
        found = [read(options.out, key) for key, *_ in jobs]
        made = [f for f in found if f["fits"]]
        print(
            f"{len(found)} budgets, {len(made)} with a model, "
            f"{sum(bool(f['exceeded']) for f in made)} exceeded, "
            f"{sum(f['agreement'] < 1 for f in made)} with another answer than the host's"
        )


if __name__ == "__main__":
    main()
