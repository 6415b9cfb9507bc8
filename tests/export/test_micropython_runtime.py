"""The runtime of MicroPython packages in CPython, against any model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from ethereal import Booleanizer, Model
from ethereal.export.mpy.tables import micropython_tables
from micropython_models import SHAPES, digits, expected, model_of_shape, models_and_rows
from micropython_shim import load_runtime
from thinned import examples, thinned

PLAIN = load_runtime("plain")
VIPER = load_runtime("viper")
WORDS = load_runtime("words")
PLAIN_SINGLE = load_runtime("plain", single=True)
VIPER_SINGLE = load_runtime("viper", single=True)


def same_labels(labels, wanted):
    """Equal, and of equal type."""
    return labels == wanted and [type(x) for x in labels] == [type(x) for x in wanted]


def check(names, model, rows, widths=(0, 30, 128), layout="auto"):
    tables = micropython_tables(model, layout=layout)
    board = names["Model"](tables)
    assert board.checksum == int.from_bytes(tables[4:8], "little")
    raw = [bytes(row) for row in rows.astype(np.uint8)] if model.booleanizer is None else rows.tolist()
    sums, labels = expected(model, rows)
    assert [board.class_sums(row) for row in raw] == sums
    assert same_labels([board.predict(row) for row in raw], labels)
    for width in widths:
        assert same_labels(board.predict_many(raw, width), labels)
    assert same_labels(board.predict_many(iter(raw)), labels)


@pytest.mark.parametrize("names", [PLAIN, VIPER], ids=["plain", "viper"])
@given(models_and_rows())
@examples(60)
def test_runtime_agrees_with_the_model(names, case):
    model, rows = case
    check(names, model, rows)


@given(models_and_rows())
@examples(60)
def test_words_agree_with_the_model(case):
    model, rows = case
    check(WORDS, model, rows, layout="redress")


@pytest.mark.parametrize("names, other", [(PLAIN, "redress"), (VIPER, "redress"), (WORDS, "auto")])
def test_a_runtime_refuses_the_tables_of_another_layout(names, other):
    with pytest.raises(ValueError, match="no tables of this format"):
        names["Model"](micropython_tables(digits()[0], layout=other))


@pytest.mark.parametrize("names", [PLAIN_SINGLE, VIPER_SINGLE], ids=["plain", "viper"])
@pytest.mark.parametrize("floats", ["float64", "float32"])
@given(data=st.data())
@examples(80)
def test_single_precision_floats_give_the_same_booleans(names, floats, data):
    feature_map = data.draw(strategies.feature_maps())
    with np.errstate(over="ignore"):
        rows = data.draw(strategies.raw_rows(feature_map)).astype(np.float32)
    n = feature_map.n_booleans
    model = Model(
        np.arange(n), np.arange(n + 1), np.ones((n, 1), int),
        n_booleans=n, classes=[0], booleanizer=Booleanizer.from_feature_map(feature_map),
    )  # fmt: skip
    board = names["Model"](micropython_tables(model, floats))
    assert [list(board.booleans(row)) for row in rows.tolist()] == model.clause_outputs(rows).tolist()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_words_take_models_of_any_shape(shape):
    model, rows = model_of_shape(0, *shape[:-1], min(shape[-1], 30))  # a clause is written once per vote
    check(WORDS, model, rows, layout="redress")


@pytest.mark.parametrize("names, shape", thinned(["plain", "viper"], SHAPES), ids=str)
def test_runtime_takes_models_of_any_shape(names, shape):
    names = {"plain": PLAIN, "viper": VIPER}[names]
    model, rows = model_of_shape(0, *shape)
    check(names, model, rows)


@pytest.mark.parametrize("names", [PLAIN, VIPER], ids=["plain", "viper"])
def test_runtime_refuses_what_is_wrong(names):
    model, rows = digits()
    board = names["Model"](micropython_tables(model))
    row = rows[0].tolist()
    for bad, words in [
        (row[:-1], "64 features, not 63"),
        ([*row[:9], None, *row[10:]], "feature 9 is missing"),
        ([*row[:9], float("nan"), *row[10:]], "feature 9 is missing"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            board.predict(bad)
        with pytest.raises((ValueError, TypeError), match=words):
            board.predict_many([row, bad])
    model = model_of_shape(1, 20, 2, 10)[0]
    board = names["Model"](micropython_tables(model))
    for bad in ([2] * 20, [0] * 19, b"\2" * 20, b"\1" * 19):
        with pytest.raises(ValueError, match=r"not Boolean|20 features"):
            board.predict(bad)
        with pytest.raises(ValueError, match=r"not Boolean|20 features"):
            board.predict_many([bytes(20), bad])
    # Rows whose lengths are wrong but add up.
    with pytest.raises(ValueError, match="20 features"):
        board.predict_many([bytes(19), bytes(21)])


@given(st.data())
@examples(80)
def test_a_damaged_table_is_refused(data):
    tables = bytearray(micropython_tables(model_of_shape(2, 30, 3, 20)[0]))
    i = data.draw(st.integers(0, len(tables) - 1))
    tables[i] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(ValueError, match=r"damaged|format"):
        PLAIN["Model"](bytes(tables))
