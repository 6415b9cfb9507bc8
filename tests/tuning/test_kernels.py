"""Kernels that do not pay are dropped, bounds hold from sample to label, and what is dropped is not there."""

import itertools
import math

import numpy as np
import pytest

from ethereal import EtherealClassifier, prune
from ethereal.device import compile_elf, find_target, front_end_cost, measure
from ethereal.export import choose
from ethereal.features.window_features import WindowFeatures
from ethereal.tuning import Budget, Search, Setup, Space, estimate, tune_windows
from ethereal.tuning.kernels import bounded, candidates, drop_groups, in_words, pick
from ethereal.tuning.search import choose_front_ends, finish, task_of
from windows import everything, model_of

AXES = ("ax", "ay", "az")


@pytest.fixture(scope="module")
def movements():
    """Ten people in three classes: az shakes more or less, ax is slow or quick. ay says nothing."""
    rng = np.random.default_rng(0)
    n, people = 64, np.repeat(np.arange(10), 24)
    y = np.tile([0, 1, 2], 80)
    t = np.arange(n)
    pace = rng.normal(1, 0.1, 10)[people]
    phase = rng.uniform(0, 6, (240, 1))
    ax = 400 * np.sin(np.where(y == 2, 0.9, 0.2)[:, None] * pace[:, None] * t + phase)
    az = rng.normal(0, 1, (240, n)) * (np.where(y == 1, 500, 120) * pace)[:, None]
    X = np.stack([ax, rng.normal(0, 100, (240, n)), az], axis=2) + rng.normal(0, 20, (240, n, 3))
    return np.rint(X).astype(np.int16), y, people


@pytest.fixture(scope="module")
def offered(movements):
    kernels = {"stats": ["axes"], "std": ["axes"], "haar": ["axes"], "bands": ["axes"], "corr": ["axes"]}
    return WindowFeatures(kernels, axes=AXES, hop=32).fit(movements[0]).front_end_


@pytest.fixture(scope="module")
def path(movements, offered):
    return drop_groups(offered, *movements)


def test_the_path_ends_with_what_tells_the_classes_apart(path, offered):
    assert path[0].front_end == offered
    sizes = [len(kept.front_end.groups) for kept in path]
    assert sizes == list(range(len(offered.groups), 0, -1))
    for one, next_one in itertools.pairwise(path):
        assert set(next_one.front_end.groups) < set(one.front_end.groups)
        assert next_one.instructions < one.instructions
    two = path[-2]
    assert {source for _, source in two.front_end.groups} == {"ax", "az"}
    assert two.accuracy > 0.9
    assert two.instructions < path[0].instructions / 5


def test_the_same_seed_gives_the_same_path(path, movements, offered):
    again = drop_groups(offered, *movements)
    assert [kept.front_end for kept in again] == [kept.front_end for kept in path]


def test_people_are_not_needed(movements, offered):
    X, y, _ = movements
    for groups in (None, np.zeros(len(y)), np.arange(len(y)) // 120):
        assert len(drop_groups(offered, X, y, groups)) == len(offered.groups)


@pytest.mark.parametrize("labels", ["ab", "abcd", "aaaaaa", "aabb"])
def test_few_windows_have_a_path_too(labels, movements, offered):
    y = np.array(list(labels))
    for groups in (None, np.arange(len(y)), np.zeros(len(y))):
        assert len(drop_groups(offered, movements[0][: len(y)], y, groups)) == len(offered.groups)


def test_windows_that_do_not_differ_get_a_warning(offered):
    with pytest.warns(UserWarning, match="every feature is constant"):
        path = drop_groups(offered, np.zeros((8, 64, 3), dtype=np.int16), np.arange(8) % 2)
    assert len(path) == len(offered.groups)


def test_the_price_of_a_path_is_that_of_its_program(path):
    kept = path[-4]
    assert kept.instructions == pytest.approx(front_end_cost(kept.front_end).instructions, rel=0.1)
    assert front_end_cost(kept.front_end).flash <= kept.flash


def test_budgets_pick_a_part_of_the_path(path):
    free = pick(path, Budget())
    assert free.accuracy > 0.95
    assert free.instructions < path[0].instructions / 5
    assert pick(path, Budget(instructions=free.instructions + 999)).instructions < free.instructions
    assert pick(path, Budget(instructions=free.instructions + 1000)) == free
    assert pick(path, Budget(flash=2400)).flash + 1400 <= 2400
    assert pick(path, Budget(instructions=100)) == path[-1]
    some = candidates(path, Budget(instructions=20_000))
    assert some[0].accuracy == max(kept.accuracy for kept in path if kept.fits(Budget(instructions=20_000)))
    assert some[1] == next(kept for kept in path if kept.fits(Budget(instructions=20_000)))
    fewer = [some[0], *some[2:]]
    assert all(a.instructions >= 1.6 * b.instructions for a, b in itertools.pairwise(fewer))
    assert candidates(path, Budget(instructions=20_000), 1) == some[:1]
    assert candidates(path, Budget(ram=10)) == [path[-1]]


def test_instructions_are_bounded_unless_told_otherwise(offered):
    whole = front_end_cost(offered).instructions
    bound = bounded(Budget(flash="8k"), offered).instructions
    assert whole < bound < 1.5 * whole
    assert bounded(Budget(flash="8k", instructions="9M"), offered).instructions == 9_000_000


def test_words_name_what_is_left(offered):
    words = in_words(offered.keep([0, 1]), offered)
    assert words.startswith(f"2 of {len(offered.groups)} groups: ")


def test_an_estimate_counts_the_kernels_that_clauses_use(movements, offered):
    model = model_of(WindowFeatures.from_front_end(offered), movements[0], n_classes=3)
    few = model.with_clauses([0], [0, 1], [[1, 0, 0]])
    whole, one = estimate(model), estimate(few)
    assert whole.instructions > front_end_cost(offered).instructions * 0.9
    assert one.instructions < whole.instructions / 5
    assert one.bytes < whole.bytes


def test_pruning_is_bounded_from_sample_to_label(movements):
    X, y, _ = movements
    extractor = WindowFeatures(["stats", "haar"], axes=AXES, hop=32).fit(X)
    model = model_of(extractor, X, n_classes=3)
    pruned = prune(model, X, np.array(list("abc"))[y], flash=4096, max_loss=0.5)
    assert pruned.footprint.instructions <= bounded(Budget(flash=4096), extractor.front_end_).instructions


@pytest.mark.parametrize(
    "target",
    ["cortex-m7", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cortex-m0plus", "riscv32"))],
)
def test_a_search_keeps_its_bounds_executed(movements, offered, target):
    """What is dropped is not in the program, whose answers are those of the host."""
    X, y, people = movements
    rest = people < 8
    tuned = tune_windows(
        X[rest], y[rest], offered, groups=people[rest], test=(X[~rest], y[~rest]),
        flash=3000, instructions=12_000, ram=1200, target=target, trials=2, folds=2, epochs=8, max_clauses=20,
    )  # fmt: skip
    assert tuned.test_accuracy > 0.8
    assert tuned.kernels.offered == offered
    model = tuned.model
    windows = X[:, X.shape[1] - model.front_end.window :]
    form = {} if tuned.footprint.clause_bytes is None else {"clause_bytes": tuned.footprint.clause_bytes}
    cost = measure(model, windows[:50], target, tuned.footprint.layout, **form)
    assert cost.agreement == 1.0
    assert cost.total_instructions_max <= 12_000
    assert cost.flash_bytes <= 3000
    assert cost.ram_bytes + cost.stack_bytes <= 1200
    used = model.simplify().drop_unused_kernels().front_end
    assert len(used.groups) < len(offered.groups)
    files = choose(model, tuned.footprint.layout, target=target, **form).files
    names = {kernel for kernel, _ in used.groups}
    assert ("et_sine" in files["model.c"]) == ("bands" in names)
    listed = [f"{kernel} of {source}" for kernel, source in offered.groups]
    assert {line for line in listed if f"   {line}" in files["model.c"]} == {
        f"{kernel} of {source}" for kernel, source in used.groups
    }


def test_a_dropped_kernel_leaves_no_code(movements):
    """A model that never had a kernel, and one whose clauses do not use it, are the same program."""
    X = movements[0]
    extractor = everything(3).fit(X)
    model = model_of(extractor, X, n_classes=3)
    feature = extractor.front_end_.names.index("ay.haar2")
    boolean = int(np.flatnonzero(model.feature_map.feature == feature)[0])
    small = model.with_clauses([boolean], [0, 1], [[1, 0, 0]])
    never = small.drop_unused_kernels()
    assert never.front_end.groups == (("haar", "ay"),)
    chip = find_target("cortex-m7")
    elfs = [compile_elf(choose(m).files, chip, ["model_window"], optimize="-Os") for m in (small, never)]
    assert elfs[0].code_bytes == elfs[1].code_bytes
    assert elfs[0].table_bytes == elfs[1].table_bytes
    assert math.isclose(*(measure(m, X[:5]).total_instructions for m in (small, never)))


def test_half_of_each_window_is_tried_where_it_is_as_good(movements):
    X, y, people = movements
    front_end = WindowFeatures(["stats", "haar"], axes=AXES, hop=64).fit(X).front_end_
    tried = choose_front_ends(front_end, X, y, people, bounded(Budget(flash="8k"), front_end), 0).tried
    assert [one.window for one in tried][-1] == 32
    assert [one.hop for one in tried][-1] == 32
    assert {one.window for one in tried[:-1]} == {64}
    late = X.copy()
    late[:, 32:] = np.random.default_rng(1).integers(-50, 50, late[:, 32:].shape)  # the older half tells all
    tried = choose_front_ends(front_end, late, y, people, bounded(Budget(flash="8k"), front_end), 0).tried
    assert {one.window for one in tried} == {64}
    with_bands = WindowFeatures(["stats", "bands"], axes=AXES).fit(X).front_end_  # which need 64 samples
    tried = choose_front_ends(with_bands, X, y, people, bounded(Budget(flash="8k"), with_bands), 0).tried
    assert {one.window for one in tried} == {64}


@pytest.mark.slow
def test_a_model_of_half_windows_answers_like_its_program(movements):
    X, y, people = movements
    front_end = WindowFeatures(["stats", "haar"], axes=AXES, hop=64).fit(X).front_end_
    choice = choose_front_ends(front_end, X, y, people, bounded(Budget(flash="8k").on_chip(), front_end), 0)
    setup = Setup((4,), ("thermometer",), 10, 3, 3.0, None, None, 1, "votes", 0.0, len(choice.tried) - 1)
    space = Space((), 20, front_ends=choice.tried)
    search = Search(trials=1, folds=1, epochs=5)
    task = task_of((X, y, people), lambda *_: space, Budget(flash="8k").on_chip(), search)
    outcome = finish(task, setup)
    assert outcome.model.front_end.window == 32
    assert outcome.footprint.bytes <= 8192
    assert measure(outcome.model, X[:20, 32:]).agreement == 1.0


def test_odd_labels_are_refused(movements, offered):
    with pytest.raises(ValueError, match="y has shape"):
        tune_windows(movements[0], movements[1][:-1], offered, trials=1)


@pytest.mark.slow
def test_pruning_drops_whole_groups_that_do_not_pay(movements, offered):
    """A model that uses every group would pay for all of them, whatever its size."""
    X, y, people = movements
    extractor = WindowFeatures.from_front_end(offered)
    clf = EtherealClassifier(30, 10, 3.0, epochs=10, booleanizer=4, front_end=extractor, random_state=0)
    model = clf.fit(X, y).model_
    assert len(model.simplify().drop_unused_kernels().front_end.groups) > 12
    pruned = prune(model, X, y, instructions=9000, flash=4096, groups=people)
    used = pruned.model.drop_unused_kernels().front_end
    assert set(used.groups) <= set(pruned.kernels.groups) < set(offered.groups)
    assert pruned.accuracy > 0.9
    cost = measure(
        pruned.model, X[::4], layout=pruned.footprint.layout, clause_bytes=pruned.footprint.clause_bytes
    )
    assert cost.agreement == 1.0
    assert cost.total_instructions_max <= 9000
    assert pruned.curve[0].model == model.simplify()
    assert any(point.model is pruned.model for point in pruned.curve)
    again = prune(model, X, y, instructions=9000, flash=4096, like=pruned)
    assert again.kernels == pruned.kernels
    assert set(again.model.drop_unused_kernels().front_end.groups) <= set(pruned.kernels.groups)
