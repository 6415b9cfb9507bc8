"""Worst cases of exports that learn: of a prediction, of a row that is taught, and of a step of adapting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ethereal.chips.elf import Elf
from ethereal.device import TARGETS, EmulatedCore, compile_elf
from ethereal.device.program import bare
from ethereal.device.worst import WorstCase, worst_of
from ethereal.export.c99.choose import compiled
from ethereal.export.c99.parts.learn import FIRST_STATE, FOUND, LAST, sum_words
from ethereal.export.c99.program import Program
from ethereal_bounds.values import UNKNOWN, Range, compute, linear, number_of
from learning_costs import learning_in
from random_models import random_model
from thinned import few

N_ROWS = 5


def _program(layout: str, target: str, form: str, n_clauses: int = 20) -> tuple[Program, Any]:
    model, X = random_model(3, n_clauses=n_clauses, shortest=2)
    options: dict[str, Any] = {"margin": 3}
    if form == "new classes":
        options |= {"classes": 1, "anchors": (X[:6], model.predict(X[:6]))}
    elif form == "bias":
        options["learn"] = "bias"
    return learning_in(layout, model, target, N_ROWS, **options), X


def _bound(program: Program, target: str) -> tuple[Elf, WorstCase]:
    plain_program = bare(program)
    elf = compiled(
        plain_program.files, TARGETS[target], [plain_program.function, *plain_program.beside], optimize="-Os"
    )
    bound = worst_of(elf, TARGETS[target], plain_program)
    assert bound.why_not == ""
    return elf, bound


@pytest.mark.parametrize(
    ("layout", "target", "form"),
    few(
        [
            ("branches", "cortex-m7", "votes"),
            ("lists", "cortex-m7", "votes"),
            ("branches", "riscv32", "new classes"),
            ("lists", "cortex-m0plus", "new classes"),
            ("lists", "riscv32", "bias"),
            ("branches", "cortex-m0plus", "votes"),
            ("branches", "cortex-m33", "bias"),
        ],
        3,
    ),
)
def test_no_call_exceeds_its_bound(layout: str, target: str, form: str) -> None:
    program, X = _program(layout, target, form)
    elf, bound = _bound(program, target)
    core, rng = EmulatedCore(elf, TARGETS[target]), np.random.default_rng(0)
    rows = [core.buffer(row) for row in program.features(X[:40])]
    n_classes, state = program.learning.n_classes, elf.symbols[FIRST_STATE].address  # type: ignore[union-attr]
    most = {"m_predict": 0, "m_learn": 0, "m_adapt_step": 0}

    def call(name: str, *arguments: int) -> int:
        before = core.instructions
        answer = core.call(name, *arguments)
        most[name] = max(most[name], core.instructions - before)
        return answer

    at, size = 12, program.learning.row_bytes  # type: ignore[union-attr]
    for n in range(3):
        for row in rows:
            core.write(state + 8, np.array([n > 0], np.uint8))  # whether learned votes are used
            call("m_predict", row)
            call("m_learn", row, int(rng.integers(n_classes)) if n else 0)
        for i in range(N_ROWS):  # rows of another board, or of a damaged one
            fired = np.full(size - 1, 0xFF) if n == 2 else rng.integers(0, 256, size - 1)
            core.write(state + at + i * size + 1, (fired & program_mask(program)).astype(np.uint8))
        n_steps = 0
        while call("m_adapt_step"):
            n_steps += 1
        assert n_steps > 5
    assert bound.instructions is not None
    assert most["m_predict"] <= bound.instructions <= 2.5 * most["m_predict"]
    assert most["m_learn"] <= bound.calls["m_learn"] <= 1.5 * most["m_learn"]
    assert most["m_adapt_step"] <= bound.calls["m_adapt_step"] <= 1.5 * most["m_adapt_step"]
    assert bound.stack_bytes is not None
    assert core.stack_bytes <= bound.stack_bytes


def program_mask(program: Program) -> Any:
    """Return the bits of a kept row that clauses have."""
    assert program.learning is not None
    n = program.learning.n_clauses
    return np.packbits(np.arange((n + 7) // 8 * 8) < n, bitorder="little").astype(np.int64)


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m7", "riscv32"])
def test_votes_take_the_most_when_all_clauses_fire(target: str) -> None:
    program, _ = _program("lists", target, "votes", n_clauses=90)
    plain_program, chip, mask = bare(program), TARGETS[target], program_mask(program)
    for optimize in ("-Os", "-O3"):
        elf = compiled(
            plain_program.files, chip, [plain_program.function, *plain_program.beside], optimize=optimize
        )
        core, rng = EmulatedCore(elf, chip), np.random.default_rng(1)
        state, bits = elf.symbols[FIRST_STATE].address, core.buffer(mask.astype(np.uint8))
        sums, drawn = core.buffer(np.zeros(8, np.int32), writable=True), [mask]
        for n in range(60):
            more = rng.integers(0, 256, len(mask)) * (n % 2)
            drawn.append((rng.integers(0, 256, len(mask)) | more) & mask)
        drawn += [mask >> n for n in range(8)]
        counts = []
        for fired in drawn:
            core.write(bits, fired.astype(np.uint8))
            before = core.instructions
            core.call("et_tally", state, bits, sums, 3)
            counts.append(core.instructions - before)
        assert max(counts) == counts[0]


def test_parts_of_a_state_are_where_they_are_assumed_to_be() -> None:
    program, _ = _program("lists", "cortex-m7", "new classes")
    asked = "".join(
        f'_Static_assert(offsetof(m_state, {part}) == {offset}, "");\n'
        for part, offset in {
            "n_rows": 0,
            "now.at": 2,
            "now.is_personal": 8,
            "now.phase": 9,
            "rows": 12,
        }.items()
    )
    source = f'#include <stddef.h>\n#include "m.h"\n{asked}int f(void);\nint f(void) {{ return 0; }}\n'
    for target in ("cortex-m7", "riscv32"):
        assert "f" in compile_elf({**program.files, "a.c": source}, TARGETS[target], ["f"]).symbols
    assert any(f" {LAST}[" in text for text in program.files.values())


def test_bits_of_the_last_row_are_between_sums_and_a_flag() -> None:
    program, _ = _program("branches", "cortex-m7", "votes", n_clauses=90)
    plain_program = bare(program)
    elf = compiled(
        plain_program.files,
        TARGETS["cortex-m7"],
        [plain_program.function, *plain_program.beside],
        optimize="-Os",
    )
    n_before = sum_words(program.files)
    assert n_before
    assert program.learning is not None
    n_words = n_before + (program.learning.n_clauses + 31) // 32 + 1
    assert elf.symbols[FOUND].size == 4 * n_words
    assert sum_words(_program("lists", "cortex-m7", "votes")[0].files) is None


def test_multiples_of_a_range_cancel() -> None:
    i = Range(0, 4)
    row, left = compute("mul", i, 15), compute("mul", compute("rsb", i, 4), 15)
    assert compute("add", compute("add", row, 0x20000000), left) == 0x20000000 + 60
    assert compute("sub", 0, left) is UNKNOWN  # from -60 to 0
    form = linear("sub", [0, left])
    assert form is not None
    assert [number_of(form, n) for n in (0, 3, 4)] == [2**32 - 60, 2**32 - 15, 0]
