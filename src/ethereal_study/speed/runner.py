"""The main program of a baseline's process: `python -I runner.py ADAPTER.py < request.json > answer.json`.

It runs in the baseline's own environment, so it needs nothing but numpy and imports nothing of this package.

An adapter is a Python file with

    LIBRARY, VERSION        what is measured
    train(task)             trains `task.epochs` epochs and calls `task.record()` after each; what encodes
                            the rows is not timed; returns a function from rows to labels
    ROWS                    dtype of the rows that this function takes
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PREDICT_REPEATS = 3


class Task:
    """What is asked: the machine's parameters, the rows, and the record of what happened."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.n_clauses: int = request["n_clauses"]  # per class
        self.n_classes: int = request["n_classes"]
        self.n_booleans: int = request["n_booleans"]
        self.T: int = request["T"]
        self.s: float = request["s"]
        self.epochs: int = request["epochs"]
        self.seed: int = request["seed"]
        self.threads: int = request["threads"]
        self.evaluate: bool = request["evaluate"]  # accuracy after every epoch, not only after the last
        self._data = Path(request["data"])
        self.seconds: list[float] = []
        self.accuracy: list[float | None] = []
        self.includes: list[float] = []

    def rows(self, part: str, dtype: Any) -> Any:
        """Return a new matrix, rows x Booleans, of the "train" or "test" rows. The caller owns it."""
        with np.load(self._data, allow_pickle=False) as data:
            packed = data[f"X_{part}"]
        bits = np.unpackbits(packed, axis=1, count=self.n_booleans)
        return bits.view(bool) if np.dtype(dtype) == bool else bits.astype(dtype, copy=False)

    def labels(self, part: str, dtype: Any = np.int64) -> Any:
        """Return the labels, 0 to n_classes - 1."""
        with np.load(self._data, allow_pickle=False) as data:
            return data[f"y_{part}"].astype(dtype)

    def record(self, seconds: float, includes: float, accuracy: float | None) -> None:
        """Note one epoch: its time, the included literals of all clauses, the accuracy on the test rows."""
        self.seconds.append(float(seconds))
        self.includes.append(float(includes) / (self.n_clauses * self.n_classes))
        self.accuracy.append(accuracy)

    def score(self, predicted: Any) -> float:
        """Return the share of test rows with the right label."""
        return float(np.mean(np.asarray(predicted) == self.labels("test")))


def resident_bytes(field: str) -> int:
    """Read "VmRSS" (now) or "VmHWM" (peak) of this process, 0 where the system does not tell.

    `ru_maxrss` will not do: on Linux a process starts with the peak of the one that started it.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return 0


def run(adapter: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """Train and predict with one library, and say what it took."""
    task = Task(request)
    start_bytes = resident_bytes("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    predict = adapter["train"](task)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak_bytes = resident_bytes("VmHWM")

    answer = {
        "library": adapter["LIBRARY"],
        "version": adapter["VERSION"],
        "seconds": task.seconds,
        "accuracy": task.accuracy,
        "includes_per_clause": task.includes,
        "cores_used": cpu / wall,
        "start_bytes": start_bytes,
        "peak_bytes": peak_bytes,
        "predict_rows_per_second": None,
        "predict_accuracy": None,
    }
    if request["predict_rows"]:
        test = task.rows("test", adapter["ROWS"])
        times = -(-request["predict_rows"] // len(test))
        rows = np.concatenate([test] * times)[: request["predict_rows"]]
        answer["predict_accuracy"] = task.score(predict(test))
        seconds = min(timed(predict, rows) for _ in range(PREDICT_REPEATS))
        answer["predict_rows_per_second"] = len(rows) / seconds
    return answer


def timed(function: Callable[[Any], Any], argument: Any) -> float:
    """Return the seconds that one call takes."""
    start = time.perf_counter()
    function(argument)
    return time.perf_counter() - start


def main() -> None:
    """Read the request, keep the libraries' own messages out of the answer, write the answer."""
    answer_fd = os.dup(1)
    os.dup2(2, 1)  # what a library prints, from Python or from C, goes to stderr
    request = json.load(sys.stdin)
    answer = run(runpy.run_path(sys.argv[1]), request)
    with os.fdopen(answer_fd, "w") as out:
        json.dump(answer, out)


if __name__ == "__main__":
    main()
