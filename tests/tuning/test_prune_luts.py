"""prune(luts=): a bound on lookup tables, prices of gates, and votes that stay small."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from ethereal import Booleanizer, EtherealClassifier, prune, tune
from ethereal.compress.curve import LUT_PRICES, PruneRows, logits_per_vote, smaller_models
from ethereal.export.hdl.estimate import luts_of
from ethereal.tuning import Budget, BudgetError
from ethereal.tuning.budget import Gates
from ethereal.tuning.footprint import in_gates


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    machine = EtherealClassifier(
        n_clauses=40, T=10, epochs=10, booleanizer=Booleanizer(n_bins=4), random_state=0
    )
    return machine.fit(X[:1300], y[:1300]).model_, X, y


@pytest.fixture(scope="module")
def pruned(digits):
    model, X, y = digits
    return prune(model, X[:1000], y[:1000], luts="1.5k", validation=(X[1000:1300], y[1000:1300]))


def test_the_bound_is_kept_and_the_model_still_knows_digits(digits, pruned):
    model, X, y = digits
    assert pruned.footprint.luts == luts_of(pruned.model) <= 1500 < luts_of(model)
    before = (model.predict(X[1300:]) == y[1300:]).mean()
    assert (pruned.model.predict(X[1300:]) == y[1300:]).mean() > before - 0.06
    assert pruned.model.deployment is None


def test_votes_stay_small_and_mean_as_much(digits, pruned):
    model, _, _ = digits
    votes = [np.abs(p.model.weights[p.model.weights != 0]) for p in pruned.curve if p.model.n_clauses > 5]
    assert max(np.median(v) for v in votes[len(votes) // 3 :]) <= 8
    assert min(p.model.temperature for p in pruned.curve) < model.temperature
    # Halves of votes are twice as sure: their loss on rows that were held out does not jump.
    losses = [float(p.held_out.loss.mean()) for p in pruned.curve if p.accuracy > 0.9]
    assert max(np.diff(losses)) < 0.1


def test_usual_prices_never_halve_votes(digits):
    model, X, y = digits
    rows = PruneRows.read(model, X[:600], y[:600])
    scale = logits_per_vote(model, rows)
    temperatures = {one.temperature for _, one in smaller_models(model, rows, scale, "votes", 0)}
    assert temperatures == {model.temperature}
    assert LUT_PRICES.vote > LUT_PRICES.clause


def test_what_does_not_fit_says_by_how_much(digits):
    model, X, y = digits
    with pytest.raises(BudgetError, match=r"fits within luts=9\. The nearest has about \d+ lookup tables"):
        prune(model, X[:300], y[:300], luts=9, validation=(X[300:500], y[300:500]))


def test_bounds_of_a_board_and_of_an_fpga_exclude_each_other():
    X, y = load_iris(return_X_y=True)
    model = EtherealClassifier(n_clauses=4, T=4, epochs=2, random_state=0).fit(X, y).model_
    with pytest.raises(ValueError, match=r"luts=100 and flash=4096 are both given"):
        prune(model, X, y, luts=100, flash="4k")
    with pytest.raises(ValueError, match="luts is 0"):
        prune(model, X, y, luts=0)
    with pytest.raises(ValueError, match=r"target='ice40-up5k' and flash=4096 are both given"):
        prune(model, X, y, flash="4k", target="ice40-up5k")
    with pytest.raises(ValueError, match=r"target='pico' are both given\. A board has no lookup tables"):
        prune(model, X, y, luts=100, target="pico")
    with pytest.raises(ValueError, match="luts is 9000, but ice40-up5k has 5280"):
        prune(model, X, y, luts=9000, target="ice40-up5k")
    with pytest.raises(ValueError, match="`ethereal run` and `ethereal prune` take lookup tables"):
        tune(X, y, luts=100)
    with pytest.raises(ValueError, match=r"is an FPGA.*`ethereal run --target`"):
        tune(X, y, target="ice40-up5k")


def test_lookup_tables_alone_count(digits):
    model, _, _ = digits
    takes, budget = in_gates(model), Gates(luts=100)
    assert budget.cost(takes) == takes.luts
    assert budget.excess(takes) == takes.luts / 100
    assert budget.worth(0.9, takes) == 0.9
    assert budget.on_size
    assert Budget(flash=100).promises == ["flash=100"]
