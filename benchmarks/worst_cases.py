"""Bounds of the worst row against the most expensive rows that a search finds (docs/worst-case.md).

python benchmarks/worst_cases.py
python benchmarks/worst_cases.py statlog gas --target cortex-m4 --layout fast --calls 20000

Models of the study's sets are trained quickly, 10 epochs on up to 4,000 training rows, and pruned to an
estimate of 4 kB. Then every layout is compiled, bounded, and executed on rows that a search makes expensive.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np

from ethereal import EtherealClassifier, Model, prune
from ethereal.chips.targets import find_core
from ethereal.datasets import catalogue
from ethereal.device.expensive import most_expensive
from ethereal.device.program import on_rows
from ethereal.device.worst import worst_of
from ethereal.export.c99.choose import compiled
from ethereal.export.c99.program import make_program
from ethereal.model.needs import NotSupported
from ethereal.study.settings import SETTINGS
from ethereal.tuning.footprint import estimate

LAYOUTS = ("straight", "fast", "compact", "sliced")


def pruned(name: str) -> tuple[Model, Any]:
    """Return a pruned model of a set, and a row of it."""
    data, own = catalogue.load(name), SETTINGS[name]
    rows = np.random.default_rng(0).permutation(np.flatnonzero(~data.test))[:4000]
    X, y = np.asarray(data.X)[rows], np.asarray(data.y)[rows]
    machine = EtherealClassifier(min(own.n_clauses, 150), own.T, own.s, epochs=10,
                                 booleanizer=own.booleanizer(), random_state=0)  # fmt: skip
    model = machine.fit(X, y).model_
    return prune(model, X, y, max_bytes=4096, measure=estimate).model, X[:1]


def main() -> None:
    """Print a line of the table per program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SETTINGS))
    parser.add_argument("--target", default="cortex-m7")
    parser.add_argument("--layout", choices=LAYOUTS, action="append")
    parser.add_argument("--calls", type=int, default=4000)
    args = parser.parse_args()
    chip = find_core(args.target)
    print("| set | layout | bound | worst row found | ratio | stack bound | stack used | CPU s |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name in args.sets:
        model, X = pruned(name)
        for layout in args.layout or LAYOUTS:
            try:
                program = on_rows(make_program(model, layout), X)
            except NotSupported:
                continue
            elf = compiled(program.files, chip, [program.function], optimize="-Os")
            began = time.process_time()
            bound = worst_of(elf, chip, replace(program, beside=()))
            took = time.process_time() - began
            calls = args.calls if layout != "compact" else args.calls // 10
            found, stack = most_expensive(elf, chip, program, calls)
            ratio = "" if bound.instructions is None else f"{bound.instructions / found:.3f}"
            told = bound.why_not or f"{bound.instructions:,}"
            print(f"| {name} | {layout} | {told} | {found:,} | {ratio} | {bound.stack_bytes} | {stack} "
                  f"| {took:.1f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
