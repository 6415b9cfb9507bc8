"""Wanted against reached accuracy of the answers of models that may say "unknown" (docs/windows.md).

python benchmarks/unknown.py har.npz --groups har12 --bins 8 --seeds 5

The margin comes from machines that leave each training person out in turn, or a tenth of them. Test people
choose nothing. With --price, all machines are pruned at this price of a bit first, see `ethereal.compress`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from ethereal import EtherealClassifier, WindowFeatures
from ethereal.compress.curve import PruneRows, prune_at
from ethereal.model.output import leads
from ethereal.model.unknown import find_margin
from ethereal.train.unknown import left_out
from raw_windows import GROUPS

WANTED = ({"accuracy": 0.9}, {"accuracy": 0.95}, {"accuracy": 0.98}, {"answered": 0.9}, {"answered": 0.7})


def trainer(F: Any, y: Any, args: argparse.Namespace, seed: int) -> Any:
    """A function that trains on some rows, and prunes where that is asked for."""

    def train(some: Any, left_out: Any) -> Any:
        clf = EtherealClassifier(args.clauses, 10, 4.0, epochs=args.epochs, booleanizer=args.bins,
                                 noise_clauses=0, validation_fraction=0, refit_votes=False,
                                 random_state=seed)  # fmt: skip
        model = clf.fit(F[some], y[some]).model_
        if not args.price:
            return model
        known = left_out[np.isin(y[left_out], model.classes)]
        rows, others = (PruneRows.read(model, F[part], y[part]) for part in (some, known))
        return prune_at(model, rows, others, "votes", args.price, seed, seen=len(some) == len(y))

    return train


def main() -> None:
    """Print a line for each seed and wanted share, and all of it as JSON at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--groups", choices=GROUPS, default="usual")
    parser.add_argument("--bins", type=int, default=8)
    parser.add_argument("--clauses", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--price", type=float, default=0.0)
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    with np.load(args.file, allow_pickle=False) as file:
        data = dict(file)
    X, y, test, group = data["X"], data["y"], data["test"], data["group"]
    names = [str(name) for name in data["axis_names"]]
    F = WindowFeatures(GROUPS[args.groups], axes=names, rate=float(data["rate"])).fit_transform(X)
    learn = np.flatnonzero(~test)
    records = []
    for seed in range(args.seeds):
        train = trainer(F[learn], y[learn], args, seed)
        everything = np.arange(len(learn))
        model = train(everything, everything)
        lead_out, right_out, n_groups = left_out(model, train, F[learn], y[learn], group[learn], seed)
        votes = model.class_sums(F[test])
        right, lead = votes.argmax(axis=1) == y[test], leads(votes)
        for wanted in WANTED:
            try:
                found = find_margin(lead_out, right_out, **wanted, n_groups=n_groups)
            except ValueError as error:
                records.append({"seed": seed, **wanted, "refused": str(error)})
                print(records[-1], flush=True)
                continue
            there = lead >= found.margin
            record = {
                "expected": found.accuracy,
                "expected answered": found.answered,
                "reached": float(right[there].mean()),
                "answered of test": float(there.mean()),
                "all answered": float(right.mean()),
            }
            rounded = {key: round(value, 4) for key, value in record.items()}
            records.append(
                {"seed": seed, **wanted, "margin": found.margin, "includes": model.n_includes, **rounded}
            )
            print(records[-1], flush=True)
    print(json.dumps(records))


if __name__ == "__main__":
    main()
