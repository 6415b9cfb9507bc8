"""Worst cases that follow from the compiled code: exact where one row is possible, and never below a row."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest

from ethereal import Model
from ethereal.device import TARGETS, EmulatedCore, compile_elf
from ethereal.device.program import bare, on_rows
from ethereal.device.worst import worst_of
from ethereal.export.c99.choose import compiled
from ethereal.export.c99.layouts import LAYOUTS
from ethereal.export.c99.program import make_program
from ethereal.features.window_features import WindowFeatures
from ethereal.tuning import Budget, Footprint
from ethereal_bounds.flow import Code
from ethereal_bounds.instruction import Unbounded
from ethereal_bounds.longest import longest
from ethereal_bounds.state import INPUT, Memory, row_of
from ethereal_bounds.values import (
    FUNCTIONS,
    MASK,
    Flags,
    Range,
    bounds_of,
    compute,
    computed,
    condition_of,
    holds,
    narrowed,
    swapped,
)
from ethereal_bounds.walk import Paths
from expensive_rows import most_expensive
from random_models import number_model, random_model
from thinned import few, thinned
from windows import everything, hard_windows, model_of

M7 = TARGETS["cortex-m7"]
CORES = ("cortex-m0plus", "cortex-m7", "cortex-m33", "riscv32")


def _bound(source: str, *values: list[int], target: str = "cortex-m7") -> int:
    """Return the worst case of the function `f` of the given features."""
    elf = compile_elf({"a.c": source}, TARGETS[target], ["f"], optimize="-Os")
    return longest(Paths(Memory(Code(elf), row_of(values))).follow("f", INPUT))


def _most(source: str, *values: list[int]) -> int:
    """Return the instructions of the most expensive row, all rows tried."""
    core = EmulatedCore(compile_elf({"a.c": source}, M7, ["f"], optimize="-Os"), M7)
    rows = np.array(np.meshgrid(*values), dtype=np.uint32).reshape(len(values), -1).T
    return int(core.call_by_row("f", rows)[1].max())


@pytest.mark.parametrize("layout, target", thinned(LAYOUTS, CORES))
def test_no_row_found_exceeds_the_bound(layout: str, target: str) -> None:
    model, _ = random_model(3, missing="some" if layout == "fast" else "no", n_clauses=25)
    compare_with_rows(model, layout, target)


# In the first one the compiler takes the link register for the bits of the clauses that are left.
PAIRS = [("fast", "cortex-m33"), *product(("straight", "fast", "compact", "redress"), CORES)]


@pytest.mark.parametrize("layout, target", few(list(dict.fromkeys(PAIRS)), 4))
def test_no_row_of_a_number_exceeds_the_bound(layout: str, target: str) -> None:
    model, _ = number_model(3, missing="some" if layout == "fast" else "no", n_clauses=25)
    compare_with_rows(model, layout, target)


def compare_with_rows(model: Model, layout: str, target: str) -> None:
    """Compare the bound of a model with the most expensive row that a search finds."""
    chip = TARGETS[target]
    plain_program = bare(make_program(model, layout, input="int16" if target == "cortex-m33" else "float"))
    elf = compiled(plain_program.files, chip, [plain_program.function, *plain_program.beside], optimize="-Os")
    most, stack = most_expensive(elf, chip, plain_program, calls=250)
    bound = worst_of(elf, chip, plain_program)
    assert bound.instructions is not None, bound.why_not
    assert bound.stack_bytes is not None
    assert most <= bound.instructions <= 1.5 * most
    assert stack <= bound.stack_bytes <= stack + 100  # the check at start-up may take more


@pytest.mark.parametrize("clauses", [{"n_clauses": 60, "mean_length": 4.0}, {"n_clauses": 300, "n_bins": 3}])
@pytest.mark.parametrize("limit", [None, 0])
def test_every_form_of_fast(clauses: dict[str, Any], limit: int | None) -> None:
    model, _ = random_model(1, n_features=12, **clauses)
    plain_program = bare(make_program(model, "fast", clause_bytes=limit))
    elf = compiled(plain_program.files, M7, [plain_program.function, *plain_program.beside], optimize="-Os")
    most, _ = most_expensive(elf, M7, plain_program, calls=600)
    bound = worst_of(elf, M7, plain_program).instructions
    assert bound is not None
    assert most <= bound <= 1.5 * most


@pytest.mark.parametrize("target", CORES)
def test_one_row_is_followed_to_the_instruction(target: str) -> None:
    model, rows = random_model(7, n_clauses=60)
    chip = TARGETS[target]
    for layout in ("straight", "fast", "compact"):
        program = make_program(model, layout)
        elf = compiled(program.files, chip, [program.predict_function], optimize="-Os")
        features = program.features(rows[:4])
        _, counts = EmulatedCore(elf, chip).call_by_row(program.predict_function, features)
        for row, count in zip(features.view(np.uint32).tolist(), counts.tolist(), strict=True):
            paths = Paths(Memory(Code(elf, chip.isa), row_of([[x] for x in row])))
            assert longest(paths.follow(program.predict_function, INPUT)) == count


def _most_of_a_stream(core: EmulatedCore, samples: Any) -> int:
    """Return the most instructions of a call that takes one sample."""
    at, most = core.buffer(samples[0]), 0
    for sample in samples:
        core.write(at, sample)
        before = core.instructions
        core.call("model_push", at)
        most = max(most, core.instructions - before)
    return most


@pytest.mark.parametrize(("target", "n_axes"), few([("riscv32", 1), ("cortex-m7", 2), ("cortex-m0plus", 1)]))
def test_no_window_found_exceeds_the_bound(target: str, n_axes: int) -> None:
    chip, given = TARGETS[target], hard_windows(64, n_axes, n_random=2)
    extractor = everything(n_axes, rate=50.0).fit(given)
    asked = on_rows(make_program(model_of(extractor, given, n_clauses=20), "straight", majority=3), given)
    elf = compiled(asked.files, chip, [asked.function, *asked.beside], optimize="-Os")
    bound = worst_of(elf, chip, asked)
    assert bound.instructions is not None, bound.why_not
    most_found, stack = most_expensive(elf, chip, asked, calls=150)
    _, counts = EmulatedCore(elf, chip).call_by_row(asked.function, asked.rows)
    assert max(most_found, counts.max()) <= bound.instructions <= 1.1 * max(most_found, counts.max())
    assert bound.stack_bytes is not None
    assert stack <= bound.stack_bytes
    # Every state of the stream, several answers among them
    most = _most_of_a_stream(EmulatedCore(elf, chip), given[:5].reshape(-1, n_axes))
    assert most <= bound.calls["model_push"] <= 1.3 * most


@pytest.mark.slow
def test_no_sound_found_exceeds_the_bound() -> None:
    given = hard_windows(768, 1, n_random=1)
    given[-3:, :256] = given[-2:, 512:] = 0  # other first and last frames that are active
    extractor = WindowFeatures({"mel": ["axes"]}, rate=8000.0).fit(given)
    asked = on_rows(make_program(model_of(extractor, given, n_clauses=5), "straight"), given)
    elf = compiled(asked.files, M7, [asked.function, *asked.beside], optimize="-Os")
    bound = worst_of(elf, M7, asked)
    assert bound.instructions is not None, bound.why_not
    _, counts = EmulatedCore(elf, M7).call_by_row(asked.function, asked.rows)
    assert len(set(counts.tolist())) > 3
    assert counts.max() <= bound.instructions <= 1.05 * counts.max()
    most = _most_of_a_stream(EmulatedCore(elf, M7), given[-4:].reshape(-1, 1))
    assert most <= bound.calls["model_push"] <= 1.1 * most


def test_ranges_hold_what_numbers_give() -> None:
    rng = np.random.default_rng(0)
    names = ("add", "sub", "rsb", "mul", "lsl", "lsr", "asr", "and", "orr", "eor", "udiv", "slt", "sltu")
    for _ in range(3000):
        name, size = str(rng.choice(names)), int(rng.choice([6, 1 << 12, 1 << 32]))
        (a, b), (c, d) = np.sort(rng.integers(0, size, (2, 2)), axis=1).tolist()
        if name in ("lsl", "lsr", "asr"):
            c = d = int(rng.integers(0, 32))
        x, y = int(rng.integers(a, b + 1)), int(rng.integers(c, d + 1))
        between = computed(name, [(a, b), (c, d)])
        low, high = (0, MASK) if between is None else bounds_of(between)
        assert low <= FUNCTIONS[name](x, y) <= high, (name, a, b, c, d, x, y)
        for condition in range(14):
            is_so = condition_of(condition, Flags("sub", (x, y)))
            assert holds(condition, (a, b), (c, d)) in (None, is_so)
            if is_so:
                least, most = narrowed(condition, (a, b), (c, d))
                assert least <= x <= most
                least, most = narrowed(swapped(condition), (c, d), (a, b))
                assert least <= y <= most


def test_multiples_of_a_range_hold_what_numbers_give() -> None:
    rng = np.random.default_rng(1)
    for _ in range(2000):
        low, high = np.sort(rng.integers(0, int(rng.choice([6, 1 << 12, 1 << 32])), 2)).tolist()
        n = int(rng.integers(low, high + 1))
        known: list[Any] = [Range(low, high), Range(low, high) if rng.random() < 0.2 else None]
        if known[1] is None:
            known[1] = known[0]
        numbers = [n, n if known[1] is known[0] else int(rng.integers(low, high + 1))]
        for _ in range(4):
            name, by = str(rng.choice(["lsl", "mul", "add", "sub", "rsb"])), int(rng.integers(0, 6))
            i, j = rng.integers(0, len(known), 2).tolist()
            is_constant = name in ("lsl", "mul")
            known.append(compute(name, known[i], by if is_constant else known[j]))
            numbers.append(FUNCTIONS[name](numbers[i], by if is_constant else numbers[j]))
        for value, number in zip(known, numbers, strict=True):
            least, most = bounds_of(value)
            assert least <= number <= most


def test_tests_of_one_feature_exclude_each_other() -> None:
    source = """
    int f(const unsigned *x);
    int f(const unsigned *x)
    {
        volatile int a = 0;
        if (x[0] > 5) { a++; a++; a++; }
        if (x[0] < 3) { a++; a++; a++; }
        if (x[1] > 5) { a++; a++; a++; }
        return a;
    }"""
    values = [0, 4, 9], [0, 9]
    assert _bound(source, *values) == _most(source, *values)


def test_a_loop_ends_where_its_table_does() -> None:
    source = """
    static const unsigned char ends[8] = {1, 9, 2, 7, 3, 0, 4, 5};
    int f(const unsigned *x);
    int f(const unsigned *x)
    {
        volatile int a = 0;
        for (unsigned i = 0; i < ends[x[0]]; i++) a++;
        return a;
    }"""
    assert _bound(source, list(range(8))) == _most(source, list(range(8)))
    assert _bound(source, [0, 2, 5]) == _most(source, [0, 2, 5])


def test_what_has_no_bound_says_so() -> None:
    endless = "int f(const unsigned *x); int f(const unsigned *x) { volatile unsigned a = x[0] + x[1]; " \
        "int n = 0; while (a & 1) n++; return n; }"  # fmt: skip
    with pytest.raises(Unbounded, match="end"):
        _bound(endless, [0, 1], [0, 1])
    recursive = (
        "int f(int n); int f(int n) { volatile int a = n; return a < 2 ? 1 : f(n - 1) * f(n - 2) + a; }"
    )
    elf = compile_elf({"a.c": recursive}, M7, ["f"])
    with pytest.raises(Unbounded, match="calls itself"):
        Code(elf).stack_bytes("f")
    model, _ = random_model(0)
    other = worst_of(elf, TARGETS["atmega328p"], bare(make_program(model, "compact")))
    assert other.instructions is None
    assert "atmega328p is not followed" in other.why_not


def test_a_budget_counts_the_bound() -> None:
    budget = Budget(worst_instructions="2k")
    assert budget.on_size
    assert budget.excess(Footprint(50, 7.0, 20, "fast", None, 1000)) == 0.5
    assert budget.excess(Footprint(50, 7.0, 20, "fast")) > 1  # no bound
    assert "2000 instructions for any row" in budget.describe()


def test_measure_tells_and_bounds_it(tmp_path: Any, call: Any) -> None:
    model, _ = random_model(2)
    model.save(tmp_path / "m.etm")
    how = ("measure", "m.etm", "--layout", "fast", "--max-rows", "3")
    (printed,) = json.loads(call(*how, "--json").stdout)
    assert printed["total_instructions_max"] <= printed["worst_instructions"]
    assert printed["stack_bytes"] <= printed["worst_stack_bytes"]
    text = call(*how).stdout
    assert f"No row can take more instructions than: {printed['worst_instructions']:,}." in text
    assert "No call takes more than" in text
    refused = call(*how, "--worst-instructions", "10", code=3)
    assert "may take more than 10 instructions" in refused.stderr
