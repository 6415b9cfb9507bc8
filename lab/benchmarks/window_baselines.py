"""Forests and boosted trees on features of windows: their cost from sample to label (lab/notes/windows.md).

python lab/benchmarks/window_baselines.py har.npz gesture.npz fsdd.npz watch.npz --out window-baselines.jsonl

The features are those of all kernels that `windows.py` offers. Trees become C as
`ethereal_study.baselines` says, and are executed on an emulated Cortex-M7, whose flash is no limit there. The
features are computed before, by a program of their own.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ethereal import WindowFeatures
from ethereal.device import find_core
from ethereal.device.baselines import forest_program
from ethereal.device.kernel_prices import features_program
from ethereal.device.program import execute
from ethereal_study import baselines
from windows import MEASURED_WINDOWS, PLANS

FORESTS = {"forest, 100 trees": {}, "forest, 25 trees of depth 14": {"n_estimators": 25, "max_depth": 14}}
BOOSTED = {"boosting, 100 rounds of 31 leaves": (100, 31), "boosting, 20 rounds of 15 leaves": (20, 15)}
ALL = (*FORESTS, *BOOSTED)
_PLENTY = 1 << 20  # bytes of RAM


def priced(path: Path, name: str) -> dict[str, Any]:
    """Return accuracy and cost of one baseline on a set."""
    with np.load(path, allow_pickle=False) as file:
        data = dict(file)
    axes, test, y = [str(n) for n in data["axis_names"]], data["test"], data["y"]
    extractor = WindowFeatures(PLANS[path.stem].kernels, axes=axes, rate=float(data["rate"]))
    F = extractor.fit_transform(data["X"])
    some = np.flatnonzero(~test)
    if name in FORESTS:
        grown = RandomForestClassifier(random_state=0, **FORESTS[name]).fit(F[some], y[some])
        program_of, nodes = forest_program, sum(tree.tree_.node_count for tree in grown.estimators_)
    else:
        some = some[:: max(1, len(some) // 8000)]
        rounds, leaves = BOOSTED[name]
        grown = baselines.train_boosted(F[some], y[some], rounds, leaves, 0)
        program_of, nodes = baselines.boosted, int(grown.booster_.trees_to_dataframe().shape[0])
    line: dict[str, Any] = {"set": path.stem, "baseline": name, "nodes": nodes}
    line["accuracy"] = float(grown.score(F[test], y[test]))
    answers = program_of(grown, F[test])
    line["exported"] = float((grown.classes_[answers.expected] == y[test]).mean())
    chip, windows = find_core("cortex-m7"), data["X"][test][:MEASURED_WINDOWS]
    rows = program_of(grown, F[test][:MEASURED_WINDOWS])
    trees, features = (
        execute(program, chip, ram_bytes=_PLENTY)
        for program in (rows, features_program(extractor.front_end_, windows))
    )
    line["agreement"] = float((trees.classes == rows.expected).mean())
    line["flash"] = sum(one.elf.code_bytes + one.elf.table_bytes for one in (trees, features))
    line["ram"] = trees.elf.ram_bytes + features.elf.ram_bytes + max(trees.stack_bytes, features.stack_bytes)
    line["instructions"] = int((trees.counts + features.counts).max())
    line["trees"] = int(trees.counts.max())
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in line.items()}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="npz files as raw_windows.py says")
    parser.add_argument("--out", type=Path, default=Path("window-baselines.jsonl"))
    parser.add_argument("--only", choices=ALL, nargs="+", default=list(ALL))
    args = parser.parse_args()
    lines = [json.loads(text) for text in args.out.read_text().splitlines()] if args.out.exists() else []
    known = {(line["set"], line["baseline"]) for line in lines}
    for path in args.files:
        for name in args.only:
            if (path.stem, name) in known:
                continue
            line = priced(path, name)
            print(line, flush=True)
            with args.out.open("a") as out:
                out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
