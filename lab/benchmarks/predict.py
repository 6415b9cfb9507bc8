"""Rows per second of `Model.predict` from every form of input, and the time of single calls.

    python lab/benchmarks/predict.py [--sets emg,mnist] [--epochs 10] [--isa avx2] [--forest]

Each model is an ETHEREAL machine with the study's settings, trained for some epochs on the training rows. It
predicts the test rows, repeated to a few hundred megabytes and taken in slices, so that every call reads
memory it has not read just before. Booleans, packed bits and floats are the same rows. Where a set comes as
bits, the floats lie at random on the right side of 0.5. The best slice counts, because the rest is noise of
other processes. The table of single calls has medians. `--forest` adds scikit-learn's forest of 25 trees,
depth 14, on the same floats.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from ethereal import Booleanizer, Model, _native, datasets
from ethereal_study.settings import SETTINGS

MAX_BYTES = 256e6  # of the rows as float64
SLICE = 16384  # rows per call
CALLS = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETTINGS))
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--isa", default="auto")
    parser.add_argument("--forest", action="store_true")
    args = parser.parse_args()
    _native.set_isa(args.isa)
    sets = {name: prepare(name, args.epochs) for name in args.sets.split(",")}

    print(f"\nMillions of rows per second, one thread unless said otherwise, {_native.isa()}\n")
    head = ["set", "clauses", "includes", "bool", "bool, 2 threads", "packed", "float32", "float64", "frame"]
    print_row([*head, *(["forest", "float32 : forest"] if args.forest else [])], rule=True)
    for name, (plain, model, X, forest) in sets.items():
        booleans = model.feature_map.booleans(X, model.input_names)
        packed = np.packbits(booleans, axis=1, bitorder="little")
        float32, frame = X.astype(np.float32), pd.DataFrame(X)
        rates = [
            rate(plain.predict, booleans),
            rate(partial(plain.predict, n_jobs=2), booleans, SLICE * 4),
            rate(partial(plain.predict, packed=True), packed),
            rate(model.predict, float32),
            rate(model.predict, X),
            rate(model.predict, frame),
        ]
        cells = [name, model.n_clauses, model.n_includes, *(f"{r / 1e6:.1f}" for r in rates)]
        if args.forest:
            trees = rate(forest.predict, float32, 2048)
            cells += [f"{trees / 1e6:.3f}", f"{rates[3] / trees:.0f}"]
        print_row(cells)

    print("\nMicroseconds per call of `Model.predict` on a float32 array, median\n")
    sizes = 1, 10, 100, 1000
    print_row(["set", *(f"{n} row{'s' * (n > 1)}" for n in sizes), "compile"], rule=True)
    for name, (_, model, X, _) in sets.items():
        calls = [median(model.predict, np.ascontiguousarray(X[:n], dtype=np.float32)) for n in sizes]
        clauses = model.literals, model.offsets, model.weights, model.n_booleans
        calls.append(median(_native.Engine, *clauses))
        print_row([name, *(f"{1e6 * s:.1f}" for s in calls)])


def prepare(name: str, epochs: int) -> tuple[Model, Model, Any, Any]:
    """The model for Booleans, the same for raw features, raw rows as float64, and a forest for them."""
    settings, data = SETTINGS[name], datasets.load(name)
    X = data.X[:, : settings.n_features].astype(np.float64)
    booleanizer = settings.booleanizer()
    if np.isin(X, (0.0, 1.0)).all():
        X = X / 2 + np.random.default_rng(0).uniform(0.001, 0.499, X.shape)
        booleanizer = Booleanizer(thresholds=0.5)
    train, y = X[~data.test], data.y_train
    machine = settings.machine(epochs=epochs, booleanizer=booleanizer, validation_fraction=0, random_state=0)
    model = machine.fit(train, y).model_
    plain = Model.of(model.clauses, classes=model.classes)
    rows = max(2000, int(min(MAX_BYTES / X.shape[1] / 8, 500_000)))
    test = X[data.test]
    test = np.concatenate([test] * (rows // len(test) + 1))[:rows]
    forest = RandomForestClassifier(25, max_depth=14, n_jobs=1, random_state=0)
    forest.fit(np.nan_to_num(train.astype(np.float32)), y)
    return plain, model, np.ascontiguousarray(test), forest


def rate(predict: Callable[[Any], Any], X: Any, size: int = SLICE) -> float:
    """Rows per second of the best of many slices."""
    size = min(size, len(X))
    starts = [i * size % (len(X) - size + 1) for i in range(CALLS)]
    return size / min(timed(predict, X[start : start + size]) for start in starts)


def median(function: Callable[..., Any], *arguments: Any) -> float:
    return float(np.median([timed(function, *arguments) for _ in range(1000)]))


def timed(function: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def print_row(cells: list[Any], *, rule: bool = False) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    if rule:
        print("|---" * len(cells) + "|")


if __name__ == "__main__":
    main()
