"""The choice from a curve: what fits is found wherever it lies, and chance on few rows does not decide."""

import numpy as np
import pytest

from ethereal import Model
from ethereal.compress.task import HeldOut
from ethereal.tuning import Budget, BudgetError, Footprint, PrunedModel
from ethereal.tuning.choice import Choice, as_good_as_the_best, best_form, tolerance

ROWS = 1000


def of_clauses(n):
    return Model(np.zeros(n, int), np.arange(n + 1), np.ones((n, 1), int), n_booleans=1, classes=["x"])


def point(n, wrong, loss=None, *, rows=ROWS, first=0):
    """A model of `n` clauses, about `n` bytes and `10 n` instructions that is wrong on some rows."""
    seen = None
    if loss is not None:
        is_wrong = (np.arange(rows) >= first) & (np.arange(rows) < first + wrong)
        seen = HeldOut(~is_wrong, np.full(rows, loss, np.float32))
    return PrunedModel(of_clauses(n), 1 - wrong / rows, Footprint(n, 10.0 * n), held_out=seen)


def choose(curve, budget, forms, may_lose=None):
    """The number of clauses that was chosen, and how many models were measured."""
    measured = []

    def measure(model):
        measured.append(model.n_clauses)
        return forms(model.n_clauses)

    return Choice(curve, budget, measure, may_lose).make().model.n_clauses, measured


def test_a_larger_model_may_fit_where_a_smaller_one_does_not():
    """Bytes and instructions as `ethereal.export.c` really took: the layout spends spare bytes on speed."""
    took = {
        473: [(3424, 3005), (2562, 5685)],
        324: [(2764, 2557), (2130, 5025)],  # fits
        256: [(3964, 1916), (1880, 4343)],
        198: [(2794, 1586)],
    }
    curve = [point(n, 30 + i) for i, n in enumerate(took)]
    budget = Budget(flash=2900, instructions=3000)
    chosen, measured = choose(curve, budget, lambda n: [Footprint(*form) for form in took[n]])
    assert chosen == 324
    assert measured == [473, 324]


@pytest.mark.parametrize("fits", range(1, 12))
def test_the_one_model_that_fits_is_found_wherever_it_is(fits):
    curve = [point(n, 30 + 12 - n) for n in range(12, 0, -1)]
    chosen, _ = choose(curve, Budget(flash=100), lambda n: Footprint(90 if n == fits else 120, 1.0))
    assert chosen == fits
    with pytest.raises(BudgetError, match=r"nearest.*\b120\b"):
        choose(curve, Budget(flash=100), lambda n: Footprint(120, 1.0))


def test_models_that_outgrow_a_hopeless_one_are_not_measured():
    curve = [point(n, 100 - n) for n in range(60, 0, -1)]
    chosen, measured = choose(curve, Budget(flash=40), lambda n: Footprint(10 * n, 1.0))
    assert chosen == 4
    assert len(measured) <= 9


def test_a_lucky_small_model_does_not_hide_larger_ones():
    """The small one has three rows more of 1000 and is far less sure of all of them."""
    curve = [point(400, 30, 0.10), point(300, 31, 0.11), point(40, 27, 0.45)]
    chosen, _ = choose(curve, Budget(flash=350), lambda n: Footprint(n, 1.0))
    assert chosen == 300


def test_few_rows_do_not_choose_a_model_of_one_clause():
    """60 rows: the majority class is right as often as the machine, by chance. The loss shows it."""
    curve = [point(500, 18, 0.50, rows=60), point(80, 18, 0.51, rows=60), point(1, 18, 0.66, rows=60)]
    chosen, _ = choose(curve, Budget(), lambda n: Footprint(n, 1.0), may_lose=0.0)
    assert chosen == 80


def test_of_equals_the_cheaper_one_wins():
    """One row of 1000 for a program that is a hundred times slower, because only "compact" holds it."""

    def forms(n):
        return [Footprint(8 * n, 10.0 * n), Footprint(n, 1000.0 * n)]

    curve = [point(400, 30, 0.1), point(320, 31, 0.1), point(100, 31, 0.1, first=10), point(90, 40, 0.1)]
    assert choose(curve, Budget(flash=1000), forms)[0] == 100
    assert choose(curve, Budget(flash=10_000), forms)[0] == 100  # a quarter of the instructions of the best
    sure = [point(400, 20, 0.1), *curve[1:]]
    own_bound = Budget(flash=1000, instructions="100M")
    assert choose(sure, own_bound, forms)[0] == 400  # a whole point is not noise
    assert choose(sure, Budget(flash=1000), forms)[0] == 100  # 1/400 of the instructions may cost 1.3 points
    surer = [point(400, 10, 0.1), *curve[1:]]
    assert choose(surer, Budget(flash=1000), forms)[0] == 400  # but not 2.1


def test_how_much_may_be_lacking():
    assert tolerance(0.001, 0.0, 1.0) == 0.001
    assert tolerance(0.1, 0.0, 1.0) == 0.005
    assert tolerance(0.1, 1.0, 1.0) == 0.0


def test_what_is_cheap_depends_on_what_is_bounded():
    quick, small = Footprint(900, 100.0), Footprint(300, 800.0)
    assert Budget(flash=1000).cost(quick) < Budget(flash=1000).cost(small)
    assert Budget().cost(small) < Budget().cost(quick)
    both = Budget(flash=1000, instructions=1000)
    assert both.cost(quick) == pytest.approx(1.0)
    assert both.cost(small) == pytest.approx(1.1)


def test_a_loss_does_not_outweigh_answers_that_are_clearly_better():
    """Months that training rows lack make a large model wrong with confidence, and a tiny one unsure."""
    rows = np.arange(1000)
    large = HeldOut(rows < 800, np.where(rows < 800, 0.01, 9.0).astype(np.float32))
    tiny = HeldOut(rows < 660, np.full(1000, 1.0, np.float32))
    points = [PrunedModel(None, point.right.mean(), None, held_out=point) for point in (large, tiny)]
    (best,) = as_good_as_the_best(points, lambda p: float(p is points[0]))
    assert best is points[0]


@pytest.mark.parametrize("flash", [1000, 2000, 4000, 8000])
def test_no_other_model_is_as_good_in_a_quarter_of_the_instructions(flash):
    """Models that fit as straight code take a tenth of the estimate, the others twice the estimate."""
    rng = np.random.default_rng(flash)
    sizes = np.unique(np.geomspace(10, 6000, 40).astype(int))[::-1]
    wrong = np.sort(rng.integers(20, 60, len(sizes)))
    loss = np.linspace(0.1, 0.3, len(sizes))  # the large ones are surer
    curve = [point(n, int(w), lost) for n, w, lost in zip(sizes, wrong, loss, strict=True)]

    def forms(n):
        return [Footprint(5 * n, 1.0 * n), Footprint(2 * n + 300, 20.0 * n)]

    took = {n: best_form(Budget(flash=flash), forms(n)) for n in sizes}
    fits = {n: form for n, form in took.items() if form.bytes <= flash}
    chosen, measured = choose(curve, Budget(flash=flash), forms)
    smallest = next(p for p in curve if p.model.n_clauses == chosen)
    as_good = [p.model.n_clauses for p in curve if p.accuracy >= smallest.accuracy - 0.002]
    assert not [n for n in as_good if n in fits and 4 * fits[n].instructions < fits[chosen].instructions]
    worth = {p.model.n_clauses: Budget(flash=flash).worth(p.accuracy, took[p.model.n_clauses]) for p in curve}
    assert worth[chosen] > max(worth[n] for n in fits) - 0.002
    assert len(set(measured)) == len(measured) <= 20
