"""Other machines of the field beside the plain one and beside tmu (lab/notes/machines.md).

python lab/benchmarks/machines.py paper statlog har mnist sensorless
python lab/benchmarks/machines.py beside FILE.npz [--machine weighted]   # made by `rows`, which tmu reads too
python lab/benchmarks/machines.py rows statlog --out FILE.npz

`paper` has the paper's clauses, bins and exclusion, and chooses T and s on held-out training rows. Test rows
only judge. `beside` prints accuracy, includes and speed at the settings given.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from ethereal import EtherealClassifier, Machine, datasets
from ethereal.train.paper import PAPER

METHODS: dict[str, dict[str, Any]] = {
    "vanilla": {"exclude_every": None},
    "ETHEREAL": {},
    "with weights": {"exclude_every": None, "machine": Machine(weighted=True)},
    "with weights and exclusion": {"machine": Machine(weighted=True)},
}
FACTORS_OF_T, FACTORS_OF_S = (0.5, 1.0, 2.0, 4.0), (0.5, 1.0, 1.6)


def paper(args: argparse.Namespace) -> None:
    """Print, for each method, the settings that held-out rows choose, and what they give on test rows."""
    for name in args.sets:
        data = datasets.load(name)
        order = np.random.default_rng(0).permutation(len(data.X_train))
        held, learn = np.split(order, [len(order) // 5])
        T, s = PAPER[name].T, PAPER[name].s
        for method, keywords in METHODS.items():
            tried = []
            for setting in [
                (max(1, round(T * t)), max(1.0, s * f)) for t in FACTORS_OF_T for f in FACTORS_OF_S
            ]:
                clf = make(name, setting, keywords, args.epochs, 0)
                clf.fit(data.X_train[learn], data.y_train[learn])
                tried.append((clf.score(data.X_train[held], data.y_train[held]), setting))
            accuracy, setting = max(tried)
            fitted = [make(name, setting, keywords, args.epochs, seed).fit(data.X_train, data.y_train)
                      for seed in range(args.seeds)]  # fmt: skip
            models = [clf.model_ for clf in fitted]
            rights = [100 * np.mean(model.predict(data.X_test) == data.y_test) for model in models]
            includes = [model.n_includes / model.n_clauses for model in models]
            record = {
                "set": name, "method": method, "T": setting[0], "s": round(setting[1], 2),
                "held_out": round(100 * accuracy, 1), "test": round(float(np.mean(rights)), 1),
                "worst": round(min(rights), 1), "best": round(max(rights), 1),
                "includes_per_clause": round(float(np.mean(includes)), 2),
            }  # fmt: skip
            print(json.dumps(record), flush=True)


def make(name: str, setting: tuple[int, float], keywords: dict[str, Any], epochs: int, seed: int) -> Any:
    """Return the paper's estimator of a set with other settings."""
    T, s = setting
    most = min(epochs, PAPER[name].epochs)
    return EtherealClassifier.paper(
        name, T=T, s=s, **{"epochs": most, "random_state": seed, "n_jobs": 1} | keywords
    )


def rows(args: argparse.Namespace) -> None:
    """Write the Booleans of a set as the paper makes them, for other libraries."""
    data = datasets.load(args.sets[0])
    booleanizer = PAPER[args.sets[0]].booleanizer(missing="auto").fit(data.X_train)
    parts = {"X": booleanizer.transform(data.X_train), "X_test": booleanizer.transform(data.X_test)}
    labels = np.unique(data.y_train)
    codes = {"y": np.searchsorted(labels, data.y_train), "y_test": np.searchsorted(labels, data.y_test)}
    np.savez(args.out, **parts, **codes)


def beside(args: argparse.Namespace) -> None:
    """Print accuracy, includes per clause and rows per CPU second of an epoch, one thread."""
    for path in args.sets:
        data = np.load(path)
        machine = Machine.read(args.machine) if args.machine else None
        clf = EtherealClassifier(
            args.clauses, args.T, args.s, machine=machine, booleanizer=None, epochs=args.epochs,
            validation_fraction=0, noise_clauses=0, refit_votes=False, random_state=1, n_jobs=1,
        )  # fmt: skip
        marks = [time.process_time()]
        clf.fit(data["X"], data["y"], on_epoch=lambda *_, marks=marks: marks.append(time.process_time()))
        right = 100 * np.mean(clf.predict(data["X_test"]) == data["y_test"])
        model, fastest = clf.model_, len(data["X"]) / min(np.diff(marks))
        print(f"ethereal {path} {args.machine}: {right:.1f} %, {model.n_includes / model.n_clauses:.1f} "
              f"includes per clause, {fastest:,.0f} rows per CPU second", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("paper", "rows", "beside"))
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--machine", default="")
    parser.add_argument("--clauses", type=int, default=200, help="per class, or in all where they are shared")
    parser.add_argument("--T", type=int, default=15)
    parser.add_argument("--s", type=float, default=5.0)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", default="rows.npz")
    args = parser.parse_args()
    {"paper": paper, "rows": rows, "beside": beside}[args.what](args)


if __name__ == "__main__":
    main()
