"""Machines with a patch beside flat ones: accuracy, literals and speed (lab/notes/patterns.md).

python lab/benchmarks/patterns.py images DATA/mnist.npz --threshold 75 --seeds 1 --test
python lab/benchmarks/patterns.py pruned DATA/mnist.npz --seeds 5 --test
python lab/benchmarks/patterns.py windows RAW/fsdd.npz --choose                # two speakers left out in turn
python lab/benchmarks/patterns.py windows RAW/fsdd.npz --seeds 3 --flash 8000  # each speaker in turn
python lab/benchmarks/patterns.py windows RAW/har.npz --seeds 2 --test         # the test people
python lab/benchmarks/patterns.py speed DATA/mnist.npz --threshold 75

Settings are chosen on held-out training rows, which `images` shows without --test. Test rows only judge.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from ethereal import Booleanizer, EtherealClassifier, prune
from ethereal.device import measure
from ethereal.features.window_features import DEFAULT_KERNELS, WindowFeatures

MACHINES: dict[str, dict[str, Any]] = {
    "flat": {"n_clauses": 80, "T": 18, "s": 5.0, "noise_clauses": 0},
    "patch 10 x 10": {"n_clauses": 80, "T": 18, "s": 3.0, "patch": (10, 10)},
    "patch 10 x 10, no places": {"n_clauses": 80, "T": 18, "s": 3.0, "patch": (10, 10), "places": False},
    "patch 10 x 10, no budget": {
        "n_clauses": 80,
        "T": 18,
        "s": 3.0,
        "patch": (10, 10),
        "literal_budget": 999,
    },
    "patch 10 x 10, budget 12": {"n_clauses": 80, "T": 18, "s": 3.0, "patch": (10, 10), "literal_budget": 12},
    "patch 6 x 6": {"n_clauses": 80, "T": 18, "s": 3.0, "patch": (6, 6)},
}


def read(path: Path) -> tuple[Any, Any, Any]:
    """Images, labels, and which rows are for the test."""
    data = np.load(path)
    side = int(np.sqrt(data["X"].shape[1]))
    return data["X"].reshape(-1, side, side), data["y"], data["test"].astype(bool)


def images(args: argparse.Namespace) -> None:
    """Print accuracy, literals per clause and CPU seconds of each machine."""
    X, y, test = read(args.data)
    rows = np.flatnonzero(~test)
    order = np.random.default_rng(0).permutation(rows)
    learn, judge = (rows, np.flatnonzero(test)) if args.test else (order[10_000:], order[:10_000])
    learn = learn[: args.rows] if args.rows else learn
    for name in args.machines or MACHINES:
        for seed in range(args.seeds):
            clf = EtherealClassifier(
                **MACHINES[name], epochs=args.epochs, booleanizer=Booleanizer(thresholds=[args.threshold] if
                "patch" in MACHINES[name] else [[args.threshold]] * (X.shape[1] * X.shape[2])),
                validation_fraction=0.1, random_state=seed)  # fmt: skip
            shaped = X if "patch" in MACHINES[name] else X.reshape(len(X), -1)
            start = time.process_time()
            clf.fit(shaped[learn], y[learn])
            seconds = time.process_time() - start
            epochs = sum(record["seconds"] for record in clf.history_)
            accuracies = [np.mean(m.predict(shaped[judge], n_jobs=1) == y[judge])
                          for m in (clf.plain_model_, clf.model_)]  # fmt: skip
            record = {
                "machine": name, "seed": seed, "rows": len(learn), "votes": clf.model_.provenance["votes"],
                "plain": round(100 * accuracies[0], 2), "refitted": round(100 * accuracies[1], 2),
                "literals_per_clause": round(clf.plain_model_.n_includes / clf.plain_model_.n_clauses, 1),
                "fit_cpu_seconds": round(seconds, 1),
                "rows_per_second_of_training": round(args.epochs * 0.9 * len(learn) / epochs),
            }  # fmt: skip
            print(json.dumps(record), flush=True)
            if args.save:
                clf.model_.save(f"{args.save}-{name.replace(' ', '')}-{seed}.etm")
                clf.plain_model_.save(f"{args.save}-{name.replace(' ', '')}-{seed}-plain.etm")


# Settings of a patch over frames, chosen by people and speakers left out of training (lab/notes/patterns.md).
_PATCH = {"patch": (8,), "n_clauses": 200, "T": 15, "s": 3.0, "epochs": 15}
_SMALL = {**_PATCH, "n_clauses": 30, "T": 8, "s": 2.0, "literal_budget": 5, "booleanizer": 2}
PATCHES = ("patch", "small patch", "small patch, 3 bins")


def window_machines(data: Any) -> dict[str, dict[str, Any]]:
    """Settings of machines: with the kernels of whole windows, and with a patch over frames."""
    rate, axes = float(data["rate"]), data["axis_names"].tolist()
    is_sound = rate >= 4000
    known = {"rate": rate, "axes": axes}
    whole = WindowFeatures(["mel"] if is_sound else DEFAULT_KERNELS, **known)
    frames = (
        WindowFeatures(["sound"], frames=256, **known) if is_sound else WindowFeatures(frames=(8, 4), **known)
    )
    return {
        "flat": {"front_end": whole},
        "patch": {"front_end": frames, **_PATCH},
        "small patch": {"front_end": frames, **_SMALL},
        "small patch, 3 bins": {"front_end": frames, **_SMALL, "booleanizer": 3},
    }


BOUNDS: dict[str, dict[str, Any]] = {
    "9 kB": {"flash": 9000},
    "5.5 kB, 130,000 instructions": {"flash": 5500, "instructions": 130_000},
}


def pruned(args: argparse.Namespace) -> None:
    """Print what machines have within bounds, pruned from plain votes with the refitted model as teacher."""
    X, y, test = read(args.data)
    rows = np.flatnonzero(~test)
    order = np.random.default_rng(0).permutation(rows)
    learn, judge = (rows, np.flatnonzero(test)) if args.test else (order[10_000:], order[:10_000])
    for seed in range(args.first, args.first + args.seeds):
        for name in args.machines or ["patch 10 x 10"]:
            clf = EtherealClassifier(**MACHINES[name], epochs=args.epochs, random_state=seed,
                                     booleanizer=Booleanizer(thresholds=[args.threshold]))  # fmt: skip
            clf.fit(X[learn], y[learn])
            for within, bounds in BOUNDS.items():
                result = prune(clf.plain_model_, X[learn], y[learn], teacher=clf.model_, random_state=seed,
                              **bounds)  # fmt: skip
                model, takes = result.model, result.footprint
                right = 100 * np.mean(model.predict(X[judge]) == y[judge])
                print(f"{name}, seed {seed}, {within}: {right:.2f} %, {takes.bytes:,} bytes, "
                      f"{takes.instructions:,.0f} instructions, {model.n_clauses} clauses, "
                      f"{model.n_includes} literals", flush=True)  # fmt: skip
                if args.save:
                    model.save(f"{args.save}-{seed}-{bounds['flash']}.etm")


def windows(args: argparse.Namespace) -> None:
    """Print the accuracy on people left out, of machines with and without a patch over frames."""
    data = np.load(args.data)
    X, y, group, test = data["X"], data["y"], data["group"], data["test"].astype(bool)
    people = np.unique(group)
    together = itertools.combinations(people, 2) if args.choose else ((who,) for who in people)
    parts = [test] if args.test else [np.isin(group, some) for some in together]
    machines = window_machines(data)
    for name in args.machines or machines:
        every: list[list[float]] = []
        for seed in range(args.seeds):
            for judge in parts:
                some = np.flatnonzero(~judge)[:: args.every]
                clf = EtherealClassifier(**machines[name], random_state=seed).fit(X[some], y[some])
                scores = [
                    float(np.mean(m.predict(X[judge]) == y[judge])) for m in (clf.plain_model_, clf.model_)
                ]
                record: dict[str, Any] = {"machine": name, "seed": seed, "left out": str(group[judge][0]),
                                          "plain": scores[0], "refitted": scores[1]}  # fmt: skip
                if args.flash:
                    start = clf.plain_model_ if name == "flat" else clf.model_
                    small = prune(start, X[some], y[some], groups=group[some], flash=args.flash)
                    scores.append(float(np.mean(small.model.predict(X[judge]) == y[judge])))
                    took = measure(small.model, X[judge][:50])
                    record |= {"pruned": scores[-1], "flash": took.code_bytes + took.table_bytes,
                               "instructions": round(took.instructions),
                               "ram": took.ram_bytes + took.stack_bytes,
                               "agreement": took.agreement, "layout": small.footprint.layout}  # fmt: skip
                every.append(scores)
                print(json.dumps(record), flush=True)
        print(name, "mean:", np.round(100 * np.mean(every, axis=0), 1).tolist(), flush=True)


def speed(args: argparse.Namespace) -> None:
    """Print rows per CPU second of an epoch, one thread, for patches, clauses and sizes of images."""
    X, y, test = read(args.data)
    X, y = (X[~test] > args.threshold)[: args.rows or None], y[~test][: args.rows or None]
    twice = np.kron(X[:2000], np.ones((1, 2, 2), bool))[:, :64, :64]
    cases: list[tuple[str, Any, dict[str, Any]]] = []
    for p, n, T, s, b in (
        (10, 100, 15, 3.0, 16), (10, 100, 25, 10.0, 32), (10, 200, 15, 3.0, 16), (10, 400, 15, 3.0, 16),
        (5, 100, 15, 3.0, 16), (14, 100, 15, 3.0, 16), (20, 100, 15, 3.0, 16),
    ):  # fmt: skip
        keywords = {"patch": (p, p), "n_clauses": n, "T": T, "s": s, "literal_budget": b}
        cases.append((f"patch {p} x {p}, {n} clauses, T {T}, s {s}, budget {b}", X, keywords))
    settings = {"patch": (10, 10), "n_clauses": 100, "T": 15, "s": 3.0}
    cases.append((f"images of {twice.shape[1]} x {twice.shape[2]}", twice, settings))
    for name, rows, keywords in cases:
        clf = EtherealClassifier(**keywords, epochs=3, validation_fraction=0, refit_votes=False,
                                 random_state=0)  # fmt: skip
        marks: list[float] = []
        clf.fit(rows, y[: len(rows)], on_epoch=lambda *_, marks=marks: marks.append(time.process_time()))
        print(f"{name}: {len(rows) / (marks[-1] - marks[-2]):,.0f} rows per CPU second", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("images", "pruned", "windows", "speed"))
    parser.add_argument("data", type=Path)
    parser.add_argument("--threshold", type=float, default=75)
    parser.add_argument("--machines", nargs="*", choices=(*MACHINES, *PATCHES))
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="seed of `pruned`")
    parser.add_argument("--rows", type=int, default=0, help="that are learned from, 0 for all")
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--choose", action="store_true", help="leave out two people or speakers at a time")
    parser.add_argument("--flash", type=int, default=0, help="bytes that windows are pruned to")
    parser.add_argument("--every", type=int, default=1, help="learn from one window in so many")
    parser.add_argument("--save", default="")
    args = parser.parse_args()
    {"images": images, "pruned": pruned, "windows": windows, "speed": speed}[args.what](args)


if __name__ == "__main__":
    main()
