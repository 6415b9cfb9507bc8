"""Clauses: what every other part takes them for, by a plain definition."""

import copy
import itertools
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethereal.model.clauses import Clauses, decode
from ethereal.model.codes import redress
from reference import clause_fires
from strategies import models, models_of

SOURCES = Path(__file__).parents[2] / "src" / "ethereal"
# Decoding of literals and lengths of clauses, by hand. The offsets in `features` are those of thresholds.
BY_HAND = r"% (max\()?[\w.]*n_booleans|literals? (>=|<) [\w.]*n_booleans|np\.diff\([\w.]*\boffsets\)"
BOOLEAN = models_of(None, max_clauses=8)


def valid(clauses):
    """The same clauses through the constructor, which checks them."""
    again = Clauses(clauses.literals, clauses.offsets, clauses.weights, clauses.n_booleans)
    assert again == clauses
    arrays = clauses.literals, clauses.offsets, clauses.weights
    assert [array.dtype for array in arrays] == [np.int32, np.int64, np.int32]
    assert not any(array.flags.writeable for array in arrays)
    return clauses


@given(models())
def test_literals_by_their_definition(model):
    clauses = valid(model.clauses)
    assert [len(clause.literals) for clause in clauses] == clauses.lengths.tolist()
    assert [j for j, clause in enumerate(clauses) for _ in clause.literals] == clauses.clause.tolist()
    for literal, boolean, negated in zip(clauses.literals, clauses.boolean, clauses.negated, strict=True):
        assert literal == boolean + negated * clauses.n_booleans
        assert 0 <= boolean < clauses.n_booleans
        assert decode(int(literal), clauses.n_booleans) == (boolean, negated)
    assert [clauses[j] for j in range(len(clauses))] == list(clauses) == list(model)


@given(BOOLEAN, st.data())
def test_take(model, data):
    clauses = model.clauses
    order = data.draw(st.lists(st.integers(0, len(clauses) - 1), max_size=10)) if len(clauses) else []
    assert list(valid(clauses.take(order))) == [clauses[j] for j in order]


@given(BOOLEAN, st.integers(0, 8))
def test_concatenate(model, cut):
    clauses, numbers = model.clauses, np.arange(model.n_clauses)
    parts = [clauses.take(numbers[:cut]), clauses.take(numbers[cut:])]
    assert valid(Clauses.concatenate(parts)) == clauses


def test_what_cannot_be_concatenated():
    clauses = Clauses([0], [0, 1], [[1]], n_booleans=1)
    for other in (Clauses([0], [0, 1], [[1]], 2), Clauses([0], [0, 1], [[1, 2]], 1)):
        with pytest.raises(ValueError, match="Booleans and classes agree"):
            Clauses.concatenate([clauses, other])
    with pytest.raises(ValueError, match="Booleans and classes agree"):
        Clauses.concatenate([])
    heavy = Clauses([0], [0, 1], [[2**30]], n_booleans=1)
    with pytest.raises(ValueError, match="overflow 32 bits"):
        Clauses.concatenate([heavy, heavy])


@given(BOOLEAN)
def test_merged(model):
    votes = {}
    for clause, row in zip(model, model.weights.tolist(), strict=True):
        before = votes.get(clause.literals, [0] * len(row))
        votes[clause.literals] = [a + b for a, b in zip(before, row, strict=True)]
    merged = valid(model.clauses.merged())
    votes_of = {clause.literals: row for clause, row in zip(merged, merged.weights.tolist(), strict=True)}
    assert len(votes_of) == len(merged)
    assert votes_of == {literals: row for literals, row in votes.items() if literals and any(row)}
    in_order = dict.fromkeys(clause.literals for clause in model if clause.weights)
    assert list(votes_of) == [literals for literals in in_order if literals in votes_of]
    assert merged.merged() == merged


@given(models())
def test_fires_like_the_reference_and_the_engine(model):
    rows = np.array(list(itertools.product([False, True], repeat=min(model.n_booleans, 4))), dtype=bool)
    rows = np.resize(rows, (16, model.n_booleans))
    expected = [[clause_fires(c.literals, row) for c in model.clauses] for row in rows.tolist()]
    fired = model.clauses.fires(rows)
    assert fired.dtype == bool
    assert fired.tolist() == expected
    assert np.array_equal(fired @ model.weights.astype(np.int64), model._votes(rows))


def test_an_empty_clause_never_fires():
    clauses = Clauses([0], [0, 0, 1, 1], np.ones((3, 1), int), n_booleans=1)
    assert clauses.fires(np.array([[True], [False]])).tolist() == [[False, True, False], [False] * 3]


@given(BOOLEAN, st.randoms(use_true_random=False))
def test_over_other_numbers_of_the_same_booleans(model, random):
    used = sorted({int(b) for b in model.clauses.boolean})
    random.shuffle(used)
    fired = valid(model.clauses.over(np.array(used, dtype=np.int64)))
    able = [clause for clause in model if clause.literals and clause.weights]
    assert [clause.weights for clause in fired] == [clause.weights for clause in able]
    assert [
        sorted(
            used[b] + negated * model.n_booleans
            for b, negated in (decode(x, len(used)) for x in clause.literals)
        )
        for clause in fired
    ] == [list(clause.literals) for clause in able]


@given(BOOLEAN.filter(lambda model: np.abs(model.weights.astype(int)).sum() <= 3000))
def test_redress_words_are_those_that_are_written(model):
    words, counts = redress.words(model)
    assert model.clauses.redress_words().tolist() == counts.tolist()
    assert counts.sum() == len(words)
    per_class = np.zeros(model.n_classes, int)
    for clause in model:
        for c, weight in clause.weights.items():
            per_class[c] += abs(weight) * len(clause.literals)
    assert counts.tolist() == per_class.tolist()


@given(BOOLEAN)
def test_copies(model):
    clauses = model.clauses
    for copied in (copy.deepcopy(clauses), pickle.loads(pickle.dumps(clauses))):
        assert valid(copied) == clauses
        assert hash(copied) == hash(clauses)
    assert clauses != Clauses(clauses.literals, clauses.offsets, clauses.weights, clauses.n_booleans + 1)
    assert clauses != list(clauses)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"literals": [0.5, 1]}, "literals has dtype"),
        ({"literals": [1, 0]}, r"literals.*clause 0\b.*ascending"),
        ({"literals": [0, 4]}, r"literals\[1\].*\b4\b.*\b2 Booleans.*\b0\b.*\b3\b"),
        ({"offsets": [0, 1]}, r"offsets.*ascend.*\b0\b.*\b2\b"),
        ({"weights": [[1], [2]]}, r"weights.*\(2, 1\).*\b1\b.*\b1\b"),
        ({"weights": [[-(2**31)]]}, "overflow 32 bits"),
        ({"n_booleans": 2**25}, "n_booleans is 33554432"),
        ({"meaning": "nor"}, "meaning.*'nor'"),
    ],
)
def test_what_is_wrong_is_refused(change, message):
    parts = {"literals": [0, 1], "offsets": [0, 2], "weights": [[1]], "n_booleans": 2}
    with pytest.raises((ValueError, TypeError), match=message):
        Clauses(**{**parts, **change})


def test_clauses_cannot_be_changed():
    clauses = Clauses([0], [0, 1], [[1]], n_booleans=1)
    with pytest.raises(AttributeError):
        clauses.weights = None
    with pytest.raises(ValueError, match="read-only"):
        clauses.weights[0, 0] = 2


def test_nobody_else_decodes_literals():
    paths = {path.relative_to(SOURCES).as_posix(): path.read_text("utf-8") for path in SOURCES.rglob("*.py")}
    match = [name for name, text in paths.items() if re.search(BY_HAND, text)]
    assert [name for name in match if not name.startswith("features/")] == ["model/clauses.py"]
