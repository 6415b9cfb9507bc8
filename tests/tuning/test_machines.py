import numpy as np
from sklearn.base import clone

from ethereal import EtherealClassifier
from ethereal.features.booleanizer import Booleanizer
from ethereal.train.options import TrainingOptions
from ethereal.tuning.machines import committee


def test_the_sums_of_a_committee_are_those_of_its_machines():
    rng = np.random.default_rng(0)
    X = rng.random((120, 4))
    y = np.where(X[:, 0] > X[:, 1], "a", "b")
    first = EtherealClassifier(20, epochs=5, noise_clauses=0, refit_votes=False, random_state=3).fit(X, y)
    joined = committee(first, (X, y), 3)
    thresholds = Booleanizer(thresholds=first.booleanizer_.feature_map_)
    others = [
        clone(first).set_params(booleanizer=thresholds, random_state=3 + 1000 * i).fit(X, y) for i in (1, 2)
    ]
    sums = sum(machine.plain_model_.class_sums(X) for machine in (first, *others))
    np.testing.assert_array_equal(joined.class_sums(X), sums)
    assert (others[0].plain_model_.class_sums(X) != first.plain_model_.class_sums(X)).any()
    assert committee(first, (X, y), 1) is first.plain_model_


def test_many_classes_have_fewer_clauses_each():
    X, y = np.zeros((300, 2)), np.arange(300)
    assert TrainingOptions().meeting(X, y % 100).clauses == 150
    assert TrainingOptions().meeting(X, y % 10).clauses is None  # 600
    assert TrainingOptions(clauses=700).meeting(X, y % 100).clauses == 700
    assert TrainingOptions(paper=True).meeting(X, y % 100).clauses is None
