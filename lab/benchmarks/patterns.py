"""Machines with a patch beside flat ones: accuracy, literals and speed (lab/notes/patterns.md).

python lab/benchmarks/patterns.py images DATA/mnist.npz --threshold 75 --seeds 1 --test
python lab/benchmarks/patterns.py pruned DATA/mnist.npz --seeds 5 --test
python lab/benchmarks/patterns.py windows DATA/har.npz --seeds 2
python lab/benchmarks/patterns.py speed DATA/mnist.npz --threshold 75

Settings are chosen on held-out training rows, which `images` shows without --test. Test rows only judge.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from ethereal import Booleanizer, EtherealClassifier, prune

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


def frames_of(windows: Any, block: int = 8, hop: int = 4) -> Any:
    """Mean, size of steps and range of blocks of samples, windows x frames x (3 per axis)."""
    parts = np.lib.stride_tricks.sliding_window_view(windows.astype(np.float32), block, axis=1)[:, ::hop]
    steps = np.abs(np.diff(parts, axis=-1)).mean(axis=-1)
    return np.concatenate([parts.mean(axis=-1), steps, np.ptp(parts, axis=-1)], axis=2)


def windows(args: argparse.Namespace) -> None:
    """Print the accuracy on people left out of a patch over frames, and of a flat machine on the same."""
    data = np.load(args.data)
    X, y, test = frames_of(data["X"]), data["y"], data["test"].astype(bool)
    people = np.unique(data["group"][~test])
    for name, keywords in (
        ("flat", {"noise_clauses": 0}),
        ("patch of 8 frames", {"patch": (8,)}),
        ("patch of 8 frames, places", {"patch": (8,), "places": True}),
    ):
        for seed in range(args.seeds):
            judge = test if args.test else np.isin(data["group"], people[seed :: args.seeds + 1]) & ~test
            learn = ~test & ~judge
            clf = EtherealClassifier(200, 15, 3.0, epochs=15, booleanizer=4, literal_budget=16,
                                     validation_fraction=0, refit_votes=False, random_state=seed,
                                     **keywords)  # fmt: skip
            rows = X if "patch" in keywords else X.reshape(len(X), -1)
            clf.fit(rows[learn], y[learn])
            right = np.mean(clf.model_.predict(rows[judge]) == y[judge])
            print(f"{name}, seed {seed}: {100 * right:.1f} of {judge.sum()} windows", flush=True)


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
    parser.add_argument("--machines", nargs="*", choices=tuple(MACHINES))
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="seed of `pruned`")
    parser.add_argument("--rows", type=int, default=0, help="that are learned from, 0 for all")
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--save", default="")
    args = parser.parse_args()
    {"images": images, "pruned": pruned, "windows": windows, "speed": speed}[args.what](args)


if __name__ == "__main__":
    main()
