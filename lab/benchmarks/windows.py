"""From sample to label: accuracy and cost within budgets, beside forests and boosting (lab/notes/windows.md).

python lab/benchmarks/windows.py record har.npz gesture.npz fsdd.npz watch.npz --out windows.jsonl
python lab/benchmarks/windows.py table windows.jsonl
python lab/benchmarks/windows.py offers har.npz
python lab/benchmarks/windows.py prune har.npz --seeds 0 --out pruned.jsonl
python lab/benchmarks/windows.py forms watch.npz

A file is as `raw_windows.py` says. Test rows are of people that no training row is of, and choose nothing.
What is recorded already is not computed again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from ethereal import EtherealClassifier, WindowFeatures, compress, prune
from ethereal.base.splits import group_folds
from ethereal.compress.curve import PruneRows, prune_path
from ethereal.device import kernel_prices, measure
from ethereal.tuning import Budget
from ethereal.tuning.budget import PER_HALVING
from ethereal.tuning.choice import within
from ethereal.tuning.footprint import estimate, on_device, usable
from ethereal.tuning.frontiers import curves_of
from ethereal.tuning.kernels import Kept, bounded, candidates, drop_groups
from ethereal.tuning.sources import Sources, Way

MOVEMENT = ("stats", "haar", "bands")
BUDGETS = {
    "4k": Budget(flash="4k"),
    "8k": Budget(flash="8k"),
    "16k": Budget(flash="16k"),
    "8k, 33,000 instructions": Budget(flash="8k", instructions=33_000),
    "8k, 400,000 instructions": Budget(flash="8k", instructions=400_000),
    "8k, any speed": Budget(flash="8k", instructions=10**9),
    "none": Budget(),
}
ONLY_FOR = {
    "8k, 33,000 instructions": ("har",),
    "8k, 400,000 instructions": ("watch",),
    "8k, any speed": ("watch",),
}
MEASURED_WINDOWS = 60


@dataclass(frozen=True)
class Plan:
    """How a set is treated. Larger sets get fewer candidates and splits."""

    bins: int
    kernels: dict[str, list[str]]
    candidates: int = 2
    splits: int = 3


# Kernels were chosen on training people: lab/notes/windows.md. Gestures need their course, movements do not.
PLANS = {
    "har": Plan(8, {name: ["axes"] for name in (*MOVEMENT, "corr")}),
    "gesture": Plan(16, {name: ["axes", "|a|"] for name in (*MOVEMENT, "parts")} | {"corr": ["axes"]}),
    "fsdd": Plan(16, {"mel": ["axes"]}),
    "watch": Plan(12, {name: ["axes", "|a|"] for name in MOVEMENT} | {"corr": ["axes"]}, 1, 1),
}


def machines(front_end: Any, bins: int, X: Any, y: Any, seed: int) -> Any:
    """Two machines of 200 clauses as one model."""
    windowed = WindowFeatures.from_front_end(front_end)
    made = [
        EtherealClassifier(200, 10, 4.0, epochs=20, booleanizer=bins, front_end=windowed,
                           validation_fraction=0, noise_clauses=0, refit_votes=False,
                           random_state=10 * seed + i)
        .fit(X, y).model_
        for i in range(2)
    ]  # fmt: skip
    return compress.join(made)


def curve_of(kept: Kept, plan: Plan, X: Any, y: Any, group: Any, seed: int) -> Any:
    """The pruning curve of machines of all training people, with accuracies of people that were held out."""
    folds = group_folds(y, group, max(plan.splits, 4), seed)[: plan.splits]

    def learn(some: Any, rest: Any) -> Any:
        return machines(kept.front_end, plan.bins, *some, seed)

    def last() -> Any:
        return machines(kept.front_end, plan.bins, X, y, seed)

    way = Way("machine", "votes")
    return curves_of(learn, last, (X, y), folds, Sources((way,)), seed)[0][way].curve


def record(path: Path, seed: int, budgets: list[str]) -> Iterator[dict[str, Any]]:
    """Yield what was found for each budget, of one set and seed."""
    name = path.stem
    with np.load(path, allow_pickle=False) as file:
        data = dict(file)
    plan, test = PLANS[name], data["test"]
    X, y, group = (data[key][~test] for key in ("X", "y", "group"))
    X_test, y_test = data["X"][test], data["y"][test]
    windowed = WindowFeatures(plan.kernels, axes=[str(n) for n in data["axis_names"]],
                              rate=float(data["rate"]), scale=data["scale"].tolist(),
                              hop=min(64, X.shape[1]))  # fmt: skip
    offered = windowed.fit(X).front_end_
    steps = drop_groups(offered, X, y, group, by_flash=True, seed=seed)
    curves: dict[Any, Any] = {}
    forests: dict[Any, float] = {}
    for budget_name in budgets:
        began, asked = time.monotonic(), BUDGETS[budget_name]
        bounds = bounded(asked, offered) if asked.on_size else asked
        chosen = []
        for kept in candidates(steps, bounds, plan.candidates):
            own_groups = kept.front_end.groups
            if own_groups not in curves:
                curves[own_groups] = curve_of(kept, plan, X, y, group, seed)
            point = within(curves[own_groups], bounds, usable(X, bounds))
            if point.footprint is not None and bounds.excess(point.footprint) <= 1:
                worth = point.accuracy - PER_HALVING * math.log2(point.footprint.instructions)
                chosen.append((worth, kept, point))
        line: dict[str, Any] = {"set": name, "seed": seed, "budget": budget_name}
        if not chosen:
            yield line | {"accuracy": None}
            continue
        _, kept, point = max(chosen, key=lambda one: one[0])
        model, took = point.model, point.footprint
        form = {} if took.clause_bytes is None else {"clause_bytes": took.clause_bytes}
        cost = measure(model, X_test[:MEASURED_WINDOWS], bounds.target, took.layout, **form)
        used = model.simplify().drop_unused_kernels().front_end
        if kept.front_end.groups not in forests:
            columns = np.isin(offered.names, kept.front_end.names)
            forests[kept.front_end.groups] = forest(offered, data, seed, columns)
        line |= {
            "accuracy": float((model.predict(X_test) == y_test).mean()),
            "expected": point.accuracy,
            "flash": cost.flash_bytes,
            "ram": cost.ram_bytes + cost.stack_bytes,
            "instructions": cost.total_instructions_max,
            "features": kernel_prices(offered, bounds.target).instructions(used),
            "bound": None if bounds.instructions == math.inf else bounds.instructions,
            "groups": [" ".join(g) for g in used.groups],
            "offered": len(offered.groups),
            "includes": model.n_includes,
            "layout": cost.name,
            "agreement": cost.agreement,
            "forest": forests[kept.front_end.groups],
            "seconds": round(time.monotonic() - began),
        }
        yield {k: round(v, 4) if isinstance(v, float) else v for k, v in line.items()}


def forest(front_end: Any, data: Any, seed: int, columns: Any = slice(None)) -> float:
    """Test accuracy of scikit-learn's forest on some of the features."""
    F, y, test = front_end.transform(data["X"])[:, columns], data["y"], data["test"]
    grown = RandomForestClassifier(random_state=seed).fit(F[~test], y[~test])
    return float(grown.score(F[test], y[test]))


def baselines(path: Path, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the forest, boosting and the machines without pruning, on all features that are offered."""
    name = path.stem
    with np.load(path, allow_pickle=False) as file:
        data = dict(file)
    plan, test, y = PLANS[name], data["test"], data["y"]
    windowed = WindowFeatures(
        plan.kernels, axes=[str(n) for n in data["axis_names"]], rate=float(data["rate"])
    )
    F = windowed.fit_transform(data["X"])
    line: dict[str, Any] = {"set": name, "seed": seed, "budget": "baselines"}
    line["forest"] = forest(windowed.front_end_, data, seed)
    whole = machines(windowed.front_end_, plan.bins, data["X"][~test], y[~test], seed)
    line["unpruned"] = float((whole.predict(data["X"][test]) == y[test]).mean())
    if seed == 0:
        some = np.flatnonzero(~test)[:: max(1, (~test).sum() // 8000)]
        grown = HistGradientBoostingClassifier(random_state=0).fit(F[some], y[some])
        line["boosting"] = float(grown.score(F[test], y[test]))
    yield line


def offers(path: Path, within: float = 30_200, seeds: int = 3) -> None:
    """Print which kernels to offer, by training people alone: two thirds choose, the others are answered."""
    with np.load(path, allow_pickle=False) as file:
        data = dict(file)
    X, y, group = (data[key][~data["test"]] for key in ("X", "y", "group"))
    plan, axes = PLANS[path.stem], [str(n) for n in data["axis_names"]]
    sources = plan.kernels["stats"]
    for kernels in (plan.kernels, plan.kernels | {"parts": sources}):
        offered = WindowFeatures(kernels, axes=axes, rate=float(data["rate"])).fit(X).front_end_
        answers: dict[str, list[float]] = {"all": [], "chosen": []}
        for others in group_folds(y, group, 3, 0):
            rest = np.setdiff1d(np.arange(len(y)), others)
            path_of = drop_groups(offered, X[rest], y[rest], group[rest], by_flash=True)
            chosen = next(kept for kept in path_of if kept.instructions <= within)
            for name, front_end in (("all", offered), ("chosen", chosen.front_end)):
                for seed in range(seeds):
                    model = machines(front_end, plan.bins, X[rest], y[rest], seed)
                    answers[name].append(100 * float((model.predict(X[others]) == y[others]).mean()))
        means = ", ".join(f"{name} {np.mean(values):.1f}" for name, values in answers.items())
        print(f"{path.stem}, {' '.join(kernels)}: {means}", flush=True)


def by_prune(path: Path, seed: int) -> Iterator[dict[str, Any]]:
    """Yield what `ethereal.prune` makes of machines of all kernels within 8 kB. It drops groups itself."""
    with np.load(path, allow_pickle=False) as file:
        data = dict(file)
    plan, test, name = PLANS[path.stem], data["test"], "8k, ethereal.prune"
    X, y, group = (data[key][~test] for key in ("X", "y", "group"))
    X_test, y_test = data["X"][test], data["y"][test]
    axes, rate = [str(n) for n in data["axis_names"]], float(data["rate"])
    own_features = WindowFeatures(plan.kernels, axes=axes, rate=rate, hop=min(64, X.shape[1]))
    offered = own_features.fit(X).front_end_
    others = group_folds(y, group, 4, seed)[0]
    rest = np.setdiff1d(np.arange(len(y)), others)
    part = machines(offered, plan.bins, X[rest], y[rest], seed)
    limits = {"flash": 8192, "random_state": seed}
    like = prune(part, X[rest], y[rest], validation=(X[others], y[others]), groups=group[rest], **limits)
    pruned = prune(machines(offered, plan.bins, X, y, seed), X, y, like=like, **limits)
    took = pruned.footprint
    used = pruned.model.simplify().drop_unused_kernels().front_end
    yield {
        "set": path.stem, "seed": seed, "budget": name,
        "accuracy": float((pruned.model.predict(X_test) == y_test).mean()), "expected": like.accuracy,
        "flash": took.bytes, "ram": took.ram, "instructions": took.instructions, "layout": took.layout,
        "began": len((pruned.kernels or offered).groups), "groups": [" ".join(g) for g in used.groups],
        "offered": len(offered.groups), "includes": pruned.model.n_includes,
    }  # fmt: skip


def forms(path: Path, seed: int = 0) -> None:
    """Print what pruned models take in each layout, and their accuracy on training people held out."""
    with np.load(path, allow_pickle=False) as file:
        data = dict(file)
    X, y, group = (data[key][~data["test"]] for key in ("X", "y", "group"))
    plan, axes = PLANS[path.stem], [str(n) for n in data["axis_names"]]
    own_features = WindowFeatures(plan.kernels, axes=axes, rate=float(data["rate"]), hop=min(64, X.shape[1]))
    others = group_folds(y, group, 4, seed)[0]
    rest = np.setdiff1d(np.arange(len(y)), others)
    model = machines(own_features.fit(X).front_end_, plan.bins, X[rest], y[rest], seed)
    rows, held_out = (PruneRows.read(model, X[part], y[part]) for part in (rest, others))
    measured = on_device(X)
    for point in prune_path(model, rows, held_out, "votes", estimate, seed).curve:
        if 250 < point.model.n_includes < 2000:
            takes = [f"{f.layout} {f.bytes:,} {f.instructions:,.0f}" for f in measured(point.model)]
            print(point.model.n_includes, f"{100 * point.accuracy:.1f}", *takes, sep=", ", flush=True)


def span(values: list[Any], form: str = ",") -> str:
    """Return the least and the largest of some numbers, or the one that all are."""
    low, high = (f"{value:{form}}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def with_mean(shares: list[float]) -> str:
    """Return the mean and the range of some accuracies, in percent."""
    values = [100 * share for share in shares]
    return f"{np.mean(values):.1f}" + (f" ({span(values, '.1f')})" if len(values) > 1 else "")


def table(lines: list[dict[str, Any]]) -> None:
    """Print the table of lab/notes/windows.md."""
    print("| set, bound | seeds | forest, same features | ethereal | flash | RAM | instructions | groups |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in PLANS:
        of_set = [line for line in lines if line["set"] == name]
        for one in ("baselines", *BUDGETS):
            some = [line for line in of_set if line["budget"] == one and line.get("accuracy", 0) is not None]
            if not some:
                continue
            trees = 100 * np.mean([line["forest"] for line in some])
            if one == "baselines":
                boosted = [f"boosting {100 * line['boosting']:.1f}" for line in some if "boosting" in line]
                ours = with_mean([line["unpruned"] for line in some])
                print(f"| {name}, not pruned, {boosted[0] if boosted else ''} | {len(some)} | {trees:.1f} "
                      f"| {ours} | | | | all |")  # fmt: skip
                continue
            ours = with_mean([line["accuracy"] for line in some])
            costs = " | ".join(span([line[key] for line in some]) for key in ("flash", "ram", "instructions"))
            groups = span([len(line["groups"]) for line in some])
            print(f"| {name}, {one} | {len(some)} | {trees:.1f} | {ours} | {costs} "
                  f"| {groups} of {some[0]['offered']} |")  # fmt: skip


def recorded(path: Path, seed: int, known: set[tuple[str, int, str]]) -> list[Iterator[dict[str, Any]]]:
    """Return what makes the lines of a set and seed that are not known yet."""
    budgets = [b for b in BUDGETS if (path.stem, seed, b) not in known]
    budgets = [b for b in budgets if path.stem in ONLY_FOR.get(b, PLANS)]
    made = [record(path, seed, budgets)] if budgets else []
    return made if (path.stem, seed, "baselines") in known else [baselines(path, seed), *made]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["record", "table", "offers", "prune", "forms"])
    parser.add_argument("files", type=Path, nargs="+", help="npz files to record, or the files of a table")
    parser.add_argument("--out", type=Path, default=Path("windows.jsonl"))
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    args = parser.parse_args()
    if args.what in ("offers", "forms"):
        for path in args.files:
            (offers if args.what == "offers" else forms)(path)
        return
    kept = args.files if args.what == "table" else [args.out]
    lines = [json.loads(text) for path in kept if path.exists() for text in path.read_text().splitlines()]
    if args.what == "table":
        table(lines)
        return
    known = {(line["set"], line["seed"], line["budget"]) for line in lines}
    for seed in args.seeds:
        for path in args.files:
            made = [by_prune(path, seed)] if args.what == "prune" else recorded(path, seed, known)
            for line in itertools.chain.from_iterable(made):
                print(line, flush=True)
                with args.out.open("a") as out:
                    out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
