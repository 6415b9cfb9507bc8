"""What learning takes on an emulated core: flash, RAM and instructions, beside an export without it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ethereal.chips.targets import find_target
from ethereal.device import compile_elf
from ethereal.device.emulator import EmulatedCore
from ethereal.export import choose
from ethereal.export.c99.choose import programs
from ethereal.export.c99.program import Program
from ethereal.export.options import ExportOptions

PREDICT = ["m_predict", "m_check"]
LEARN = ["m_learn", "m_learn_last", "m_adapt", "m_adapt_step", "m_unlearn", "m_forget"]
KEEP = ["m_save", "m_restore"]
LOG = ["m_entry", "m_learn_entry", "m_use"]


def learning_in(layout: str, model: Any, target: str, n_rows: int, **options: Any) -> Program:
    """The program that learns in one of the two layouts."""
    given = {"name": "m", "target": target, "learn": "votes", "learn_rows": n_rows, **options}
    every = programs(model, ExportOptions.of("learning_in", given))
    return next(program for program, _ in every if program.layout == layout)


def measured(model: Any, X: Any, target: str, n_rows: int, layout: str, **options: Any) -> dict[str, Any]:
    """Bytes and mean instructions. Every row of `X` is taught as the class after its own."""
    chip = find_target(target)
    plain = choose(model, name="m", target=target)
    program = learning_in(layout, model, target, n_rows, guard=False, **options)
    guarded = learning_in(layout, model, target, n_rows, **options)
    with_guard = compile_elf(guarded.files, chip, PREDICT + LEARN + KEEP + LOG, optimize="-Os")
    sizes = []
    for roots in (PREDICT, PREDICT + LEARN, PREDICT + LEARN + KEEP, PREDICT + LEARN + KEEP + LOG):
        elf = compile_elf(program.files, chip, roots, optimize="-Os")
        sizes.append(elf.code_bytes + elf.table_bytes)
    core = EmulatedCore(elf, chip)
    rows = [core.buffer(row) for row in program.features(X)]
    classes = program.device_sums(program.features(X)).argmax(axis=1)
    learning = program.learning
    assert learning is not None
    elsewhere = EmulatedCore(compile_elf(plain.files, chip, PREDICT, optimize="-Os"), chip)
    plain_rows = [elsewhere.buffer(row) for row in plain.features(X)]

    def mean(on: EmulatedCore, calls: list[tuple[Any, ...]]) -> float:
        start = on.instructions
        for call in calls:
            on.call(*call)
        return (on.instructions - start) / len(calls)

    predict = [("m_predict", row) for row in rows]
    costs = {
        "target": target,
        "layout": layout,
        "clauses": learning.n_clauses,
        "classes": learning.n_classes,
        "layout without learning": plain.layout,
        "flash without learning": elsewhere.elf.code_bytes + elsewhere.elf.table_bytes,
        "instructions without learning": mean(elsewhere, [("m_predict", row) for row in plain_rows]),
        "flash of predictions": sizes[0],
        "flash of learning": sizes[1] - sizes[0],
        "flash of save and restore": sizes[2] - sizes[1],
        "flash of a log and of persons": sizes[3] - sizes[2],
        "flash of the guard": with_guard.code_bytes + with_guard.table_bytes - sizes[3],
        "RAM": elf.ram_bytes,
        "RAM by the formula": learning.n_votes + n_rows * ((learning.n_clauses + 7) // 8 + 2),
        "predict before": mean(core, predict),
        "learn a row": mean(
            core,
            [("m_learn", row, int(c + 1) % learning.n_classes) for row, c in zip(rows, classes, strict=True)],
        ),
        "adapt": mean(core, [("m_adapt",)]),
        "predict after": mean(core, predict),
    }
    core.call("m_adapt_step")
    steps = [("m_adapt_step",)] * (n_rows - 1)
    return costs | {
        "replay a row": mean(core, steps),
        "fired": float(np.mean(learning.general.clause_outputs(X))),
    }
