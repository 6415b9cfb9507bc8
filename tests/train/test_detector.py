"""The detector as an estimator of scikit-learn."""

import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from ethereal import EtherealDetector

X = np.random.default_rng(0).normal(size=(200, 4))


def test_it_follows_the_rules_of_scikit_learn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # skipped checks of other array libraries
        check_estimator(EtherealDetector())


def test_names_scores_and_pipelines():
    frame = pd.DataFrame(X, columns=list("abcd"))
    detector = clone(EtherealDetector(0.05, n_centres=3, random_state=7)).fit(frame)
    assert detector.model_.feature_names == ("a", "b", "c", "d")
    assert detector.model_.normal.centres.shape == (3, 4)
    assert (detector.decision_function(frame) == detector.score_samples(frame) - detector.offset_).all()
    assert ((detector.decision_function(frame) >= 0) == (detector.predict(frame) == 1)).all()
    assert (detector.score_samples(frame) == -detector.model_.novelty(frame)).all()
    many = make_pipeline(StandardScaler(), EtherealDetector()).fit(X)
    assert (many.predict(X) == 1).mean() > 0.97
    draws = [EtherealDetector(random_state=np.random.RandomState(1)).fit(X).offset_ for _ in range(2)]
    assert draws[0] == draws[1]
