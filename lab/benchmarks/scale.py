"""Large problems, once: time, memory, and sums checked against plain numpy.

python lab/benchmarks/scale.py            # rows: 1 million x 1000 Booleans; features: 8000; both 100 classes
python lab/benchmarks/scale.py features --rows 1000
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ethereal import Booleanizer, EtherealClassifier, Model

N_CLASSES, N_CLAUSES = 100, 100  # 10,000 clauses in all
SHAPES = {"rows": (1_000_000, 1000), "features": (10_000, 8000)}


def make(kind: str, n_rows: int) -> tuple[NDArray, NDArray]:
    """Rows whose class shows in ten of the features: Booleans, or numbers for the many features."""
    rng = np.random.default_rng(0)
    n_features = SHAPES[kind][1]
    y = rng.integers(N_CLASSES, size=n_rows)
    signs = rng.permutation(n_features)[: 10 * N_CLASSES // 2].reshape(-1, 10)  # two classes share ten
    X = np.empty((n_rows, n_features), dtype=bool if kind == "rows" else np.float32)
    for start in range(0, n_rows, 50_000):
        block, labels = X[start : start + 50_000], y[start : start + 50_000]
        noise = rng.integers(256, size=block.shape, dtype=np.uint8)
        shown = np.zeros(block.shape, bool)
        columns = signs[labels // 2]
        np.put_along_axis(shown, columns, rng.random(columns.shape) < 0.9, axis=1)
        block[:] = (noise < 25) | shown if kind == "rows" else noise / 256 + shown
        if kind == "rows":  # the two classes of a pair differ in one more
            block[:, 0] = labels % 2
        else:
            block[:, 0] = labels % 2 + noise[:, 0] / 512
    return X, y


def peak() -> float:
    """Most memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def plain_sums(model: Model, booleans: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Class sums by the definition, in 64 bits."""
    return model.clauses.fires(booleans) @ model.weights.astype(np.int64)


def measure(kind: str, n_rows: int, epochs: int, n_jobs: int) -> None:
    times = {}

    def timed(name, work):
        start = time.perf_counter()
        result = work()
        times[name] = time.perf_counter() - start
        return result

    X, y = timed("make the data", lambda: make(kind, n_rows))
    data = peak()
    clf = EtherealClassifier.paper(
        N_CLAUSES,
        15,
        5.0,
        epochs=epochs,
        booleanizer=None if kind == "rows" else Booleanizer(n_bins=2),
        literal_budget=64,  # few rows per class and many literals: clauses would take in thousands
        validation_fraction=0.02,
        n_jobs=n_jobs,
        random_state=0,
    )
    timed("fit", lambda: clf.fit(X, y))
    model = clf.model_
    predicted = timed("predict", lambda: clf.predict(X))
    few = X[:20]
    booleans = few if model.booleanizer is None else model.booleanizer.transform(few)
    sums = plain_sums(model, booleans)
    assert np.array_equal(model.class_sums(few), sums), "class sums differ from plain numpy"
    assert np.array_equal(predicted[:20], model.classes[sums.argmax(axis=1)])
    simple = timed("simplify", model.simplify)
    assert np.array_equal(simple.class_sums(few), sums)
    code = timed("compact code", lambda: simple.to_bytes("compact"))
    assert np.array_equal(Model.from_bytes(code).class_sums(booleans), sums)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.etm"
        timed("save", lambda: model.save(path))
        assert timed("load", lambda: Model.load(path)) == model
        size = path.stat().st_size
    try:
        redress = f"{len(simple.to_bytes('redress')):,} bytes"
    except ValueError as error:
        redress = f"refused: {error}"
    seconds = sum(r["seconds"] for r in clf.history_)
    machine = f"{N_CLASSES} classes, {model.n_clauses:,} clauses, {epochs} epochs, {n_jobs} thread(s)"
    print(f"{kind}: {n_rows:,} rows x {X.shape[1]:,} features, {model.n_booleans:,} Booleans, {machine}")
    print("  " + ", ".join(f"{name} {t:.1f} s" for name, t in times.items()))
    speeds = epochs * n_rows / seconds, n_rows / times["predict"]
    print("  training {:,.0f} rows/s, prediction {:,.0f} rows/s".format(*speeds))
    print(f"  accuracy on these rows {100 * (predicted == y).mean():.1f} %, includes {model.n_includes:,}")
    print(f"  memory at most {peak():.2f} GB, the data alone {data:.2f} GB")
    print(f"  file {size:,} bytes, compact {len(code):,} bytes, REDRESS words {redress}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", nargs="?", choices=list(SHAPES))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    if given.kind is None:  # a process each, for the memory
        for kind in SHAPES:
            subprocess.run([sys.executable, __file__, kind, *sys.argv[1:]], check=True)
        return
    measure(given.kind, given.rows or SHAPES[given.kind][0], given.epochs, given.jobs)


if __name__ == "__main__":
    main()
