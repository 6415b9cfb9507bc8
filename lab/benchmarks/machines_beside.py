"""The machines of tmu at the settings of `machines.py beside` (lab/notes/machines.md).

Run it with the Python of an environment that has tmu, see baselines/tmu.txt:

OMP_NUM_THREADS=1 python lab/benchmarks/machines_beside.py FILE.npz --machine weighted
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np


def make(args: argparse.Namespace) -> Any:
    """Return the machine of tmu with these parts."""
    from tmu.models.classification.coalesced_classifier import TMCoalescedClassifier
    from tmu.models.classification.vanilla_classifier import TMClassifier

    parts = args.machine.split(",")
    drops = {"clause_drop_p": args.drop_clauses, "literal_drop_p": args.drop_literals}
    common = {"seed": 1, "feature_negation": "negated_literals=no" not in parts, **drops}
    focused = {"focused_negative_sampling": "focused_negatives" in parts}
    if "coalesced" in parts:
        return TMCoalescedClassifier(args.clauses, args.T, args.s, weighted_clauses=True, **common, **focused)
    return TMClassifier(args.clauses, args.T, args.s, weighted_clauses="weighted" in parts, **common)


def includes(machine: Any) -> float:
    """Return the includes per clause."""
    if hasattr(machine, "clause_bank"):
        banks = [machine.clause_bank]
    else:
        banks = [machine.clause_banks[c] for c in range(machine.number_of_classes)]
    n = [[bank.number_of_include_actions(j) for j in range(bank.number_of_clauses)] for bank in banks]
    return float(np.mean(n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--machine", default="")
    parser.add_argument("--clauses", type=int, default=200)
    parser.add_argument("--T", type=int, default=15)
    parser.add_argument("--s", type=float, default=5.0)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--drop-clauses", type=float, default=0.0)
    parser.add_argument("--drop-literals", type=float, default=0.0)
    args = parser.parse_args()
    for path in args.files:
        data = np.load(path)
        X, y = data["X"].astype(np.uint32), data["y"].astype(np.uint32)
        machine, rates = make(args), []
        for _ in range(args.epochs):
            start = time.process_time()
            machine.fit(X, y)
            rates.append(len(X) / (time.process_time() - start))
        right = 100 * np.mean(machine.predict(data["X_test"].astype(np.uint32)) == data["y_test"])
        print(f"tmu {path} {args.machine}: {right:.1f} %, {includes(machine):.1f} includes per clause, "
              f"{max(rates):,.0f} rows per CPU second", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
