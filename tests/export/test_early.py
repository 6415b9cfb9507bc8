"""Early answers on the board: those of the host, in fewer instructions, the worst row near the full one."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from c_on_host import assert_exact
from ethereal import EtherealClassifier, Model, WindowFeatures
from ethereal.device import measure, measure_layouts
from ethereal.export import answering_early, c, choose, make_program
from ethereal.model.needs import NotSupported
from random_models import random_model
from thinned import examples

KINDS: list[dict[str, Any]] = [
    {"encoding": None, "n_features": 12},
    {"encoding": "thermometer", "n_bins": 9, "missing": "some", "heaviest": 90},
    {"encoding": "mixed", "n_bins": 7, "missing": "ignore", "n_classes": 9},
    {"n_features": 20, "n_bins": 12, "n_clauses": 500, "longest": 4},
    {"n_classes": 2, "zeros": 0.95},
]


@pytest.fixture(scope="module")
def digits() -> tuple[Model, Any, Any]:
    X, y = (part[::2] for part in load_digits(return_X_y=True))
    return EtherealClassifier(15, 10, 3.0, epochs=5, random_state=1).fit(X, y).model_, X, y


@examples(25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 9999), kind=st.sampled_from(KINDS), data=st.data())
def test_exported_code_stops_where_the_host_does(
    seed: int, kind: dict[str, Any], data: st.DataObject, tmp_path: Path
) -> None:
    model, X = random_model(seed, **kind)
    places = data.draw(st.lists(st.integers(1, model.n_clauses - 1), min_size=1, max_size=3, unique=True))
    checks = [(place, data.draw(st.integers(0, 8))) for place in sorted(places)]
    kept: dict[str, Any] = {name: getattr(model, name) for name in ("n_booleans", "classes", "booleanizer")}
    early = Model(model.literals, model.offsets, model.weights, early=checks, **kept)
    assert_exact(make_program(early, "straight", name="m"), X, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number_type", ["uint8"])
def test_rows_take_fewer_instructions_and_the_worst_hardly_more(
    number_type: str, digits: tuple[Model, Any, Any], tmp_path: Path
) -> None:
    model, X, _ = digits
    early = answering_early(model, X, 0.01, input=number_type)
    assert 1 <= len(early.early) <= 3
    assert 0 < (early.predict(X) != model.predict(X)).mean() <= 0.01
    some = X[::11]
    full, quick = (measure(m, some, layout="straight", input=number_type) for m in (model, early))
    assert quick.agreement == 1.0
    assert quick.total_instructions < 0.9 * full.total_instructions
    assert quick.total_instructions_max < 1.1 * full.total_instructions_max
    program = choose(early, input=number_type)
    assert program.layout == "straight"
    assert program.costs.instructions == pytest.approx(quick.total_instructions, rel=0.3)
    assert quick.flash_bytes <= program.flash_bytes
    assert_exact(program, X[:40], tmp_path)


@pytest.mark.slow
def test_an_export_holds_the_model_that_answers_like_it(
    digits: tuple[Model, Any, Any], tmp_path: Path
) -> None:
    model, X, _ = digits
    folder = c(model, tmp_path / "c", rows=X, early=0.01)
    early = Model.load(folder / "model.etm")
    assert early == answering_early(model, X, 0.01)
    assert "Clear rows are answered early" in (folder / "model.h").read_text()
    assert "et_clear" in (folder / "model.c").read_text()
    assert not (c(model, tmp_path / "plain", rows=X) / "model.etm").exists()
    remarks: list[str] = []
    (measurement,) = measure_layouts(model, X[:5], rows=X, early=0.01, remark=remarks.append)
    assert (measurement.name, measurement.agreement, len(remarks)) == ("straight", 1.0, 4)
    with pytest.raises(NotSupported, match="layout fast does not take early answers"):
        choose(model, "fast", rows=X, early=0.01)


def test_no_check_pays_on_a_small_model() -> None:
    model, X = random_model(3, n_clauses=12)
    rows = np.repeat(X, 20, axis=0)
    with pytest.warns(UserWarning, match="No check pays on this model"):
        assert answering_early(model, rows, 0.01) is model


def test_what_cannot_be_learned_is_refused(digits: tuple[Model, Any, Any]) -> None:
    model, X, _ = digits
    with pytest.raises(ValueError, match=r"need 1,000\b.*\b20\b"):
        answering_early(model, X[:20], 0.001)
    with pytest.raises(ValueError, match="and 0 were given"):
        choose(model, early=0.001)
    with pytest.raises(ValueError, match="loss is 0"):
        answering_early(model, X, 0.0)
    with pytest.raises(ValueError, match="early is 2"):
        choose(model, early=2.0)
    early = answering_early(model, X, 0.01)
    with pytest.raises(ValueError, match="early answers already"):
        answering_early(early, X, 0.01)


def test_models_of_windows_are_refused() -> None:
    windows = np.random.default_rng(0).integers(-500, 500, (60, 32, 3)).astype(np.int16)
    y = np.arange(60) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = (
            EtherealClassifier(4, 5, 3.0, epochs=2, front_end=WindowFeatures(("stats",)))
            .fit(windows, y)
            .model_
        )
    with pytest.raises(NotSupported, match="does not take a front end"):
        answering_early(model, windows, 0.1)


def test_early_answers_and_unknown_exclude_each_other():
    """Early answers do not look at all votes, and "unknown" is decided by all of them."""
    model = Model([0, 1], [0, 1, 2], [[5, 0], [0, 2]], n_booleans=2, classes=["a", "b"])
    early = Model([0, 1], [0, 1, 2], [[5, 0], [0, 2]], n_booleans=2, classes=["a", "b"], early=[(1, 2)])
    with pytest.raises(ValueError, match="does not always count all votes"):
        early.with_unknown(3)
    with pytest.raises(ValueError, match="may answer unknown"):
        answering_early(model.with_unknown(3), np.ones((2000, 2), bool))
