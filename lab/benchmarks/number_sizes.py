"""What the C of a number takes beside that of two classes, and what NAME_value adds to NAME_sum.

    python lab/benchmarks/number_sizes.py

The clauses are random, as in the tests. Programs are compiled with -Os and executed on 40 rows.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ethereal import Model
from ethereal.chips.targets import TARGETS, Target
from ethereal.device import avr
from ethereal.device.program import CProgram, execute, on_rows
from ethereal.export import make_program
from ethereal.model import Number

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from random_models import random_model

N_CLAUSES = 298
HEAVIEST = (7, 63, 127, 3000)
FORMS: dict[str, dict[str, Any]] = {
    "straight": {},
    "fast": {},
    "fast, smallest": {"clause_bytes": 0},
    "compact": {},
}
CORES = ("cortex-m7", "cortex-m0plus", "riscv32", "atmega328p")


def size(program: CProgram, chip: Target) -> tuple[int, int]:
    """Flash, and instructions of an average row (cycles on an AVR)."""
    run = execute if chip.isa != "avr" else avr.execute
    done = run(program, chip)
    assert np.array_equal(done.classes, program.expected)
    return done.elf.code_bytes + done.elf.table_bytes, round(float(done.counts.mean()))


def main() -> None:
    """Print both tables."""
    base, X = random_model(
        5, n_features=13, n_bins=12, n_classes=1, n_clauses=N_CLAUSES, shortest=1, longest=4, zeros=0
    )
    rng, X = np.random.default_rng(0), X[:40]
    print(f"{base.n_clauses} clauses, {base.n_includes} includes; flash and instructions on a cortex-m7")
    for heaviest in HEAVIEST:
        votes = rng.integers(1, heaviest + 1, (N_CLAUSES, 1)) * rng.choice([-1, 1], (N_CLAUSES, 1))
        both = np.hstack([np.zeros_like(votes), votes]).astype(np.int32)
        models = {
            "number": Model.of(base.clauses.voting(both[:, 1:]), output=Number(0.5), booleanizer=base.fitted),
            "two classes": Model.of(base.clauses.voting(both), classes=[0, 1], booleanizer=base.fitted),
        }
        for what, model in models.items():
            cells = []
            for form, options in FORMS.items():
                program = make_program(model, form.split(",")[0], **options)
                flash, instructions = size(on_rows(program, X), TARGETS["cortex-m7"])
                cells.append(f"{form} {flash:,} B {instructions:,}")
            print(f"votes up to {heaviest}, {what}: " + "; ".join(cells))
    print("what NAME_value adds to NAME_sum, in the layout straight")
    model = Model.of(
        base.clauses.voting(both[:, 1:] // 100), output=Number(0.5, 0.1), booleanizer=base.fitted
    )
    for core in CORES:
        program = on_rows(make_program(model, "straight"), X)
        value = program.beside_counts
        assert value is not None
        summed = size(replace(program, beside=()), TARGETS[core])
        valued = size(value, TARGETS[core])
        print(f"{core}: {valued[0] - summed[0]:,} B, {valued[1] - summed[1]:,} a row")


if __name__ == "__main__":
    main()
