"""Throughput of training and study on a local Dask cluster against one process; same bits.

python lab/benchmarks/cluster.py                # two workers
python lab/benchmarks/cluster.py --workers 4
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from ethereal import EtherealClassifier, cluster, datasets
from ethereal_study.cells import prepare
from ethereal_study.run import grid, run
from ethereal_study.settings import SETTINGS
from ethereal_study.store import Store


def training(name: str, times: int, epochs: int, repeats: int) -> tuple[float, float, EtherealClassifier]:
    """Rows per second and CPU seconds here of `fit`, everything included: medians; and the last machine."""
    settings = SETTINGS[name]
    rows = prepare(datasets.load(name), settings, "honest")
    X, y = rows.X_train, rows.y_train
    speeds, seconds = [], []
    for _ in range(repeats):
        n_clauses, booleanizer = times * settings.n_clauses, rows.booleanizer
        clf = settings.machine(n_clauses=n_clauses, epochs=epochs, booleanizer=booleanizer, random_state=0)
        start, used = time.perf_counter(), time.process_time()
        clf.fit(X, y)
        seconds.append(time.process_time() - used)
        speeds.append(epochs * len(X) / (time.perf_counter() - start))
    return statistics.median(speeds), statistics.median(seconds), clf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sets", default="mnist,sensorless,emg")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--times", type=int, default=1, help="as many times the study's clauses")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    names = arguments.sets.split(",")
    print(
        "| work | one process | Dask | times | same | CPU alone; on the cluster |\n|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        cells = grid(["statlog"], ["vanilla", "ethereal"], "honest", 3, None)
        start = time.perf_counter()
        alone = run(cells, Store(Path(folder) / "a"), quiet=True)
        seconds = time.perf_counter() - start
        single = {
            name: training(name, arguments.times, arguments.epochs, arguments.repeats) for name in names
        }
        with cluster.start(arguments.workers) as workers:
            workers.call(max, 1, 2)
            for name in names:
                before_work = workers._client.run(time.process_time)
                speed, here, clf = training(name, arguments.times, arguments.epochs, arguments.repeats)
                after_work = workers._client.run(time.process_time)
                busiest = max(after_work[w] - before_work[w] for w in after_work) / arguments.repeats
                before, alone_cpu, other = single[name]
                same = clf.model_.to_bytes("compact") == other.model_.to_bytes("compact")
                print(
                    f"| train {name}, {arguments.epochs} epochs | {before:,.0f} rows/s | {speed:,.0f} rows/s "
                    f"| {speed / before:.2f} | {'yes' if same else 'NO'} "
                    f"| {alone_cpu:.1f} s; {here:.1f} s here, {busiest:.1f} s the busiest worker |",
                    flush=True,
                )
            start = time.perf_counter()
            together = run(cells, Store(Path(folder) / "b"), workers=workers, quiet=True)
            passed = time.perf_counter() - start
            same = all(alone[c]["accuracy"] == together[c]["accuracy"] for c in cells)
            print(
                f"| study, {len(cells)} cells | {seconds:.1f} s | {passed:.1f} s | {seconds / passed:.2f} "
                f"| {'yes' if same else 'NO'} | |"
            )


if __name__ == "__main__":
    main()
