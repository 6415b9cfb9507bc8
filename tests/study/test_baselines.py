"""The baselines: the forest's choice against scikit-learn's own search, the BNN against its definition."""

import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

from ethereal import Booleanizer, datasets
from ethereal.device import find_target
from ethereal.device.program import execute
from ethereal.trees.grow import HEAVIEST
from ethereal_study.baselines import (
    BinaryNetwork,
    BNNClassifier,
    ForestClassifier,
    bnn_larq,
    boosted,
    larq_runner,
    train_boosted,
    train_vector_trees,
    vector_trees,
)
from ethereal_study.baselines.base import RATES, best_rate
from ethereal_study.baselines.bnn import _gradients
from ethereal_study.baselines.boosted import integer_code

X, Y = make_classification(300, 8, n_informative=5, n_classes=3, random_state=0)


def test_the_forest_is_the_one_that_a_grid_search_finds():
    grid = {"max_depth": [2, 5, 8], "n_estimators": [3, 6, 12]}
    search = GridSearchCV(
        RandomForestClassifier(random_state=0), grid, cv=StratifiedKFold(3, shuffle=True, random_state=0)
    ).fit(X, Y)
    forest = ForestClassifier(grid["n_estimators"], grid["max_depth"], random_state=0).fit(X, Y)
    np.testing.assert_allclose(forest.scores_.ravel(), search.cv_results_["mean_test_score"], atol=1e-12)
    best = np.flatnonzero(search.cv_results_["mean_test_score"] >= search.best_score_ - 1e-12)
    candidates = [
        (search.cv_results_["params"][i]["n_estimators"], search.cv_results_["params"][i]["max_depth"])
        for i in best
    ]
    assert (forest.n_trees_, forest.depth_) == min(candidates)
    same = RandomForestClassifier(forest.n_trees_, max_depth=forest.depth_, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(forest.predict(X), same.predict(X))


def test_the_forest_chooses_on_some_rows_and_fits_all():
    forest = ForestClassifier((3, 9), (2, 6), max_rows=120).fit(X, Y)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    some, _, some_y, _ = train_test_split(X, Y, train_size=120, stratify=Y, random_state=0)
    trees = RandomForestClassifier(9, max_depth=6, random_state=0)
    assert forest.scores_[1, 1] == pytest.approx(cross_val_score(trees, some, some_y, cv=folds).mean())
    same = RandomForestClassifier(forest.n_trees_, max_depth=forest.depth_, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(forest.predict(X), same.predict(X))


def test_the_forest_can_choose_on_given_rows_as_the_study_did():
    forest = ForestClassifier((3, 9), (2, 6)).fit(X[:200], Y[:200], choose_on=(X[200:], Y[200:]))
    for i, depth in enumerate((2, 6)):
        for j, trees in enumerate((3, 9)):
            same = RandomForestClassifier(trees, max_depth=depth, random_state=0).fit(X[:200], Y[:200])
            assert forest.scores_[i, j] == pytest.approx(same.score(X[200:], Y[200:]))


def test_the_forest_takes_missing_values_and_any_labels():
    holes = X.copy()
    holes[::5, 2] = np.nan
    names = np.array(["ash", "oak", "yew"])[Y]
    forest = ForestClassifier((5,), (6,)).fit(holes, names)
    assert forest.score(holes, names) > 0.8
    assert forest.predict_proba(holes).shape == (300, 3)
    assert set(forest.predict(holes)) == {"ash", "oak", "yew"}


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: ForestClassifier(trees=()).fit(X, Y), "trees is empty"),
        (lambda: ForestClassifier(depths=(0,)).fit(X, Y), r"depths\[0\] is 0"),
        (lambda: ForestClassifier(cv=1).fit(X, Y), "cv is 1"),
        (lambda: ForestClassifier(cv=200).fit(X, Y), "cv.*200.*rarest"),
        (lambda: ForestClassifier().fit(X, np.zeros(300)), "one class only"),
        (lambda: ForestClassifier((3,), (2,)).fit(X, Y).predict(X[:, :3]), "3 features"),
        (lambda: BNNClassifier().fit(X, Y), "X.*Booleans.*Booleanizer"),
        (lambda: BNNClassifier().fit(X > 0, np.zeros(300)), "one class only"),
        (lambda: BNNClassifier(0).fit(X > 0, Y), "n_units is 0"),
        (lambda: BNNClassifier(epochs=0).fit(X > 0, Y), "epochs is 0"),
        (lambda: BNNClassifier(batch_size=1).fit(X > 0, Y), "batch_size is 1"),
        (lambda: BNNClassifier(learning_rate=2.0).fit(X > 0, Y), r"learning_rate is 2\.0"),
        (lambda: BNNClassifier(backend="torch").fit(X > 0, Y), "backend is 'torch'"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosted_trees_answer_on_the_core_as_on_the_host(n_classes):
    pytest.importorskip("lightgbm")
    pytest.importorskip("m2cgen")
    trees = train_boosted(X, Y % n_classes, 5, 8, 0)
    program = boosted(trees, X)
    np.testing.assert_array_equal(program.expected, trees.predict(X))
    for target in ("cortex-m7", "cortex-m0plus"):
        measured = execute(program, find_target(target), ram_bytes=1 << 20)
        assert (measured.classes == program.expected).mean() > 0.99  # thresholds and leaves are rounded


@pytest.mark.parametrize(("n_classes", "n_trees", "depth"), [(2, 3, 2), (3, 6, 4)])
def test_vector_trees_answer_on_the_core_as_on_the_host(n_classes, n_trees, depth):
    pytest.importorskip("unicorn")
    trees = train_vector_trees(X, Y % n_classes, n_trees, depth, 0)
    assert (trees.predict(X) == Y % n_classes).mean() > 0.7
    program = vector_trees(trees, X)
    for core in ("cortex-m7", "cortex-m0plus"):
        assert np.array_equal(execute(program, find_target(core)).classes, program.expected)
    assert np.array_equal(trees.classes_[program.expected], trees.predict(X))
    assert program.files["trees.c"].count("ABOVE") >= n_trees
    again = train_vector_trees(X, Y % n_classes, n_trees, depth, 0)
    assert again.model == trees.model
    assert again.rate in RATES


def test_vector_trees_vote_as_their_trees_do():
    trees = train_vector_trees(X, Y, 5, 3, 1)
    rows = X.astype(np.float32)
    sums = sum(votes[tree.apply(rows)] for tree, votes in trees.trees)
    assert np.array_equal(trees.model.class_sums(rows), sums)
    assert max(np.abs(votes).max() for _, votes in trees.trees) == HEAVIEST


def test_rows_that_no_tree_can_split_are_refused():
    with pytest.raises(ValueError, match=r"No tree can split the \d rows"):
        train_vector_trees(X[:8], Y[:8] % 2, 2, 3, 0)


def test_held_out_rows_choose_the_rate_of_learning():
    class Estimator:
        def __init__(self, rows, answer):
            self.rows, self.answer = rows, answer

        def predict(self, rows):
            assert not set(map(bytes, rows)) & set(map(bytes, self.rows))  # it did not learn from them
            return np.full(len(rows), self.answer)

    answers = {0.1: 0, 0.2: 1, 0.4: 0}
    wanted = np.repeat([0, 1], [100, 200])
    assert best_rate(lambda rows, _, rate: Estimator(rows, answers[rate]), X, wanted, 0) == 0.2
    assert best_rate(lambda rows, *_: Estimator(rows, 1), X, wanted, 0) == 0.1  # the lower of equals


def test_boosted_trees_say_what_is_missing(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"lightgbm, m2cgen.*ethereal-tm\[study\]"):
        train_boosted(X, Y, 5, 8, 0)
    with pytest.raises(ModuleNotFoundError, match=r"lightgbm, m2cgen.*ethereal-tm\[study\]"):
        boosted(None, X)


def test_another_form_of_boosted_code_is_refused():
    with pytest.raises(ValueError, match=r"another.*expected.*m2cgen 0\.10"):
        integer_code("double var0; output = var0; }", 3)


@given(st.data())
def test_a_network_is_its_definition(data):
    n, units, classes = (data.draw(st.integers(1, 6)) for _ in range(3))
    sign = st.sampled_from([-1, 1])
    network = BinaryNetwork(
        data.draw(arrays(np.int8, (n, units), elements=sign)),
        data.draw(arrays(np.int32, units, elements=st.integers(-7, 7))),
        data.draw(arrays(np.int8, (units, classes), elements=sign)),
        np.arange(classes),
    )
    bits = data.draw(arrays(np.bool_, (4, n)))
    for row, sums, label in zip(bits, network.class_sums(bits), network.predict(bits), strict=True):
        fired = [
            1
            if sum(int(network.hidden[i, j]) * (1 if row[i] else -1) for i in range(n))
            >= network.thresholds[j]
            else -1
            for j in range(units)
        ]
        expected = [sum(fired[j] * int(network.output[j, c]) for j in range(units)) for c in range(classes)]
        assert sums.tolist() == expected
        assert label == expected.index(max(expected))


def test_the_bnn_learns_what_one_layer_cannot():
    bits = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 30, dtype=bool)
    parity = bits.sum(axis=1) % 2
    assert BNNClassifier(32, random_state=1).fit(bits, parity).score(bits, parity) == 1.0


def test_the_bnn_on_digits():
    digits = datasets.load("digits")
    model = make_pipeline(Booleanizer(n_bins=3), BNNClassifier(128, epochs=20))
    assert model.fit(digits.X_train, digits.y_train).score(digits.X_test, digits.y_test) > 0.92


def test_the_gradients_are_true_where_signs_are_clips():
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 1.0], (9, 4))
    codes = rng.integers(0, 3, 9)
    parameters = [rng.uniform(-0.9, 0.9, (4, 5)), rng.uniform(-0.9, 0.9, (5, 3)), rng.uniform(-0.5, 0.5, 5)]

    def clip(v):
        return np.clip(v, -1, 1)

    def loss():
        hidden, output, shift = parameters
        sums = x @ clip(hidden)
        normal = (sums - sums.mean(axis=0)) / np.sqrt(sums.var(axis=0) + 1e-3 * 4)
        logits = clip(normal + shift) @ clip(output) * 5**-0.5
        return np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(9), codes])

    gradients = _gradients(x, codes, *parameters, sign=clip)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        for place in np.ndindex(parameter.shape):
            kept = parameter[place]
            parameter[place] = kept + 1e-6
            above = loss()
            parameter[place] = kept - 1e-6
            slope = (above - loss()) / 2e-6
            parameter[place] = kept
            assert gradient[place] == pytest.approx(slope, abs=1e-5)


def test_the_same_seed_gives_the_same_network():
    first, again, other = (
        BNNClassifier(16, epochs=3, random_state=s).fit(X > 0, Y).network_ for s in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.hidden, again.hidden)
    np.testing.assert_array_equal(first.thresholds, again.thresholds)
    assert (first.hidden != other.hidden).any()


def test_the_network_is_whole_numbers_for_a_device():
    network = BNNClassifier(16, epochs=2).fit(X > 0, Y).network_
    assert (network.hidden.dtype, network.thresholds.dtype, network.output.dtype) == (
        np.int8,
        np.int32,
        np.int8,
    )
    assert set(np.unique(network.hidden)) | set(np.unique(network.output)) == {-1, 1}
    assert np.abs(network.thresholds).max() <= 9
    assert network.n_bytes == 8 * 16 // 8 + 16 * 3 // 8 + 32


def test_a_constant_boolean_and_few_rows_are_no_trouble():
    bits = np.zeros((5, 3), dtype=bool)
    bits[:2, 0] = True
    fitted = BNNClassifier(8, epochs=5).fit(bits, [1, 1, 0, 0, 0])
    assert np.isfinite(fitted.network_.thresholds).all()
    assert clone(fitted).get_params()["n_units"] == 8


FAKE = """
    import sys
    assert sys.argv[1] == "-I" and sys.argv[2].endswith("larq_runner.py")
    sys.argv = sys.argv[2:]
    import numpy as np
    with np.load(sys.argv[1]) as given:
        n, units, classes = given["bits"].shape[1], int(given["n_units"]), int(given["n_classes"])
        rng = np.random.default_rng(int(given["seed"]))
        assert int(given["epochs"]) == 100 and int(given["batch_size"]) == 32
    hidden, output = rng.choice([-1, 1], (n, units)), rng.choice([-1, 1], (units, classes))
    np.savez(sys.argv[2], hidden=hidden, output=output)
"""


def stand_in(tmp_path, monkeypatch, body):
    """An interpreter that plays the part of the one with Larq."""
    script = tmp_path / "fake.py"
    script.write_text(textwrap.dedent(body))
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("ETHEREAL_BNN_PYTHON", str(python))


def test_larq_networks_fire_as_they_did_on_zeros_and_ones(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch, FAKE)
    bits = X > 0
    fitted = BNNClassifier(12, backend="larq", random_state=5).fit(bits, Y)
    network = fitted.network_
    hidden = np.where(bits.astype(int) @ network.hidden.astype(int) >= 0, 1, -1)  # Larq's own rule
    expected = (hidden @ network.output.astype(int)).argmax(axis=1)
    np.testing.assert_array_equal(fitted.predict(bits), expected)


@pytest.mark.parametrize(
    "body, message",
    [
        ("raise SystemExit('no module named larq')", r"failed \(no module named larq\).*make bnn-venv"),
        ("pass", r"failed \(no output\)"),
        ("import os; os.kill(os.getpid(), 9)", "was ended by signal 9"),
        (FAKE.replace("(n, units)", "(n, 1)"), r"weights.*\(8, 1\)"),
    ],
)
def test_a_larq_that_fails_says_what_to_do(body, message, tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch, body)
    with pytest.raises(bnn_larq.LarqError, match=message):
        BNNClassifier(12, backend="larq").fit(X > 0, Y)


def test_without_larq_the_message_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.delenv("ETHEREAL_BNN_PYTHON", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(bnn_larq.LarqError, match=r"\.venv-bnn.*make bnn-venv.*backend='numpy'"):
        BNNClassifier(12, backend="larq").fit(X > 0, Y)


def test_the_runner_is_shipped():
    assert bnn_larq.RUNNER.samefile(larq_runner.__file__)
