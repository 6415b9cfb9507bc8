"""Rows per second and heap in MicroPython, beside the study's list of words (lab/notes/micropython.md).

    python lab/benchmarks/micropython.py [--sets har,emg] [--epochs 20] [--rows 480] [--store FOLDER]

Trains the ETHEREAL machine of each set at the study's settings (finished cells are kept in the store),
exports it, and measures it in MicroPython's WebAssembly port under Node: Boolean rows one at a time and many
at once, raw rows many at once, and the study's scan of REDRESS words, in the same interpreter. Needs Node.js
and npm.
"""

from __future__ import annotations

import argparse

import numpy as np

from ethereal import Model, datasets
from ethereal_study.cells import compute, prepare
from ethereal_study.micropython import Interpreter, measure_micropython
from ethereal_study.settings import SETTINGS
from ethereal_study.store import Cell, Store

COLUMNS = (
    "set", "REDRESS bytes", "tables", "heap: words", "heap: code + model", "limit", "words us/row",
    "one row us", "24 rows us", "many rows us", "times faster: one", "24 rows", "many", "raw rows us",
    "agree",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETTINGS))
    parser.add_argument("--protocol", choices=["paper", "honest"], default="honest")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--rows", type=int, default=480)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", default="study/cells")
    args = parser.parse_args()
    store = Store(args.store)
    interpreter = Interpreter()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for name in args.sets.split(","):
        cell = Cell(name, "ethereal", args.protocol, args.seed, args.epochs)
        compute(cell, store)
        model = Model.load(store.model_path(cell))
        rows = prepare(datasets.load(name), SETTINGS[name], args.protocol)
        X = rows.X[rows.test]
        X = np.resize(np.random.default_rng(0).permutation(X)[: args.rows], (args.rows, X.shape[1]))
        cost = measure_micropython(model, X, interpreter)
        words = cost.microseconds_words
        times = [cost.microseconds, cost.microseconds_small, cost.microseconds_many]
        cells = [
            name, 2 * model.n_includes, cost.tables, cost.heap_words, cost.heap_code + cost.heap_model,
            int(1.3 * cost.tables + 8192), round(words),
            *(f"{t:.0f}" if t >= 100 else f"{t:.1f}" for t in times),
            *(f"{words / t:.1f}" if words < 10 * t else f"{words / t:.0f}" for t in times),
            f"{cost.microseconds_raw:.1f}", f"{cost.agreement:.0%}",
        ]  # fmt: skip
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
