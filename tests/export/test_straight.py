"""The layout "straight": its tests, its packed sums, its C, and what it is for."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from c_on_host import assert_exact
from ethereal import Booleanizer, Model
from ethereal.device import measure
from ethereal.export import choose, make_program
from ethereal.export.c99.device_rows import Slots
from ethereal.export.c99.layouts.straight import arrange
from ethereal.export.c99.layouts.straight.tree import (
    Asked,
    Block,
    Builder,
    SlotTests,
    bounds,
    make_fields,
    move_votes,
)
from ethereal.model.engine import booleans_of
from ethereal.model.needs import NotSupported
from ethereal.tuning import priced
from random_models import random_model
from thinned import examples, thinned

KINDS: list[dict[str, Any]] = [
    {"encoding": None, "n_features": 12},
    {"encoding": "thermometer", "n_bins": 9, "missing": "some"},
    {"encoding": "onehot", "n_bins": 7, "missing": "ignore"},
    {"encoding": "mixed", "n_bins": 7, "missing": "some", "heaviest": 400, "n_classes": 9},
    {"encoding": "onehot", "n_bins": 5, "longest": 1},
]


def holds(asked: Asked, states: Any) -> bool:
    """Whether a condition holds for states of the slots."""
    if asked.test is not None:
        return bool(asked.test.states >> int(states[asked.test.slot]) & 1) == (asked.how == "test")
    return (all if asked.how == "all" else any)(holds(part, states) for part in asked.parts)


def votes(block: Block, states: Any) -> Any:
    """What some code adds for states of the slots."""
    sums = block.votes.copy()
    for item in block.items:
        sums += votes(item.then if holds(item.asked, states) else item.otherwise, states)
    return sums


def code_of(model: Model) -> tuple[Slots, Block]:
    slots = Slots(model.simplify())
    return slots, Builder(slots, slots.sample(100)).build()


@examples(60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 9999), kind=st.sampled_from(KINDS))
def test_code_votes_like_the_clauses_before_and_after_votes_are_moved(
    seed: int, kind: dict[str, Any]
) -> None:
    model, X = random_model(seed, **kind)
    slots, code = code_of(model)
    expected = model.class_sums(X)
    states = slots.rows(booleans_of(model, X))
    assert [votes(code, row).tolist() for row in states] == expected.tolist()
    low, high = bounds(code)
    assert (low <= expected.min(axis=0)).all()
    assert (expected.max(axis=0) <= high).all()
    fields = make_fields([code])
    move_votes(code, fields)
    arrange(code)
    assert [votes(code, row).tolist() for row in states] == expected.tolist()
    for sums in expected.tolist():  # what is in the words at the end
        words = fields.words([field.offset + vote for field, vote in zip(fields.of_class, sums, strict=True)])
        for of_class, vote in zip(fields.of_class, sums, strict=True):
            inside = (
                words[of_class.word] >> of_class.shift & ((1 << of_class.bits) - 1)
                if of_class.bits
                else of_class.offset
            )
            assert inside - of_class.offset == vote


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_condition_holds_in_the_states_that_are_wanted(kind: dict[str, Any]) -> None:
    model, _ = random_model(3, **kind)
    slots = Slots(model)
    tests = SlotTests(slots)
    rng = np.random.default_rng(0)
    for s, slot in enumerate(slots.slots):
        for _ in range(20):
            possible, wanted = (int(n) for n in rng.integers(1, 1 << slot.n_states, 2))
            if not 0 != possible & wanted != possible:
                continue
            asked = tests.condition(s, wanted, possible)
            for state in range(slot.n_states):
                if possible >> state & 1:
                    assert holds(asked, {s: state}) == bool(wanted >> state & 1)


@pytest.mark.parametrize(
    "encoding, missing, number_type",
    thinned(
        ["thermometer", "mixed"],
        ["no", "some", "ignore"],
        ["float", "int16", "uint16", "int8", "uint8"],
        one_in=4,
    ),
)
def test_every_number_type_with_missing_values(
    number_type: str, missing: str, encoding: str, tmp_path: Path
) -> None:
    model, X = random_model(8, encoding=encoding, missing=missing, n_features=7, n_bins=8, n_clauses=90)
    if number_type != "float":
        X = np.floor(X)
    if number_type.startswith("u"):
        feature_map, n = model.feature_map, 7
        booleanizer = Booleanizer(
            thresholds=[(feature_map.thresholds_of(f) + 50).tolist() for f in range(n)],
            encoding=feature_map.encoding,
            missing=feature_map.missing_policy,
        ).fit(X + 50 if missing != "ignore" else np.nan_to_num(X) + 50)
        X, given = X + 50, {"n_booleans": model.n_booleans, "classes": model.classes}
        model = Model(model.literals, model.offsets, model.weights, booleanizer=booleanizer, **given)
    assert_exact(make_program(model, "straight", name="m", input=number_type), X, tmp_path)


@pytest.mark.parametrize("missing", ["raise", "ignore"])
def test_every_kind_of_float_meets_every_threshold(missing: Any, tmp_path: Path) -> None:
    values = np.array([0.0, -0.0, 1e-45, -1e-45, 1.0, -2.5, -2.5000002, 3.4e38, np.inf, -np.inf], np.float32)
    if missing == "ignore":
        values = np.append(values, np.array([0x7FC00000, 0xFFC00000], np.uint32).view(np.float32))
    thresholds = [-3.4e38, -2.5, -1e-45, 0.0, 1e-45, 1.0, 3.4e38]
    rows = np.array(list(itertools.product(values, values)), dtype=np.float32)
    booleanizer = Booleanizer(thresholds=[thresholds, thresholds], missing=missing).fit(np.nan_to_num(rows))
    n = booleanizer.feature_map_.n_booleans
    clauses = [[b] for b in range(n)] + [[a, n + b] for a in range(n // 2) for b in range(n // 2, n)]
    weights = np.random.default_rng(0).integers(-50, 50, (len(clauses), 3))
    model = Model(
        np.concatenate(clauses),
        np.cumsum([0, *map(len, clauses)]),
        weights,
        n_booleans=n,
        classes=[0, 1, 2],
        booleanizer=booleanizer,
    )
    assert_exact(make_program(model, "straight", name="m"), rows, tmp_path)


def test_a_large_model_is_split_into_functions(tmp_path: Path) -> None:
    model, X = random_model(5, encoding="thermometer", n_features=20, n_bins=12, n_clauses=700, longest=4)
    program = make_program(model, "straight", name="m")
    parts = program.files["m.c"].split("ET_PART ")[1:]
    assert len(parts) > 3
    assert all(part.split("\n}\n")[0].count("ABOVE") <= 150 for part in parts)
    assert_exact(program, X, tmp_path)


def test_many_shared_literals_are_not_nested_too_deep(tmp_path: Path) -> None:
    n = 300
    literals = np.concatenate([np.arange(n), np.arange(n)])
    literals[-1] += n
    weights = [[1, 0], [0, 1]]
    model = Model(literals, [0, n, 2 * n], weights, n_booleans=n, classes=["a", "b"])
    program = make_program(model, "straight", name="m")
    depth = max(len(re.match(" *", line)[0]) // 4 for line in program.files["m.c"].splitlines())  # type: ignore[index]
    assert depth < 127
    rows = np.ones((4, n), dtype=bool)
    rows[1, -1] = rows[2, 5] = False
    assert_exact(program, rows, tmp_path)


def test_no_tables_and_no_ram() -> None:
    model, X = random_model(4, n_features=9, n_bins=9, n_clauses=60)
    program = make_program(model, "straight")
    assert program.table_bytes == 0
    assert "ET_FLASH" not in program.files["model.c"]
    assert "booleanize" not in program.files["model.h"]
    measured = measure(model, X, layout="straight")
    assert (measured.table_bytes, measured.ram_bytes, measured.agreement) == (0, 0, 1.0)
    assert measured.booleanize_instructions == 0


def test_a_feature_that_is_asked_for_again_is_read_once(tmp_path: Path) -> None:
    n = 6
    booleanizer = Booleanizer(thresholds=[[-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]]).fit([[0.0]])
    weights = np.random.default_rng(0).integers(-9, 9, (n, 3))
    model = Model(
        np.arange(n), np.arange(n + 1), weights, n_booleans=n, classes=[0, 1, 2], booleanizer=booleanizer
    )
    program = make_program(model, "straight", name="m")
    text = program.files["m.c"].split("#include")[-1]  # without the definitions
    assert text.count("x = ET_FEATURE(0);") == 1
    assert "ET_ABOVE" not in text
    assert text.count("ET_X_ABOVE") == n
    assert_exact(program, np.arange(-4.0, 5.0, 0.25)[:, None], tmp_path)


def test_compilers_add_votes_at_once() -> None:
    kind: dict[str, Any] = {"n_bins": 3, "n_classes": 6, "heaviest": 60, "shortest": 1, "longest": 1}
    model, X = random_model(6, n_features=100, n_clauses=100, **kind)
    measured = measure(model, X, layout="straight")
    assert measured.total_instructions < 450  # 516 if the compiler chooses between votes and adds them later


def test_code_names_features_and_classes() -> None:
    model, _ = random_model(1, n_features=3)
    text = make_program(model.with_feature_names(["a */ x", "b", "c"]), "straight").files["model.c"]
    assert re.search(r"if \(!?ET_ABOVE\w*\(\d, 0x[0-9A-F]{8}u\)\) \{ /\* \S.* (>|<=) -?\d", text)
    assert re.search(r"ET_(ADD|SUBTRACT)\(s0, 0x[0-9A-F]+u\); /\* [+-]\d+ class \d", text)


def test_too_many_literals_are_refused_by_name() -> None:
    model, _ = random_model(7, encoding=None, n_features=600, n_clauses=4000, longest=9)
    with pytest.raises(NotSupported, match=r"layout straight.*\b8192\b.*\d+"):
        choose(model, "straight")
    assert choose(model).layout == "fast"


def test_small_models_take_a_third_of_the_instructions_of_fast() -> None:
    model, X = random_model(6, n_features=30, n_bins=6, n_clauses=60, shortest=1, longest=2)
    straight, fast = (measure(model, X, layout=layout, rows=X) for layout in ("straight", "fast"))
    assert 3 * straight.total_instructions < fast.total_instructions
    assert straight.flash_bytes < fast.flash_bytes
    assert choose(model, rows=X).layout == "straight"


def test_prices_without_a_compiler_are_near_what_is_measured() -> None:
    model, X = random_model(6, n_features=30, n_bins=6, n_clauses=60, shortest=1, longest=3)
    for priced_form in priced()(model):
        if priced_form.layout == "straight":
            measured = measure(model, X, layout="straight")
            assert measured.flash_bytes <= priced_form.bytes <= 1.6 * measured.flash_bytes
            assert priced_form.instructions == pytest.approx(measured.total_instructions, rel=0.3)
    assert [form.layout for form in priced()(model)] == ["straight", "fast", "fast", "compact"]
    large, _ = random_model(7, encoding=None, n_features=600, n_clauses=4000, longest=9)
    assert list(priced("straight")(large)) == []
