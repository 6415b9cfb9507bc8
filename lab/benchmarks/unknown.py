"""Wanted against reached accuracy of the answers of models that may say "unknown" (lab/notes/windows.md).

python lab/benchmarks/unknown.py har.npz --groups har12 --bins 8 --seeds 5
python lab/benchmarks/unknown.py har.npz --groups har12 --bins 8 --strange

The margin comes from machines that leave each training person out in turn, or a tenth of them. Test people
choose nothing. With --price, all machines are pruned at this price of a bit first, see `ethereal.compress`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ethereal import EtherealClassifier, WindowFeatures
from ethereal.compress.curve import PruneRows, prune_at
from ethereal.model.output import leads
from ethereal.train.unknown import find_margin, left_out
from raw_windows import GROUPS

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from old_ranges import with_ranges

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


def strange_windows(windows: Any) -> dict[str, Any]:
    """Windows of test people, and what a wrong scale, rate or order of axes makes of them."""
    rng, wide = np.random.default_rng(0), windows.astype(int)
    loud = {f"times {k}": np.clip(wide * k, -(2**15), 2**15 - 1).astype(np.int16) for k in (2, 10)}
    return {
        "test people": windows,
        **loud,
        "a tenth": (wide // 10).astype(np.int16),
        "half the rate": np.repeat(windows[:, ::2], 2, axis=1)[:, : windows.shape[1]],
        "axes in another order": np.roll(windows, 1, axis=2),
        "noise": rng.integers(-(2**15), 2**15, windows.shape).astype(np.int16),
        "zeros": np.zeros_like(windows),
    }


def strange(data: dict[str, Any], args: argparse.Namespace) -> None:
    """Print how many windows are novel, for test people and for windows that are wrong."""
    X, y, test, group = data["X"], data["y"], data["test"], data["group"]
    names = [str(name) for name in data["axis_names"]]
    windowed = WindowFeatures(GROUPS[args.groups], axes=names, rate=float(data["rate"])).fit(X[:1])
    learn = np.flatnonzero(~test)[:: max(1, int((~test).sum()) // 4000)]
    clf = EtherealClassifier(40, 10, 4.0, epochs=5, booleanizer=args.bins, front_end=windowed,
                             noise_clauses=0, validation_fraction=0, refit_votes=False,
                             random_state=0)  # fmt: skip
    model = with_ranges(clf.fit(X[learn], y[learn]).model_, X[learn], y[learn], group[learn])
    assert model.seen is not None
    print(f"limit {model.seen.limit} of {np.isfinite(model.seen.high).sum()} features")
    for what, windows in strange_windows(X[test][:: max(1, int(test.sum()) // 600)]).items():
        print(
            f"{what:22} {100 * (model.novelty(windows) > model.seen.limit).mean():5.1f} % novel", flush=True
        )


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
    parser.add_argument("--strange", action="store_true", help="novelty of windows that are wrong")
    args = parser.parse_args()
    with np.load(args.file, allow_pickle=False) as file:
        data = dict(file)
    if args.strange:
        strange(data, args)
        return
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
                margin = find_margin(lead_out, right_out, **wanted, n_groups=n_groups)
            except ValueError as error:
                records.append({"seed": seed, **wanted, "refused": str(error)})
                print(records[-1], flush=True)
                continue
            there = lead >= margin.margin
            record = {
                "expected": margin.accuracy,
                "expected answered": margin.answered,
                "reached": float(right[there].mean()),
                "answered of test": float(there.mean()),
                "all answered": float(right.mean()),
            }
            rounded = {key: round(value, 4) for key, value in record.items()}
            records.append(
                {"seed": seed, **wanted, "margin": margin.margin, "includes": model.n_includes, **rounded}
            )
            print(records[-1], flush=True)
    print(json.dumps(records))


if __name__ == "__main__":
    main()
