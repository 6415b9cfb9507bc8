"""prune(): smaller models, and bounds that hold for what is exported."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from ethereal import Booleanizer, EtherealClassifier, Model, _native, device, export
from ethereal.compress import curve, task
from ethereal.compress.curve import _blends
from ethereal.model.codes import compact
from ethereal.tuning import Budget, BudgetError, Footprint, PrunedModel, estimate, on_device, prune
from ethereal.tuning.choice import Choice
from strategies import models
from thinned import examples, few


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    return EtherealClassifier.paper(n_clauses=10, T=4, epochs=5, random_state=0).fit(X, y).model_, X, y


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    labels = np.array([f"digit {d}" for d in y])
    classifier = EtherealClassifier.paper(
        n_clauses=40, T=10, s=5.0, epochs=8, booleanizer=Booleanizer(n_bins=4), random_state=3
    )
    return classifier.fit(X[:1300], labels[:1300]).model_, X, labels


def test_prune_finds_a_far_smaller_model(digits):
    model, X, y = digits
    before = (model.predict(X[1500:]) == y[1500:]).mean()
    pruned = prune(model, X[:1300], y[:1300], max_loss=0.02, validation=(X[1300:1500], y[1300:1500]))
    assert pruned.footprint.bytes * 3.5 < estimate(model.simplify()).bytes
    assert (pruned.model.predict(X[1500:]) == y[1500:]).mean() > before - 0.06
    assert pruned.accuracy >= pruned.curve[0].accuracy - 0.02
    assert pruned.accuracy == (pruned.model.predict(X[1300:1500]) == y[1300:1500]).mean()
    assert pruned.footprint == estimate(pruned.model)
    assert pruned.curve[0].model == model.simplify()
    sizes = [point.estimate.bytes for point in pruned.curve]
    assert len(sizes) > 20
    assert sizes[0] == max(sizes)
    assert sizes[-1] < 20
    assert pruned.model.classes.tolist() == model.classes.tolist()
    assert pruned.model.provenance == model.provenance


@pytest.mark.slow
def test_pruning_on_rows_of_training_does_not_trust_the_votes_too_much():
    X, y = load_digits(return_X_y=True)
    some, rest = slice(900), slice(900, None)
    clf = EtherealClassifier(100, epochs=20, noise_clauses=0, refit_votes=False, random_state=0)
    model = clf.fit(X[some], y[some]).model_
    pruned = prune(model, X[some], y[some], flash=2000, measure=estimate)
    lost = (model.predict(X[rest]) == y[rest]).mean() - (pruned.model.predict(X[rest]) == y[rest]).mean()
    assert pruned.scale == 1 / model.temperature
    assert lost < 0.05  # 0.08 with the scale that the rows of training ask for
    unseen = prune(model, X[some], y[some], measure=estimate, validation=(X[rest], y[rest]))
    assert unseen.scale != 1 / model.temperature


@pytest.mark.slow
def test_guessed_bounds_are_never_exceeded(digits):
    model, X, y = digits
    rng = np.random.default_rng(1)
    curve = prune(model, X[:600], y[:600]).curve
    for _ in range(3):
        flash, instructions = int(rng.integers(100, 3000)), float(rng.integers(1000, 20000))
        pruned = prune(model, X[:600], y[:600], flash=flash, instructions=instructions, measure=estimate)
        assert pruned.footprint.bytes <= flash
        assert pruned.footprint.instructions <= instructions
        inside = [
            p.accuracy for p in curve if p.estimate.bytes <= flash and p.estimate.instructions <= instructions
        ]
        assert pruned.accuracy == max(inside)


def test_labels_teach_what_the_model_does_not_know(digits):
    """A machine of five clauses per class is poor: its votes teach little, the labels more."""
    _, X, y = digits
    clf = EtherealClassifier.paper(
        n_clauses=6, T=4, epochs=2, booleanizer=Booleanizer(n_bins=4), random_state=0
    )
    model = clf.fit(X[:1300], y[:1300]).model_
    loose = {"validation": (X[1300:1500], y[1300:1500]), "flash": 100_000, "measure": estimate}
    votes, labels = (
        prune(model, X[:1300], y[:1300], teacher=teacher, **loose) for teacher in ("votes", "labels")
    )
    assert labels.accuracy > votes.accuracy
    assert labels.accuracy > (model.predict(X[1300:1500]) == y[1300:1500]).mean() + 0.02
    assert (votes.teacher, labels.teacher) == ("votes", "labels")
    with pytest.raises(ValueError, match=r"teacher is 'forest'\. It must be one of 'votes', 'blends'"):
        prune(model, X, y, teacher="forest")


@pytest.mark.slow
def test_a_machine_of_all_rows_is_pruned_like_one_of_some(digits):
    model, X, y = digits
    held_out = X[1300:1500], y[1300:1500]
    pruned = prune(model, X[:1300], y[:1300], validation=held_out, max_loss=0.01, teacher="labels")
    clf = EtherealClassifier.paper(
        n_clauses=40, T=10, s=5.0, epochs=8, booleanizer=Booleanizer(4), random_state=3
    )
    last = clf.set_params(validation_fraction=0).fit(X[:1500], y[:1500]).model_
    again = prune(last, X[:1500], y[:1500], like=pruned, flash=1500, measure=estimate)
    assert again.footprint.bytes <= 1500
    assert (again.scale, again.teacher) == (pruned.scale, "labels")
    price = next(p.price for p in again.curve if p.model == again.model)
    assert again.accuracy == pruned.at(price).accuracy
    assert [p.price for p in again.curve] == sorted(p.price for p in again.curve)
    assert pruned.at(0).accuracy == pruned.curve[1].accuracy  # shortened
    assert pruned.at(1e9).accuracy == pruned.curve[-1].accuracy
    assert (again.model.predict(X[1500:]) == y[1500:]).mean() > 0.75
    with pytest.raises(ValueError, match="validation and like are both given"):
        prune(last, X, y, like=pruned, validation=held_out)


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """An empty cache of compiled programs: the folder's files tell what was compiled."""
    monkeypatch.setenv("ETHEREAL_CACHE", str(tmp_path))
    return tmp_path / "elf"


def test_bounds_hold_for_what_is_exported(digits, compiled, tmp_path):
    """Independent of how prune measures: the exported files, compiled again, executed by device.measure."""
    model, X, y = digits
    held_out = X[1300:1500], y[1300:1500]
    pruned = prune(model, X[:1300], y[:1300], flash=2500, instructions=9000, ram=600, validation=held_out)
    assert len(list(compiled.iterdir())) <= 30  # up to three forms of ten models, not of sixty
    form = {"layout": pruned.footprint.layout, "clause_bytes": pruned.footprint.clause_bytes}
    folder = export.c(pruned.model, tmp_path / "out", **form)
    sources = {p.name: p.read_text() for p in folder.iterdir() if p.suffix in (".c", ".h")}
    del sources["model_test.c"]
    called = ["model_predict", "model_check"]
    elf = device.compile_elf(sources, device.find_target("m7"), called, optimize="-Os")
    assert elf.code_bytes + elf.table_bytes == pruned.footprint.bytes <= 2500
    counts, answers, machine = execute(elf, held_out[0], "m7")
    assert np.mean(counts) <= pruned.footprint.instructions <= 9000
    assert machine.stack_bytes + elf.ram_bytes <= pruned.footprint.ram + 16 <= 600
    assert np.array_equal(pruned.model.classes[answers], pruned.model.predict(held_out[0]))
    assert pruned.accuracy > 0.8


def execute(elf, X, target):
    machine = device.EmulatedCore(elf, device.find_target(target))
    rows = X.astype(np.float32)
    address, counts, answers = machine.buffer(rows[0]), [], []
    for row in rows:
        machine.write(address, row)
        before = machine.instructions
        answers.append(machine.call("model_predict", address))
        counts.append(machine.instructions - before)
    return counts, answers, machine


@pytest.mark.parametrize(
    "load, target",
    few([(load_iris, "cortex-m0plus"), (load_wine, "riscv32"), (load_breast_cancer, "cortex-m4")]),
)
def test_random_budgets_hold(load, target):
    """Compiled and executed apart from how `prune` measures."""
    X, y = load(return_X_y=True)
    clf = EtherealClassifier.paper(n_clauses=20, T=5, epochs=10, booleanizer=Booleanizer(6), random_state=0)
    model = clf.fit(X, y).model_
    rng = np.random.default_rng(len(X))
    budget = {
        "flash": int(rng.integers(300, 1500)),
        "instructions": int(rng.integers(200, 3000)),
        "ram": int(rng.integers(60, 400)),
    }
    try:
        pruned = prune(model, X, y, target=target, validation=(X, y), **budget)
    except BudgetError as error:
        nearest = error.nearest.footprint
        assert any(np.greater((nearest.bytes, nearest.instructions, nearest.ram), list(budget.values())))
        return
    program = export.make_program(
        pruned.model, pruned.footprint.layout, clause_bytes=pruned.footprint.clause_bytes
    )
    called = ["model_predict", "model_check"]
    elf = device.compile_elf(program.files, device.find_target(target), called, optimize="-Os")
    counts, _, machine = execute(elf, X, target)
    assert elf.code_bytes + elf.table_bytes <= budget["flash"]
    assert np.mean(counts) <= budget["instructions"]
    assert elf.ram_bytes + machine.stack_bytes <= budget["ram"]


def test_on_device_tells_what_the_layouts_take(digits):
    model, X, _ = digits
    first, second, tight, compact = on_device(X[1300:1310], "cortex-m0plus")(model)
    fast, straight = sorted((first, second), key=lambda one: one.layout)
    assert (tight.layout, tight.clause_bytes) == ("fast", 0)
    assert fast.bytes > tight.bytes > compact.bytes
    assert max(fast.instructions, tight.instructions) < compact.instructions
    assert straight.instructions < fast.instructions
    for one in (straight, fast, compact):
        measured = device.measure(model, X[1300:1310], "cortex-m0plus", one.layout)
        assert one.bytes == measured.flash_bytes
        assert one.instructions == measured.total_instructions_max
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
    """Models that shrink along the curve; their clauses are their bytes."""
    points = sorted(points, key=lambda p: -p[0])
    curve = [PrunedModel(of_clauses(n), accuracy, Footprint(n, 0.0)) for n, accuracy in points]
    measured = []

    def measure(model):
        measured.append(model)
        return () if model.n_clauses == 0 else [Footprint(model.n_clauses + extra, 0.0) for extra in (9, 0)]

    inside = [p for p in curve if 0 < p.model.n_clauses <= most]
    if loss is not None:
        inside = [p for p in inside if p.accuracy >= curve[0].accuracy - loss - 1e-12]
    choice = Choice(curve, Budget(most), measure, loss)
    if not inside:
        with pytest.raises(BudgetError) as caught:
            choice.make()
        assert caught.value.nearest.model in [p.model for p in curve]
    else:
        chosen = choice.make()
        n = chosen.model.n_clauses  # in the first form when that fits, else in the second
        assert chosen.footprint.bytes == (n + 9 if n + 9 <= most else n)
        best = max(p.accuracy for p in inside)
        if loss is None:
            assert chosen.accuracy == best
        else:
            assert chosen.accuracy >= max(best, curve[0].accuracy) - loss - 1e-9
            if curve[0].estimate.bytes <= most:  # all fit: the smallest of those that lose no more
                assert n == min(p.model.n_clauses for p in inside if p.accuracy >= best - loss - 1e-12)
    # What is a quarter beyond the bytes by estimate is not measured, and nothing twice.
    assert len(measured) <= sum(p.estimate.bytes <= 1.25 * most for p in curve) + 1


def of_clauses(n):
    offsets = np.arange(n + 1)
    return Model(np.zeros(n, int), offsets, np.ones((n, 1), int), n_booleans=1, classes=["x"])


def test_prune_with_a_measure_of_ones_own(digits):
    model, X, y = digits
    pruned = prune(model, X[:300], y[:300], flash=50, measure=lambda m: Footprint(m.n_clauses, 0.0))
    assert pruned.model.n_clauses <= 50
    assert pruned.footprint == Footprint(pruned.model.n_clauses, 0.0)


def test_no_bounds_means_no_loss_on_held_out_rows(digits):
    model, X, y = digits
    pruned = prune(model, X[:600], y[:600], validation=(X[600:800], y[600:800]))
    assert not pruned.by_folds
    assert pruned.accuracy >= pruned.curve[0].accuracy
    assert pruned.footprint == estimate(pruned.model)
    assert pruned.footprint.bytes < 0.8 * pruned.curve[0].estimate.bytes


def test_rows_that_a_model_has_learned_are_judged_by_machines_that_have_not(flowers):
    model, X, _ = flowers
    y = np.random.default_rng(0).permutation(np.repeat(model.classes, 50))  # nothing can be learned
    model = EtherealClassifier(40, booleanizer=32, epochs=40, random_state=0).fit(X, y).model_
    assert (model.predict(X) == y).mean() > 0.6
    pruned = prune(model, X, y)
    assert pruned.by_folds
    assert pruned.curve[0].accuracy < 0.45
    assert pruned.model.n_includes < model.n_includes / 5
    again = prune(model, X, y, flash=8000, measure=estimate)
    assert again.by_folds
    assert again.accuracy < 0.45


def test_models_that_tell_nothing_of_their_training_hold_out_a_quarter(flowers):
    model, X, y = flowers
    imported = Model.of(model.clauses, classes=model.classes, booleanizer=model.booleanizer)
    assert not prune(imported, X, y).by_folds
    assert not prune(model, X[::10], y[::10]).by_folds  # too few


def test_same_seed_same_curve(flowers):
    model, X, y = flowers
    first, second, other = (prune(model, X, y, random_state=seed) for seed in (1, 1, 2))
    assert [p.model for p in first.curve] == [p.model for p in second.curve]
    assert [p.model for p in first.curve] != [p.model for p in other.curve]


@examples(40)
@given(models(), st.integers(0, 2**32 - 1))
def test_any_model_can_be_pruned(model, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(12, model.n_features)) * 3
    X = rows > 0 if model.booleanizer is None else rows
    y = model.classes[rng.integers(0, model.n_classes, 12)]
    pruned = prune(model, X, y, flash=10**6, measure=estimate)
    can_vote = [p for p in pruned.curve if p.model.n_clauses] or pruned.curve
    assert pruned.model in [p.model for p in can_vote]
    assert pruned.model.predict(X).shape == (12,)


def test_nothing_fits(digits, flowers):
    model, X, y = digits
    with pytest.raises(BudgetError, match=r"flash=100.*max_loss=0.*nearest") as caught:
        prune(
            model, X[:300], y[:300], flash=100, max_loss=0.0, measure=estimate,
            validation=(X[300:400], y[300:400]),
        )  # fmt: skip
    assert caught.value.nearest.footprint.bytes <= 100
    assert caught.value.nearest in caught.value.curve
    with pytest.raises(BudgetError, match=r"fits.*flash=12.*nearest.*\d+") as caught:
        prune(*flowers, flash=12)  # less than a model of one comparison takes
    assert 12 < caught.value.nearest.footprint.bytes < 900
    with pytest.raises(BudgetError, match="ram=0"):
        prune(*flowers, ram=0, max_loss=0.0, measure=lambda m: Footprint(m.n_clauses, 0.0, ram=4))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"flash": -1}, "flash is -1"),
        ({"flash": math.nan}, "flash is nan"),
        ({"instructions": -5.0}, "instructions is -5.0"),
        ({"ram": -1}, "ram is -1"),
        ({"flash": 1000, "target": "m8"}, "unknown target 'm8'"),
        ({"max_loss": 1.5}, "max_loss is 1.5"),
        ({"random_state": -1}, "random_state is -1"),
        ({"random_state": 2**63}, f"random_state is {2**63}"),
        ({"y": ["digit 1"] * 3}, r"y has shape \(3,\)"),
        ({"y": ["digit 1"] * 299 + ["letter"]}, r"y\[299\].*'letter'"),
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


def test_bounds_as_people_say_them(digits):
    model, X, y = digits
    how = {"measure": estimate, "validation": (X[300:400], y[300:400])}
    pruned = prune(model, X[:300], y[:300], flash="1k", instructions="9k", **how)
    same = prune(model, X[:300], y[:300], flash=1024, instructions=9000, **how)
    assert same.model == pruned.model
    assert same.model.deployment == pruned.model.deployment
    with pytest.raises(ValueError, match="flash is '1kk'"):
        prune(model, X[:300], y[:300], flash="1kk")
    with pytest.raises(TypeError, match=r"prune\(\) has no option 'max_bytes'"):
        prune(model, X[:300], y[:300], max_bytes=900)


@pytest.mark.slow
def test_blends_teach_to_decide_like_the_model_on_rows_unlike_those_given(digits):
    """Rows with a fifth of their features from another row: who learnt from blends agrees more there."""
    model, X, y = digits
    held_out = model.booleanizer.transform(X[1300:])
    unlike = _blends(held_out, model.feature_map.feature, 0.2, seed=9)
    agreement = {}
    for teacher in ("votes", "blends"):
        pruned = prune(
            model, X[:1300], y[:1300], validation=(X[1300:], y[1300:]), teacher=teacher, measure=estimate
        )
        shares = [
            (p.model._votes(unlike).argmax(axis=1) == model._votes(unlike).argmax(axis=1)).mean()
            for p in pruned.curve
            if 100 < p.estimate.bytes < 1500
        ]
        assert len(shares) > 5
        agreement[teacher] = np.mean(shares)
    assert agreement["blends"] > agreement["votes"] + 0.01


def test_a_boolean_and_its_negation_are_one_threshold():
    """`x0 > 0.5` and NOT of it: one comparison, 4 bytes and ten instructions; two tests of ten each."""
    booleanizer = Booleanizer(thresholds=0.5).fit(np.zeros((1, 3)))
    model = Model([0, 3], [0, 1, 2], [[1], [-1]], n_booleans=3, classes=["x"], booleanizer=booleanizer)
    estimated = estimate(model)
    assert estimated.instructions == 10 * 2 + 10 * 1
    assert estimated.bytes == len(compact.payload(model).data) + 4


def test_many_rows_are_left_out_only_while_a_model_is_large(digits, monkeypatch):
    model, X, y = digits
    seen = []

    def pruner(booleans, *rest):
        seen.append(len(booleans))
        return _native.Pruner(booleans, *rest)

    monkeypatch.setattr(task, "_native", SimpleNamespace(Pruner=pruner))
    monkeypatch.setattr(curve, "_FEW_ROWS", 400)
    monkeypatch.setattr(curve, "_MANY_LITERALS", 200)
    pruned = prune(model, X[:1300], y[:1300], validation=(X[1300:], y[1300:]))
    few, every = seen
    assert few == math.ceil(every / 4) <= 400 < every
    sizes = [point.model.n_includes for point in pruned.curve]
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) < 200 < max(sizes)


def test_pruning_without_bounds_needs_no_compiler(flowers, monkeypatch):
    for name in ("ziglang", "unicorn"):
        monkeypatch.setitem(sys.modules, name, None)  # as in a base install
    model, X, y = flowers
    pruned = prune(model, X, y)
    assert pruned.by_folds
    assert pruned.model.deployment.as_dict() == {"target": "cortex-m7"}
    with pytest.raises(ModuleNotFoundError):
        prune(model, X, y, flash=4096)


def test_a_model_may_teach_another(flowers):
    model, X, y = flowers
    better = EtherealClassifier(20, T=8, epochs=20, random_state=0).fit(X, y).model_
    taught = prune(model, X, y, teacher=better)
    assert taught.teacher == "unseen"
    assert taught.model.n_includes < model.n_includes
    assert taught.model != prune(model, X, y).model
    other = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=[0, 1])
    with pytest.raises(ValueError, match="teacher knows the classes"):
        prune(model, X, y, teacher=other)
