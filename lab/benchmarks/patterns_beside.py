"""Rows per CPU second of convolution in other libraries, one thread (lab/notes/patterns.md).

Run it with the Python of an environment that has the library, see baselines/tmu.txt and
baselines/pytsetlinmachine.txt:

OMP_NUM_THREADS=1 python lab/benchmarks/patterns_beside.py tmu DATA/mnist.npz --rows 2000
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np


def tmu(args: argparse.Namespace, X: Any, y: Any) -> Any:
    """Return a function that trains one epoch."""
    from tmu.models.classification.vanilla_classifier import TMClassifier

    machine = TMClassifier(args.clauses, args.T, args.s, patch_dim=(args.patch, args.patch), seed=1,
                           max_included_literals=args.budget, weighted_clauses=False)  # fmt: skip
    return lambda: machine.fit(X, y)


def pytsetlinmachine(args: argparse.Namespace, X: Any, y: Any) -> Any:
    """Return a function that trains one epoch. It has no budget."""
    from pyTsetlinMachine.tm import MultiClassConvolutionalTsetlinMachine2D

    side = args.patch, args.patch
    machine = MultiClassConvolutionalTsetlinMachine2D(
        args.clauses, args.T, args.s, side, weighted_clauses=False
    )
    return lambda: machine.fit(X, y, epochs=1, incremental=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=("tmu", "pytsetlinmachine"))
    parser.add_argument("data")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--clauses", type=int, default=100)
    parser.add_argument("--T", type=int, default=15)
    parser.add_argument("--s", type=float, default=3.0)
    parser.add_argument("--budget", type=int, default=16)
    parser.add_argument("--patch", type=int, default=10)
    parser.add_argument("--threshold", type=int, default=75)
    args = parser.parse_args()
    data = np.load(args.data)
    rows = np.flatnonzero(~data["test"].astype(bool))[: args.rows]
    X = (data["X"][rows].reshape(len(rows), 28, 28) > args.threshold).astype(np.uint32)
    epoch = {"tmu": tmu, "pytsetlinmachine": pytsetlinmachine}[args.library](
        args, X, data["y"][rows].astype(np.uint32)
    )
    for i in range(3):
        start = time.process_time()
        epoch()
        rate = len(rows) / (time.process_time() - start)
        print(f"{args.library} epoch {i + 1}: {rate:,.0f} rows per CPU second", flush=True)


if __name__ == "__main__":
    main()
