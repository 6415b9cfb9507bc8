"""Bytes of the study's models in every code, as docs/codes.md records them.

    python benchmarks/code_sizes.py [--sets har,emg] [--protocol paper|honest] [--epochs 20] [--store FOLDER]

Trains the plain and the ETHEREAL machine on each set at the study's settings (finished cells are kept in the
store) and prints a Markdown table of the clauses' size: REDRESS words, compact code, combinatorial bound.
"""

from __future__ import annotations

import argparse

from ethereal import Model
from ethereal.model import codes as encode
from ethereal.study.cells import MACHINES, compute
from ethereal.study.settings import SETTINGS
from ethereal.study.store import Cell, Store


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(SETTINGS))
    parser.add_argument("--protocol", choices=["paper", "honest"], default="paper")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", default="study/cells")
    args = parser.parse_args()
    store = Store(args.store)
    columns = ["set", "machine", "includes", "REDRESS", "compact", "bound", "of bound", "of REDRESS"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name in args.sets.split(","):
        for machine in MACHINES:
            cell = Cell(name, machine, args.protocol, args.seed, args.epochs)
            compute(cell, store)
            model = Model.load(store.model_path(cell))
            for label, one in ((machine, model), (f"{machine}, simplified", model.simplify())):
                print(f"| {name} | {label} | {one.n_includes} | {_row(one)} |", flush=True)


def _row(model: Model) -> str:
    found = encode.sizes(model)
    redress, compact, bound = found["redress"], found["compact"], found["bound"]
    return f"{redress} | {compact} | {bound:.0f} | {compact / bound:.3f} | {compact / redress:.3f}"


if __name__ == "__main__":
    main()
