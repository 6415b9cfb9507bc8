"""Shortening, the native descent and prune()."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from ethereal import Booleanizer, EtherealClassifier, Model, _native, device, export
from ethereal.compress import BudgetError, Footprint, PrunedModel, estimate, join, on_device, prune, shorten
from ethereal.compress.bounds import Bounds, Choice
from reference import clause_fires
from strategies import models

FEATURES = np.array([0, 0, 0, 1, 2, 2], np.int32)  # the raw feature of each of six Booleans
SIZE = (3.0, 5.0, 4.0, 2.5, 1.5)  # clause, literal, Boolean in use, vote, doubling


def every_row(n_booleans):
    rows = list(itertools.product([False, True], repeat=n_booleans))
    return np.array(rows, dtype=bool).reshape(len(rows), n_booleans)


def random_machine(rng, n_booleans=6, n_clauses=8, n_classes=3):
    clauses = [
        np.sort(rng.permutation(2 * n_booleans)[: rng.integers(1, 5)]).astype(np.int32)
        for _ in range(n_clauses)
    ]
    votes = rng.integers(-3, 4, (n_clauses, n_classes)).astype(np.int32)
    offsets = np.cumsum([0, *map(len, clauses)]).astype(np.int64)
    return np.concatenate(clauses), offsets, votes


# --- shortening


def greedy_cover(literals, rows):
    """Literals in the order of the rows that they are false on first; plain and slow."""
    n = rows.shape[1]
    false_on = {k: {i for i, row in enumerate(rows.tolist()) if not clause_fires([k], row)} for k in literals}
    left, kept = set.union(set(), *false_on.values()), []
    while left or (not kept and literals):
        best = max(literals, key=lambda k: (len(false_on[k] & left), -literals.index(k)))
        kept.append(best)
        left -= false_on[best]
        literals = [k for k in literals if k != best]
    assert all(k < 2 * n for k in kept)
    return sorted(kept)


@given(st.integers(0, 2**32 - 1))
def test_shorten_is_the_greedy_cover(seed):
    rng = np.random.default_rng(seed)
    literals, offsets, _ = random_machine(rng)
    rows = rng.random((rng.integers(1, 130), 6)) < rng.random(6)
    short, short_offsets = _native.shorten(rows, literals, offsets)
    for j in range(len(offsets) - 1):
        own = literals[offsets[j] : offsets[j + 1]].tolist()
        assert short[short_offsets[j] : short_offsets[j + 1]].tolist() == greedy_cover(own, rows)


@settings(max_examples=50)
@given(models(), st.integers(0, 2**32 - 1))
def test_shorten_keeps_the_class_sums_of_its_rows(model, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(20, model.n_features)) * 3
    if model.booleanizer is None:
        rows = rows > 0
    smaller = shorten(model, rows)
    assert smaller.n_includes <= model.simplify().n_includes
    assert np.array_equal(smaller.class_sums(rows), model.class_sums(rows))


def test_shorten_needs_rows():
    model = Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"])
    with pytest.raises(ValueError, match="X has no rows"):
        shorten(model, np.zeros((0, 1), bool))


# --- the native descent: its books are right, no move makes it worse, and it ends where none makes it better


def outputs(literals, offsets, rows):
    both = np.concatenate([rows, ~rows], axis=1)  # rows x literals
    pairs = itertools.pairwise(offsets.tolist())
    return np.array([both[:, literals[a:b]].all(axis=1) for a, b in pairs]).reshape(
        len(offsets) - 1, len(rows)
    )


def loss_of(clauses, rows, targets, scale):
    literals, offsets, votes = clauses
    logits = scale * outputs(literals, offsets, rows).T.astype(float) @ votes
    logits -= logits.max(axis=1, keepdims=True)
    return float((np.log(np.exp(logits).sum(axis=1)) - (targets * logits).sum(axis=1)).sum())


def size_of(clauses, n_booleans):
    literals, offsets, votes = clauses
    clause, literal, boolean, vote, doubling = SIZE
    used = np.unique(literals % n_booleans)
    doublings = sum(int(math.log2(v)) for v in np.abs(votes[votes != 0]).tolist())
    return (
        clause * (len(offsets) - 1)
        + literal * len(literals)
        + boolean * len(used)
        + vote * np.count_nonzero(votes)
        + doubling * doublings
    )


def without_clause(clauses, j):
    literals, offsets, votes = clauses
    gone = offsets[j + 1] - offsets[j]
    literals = np.delete(literals, np.s_[offsets[j] : offsets[j + 1]])
    return literals, np.concatenate([offsets[: j + 1], offsets[j + 2 :] - gone]), np.delete(votes, j, axis=0)


def neighbours(clauses):
    """All machines that are one move away."""
    literals, offsets, votes = clauses
    for j in range(len(votes)):
        yield without_clause(clauses, j)
        for c in range(votes.shape[1]):
            for change in {1, -1, int(-votes[j, c])} - {0}:
                other = votes.copy()
                other[j, c] += change
                if other[j].any():
                    yield literals, offsets, other
        if offsets[j + 1] - offsets[j] > 1:
            for k in range(offsets[j], offsets[j + 1]):
                later = np.arange(len(offsets)) > j
                yield np.delete(literals, k), offsets - later, votes
        for k in range(offsets[j], offsets[j + 1]):
            own, negated = literals[k] % 6, literals[k] // 6 * 6
            for other in set(np.flatnonzero(FEATURES[own] == FEATURES)) - {own}:
                clause = {*literals[offsets[j] : offsets[j + 1]].tolist(), other + negated} - {literals[k]}
                if len(clause) == offsets[j + 1] - offsets[j]:  # it was not among them already
                    moved = literals.copy()
                    moved[offsets[j] : offsets[j + 1]] = sorted(clause)
                    yield moved, offsets, votes


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.01, 0.1, 0.5]), st.sampled_from([0.1, 0.4, 1.0]))
def test_descent_ends_where_no_move_pays(seed, price, scale):
    rng = np.random.default_rng(seed)
    literals, offsets, votes = random_machine(rng)
    rows = rng.random((rng.integers(2, 100), 6)) < rng.random(6)
    targets = rng.dirichlet([0.3] * 3, len(rows)).astype(np.float32)
    pruner = _native.Pruner(rows, FEATURES, targets, literals, offsets, votes, scale, seed)

    def objective(clauses):
        return loss_of(clauses, rows, targets, scale) + price * size_of(clauses, 6)

    before = objective((literals, offsets, votes))
    for _ in range(200):
        moves = pruner.sweep(price, SIZE)
        flat = pruner.clauses()
        clauses = flat[0], flat[1], flat[2].reshape(-1, 3)
        assert pruner.loss == pytest.approx(loss_of(clauses, rows, targets, scale), rel=1e-5, abs=1e-4)
        after = objective(clauses)
        assert after <= before + 1e-3  # shares are rounded to float32
        before = after
        if moves == 0:
            break
    assert moves == 0 or price == 0.0  # without a price it may go on for long
    if moves == 0:
        assert all(objective(other) > before - 1e-3 for other in neighbours(clauses))


def test_same_seed_same_machine():
    rng = np.random.default_rng(5)
    machine = random_machine(rng, n_clauses=30)
    rows = rng.random((500, 6)) < 0.5
    targets = rng.dirichlet([0.3] * 3, 500).astype(np.float32)

    def run(seed):
        pruner = _native.Pruner(rows, FEATURES, targets, *machine, 0.3, seed)
        pruner.sweep(0.05, SIZE)
        return [part.tolist() for part in pruner.clauses()]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_absurd_votes_do_not_make_infinities():
    rows = every_row(3)
    targets = np.eye(2, dtype=np.float32)[rows[:, 0].astype(int)]
    votes = np.array([[2**28, -(2**28)], [-(2**28), 5]], np.int32)
    pruner = _native.Pruner(
        rows, FEATURES[:3], targets, np.array([0, 3], np.int32), np.array([0, 1, 2]), votes, 2.0, 0
    )
    pruner.sweep(0.1, SIZE)
    assert np.isfinite(pruner.loss)


@pytest.mark.parametrize(
    "change",
    [
        {"literals": np.array([12], np.int32)},
        {"literals": np.array([-1], np.int32)},
        {"offsets": np.array([0, 2])},
        {"offsets": np.array([1, 1])},
        {"votes": np.zeros((2, 3), np.int32)},
        {"votes": np.zeros((1, 2), np.int32)},
        {"targets": np.zeros((3, 3), np.float32)},
        {"features": FEATURES[::-1].copy()},
        {"features": FEATURES[:5].copy()},
        {"scale": 0.0},
    ],
)
def test_native_refuses_what_does_not_fit(change):
    good = {
        "booleans": np.zeros((4, 6), bool),
        "features": FEATURES,
        "targets": np.zeros((4, 3), np.float32),
        "literals": np.array([3], np.int32),
        "offsets": np.array([0, 1]),
        "votes": np.ones((1, 3), np.int32),
        "scale": 1.0,
        "seed": 0,
    }
    _native.Pruner(**good)
    with pytest.raises(ValueError):
        _native.Pruner(**{**good, **change})


# --- prune()


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    labels = np.array([f"digit {d}" for d in y])
    classifier = EtherealClassifier(
        n_clauses=40, T=10, s=5.0, epochs=8, booleanizer=Booleanizer(n_bins=4), random_state=3
    )
    return classifier.fit(X[:1300], labels[:1300]).model_, X, labels


def test_prune_finds_a_far_smaller_model(digits):
    model, X, y = digits
    before = (model.predict(X[1500:]) == y[1500:]).mean()
    found = prune(model, X[:1300], y[:1300], max_loss=0.02, validation=(X[1300:1500], y[1300:1500]))
    assert found.footprint.bytes * 4 < estimate(model.simplify()).bytes
    assert (found.model.predict(X[1500:]) == y[1500:]).mean() > before - 0.06
    assert found.accuracy >= found.curve[0].accuracy - 0.02
    assert found.accuracy == (found.model.predict(X[1300:1500]) == y[1300:1500]).mean()
    assert found.footprint == estimate(found.model)
    assert found.curve[0].model == model.simplify()
    sizes = [point.estimate.bytes for point in found.curve]
    assert len(sizes) > 20
    assert sizes[0] == max(sizes)
    assert sizes[-1] < 20
    assert found.model.classes.tolist() == model.classes.tolist()
    assert found.model.provenance == model.provenance


def test_guessed_bounds_are_never_exceeded(digits):
    model, X, y = digits
    rng = np.random.default_rng(1)
    curve = prune(model, X[:600], y[:600]).curve
    for _ in range(3):
        max_bytes, max_instructions = int(rng.integers(100, 3000)), float(rng.integers(1000, 20000))
        found = prune(
            model,
            X[:600],
            y[:600],
            max_bytes=max_bytes,
            max_instructions=max_instructions,
            measure=estimate,
        )
        assert found.footprint.bytes <= max_bytes
        assert found.footprint.instructions <= max_instructions
        inside = [
            p.accuracy
            for p in curve
            if p.estimate.bytes <= max_bytes and p.estimate.instructions <= max_instructions
        ]
        assert found.accuracy == max(inside)


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """An empty cache of compiled programs: the folder's files tell what was compiled."""
    monkeypatch.setenv("ETHEREAL_CACHE", str(tmp_path))
    return tmp_path / "elf"


def test_bounds_hold_for_what_is_exported(digits, compiled, tmp_path):
    """Independent of how prune measures: the exported files, compiled again, executed by device.measure."""
    model, X, y = digits
    held_out = X[1300:1500], y[1300:1500]
    found = prune(
        model, X[:1300], y[:1300], max_bytes=2500, max_instructions=9000, max_ram=600, validation=held_out
    )
    assert len(list(compiled.iterdir())) <= 30  # up to three forms of ten models, not of sixty
    form = {"layout": found.footprint.layout, "clause_bytes": found.footprint.clause_bytes}
    folder = export.c(found.model, tmp_path / "out", **form)
    sources = {p.name: p.read_text() for p in folder.iterdir() if p.suffix in (".c", ".h")}
    del sources["model_test.c"]
    elf = device.compile_elf(sources, device.find_target("m7"), ["model_predict"], optimize="-Os")
    assert elf.code_bytes + elf.table_bytes == found.footprint.bytes <= 2500
    counts, answers, machine = execute(elf, held_out[0], "m7")
    assert np.mean(counts) <= found.footprint.instructions <= 9000
    assert machine.stack_bytes + elf.ram_bytes <= found.footprint.ram + 16 <= 600
    assert np.array_equal(found.model.classes[answers], found.model.predict(held_out[0]))
    assert found.accuracy > 0.8


def execute(elf, X, target):
    machine = device.Machine(elf, device.find_target(target))
    rows = X.astype(np.float32)
    address, counts, answers = machine.buffer(rows[0]), [], []
    for row in rows:
        machine.write(address, row)
        before = machine.instructions
        answers.append(machine.call("model_predict", address))
        counts.append(machine.instructions - before)
    return counts, answers, machine


@pytest.mark.parametrize(
    "load, target", [(load_iris, "cortex-m0plus"), (load_wine, "riscv32"), (load_breast_cancer, "cortex-m4")]
)
def test_random_budgets_hold(load, target):
    """`benchmarks/budget.py holds` does the same with more budgets and larger sets."""
    X, y = load(return_X_y=True)
    clf = EtherealClassifier(n_clauses=20, T=5, epochs=10, booleanizer=Booleanizer(6), random_state=0)
    model = clf.fit(X, y).model_
    rng = np.random.default_rng(len(X))
    budget = {
        "max_bytes": int(rng.integers(300, 1500)),
        "max_instructions": int(rng.integers(200, 3000)),
        "max_ram": int(rng.integers(60, 400)),
    }
    try:
        found = prune(model, X, y, target=target, validation=(X, y), **budget)
    except BudgetError as error:
        nearest = error.nearest.footprint
        assert any(np.greater((nearest.bytes, nearest.instructions, nearest.ram), list(budget.values())))
        return
    program = export.make_program(found.model, found.footprint.layout, max_bytes=found.footprint.clause_bytes)
    elf = device.compile_elf(program.files, device.find_target(target), ["model_predict"], optimize="-Os")
    counts, _, machine = execute(elf, X, target)
    assert elf.code_bytes + elf.table_bytes <= budget["max_bytes"]
    assert np.mean(counts) <= budget["max_instructions"]
    assert elf.ram_bytes + machine.stack_bytes <= budget["max_ram"]


def test_on_device_tells_what_the_layouts_take(digits):
    model, X, _ = digits
    fast, tight, compact = on_device(X[1300:1310], "cortex-m0plus")(model)
    assert (tight.layout, tight.clause_bytes) == ("fast", 0)
    assert fast.bytes > tight.bytes > compact.bytes
    assert max(fast.instructions, tight.instructions) < compact.instructions
    for one in (fast, compact):
        measured = device.measure(model, X[1300:1310], "cortex-m0plus", one.layout)
        assert one.bytes == measured.flash_bytes
        assert one.instructions >= measured.instructions + measured.booleanize_instructions
    nothing = model.with_clauses([], [0], np.zeros((0, model.n_classes), int))
    assert list(on_device(X[:3])(nothing)) == []
    with pytest.raises(ValueError, match=r"X has shape \(0, 64\)"):
        on_device(X[:0])
    with pytest.raises(ValueError, match="unknown target 'cortex-m70'"):
        on_device(X, "cortex-m70")


@given(
    st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1)), min_size=1, max_size=40),
    st.integers(0, 50),
    st.none() | st.floats(0, 1),
)
def test_choice_keeps_the_bounds_and_measures_little(points, most, loss):
    """Models that shrink along the curve, as the bisection takes them to; their clauses are their bytes."""
    points = sorted(points, key=lambda p: -p[0])
    curve = [PrunedModel(of_clauses(n), accuracy, Footprint(n, 0.0)) for n, accuracy in points]
    measured = []

    def measure(model):
        measured.append(model)
        return () if model.n_clauses == 0 else [Footprint(model.n_clauses + extra, 0.0) for extra in (9, 0)]

    inside = [p for p in curve if 0 < p.model.n_clauses <= most]
    if loss is not None:
        inside = [p for p in inside if p.accuracy >= curve[0].accuracy - loss - 1e-12]
    choice = Choice(curve, Bounds(bytes=most, loss=loss), measure)
    if not inside:
        with pytest.raises(BudgetError) as caught:
            choice.make()
        assert caught.value.nearest.model in [p.model for p in curve]
    else:
        chosen = choice.make()
        n = chosen.model.n_clauses  # in the first form when that fits, else in the second
        assert chosen.footprint.bytes == (n + 9 if n + 9 <= most else n)
        if loss is None:
            assert chosen.accuracy == max(p.accuracy for p in inside)
        else:
            assert chosen.model.n_clauses == min(p.model.n_clauses for p in inside)
    assert len(measured) <= 8


def of_clauses(n):
    offsets = np.arange(n + 1)
    return Model(np.zeros(n, int), offsets, np.ones((n, 1), int), n_booleans=1, classes=["x"])


def test_prune_with_a_measure_of_ones_own(digits):
    model, X, y = digits
    found = prune(model, X[:300], y[:300], max_bytes=50, measure=lambda m: Footprint(m.n_clauses, 0.0))
    assert found.model.n_clauses <= 50
    assert found.footprint == Footprint(found.model.n_clauses, 0.0)


def test_no_bounds_means_no_loss_on_held_out_rows(digits):
    model, X, y = digits
    found = prune(model, X[:600], y[:600])
    assert found.accuracy >= found.curve[0].accuracy
    assert found.footprint.bytes == min(
        p.estimate.bytes for p in found.curve if p.accuracy >= found.curve[0].accuracy
    )


def test_same_seed_same_curve(digits):
    model, X, y = digits
    first, second, other = (prune(model, X[:300], y[:300], random_state=seed) for seed in (1, 1, 2))
    assert [p.model for p in first.curve] == [p.model for p in second.curve]
    assert [p.model for p in first.curve] != [p.model for p in other.curve]


@settings(max_examples=15)
@given(models(), st.integers(0, 2**32 - 1))
def test_any_model_can_be_pruned(model, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(12, model.n_features)) * 3
    X = rows > 0 if model.booleanizer is None else rows
    y = model.classes[rng.integers(0, model.n_classes, 12)]
    found = prune(model, X, y, max_bytes=10**6, measure=estimate)
    can_vote = [p for p in found.curve if p.model.n_clauses] or found.curve
    assert found.accuracy == max(p.accuracy for p in can_vote)
    assert found.model.predict(X).shape == (12,)


def test_nothing_fits(digits):
    model, X, y = digits
    with pytest.raises(
        BudgetError, match=r"max_bytes=100 and max_loss=0 \(accuracy .* nearest has"
    ) as caught:
        prune(model, X[:300], y[:300], max_bytes=100, max_loss=0.0, measure=estimate)
    assert caught.value.nearest.footprint.bytes <= 100
    assert caught.value.nearest in caught.value.curve
    with pytest.raises(BudgetError, match=r"keeps max_bytes=150; the nearest has \d+ bytes") as caught:
        prune(model, X[:300], y[:300], max_bytes=150)  # less than the code that reads any model
    assert 150 < caught.value.nearest.footprint.bytes < 900
    with pytest.raises(BudgetError, match="max_ram=0"):
        prune(model, X[:300], y[:300], max_ram=0)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"max_bytes": -1}, "max_bytes is -1"),
        ({"max_bytes": math.nan}, "max_bytes is nan"),
        ({"max_instructions": -5.0}, "max_instructions is -5.0"),
        ({"max_ram": -1}, "max_ram is -1"),
        ({"max_bytes": 1000, "target": "m8"}, "unknown target 'm8'"),
        ({"max_loss": 1.5}, "max_loss is 1.5"),
        ({"random_state": -1}, "random_state is -1"),
        ({"y": ["digit 1"] * 3}, r"y has shape \(3,\)"),
        ({"y": ["digit 1"] * 299 + ["letter"]}, r"y\[299\] is .*'letter'.* no class of the model"),
        ({"X": np.zeros((0, 64)), "y": []}, "X has no rows"),
        ({"X": np.zeros((1, 64)), "y": ["digit 1"]}, "X has one row"),
        ({"X": np.zeros((300, 63))}, "X has 63 features"),
        ({"validation": (np.zeros((2, 64)), ["digit 1"])}, r"validation\[1\] has shape \(1,\)"),
    ],
)
def test_bad_arguments(digits, arguments, message):
    model, X, y = digits
    with pytest.raises(ValueError, match=message):
        prune(model, **{"X": X[:300], "y": y[:300], **arguments})


def test_bounds_of_another_type(digits):
    model, X, y = digits
    with pytest.raises(TypeError, match="max_bytes is '4k'"):
        prune(model, X[:300], y[:300], max_bytes="4k")


# --- committees


def test_joined_votes_are_added(digits):
    model, X, y = digits
    other = EtherealClassifier(
        n_clauses=10, T=5, epochs=2, booleanizer=Booleanizer(thresholds=model.layout), random_state=4
    )
    other = other.fit(X[:500], y[:500]).model_
    assert np.array_equal(
        join([model, other, other]).class_sums(X), model.class_sums(X) + 2 * other.class_sums(X)
    )
    assert join([model]) == model.simplify()


def test_what_cannot_be_joined(digits):
    model, X, y = digits
    with pytest.raises(ValueError, match="models is empty"):
        join([])
    fewer = EtherealClassifier(n_clauses=4, T=3, epochs=1, booleanizer=Booleanizer(2), random_state=0)
    with pytest.raises(ValueError, match=r"models\[1\] has other Booleans than models\[0\]"):
        join([model, fewer.fit(X[:500], y[:500]).model_])
    rows = np.flatnonzero(y[:500] < "digit 4")
    with pytest.raises(ValueError, match=r"models\[1\] has the classes .* train all on the same labels"):
        join([model, fewer.fit(X[rows], y[rows]).model_])
