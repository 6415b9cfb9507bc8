"""A machine on the study's Booleans, some of them equal: every file and export gives the host's answers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from ethereal import Booleanizer, EtherealClassifier, Model
from ethereal.device import measure
from ethereal.export import LAYOUTS
from ethereal.export.mpy.tables import micropython_tables
from micropython_shim import load_runtime
from thinned import thinned

RNG = np.random.default_rng(0)
X = RNG.integers(0, 5, (300, 4)).astype(np.float32)
Y = (X[:, 0] > 2).astype(int) + (X[:, 1] + X[:, 2] > 4)


@pytest.fixture(scope="module", params=["thermometer", "onehot"])
def model(request: Any) -> Model:
    booleanizer = Booleanizer(12, request.param, keep_equal=True)
    machine = EtherealClassifier.paper(20, 8, 3.0, epochs=4, booleanizer=booleanizer, random_state=0)
    trained = machine.fit(X, Y).model_
    assert trained.n_booleans == 48
    thresholds = trained.feature_map.thresholds_of(0)
    assert len(np.unique(thresholds)) < len(thresholds)
    return trained


def test_files_and_codes(model: Model, tmp_path: Any) -> None:
    model.save(tmp_path / "m.etm")
    for again in (
        Model.load(tmp_path / "m.etm"),
        *(Model.from_bytes(model.to_bytes(code)) for code in ("redress", "compact")),
    ):
        np.testing.assert_array_equal(again.class_sums(X), model.class_sums(X))
        np.testing.assert_array_equal(again.feature_map.thresholds, model.feature_map.thresholds)


def test_simplify_merges_equal_booleans(model: Model) -> None:
    simple = model.simplify()
    np.testing.assert_array_equal(simple.class_sums(X), model.class_sums(X))
    used = np.unique(simple.clauses.boolean)
    names = np.array(simple.boolean_names)[used]
    assert len(set(names.tolist())) == len(names)
    assert "is contradictory" not in simple.describe()
    assert not any(f"in ({v}, {v}]" in simple.describe() for v in range(5))


def test_explanations_name_values_that_exist(model: Model) -> None:
    for row in X[:20]:
        explained = model.explain(row)
        for change in explained.changes or ():
            assert all(low < high for low, high in change.condition.intervals)


@pytest.mark.parametrize("layout, kind", thinned(LAYOUTS, ["float", "int8"]))
def test_c(model: Model, layout: str, kind: str) -> None:
    for one in (model, model.simplify()) if kind == "float" else (model,):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            measured = measure(one, X[:60], "cortex-m4", layout, input=kind, rows=X)
        assert measured.agreement == 1.0


@pytest.mark.parametrize("kind", ["plain", "viper"])
def test_micropython(model: Model, kind: str) -> None:
    board = load_runtime(kind)["Model"](micropython_tables(model))
    assert [board.class_sums(row) for row in X[:60].tolist()] == model.class_sums(X[:60]).tolist()
