"""frontier(): models for any budget, by all splits and teachers."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris

import ethereal
from ethereal import device, export
from ethereal.base.checks import DoesNotFit
from ethereal.compress.curve import TEACHERS, Curve, PrunedModel
from ethereal.compress.task import HeldOut
from ethereal.tuning import Budget, BudgetError, BudgetNotMet, Footprint, Search, Setup, estimate, frontier
from ethereal.tuning.frontiers import levelled, mean_curve
from ethereal.tuning.sources import Way, ways_of

X, Y = load_iris(return_X_y=True)
SETUP = Setup((4,), ("thermometer",), 6, 3, 3.0, None, None, 2, "votes", 0.0)
WAYS = ways_of("auto", TEACHERS)
BUDGETS = [Budget(flash=450, instructions=1000), Budget(flash="1k", instructions=600, ram=300)]


@pytest.fixture(scope="module")
def fitted():
    return frontier(X, Y, SETUP, BUDGETS, splits=2, epochs=8, random_state=3)


def test_budgets_hold_for_what_is_exported(fitted, tmp_path):
    """The files of `export.c`, compiled and executed apart from how the frontier measures."""
    assert [p.budget for p in fitted.points] == BUDGETS
    for i, point in enumerate(fitted.points):
        form = {"layout": point.footprint.layout, "clause_bytes": point.footprint.clause_bytes}
        folder = export.c(point.model, tmp_path / str(i), **form)
        sources = {p.name: p.read_text() for p in folder.iterdir() if p.suffix in (".c", ".h")}
        del sources["model_test.c"]
        chip = device.find_target("cortex-m7")
        elf = device.compile_elf(sources, chip, ["model_predict", "model_check"], optimize="-Os")
        core = device.EmulatedCore(elf, chip)
        answers, counts = core.call_by_row("model_predict", X.astype(np.float32))
        assert point.fits
        assert elf.code_bytes + elf.table_bytes == point.footprint.bytes <= point.budget.flash
        assert np.mean(counts) <= point.budget.instructions
        assert elf.ram_bytes + core.stack_bytes <= point.budget.ram
        assert np.array_equal(point.model.classes[answers], point.model.predict(X))
        assert point.accuracy > 0.85
        assert (point.model.predict(X) == Y).mean() > 0.9


@pytest.mark.slow
def test_sweeps_reach_the_pruner(fitted):
    more = ethereal.frontier(X, Y, SETUP, splits=2, epochs=8, random_state=3, sweeps=6)
    powers_of_the_step = {p.price for curve in fitted.curves.values() for p in curve.curve}
    for teacher, curve in more.curves.items():
        few = fitted.curves[teacher]
        assert (few.sweeps, curve.sweeps) == (2, 6)
        assert few.curve[1].model == curve.curve[1].model  # before the first sweep
        assert any(curve.at(p.price).model != p.model for p in few.curve)
        prices = [p.price for p in curve.curve[1:]]
        assert prices == sorted(prices)
        assert len(set(prices)) == len(prices)
    assert any(p.price not in powers_of_the_step for p in more.curves["votes"].curve)  # between two prices
    with pytest.raises(ValueError, match="sweeps"):
        frontier(X, Y, SETUP, sweeps=0)


def test_further_budgets_and_the_same_seed(fitted):
    again = ethereal.frontier(X, Y, SETUP, splits=2, epochs=8, random_state=3)
    assert again.points == ()
    for budget, point in zip(BUDGETS[1:], fitted.points[1:], strict=True):
        assert again.choose(budget).model == point.model
    best = max(p.accuracy for curve in fitted.curves.values() for p in curve.curve)
    chosen = fitted.choose(Budget(), measure=estimate, cheapest=False)
    assert chosen.accuracy == pytest.approx(best, abs=1e-5)  # of equals the larger one is chosen
    near = fitted.choose(Budget(flash=20))
    assert not near.fits
    assert near.excess > 1
    assert near.footprint.bytes > 20


def test_models_learn_from_all_rows(fitted):
    for curve in fitted.curves.values():
        model = curve.curve[0].model
        rates = model.feature_map.booleans(X, model.input_names).mean(axis=0)
        assert np.allclose(rates, model.boolean_rates, atol=1e-6)
    assert {way: len(tried) for way, tried in fitted.tried.items()} == dict.fromkeys(WAYS, 2)


def test_rows_to_hold_out_may_be_given_and_teachers_left_out():
    folds = [np.arange(0, 150, 3), np.arange(1, 150, 3)]
    given = frontier(X, Y, SETUP, splits=folds, epochs=3, teachers=["labels"], learner="machine")
    [labels] = given.curves
    assert labels == Way("machine", "labels")
    assert all(len(p.held_out.right) == 100 for p in given.curves[labels].curve)


def test_groups_are_held_out_whole(monkeypatch):
    groups, seen = np.arange(150) // 10, []
    real = ethereal.EtherealClassifier.fit

    def fit(self, X, y, **keywords):
        seen.append(({*X[:, 0]}, {*keywords["validation_set"][0][:, 0]}))
        return real(self, X, y, **keywords)

    monkeypatch.setattr(ethereal.EtherealClassifier, "fit", fit)
    named = np.column_stack([groups, X]).astype(float)
    frontier(
        named,
        np.arange(150) % 3,
        SETUP,
        groups=groups,
        epochs=2,
        teachers=["votes"],
        splits=2,
        learner="machine",
    )
    for learned, validated in seen[:4]:  # two machines of two splits
        assert not learned & validated
    first, second = seen[0][1], seen[2][1]
    assert len(first) == len(second) == 3  # of 15 groups
    assert not first & second


def test_each_split_holds_out_other_groups():
    """The seed alone would give the same groups again, because classes decide which groups go together."""
    rng = np.random.default_rng(0)
    groups, y = np.repeat(np.arange(10), 15), rng.integers(3, size=150)
    together = frontier(X, y, SETUP, groups=groups, epochs=1, teachers=["votes"], splits=9, learner="machine")
    votes = Way("machine", "votes")
    assert len(together.tried[votes]) == 5  # fifths of the groups
    assert len(together.curves[votes].curve[0].held_out.right) == 150  # each row once


@pytest.mark.slow
def test_threads_change_nothing(fitted):
    side_by_side = frontier(X, Y, SETUP, BUDGETS, splits=2, epochs=8, random_state=3, n_jobs=3)
    assert [p.model for p in side_by_side.points] == [p.model for p in fitted.points]
    for teacher, curve in side_by_side.curves.items():
        assert curve == fitted.curves[teacher]


def test_threads_end_when_training_fails(monkeypatch):
    real, fits = ethereal.EtherealClassifier.fit, []

    def fit(self, X, y, **keywords):
        fits.append(self)
        if len(fits) > 2:  # of the second split, while the first one is pruned
            raise KeyboardInterrupt
        return real(self, X, y, **keywords)

    monkeypatch.setattr(ethereal.EtherealClassifier, "fit", fit)
    before = set(threading.enumerate())  # other tests of this process may have left some
    with pytest.raises(KeyboardInterrupt):
        frontier(X, Y, SETUP, splits=2, epochs=8, random_state=3, n_jobs=2)
    assert len(fits) == 3
    assert not set(threading.enumerate()) - before


def curve(*accuracies, rows=10):
    record = HeldOut(np.ones(rows, bool), np.zeros(rows, np.float32))
    points = [PrunedModel(None, a, None, price=float(i), held_out=record) for i, a in enumerate(accuracies)]
    return Curve(tuple(points), 0.1, "votes")


def test_curves_are_averaged_at_equal_price_and_smoothed():
    first, second = curve(0.9, 0.9, 0.9, 0.4), curve(0.7, 0.7, 0.7)
    mean = mean_curve([first, replace(second, scale=0.4)])
    raw = [0.8, 0.8, 0.8, 0.55]  # the second has nothing at the last price: its last one counts
    assert [p.accuracy for p in mean.curve] == pytest.approx(
        [np.mean(raw[:3]), np.mean(raw), np.mean(raw), np.mean(raw[1:])]
    )
    assert mean.scale == pytest.approx(0.2)
    assert len(mean.curve[0].held_out.right) == 20


def test_accuracies_do_not_rise_behind_the_best():
    tuned = [p.accuracy for p in levelled(curve(0.8, 0.9, 0.7, 0.8, 0.3)).curve]
    assert tuned == pytest.approx([0.8, 0.9, 0.8, 0.6, 0.3], abs=1e-5)  # 0.75 between the second and third
    equal = [p.accuracy for p in levelled(curve(0.8, 0.8, 0.8)).curve]
    assert equal == pytest.approx([0.8] * 3, abs=1e-5)
    assert equal[0] > equal[1] > equal[2]  # of equals the larger one is chosen


def test_losses_do_not_fall_behind_the_best():
    given = curve(0.9, 0.8, 0.7, 0.6)
    losses = [0.2, 0.6, 0.4, 1.0]
    points = [
        replace(p, held_out=HeldOut(p.held_out.right, np.linspace(0, 2 * loss, 10, dtype=np.float32)))
        for p, loss in zip(given.curve, losses, strict=True)
    ]
    tuned = levelled(replace(given, curve=tuple(points))).curve
    # The mean of the second and the third is 0.5, and lines go from there to the first and the last.
    assert [p.held_out.loss.mean() for p in tuned] == pytest.approx([0.2, 0.4, 2 / 3, 1.0], abs=1e-5)
    assert np.ptp(tuned[1].held_out.loss) == pytest.approx(1.2)  # rows differ as they did


@pytest.mark.parametrize(
    "change, message",
    [
        ({"teachers": ["forest"]}, "teacher is 'forest'"),
        ({"y": Y[:-1]}, r"y has shape \(149,\)"),
        ({"groups": Y[:-1]}, r"groups has shape \(149,\)"),
        ({"splits": 0}, "splits is 0"),
        ({"setup": replace(SETUP, bins=(4, 4, 4))}, r"setup.bins.*\(4, 4, 4\).*\b3\b"),
        ({"random_state": -1}, "random_state is -1"),
    ],
)
def test_bad_arguments(change, message):
    arguments = {"X": X, "y": Y, "setup": SETUP, **change}
    with pytest.raises(ValueError, match=message):
        frontier(**arguments)


def test_what_does_not_fit_is_one_error():
    for error in (BudgetError, BudgetNotMet, export.ModelTooLarge):
        assert issubclass(error, DoesNotFit)


def test_flat_keywords_fill_the_dataclasses():
    rows, labels = X, Y
    quick = {"trials": 1, "folds": 1, "epochs": 2, "max_clauses": 4}
    flat = ethereal.tune(rows, labels, flash="2k", instructions="20k", **quick)
    bounds = Budget(flash=2048, instructions=20_000)
    grouped = ethereal.tune(rows, labels, budget=bounds, search=Search(**quick))
    assert flat.model == grouped.model
    assert flat.budget == grouped.budget
    with pytest.raises(TypeError, match=r"no option 'flush'. Its options are flash, ram, .* trials, seconds"):
        ethereal.tune(rows, labels, flush="2k")
    with pytest.raises(TypeError, match="budget and flash are both given"):
        ethereal.tune(rows, labels, budget=Budget(), flash="2k")
    model = flat.model
    with pytest.raises(TypeError, match=r"no option 'max_byte'\. Its options are flash"):
        ethereal.prune(model, rows, labels, max_byte=900)
    with pytest.raises(TypeError, match="budget and flash are both given"):
        ethereal.prune(model, rows, labels, budget=Budget(900), flash=900)
    one = ethereal.prune(model, rows, labels, budget=Budget(900), measure=estimate)
    assert one.model == ethereal.prune(model, rows, labels, flash=900, measure=estimate).model
    assert Budget(flash=100).excess(Footprint(50, 7.0)) == 0.5
