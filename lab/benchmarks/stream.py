"""Memory and time of `ethereal predict` on a file of many rows.

    python lab/benchmarks/stream.py [--rows 10000000] [--set statlog] [--kinds npy,parquet,csv]

Trains a small machine on the set, writes its rows over and over to one file of each kind (csv: 0.6 GB for
ten million rows of statlog) and runs the command line on it. Beside the whole file a tenth of it is
predicted: memory that grew with the rows would show. Peak memory is that of the command's process, imports
included.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ethereal import EtherealClassifier, datasets

CHUNK = 100_000  # rows that are written at once


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--set", default="statlog")
    parser.add_argument("--kinds", default="npy,parquet,csv")
    args = parser.parse_args()
    data = datasets.load(args.set)
    X = data.X.astype(np.float32)
    names = [f"f{i}" for i in range(X.shape[1])]
    chunk = X[np.arange(CHUNK) % len(X)]
    print("| file | rows | size MB | seconds | rows/s | peak memory MB |\n|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "m.etm"
        clf = EtherealClassifier.paper(300, 16, 3.0, epochs=20, random_state=0).fit(X, data.y)
        clf.model_.save(model)
        for kind in args.kinds.split(","):
            for rows in (args.rows // 10, args.rows):
                path = Path(folder) / f"rows.{kind}"
                write(path, kind, chunk, names, rows)
                seconds, peak = predict(model, path, Path(folder) / "out.csv")
                size, rate = path.stat().st_size / 1e6, rows / seconds
                print(
                    f"| {kind} | {rows:,} | {size:,.0f} | {seconds:.1f} | {rate:,.0f} | {peak:.0f} |",
                    flush=True,
                )
                path.unlink()


def write(path: Path, kind: str, chunk: np.ndarray, names: list[str], rows: int) -> None:
    parts = [CHUNK] * (rows // CHUNK) + [rows % CHUNK] * bool(rows % CHUNK)
    if kind == "npy":
        file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, chunk.shape[1]))
        for i, n in enumerate(parts):
            file[i * CHUNK : i * CHUNK + n] = chunk[:n]
        file.flush()
        return
    table = pa.table({name: chunk[:, i] for i, name in enumerate(names)})
    make = pyarrow.parquet.ParquetWriter if kind == "parquet" else pyarrow.csv.CSVWriter
    with make(path, table.schema) as writer:
        for n in parts:
            writer.write_table(table.slice(0, n))


# A small process starts the command: a child's peak begins with what its parent had when it was born.
LAUNCH = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def predict(model: Path, path: Path, out: Path) -> tuple[float, float]:
    """Seconds and peak megabytes of the command."""
    command = [sys.executable, "-m", "ethereal", "predict", str(model), str(path), "--out", str(out)]
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", LAUNCH, *command], check=True, capture_output=True)
    return time.perf_counter() - start, int(done.stdout) / 1024


if __name__ == "__main__":
    main()
