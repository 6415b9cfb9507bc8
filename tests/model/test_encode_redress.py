"""REDRESS words against plain references: an encoder in loops and a scan as a board does it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethereal import Model
from ethereal.model.codes import CodeError, redress
from foreign_words import foreign_machine, scan, toggled_on_empty_clauses
from strategies import models_of


def reference_words(model):
    """Words and counts by the definition, one include at a time."""
    words, counts = [], []
    for c in range(model.n_classes):
        start, toggle = len(words), 0
        for clause in model:
            weight = clause.weights.get(c, 0) if clause.literals else 0
            for _ in range(abs(weight)):
                for literal in clause.literals:
                    negated = literal >= model.n_booleans
                    index = literal - model.n_booleans * negated
                    words.append((weight < 0) << 15 | toggle << 14 | index << 1 | negated)
                toggle ^= 1
        counts.append(len(words) - start)
    return words, counts


def plain(model):
    """The clauses as a multiset of (literals, class, +-1)."""
    return sorted(
        (clause.literals, c, 1 if w > 0 else -1)
        for clause in model
        for c, w in clause.weights.items()
        for _ in range(abs(w))
        if clause.literals
    )


def small_weights(model):
    return np.abs(model.weights.astype(int)).sum() <= 200


@given(models_of(None).filter(small_weights), st.randoms(use_true_random=False))
def test_words_are_those_of_the_definition_and_vote_alike(model, random):
    words, counts = redress.words(model)
    assert words.dtype == np.uint16
    assert (words.tolist(), counts.tolist()) == reference_words(model)
    rows = np.array([[random.random() < 0.5 for _ in range(model.n_booleans)] for _ in range(5)], dtype=bool)
    sums = model.class_sums(rows)
    for row, expected in zip(rows, sums.tolist(), strict=True):
        assert scan(words.tolist(), counts.tolist(), row) == expected
    back = redress.read_words(words, counts, n_booleans=model.n_booleans, classes=model.classes)
    assert plain(back) == plain(model)
    assert np.array_equal(back.class_sums(rows), sums)
    again = redress.read_text(*redress.write_text(model), n_booleans=model.n_booleans, classes=model.classes)
    assert again == back


def test_empty_clauses_do_not_merge_their_neighbours():
    # An encoder that flips the toggle on the empty clause gives its neighbours the same one.
    model = Model([0, 1], [0, 1, 1, 2], [[1], [1], [1]], n_booleans=2, classes=["x"])
    words, counts = redress.words(model)
    assert words.tolist() == [0, 1 << 14 | 1 << 1]
    assert [c.literals for c in redress.read_words(words, counts)] == [(0,), (1,)]


def test_each_class_starts_a_new_run_and_the_last_clause_counts():
    words, counts = [0 << 1, 1 << 1, 2 << 1], [1, 1, 1]
    assert [dict(c.weights) for c in redress.read_words(words, counts)] == [{0: 1}, {1: 1}, {2: 1}]
    # A class without words in between changes nothing.
    assert [dict(c.weights) for c in redress.read_words(words, [1, 0, 2])] == [{0: 1}, {2: 1}]


def test_most_booleans():
    for n in (8192, 8193):
        model = Model([n - 1, 2 * n - 1], [0, 1, 2], [[1], [-1]], n_booleans=n, classes=["x"])
        if n == 8192:
            words, counts = redress.words(model)
            assert words.tolist() == [0x3FFE, 0xFFFF]
            assert plain(redress.read_words(words, counts)) == plain(model)
        else:
            with pytest.raises(ValueError, match=r"takes.*\b8192 Booleans.*\b8193\b"):
                redress.words(model)


def test_weights_that_would_be_written_without_end_are_refused():
    model = Model([0], [0, 1], [[2**30]], n_booleans=1, classes=["x"])
    with pytest.raises(ValueError, match="1073741824 REDRESS words"):
        redress.words(model)


def test_no_clauses():
    model = Model([], [0], np.zeros((0, 2), int), n_booleans=0, classes=["x", "y"])
    words, counts = redress.words(model)
    assert len(words) == 0
    assert redress.read_words(words, counts, classes=["x", "y"]) == model


def test_foreign_order_and_repeated_literals():
    model = redress.read_words([3 << 1, 1, 1, 3 << 1 | 1 << 14], [4])
    assert [c.literals for c in model] == [(3, 4), (3,)]


@pytest.mark.parametrize(
    "words, counts, keywords, message",
    [
        ([0, 2, 4], [2], {}, r"adds.*\b2\b.*\b3\b"),
        ([0, 2], [3], {}, r"adds.*\b3\b.*\b2\b"),
        ([0, 10], [2], {"n_booleans": 5}, r"word 1 \(10\).*Boolean 5\b.*\b5\b"),
        ([0, 0x8000], [2], {}, r"word 1 \(32768\)"),
        ([0, 65536], [2], {}, r"words\[1\] is 65536"),
        ([0, -1], [2], {}, r"words\[1\] is -1"),
        ([0.5], [1], {}, "list of integers"),
        ([[0]], [1], {}, r"shape \(1, 1\)"),
        ([0], [-1, 2], {}, r"includes_per_class\[0\] is -1"),
        ([0], [2**40], {}, r"includes_per_class\[0\] is 1099511627776"),
    ],
)
def test_bad_words(words, counts, keywords, message):
    with pytest.raises(CodeError, match=message):
        redress.read_words(words, counts, **keywords)


def test_a_change_of_polarity_is_explained():
    # +{x0}, an empty clause that flipped the toggle too, and -{x1}; before them class 0 with one word.
    with pytest.raises(CodeError) as caught:
        redress.read_words([0, 0, 1 << 15 | 1 << 1], [1, 2])
    message = str(caught.value)
    for part in (
        "word 2 (32770)",
        "of class 1",
        "Bit 15",
        "bit 14",
        "empty clauses",
        "lenient=True",
        "lenient=True",
    ):
        assert part in message


@pytest.mark.parametrize("seed", range(20))
def test_words_of_an_encoder_that_toggles_on_empty_clauses(seed):
    """Lenient reading gives the sums of the plain decoder. Strict reading does, or refuses mixed polarity."""
    machine, n = foreign_machine(seed)
    words, counts = toggled_on_empty_clauses(machine, n)
    rows = np.random.default_rng(seed).random((50, n)) < 0.5
    wanted = [scan(words, counts, row) for row in rows]
    assert redress.read_words(words, counts, n_booleans=n, lenient=True).class_sums(rows).tolist() == wanted
    if is_mixed(words, counts):
        with pytest.raises(CodeError, match="lenient=True"):
            redress.read_words(words, counts, n_booleans=n)
    else:
        assert redress.read_words(words, counts, n_booleans=n).class_sums(rows).tolist() == wanted


def is_mixed(words, counts):
    """Whether two neighbours in a class differ in polarity, but not in their toggle."""
    ends = np.cumsum(counts).tolist()
    return any(
        i not in ends and words[i] >> 15 != words[i - 1] >> 15 and (words[i] ^ words[i - 1]) >> 14 & 1 == 0
        for i in range(1, len(words))
    )


def test_foreign_machines_are_of_both_kinds():
    kinds = {is_mixed(*toggled_on_empty_clauses(*foreign_machine(seed))) for seed in range(20)}
    assert kinds == {True, False}


def test_many_clauses_in_foreign_order(monkeypatch):
    """Clauses are sorted in pieces; the pieces fit together."""
    monkeypatch.setattr(redress, "_RANK_BITS", 31)  # two clauses in a piece
    rng = np.random.default_rng(0)
    literals = [rng.integers(0, 5, 4) for _ in range(9)]
    words = np.concatenate([w << 1 | (j % 2) << 14 for j, w in enumerate(literals)])
    model = redress.read_words(words, [12, 0, 24])
    assert [c.literals for c in model] == [tuple(np.unique(w).tolist()) for w in literals]
    assert [dict(c.weights) for c in model] == [{0: 1}] * 3 + [{2: 1}] * 6


def test_more_votes_than_memory():
    n = 10_000
    toggles = np.arange(n) % 2 << 14
    with pytest.raises(CodeError, match="10,000 clauses for 10,000 classes"):
        redress.read_words(toggles, [n] + [0] * (n - 1))


@pytest.mark.parametrize("line", ["12x", "-1", "1 2", "0x10", "1.5", "٣", "9" * 5000, "70000"])
def test_bad_text(line):
    with pytest.raises(CodeError):
        redress.read_text(f"0\n\n{line}\n", "2\n")
    with pytest.raises(CodeError):
        redress.read_text("0\n0\n", f"{line}\n")


def test_text_with_counts_as_numbers_and_empty_lines():
    model = redress.read_text("\n 0 \r\n16386\n\n", [1, 1], classes=["a", "b"])
    assert [(c.literals, dict(c.weights)) for c in model] == [((0,), {0: 1}), ((1,), {1: 1})]
