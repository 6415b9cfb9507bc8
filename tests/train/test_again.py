"""trained_again(): another machine like the one that a model came from."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from ethereal import EtherealClassifier, EtherealRegressor, Model
from ethereal.train.again import trained_again

X, Y = load_breast_cancer(return_X_y=True)
SMALL = {"n_clauses": 20, "epochs": 4, "random_state": 7}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"noise_clauses": 0, "refit_votes": False},
        {"exclude_every": 1, "class_weight": "balanced", "keep": "best"},
        {"booleanizer": 5},
    ],
    ids=str,
)
def test_the_same_rows_give_the_same_machine(changes, tmp_path):
    clf = EtherealClassifier(**SMALL, **changes).fit(X, Y)
    clf.model_.save(tmp_path / "m.etm")
    assert trained_again(Model.load(tmp_path / "m.etm"))(X, Y) == clf.model_
    assert trained_again(clf.plain_model_)(X, Y) == clf.plain_model_


def test_columns_of_text_missing_values_and_directions_are_kept():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 18, "high", "low")})
    frame.loc[::9, "a"] = np.nan
    clf = EtherealClassifier(**SMALL).fit(frame, Y)
    codes = np.column_stack([frame["a"], frame["b"] == "low"])
    again = trained_again(clf.model_)(codes, Y).with_feature_names(clf.model_.feature_names)
    assert again == clf.model_
    rows, labels = load_diabetes(return_X_y=True, as_frame=True)
    reg = EtherealRegressor(epochs=3, monotonic={"bmi": 1}, random_state=3).fit(rows[:150], labels[:150])
    again = trained_again(reg.model_)(rows.to_numpy()[:150], labels.to_numpy()[:150])
    assert np.array_equal(again.predict(rows.to_numpy()), reg.predict(rows))


def test_what_cannot_be_trained_again_is_none():
    clf = EtherealClassifier(**SMALL).fit(X, Y)
    assert trained_again(Model.of(clf.model_.clauses, classes=[0, 1], booleanizer=clf.booleanizer_)) is None
    weighted = EtherealClassifier(**SMALL, class_weight={0: 1, 1: 3}).fit(X, Y)
    assert trained_again(weighted.model_) is None
    own_rule = EtherealClassifier(**SMALL, exclude_every=1, exclude=lambda includes: includes & False)
    assert trained_again(own_rule.fit(X, Y).model_) is None
