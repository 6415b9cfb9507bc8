"""`ethereal run` on large tables: seconds of its stages beside a forest's fit, and what sampling rows costs.

    python lab/benchmarks/large_tables.py                        # all tables, one seed, sampled
    python lab/benchmarks/large_tables.py rows --all-rows --seeds 0 1 2

Each stage has its seconds by the clock, which want an idle machine, and its CPU seconds of all threads and
children, which other work hardly changes. Each line of the output is JSON. The forest is scikit-learn's
default on the same training rows, with one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from ethereal.runs.folder import RunFolder
from ethereal.runs.options import Settings
from ethereal.runs.run import read_rows

Table = tuple[NDArray[Any], NDArray[Any]]
# Rows, features, classes, features that decide, share of labels drawn at random, distance of classes.
SHAPES = {
    "rows": (200_000, 5, 3, 5, 0.05, 1.0),
    "features": (1_000, 3_000, 2, 30, 0.05, 1.0),
    "classes": (10_000, 20, 100, 15, 0.02, 2.0),
    "sensors": (5_000, 58, 32, 20, 0.02, 2.0),
}


def drawn(name: str, seed: int) -> Table:
    """Return clusters of normal noise."""
    n, features, classes, deciding, flips, distance = SHAPES[name]
    return make_classification(  # type: ignore[no-any-return]
        n, features, n_informative=deciding, n_redundant=0, n_classes=classes, flip_y=flips,
        n_clusters_per_class=1 if classes > 4 else 2, class_sep=distance, random_state=seed,
    )  # fmt: skip


def board(seed: int) -> Table:
    """Return 200,000 places on a board of 6 x 6 fields with a tenth of the labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.random((200_000, 5))
    y = np.floor(6 * X[:, :2]).sum(axis=1).astype(int) % 2
    return X, np.where(rng.random(len(y)) < 0.1, 1 - y, y)


def waves(seed: int) -> Table:
    """Return 200,000 rows in five equal classes of a smooth sum, with noise in the sum."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200_000, 10))
    z = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 + 0.3 * rng.normal(size=len(X))
    return X, np.searchsorted(np.quantile(z, [0.2, 0.4, 0.6, 0.8]), z)


TABLES: dict[str, Callable[[int], Table]] = {
    **{name: lambda seed, name=name: drawn(name, seed) for name in SHAPES},  # type: ignore[misc]
    "board": board,
    "waves": waves,
}


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children so far."""
    return sum(os.times()[:4])


def timed_stages(folder: Path, words: list[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Type a command in a process of its own, and return the seconds and the CPU seconds of its stages."""
    code = (
        "import os, sys, time; from ethereal.runs.folder import RunFolder; from ethereal.cli import app\n"
        "stage = RunFolder.stage\n"
        "def timed(self, name, work):\n"
        "    begin, cpu = time.monotonic(), sum(os.times()[:4]); found = stage(self, name, work)\n"
        "    print('stage', name, time.monotonic() - begin, sum(os.times()[:4]) - cpu, flush=True)\n"
        "    return found\n"
        "RunFolder.stage = timed; app(sys.argv[1:])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("stage ")]
    return {line[1]: round(float(line[2]), 1) for line in lines}, {
        line[1]: round(float(line[3]), 1) for line in lines
    }


def compared(name: str, seed: int, more: list[str]) -> dict[str, Any]:
    """Return the stages of a run on a table, its accuracy and its size, and a forest's fit."""
    X, y = TABLES[name](seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        np.savez(folder / f"{name}.npz", X=X.astype(np.float32), y=y)
        seconds, stages = timed_stages(folder, ["run", f"{name}.npz", "--seed", str(seed), *more])
        run = RunFolder(folder / "runs" / name)
        rows = read_rows(Settings.from_parameters(run.parameters() or {}))
        pruned, board, log = run.result("prune") or {}, run.result("board") or {}, run.path / "run.log"
        told = [line for line in log.read_text().splitlines() if "time: " in line or "rows: " in line]
    begin = cpu_seconds()
    forest = RandomForestClassifier(random_state=seed, n_jobs=1).fit(rows.X_train, rows.y_train)
    took = cpu_seconds() - begin
    return {
        "table": name, "seed": seed, "options": more, "rows": len(rows.y_train),
        "seconds": seconds, "cpu": stages,
        "accuracy": round(100 * pruned["accuracy"], 2), "clauses": pruned["clauses"],
        "flash": (board["measured"].get("model") or {}).get("flash_bytes"),
        "forest_cpu": round(took, 1), "told": told,
        "forest_accuracy": round(100 * float((forest.predict(rows.X_test) == rows.y_test).mean()), 2),
        "times_forest": round((stages["learn"] + stages["prune"]) / took, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(TABLES), help=", ".join(TABLES))
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--all-rows", action="store_true", help="do not sample rows")
    asked = parser.parse_args()
    for seed in asked.seeds:
        for name in asked.tables:
            more = ["--no-forest", *(["--all-rows"] if asked.all_rows else [])]
            print(json.dumps(compared(name, seed, more)), flush=True)


if __name__ == "__main__":
    main()
