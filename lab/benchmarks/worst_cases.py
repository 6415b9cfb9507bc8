"""Bounds of the worst row against the most expensive rows that a search finds (lab/notes/worst-case.md).

python lab/benchmarks/worst_cases.py
python lab/benchmarks/worst_cases.py statlog gas --target cortex-m4 --layout fast --calls 20000
python lab/benchmarks/worst_cases.py raw/har raw/watch raw/gesture --target riscv32 --calls 300
python lab/benchmarks/worst_cases.py statlog --learn 50

Models of the study's sets are trained quickly, 10 epochs on up to 4,000 training rows, and pruned to an
estimate of 4 kB. Then every layout is compiled, bounded, and executed on rows that a search makes expensive.
A set raw/NAME is raw windows in NAME.npz of the folder `raw` of the data. Its model has many kernels.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ethereal import EtherealClassifier, Model, prune
from ethereal.chips.targets import find_core
from ethereal.datasets import catalogue
from ethereal.device.program import on_rows
from ethereal.device.worst import worst_of
from ethereal.export.c99.choose import compiled, programs
from ethereal.export.c99.program import Program, make_program
from ethereal.export.options import ExportOptions
from ethereal.features.window_features import WindowFeatures
from ethereal.model.needs import NotSupported
from ethereal.tuning.footprint import estimate
from ethereal_study.settings import SETTINGS

sys.path.insert(
    0, str(next(p for p in Path(__file__).parents if (p / "tests").is_dir()) / "tests" / "support")
)
from expensive_rows import most_expensive

KERNELS = ("stats", "std", "mad", "step", "shape", "parts", "haar", "bands", "spectrum")
LAYOUTS = ("straight", "fast", "compact", "sliced")
LEARNING = ("branches", "lists")


def pruned(name: str) -> tuple[Model, Any]:
    """Return a pruned model of a set, and a row of it."""
    data, settings = catalogue.load(name), SETTINGS[name]
    rows = np.random.default_rng(0).permutation(np.flatnonzero(~data.test))[:4000]
    X, y = np.asarray(data.X)[rows], np.asarray(data.y)[rows]
    machine = EtherealClassifier(min(settings.n_clauses, 150), settings.T, settings.s, epochs=10,
                                 booleanizer=settings.booleanizer(), random_state=0)  # fmt: skip
    model = machine.fit(X, y).model_
    return prune(model, X, y, flash=4096, measure=estimate).model, X[:1]


def of_windows(name: str) -> tuple[Model, Any]:
    """Return a model of raw windows, and a window."""
    data = np.load(Path(os.environ["ETHEREAL_DATA"]) / f"{name}.npz")
    rows = np.random.default_rng(0).permutation(np.flatnonzero(~data["test"]))[:1000]
    front_end = WindowFeatures({kernel: ["axes"] for kernel in KERNELS}, rate=float(data["rate"]))
    machine = EtherealClassifier(40, epochs=5, front_end=front_end, random_state=0)
    return machine.fit(data["X"][rows], data["y"][rows]).model_, data["X"][rows[:1]]


def learning(model: Model, layout: str, args: argparse.Namespace) -> Program:
    """Return the program that learns in a layout."""
    given = {"target": args.target, "learn": "votes", "learn_rows": args.learn}
    every = programs(model, ExportOptions.of("worst_cases", given))
    return next(program for program, _ in every if program.layout == layout)


def main() -> None:
    """Print a line of the table per program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SETTINGS))
    parser.add_argument("--target", default="cortex-m7")
    parser.add_argument("--layout", choices=LAYOUTS + LEARNING, action="append")
    parser.add_argument("--learn", type=int, metavar="ROWS", help="exports that learn and keep so many rows")
    parser.add_argument("--calls", type=int, default=4000)
    args = parser.parse_args()
    chip = find_core(args.target)
    print("| set | layout | bound | worst row found | ratio | stack bound | stack used | CPU s |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name in args.sets:
        model, X = of_windows(name) if name.startswith("raw/") else pruned(name)
        for layout in args.layout or (LEARNING if args.learn else LAYOUTS):
            try:
                made = learning(model, layout, args) if args.learn else make_program(model, layout)
                program = on_rows(made, X)
            except NotSupported:
                continue
            roots = [program.function, *program.streams]
            elf = compiled(program.files, chip, roots, optimize="-Os")
            began = time.process_time()
            bound = worst_of(elf, chip, replace(program, beside=()))
            took = time.process_time() - began
            calls = args.calls if layout != "compact" else args.calls // 10
            most_found, stack = most_expensive(elf, chip, program, calls)
            ratio = "" if bound.instructions is None else f"{bound.instructions / most_found:.3f}"
            told = bound.why_not or f"{bound.instructions:,}"
            if args.learn:
                told += "".join(f", {theirs} {most:,}" for theirs, most in bound.calls.items())
            print(f"| {name} | {layout} | {told} | {most_found:,} | {ratio} | {bound.stack_bytes} | {stack} "
                  f"| {took:.1f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
