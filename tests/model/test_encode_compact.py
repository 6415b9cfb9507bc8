"""The compact code: round trips, bits that must not change, sizes, damaged and hostile streams."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from ethereal import EtherealClassifier, Model
from ethereal.model.clauses import Clauses
from ethereal.model.codes import CodeError, compact, sizes
from ethereal.model.codes.compact import Payload, _Stream
from random_models import random_clauses
from strategies import models_of
from thinned import examples

FORMS = list(itertools.product((1, 2), (False, True)))  # segments, votes_per_clause


def votes_of(clauses):
    """Clauses with their votes, each set of literals once, what never votes left out."""
    hashes = {}
    offsets = clauses.offsets
    for start, end, row in zip(offsets, offsets[1:], clauses.weights.tolist(), strict=False):
        key = tuple(clauses.literals[start:end].tolist())
        before = hashes.get(key, [0] * len(row))
        hashes[key] = [v + w for v, w in zip(before, row, strict=True)]
    return {key: row for key, row in hashes.items() if key and any(row)}


def clauses_of(model):
    return votes_of(model.clauses)


def random_model(rng, n_booleans, n_clauses, n_classes, mean_includes, weights="plain"):
    kind = {"mean_length": mean_includes, "contradictions": True, "heaviest": 15, "zeros": 0.7}
    literals, offsets, votes = random_clauses(rng, n_booleans, n_classes, n_clauses, **kind)
    if weights == "plain":
        votes[:] = 0
        votes[np.arange(n_clauses), np.arange(n_clauses) % n_classes] = rng.choice([-1, 1], n_clauses)
    return Model(literals, offsets, votes, n_booleans=n_booleans, classes=np.arange(n_classes))


@given(models_of(None, max_clauses=12))
@examples(50)
def test_round_trip_in_every_form(model):
    expected = clauses_of(model)
    streams = [_Stream(model.clauses.merged(), *form) for form in FORMS]
    for stream in streams:
        packed = stream.packed()
        assert len(packed.data) == (stream.n_bits + 7) // 8
        back = compact.read_payload(packed, model.n_booleans, model.n_classes)
        assert len(back.weights) == len(expected)
        assert votes_of(back) == expected
        again = Payload.from_choices(packed.data, packed.choices)
        assert again == packed
    assert len(compact.payload(model).data) == min((s.n_bits + 7) // 8 for s in streams)


@given(
    st.integers(1, 9000),
    st.integers(0, 60),
    st.integers(1, 20),
    st.floats(0.1, 80),
    st.sampled_from(["plain", "shared"]),
    st.integers(0, 2**32),
)
@example(9000, 60, 20, 80, "shared", 1)
@example(1, 60, 3, 1, "plain", 2)
@examples(60)
def test_round_trip_of_larger_models(n_booleans, n_clauses, n_classes, mean_includes, weights, seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n_booleans, n_clauses, n_classes, mean_includes, weights)
    back = compact.read_payload(compact.payload(model), n_booleans, n_classes)
    assert votes_of(back) == clauses_of(model)


def test_more_numbers_than_are_written_at_once():
    """Numbers are turned into bits 65,536 at a time."""
    model = random_model(np.random.default_rng(5), 300, 9000, 4, 10, "plain")
    assert model.n_includes > 2**16
    back = compact.read_payload(compact.payload(model), 300, 4)
    assert votes_of(back) == clauses_of(model)


def test_large_weights_take_the_largest_parameter():
    weights = np.where(np.arange(40) % 2, 190, 210)[:, None]
    model = Model(np.arange(40), np.arange(41), weights, n_booleans=20, classes=["x"])
    assert compact.payload(model).weight_parameter == 7


def test_dense_clauses_and_every_clause_there_is():
    n = 4  # all 255 clauses over 8 literals, contradictions among them
    chosen = [c for k in range(1, 2 * n + 1) for c in itertools.combinations(range(2 * n), k)]
    literals = [literal for c in chosen for literal in c]
    offsets = np.cumsum([0, *map(len, chosen)])
    model = Model(literals, offsets, np.ones((len(chosen), 1), int), n_booleans=n, classes=["x"])
    assert votes_of(compact.read_payload(compact.payload(model), n, 1)) == clauses_of(model)


@given(models_of(None, max_clauses=12), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_order_of_clauses_does_not_matter(model, random):
    order = list(range(model.n_clauses))
    random.shuffle(order)
    parts = [model.literals[model.offsets[j] : model.offsets[j + 1]] for j in order]
    shuffled = model.with_clauses(
        np.concatenate([*parts, np.empty(0, np.int32)]),
        np.cumsum([0, *map(len, parts)]),
        model.weights[order],
    )
    assert compact.payload(shuffled) == compact.payload(model)


def test_largest_weights():
    top = 2**31 - 1
    model = Model([0, 1], [0, 1, 2], [[top, 0], [0, -top]], n_booleans=1, classes=["a", "b"])
    assert votes_of(compact.read_payload(compact.payload(model), 1, 2)) == clauses_of(model)


def test_weights_beyond_32_bits_are_refused():
    clauses = Clauses._trusted(np.array([0]), np.array([0, 1]), np.array([[2**31]]), 1)
    for form in FORMS:
        with pytest.raises(CodeError, match="a weight is 2147483648"):
            compact.read_payload(_Stream(clauses, *form).packed(), 1, 1)


def test_bits_stay_as_they_are():
    # docs/codes.md walks through these; devices in the field depend on them.
    model = Model(
        literals=[0, 2, 1, 5, 1, 7, 3],
        offsets=[0, 2, 4, 6, 7],
        weights=[[1, 0], [1, 0], [0, -1], [0, 2]],
        n_booleans=4,
        classes=["no", "yes"],
    )
    bits = {form: _Stream(model.clauses.merged(), *form).packed() for form in FORMS}
    assert {form: (packed.data.hex(), packed.choices) for form, packed in bits.items()} == GOLDEN
    for packed in bits.values():
        assert votes_of(compact.read_payload(packed, 4, 2)) == clauses_of(model)


GOLDEN = {
    (1, False): ("2eff47adcfe5", 0),
    (1, True): ("7d24ed3ea574", 2),
    (2, False): ("5fbfe97bdcef96", 1),
    (2, True): ("76955ea6e7f580", 3),
}


@pytest.mark.parametrize("exclude_every", [None, 1])
def test_size_of_a_trained_machine(exclude_every):
    X, y = load_digits(return_X_y=True)
    clf = EtherealClassifier.paper(
        60, 10, 5.0, epochs=4, exclude_every=exclude_every, validation_fraction=0, random_state=3
    )
    n_bytes = sizes(clf.fit(X, y).model_)
    assert n_bytes["compact"] <= 1.15 * n_bytes["bound"]
    assert n_bytes["compact"] <= 0.55 * n_bytes["redress"]


def test_size_at_the_bound_by_hand():
    # Two clauses of 1 and 2 of 6 literals, one vote of size 1 and one of size 4: 6 * 15 * 8 * 8 ways.
    model = Model([0, 1, 2], [0, 1, 3, 3], [[1], [-4], [1]], n_booleans=3, classes=["x"])
    n_bytes = sizes(model)
    assert n_bytes["bound"] == pytest.approx(np.log2(6 * 15 * 8 * 8) / 8)
    assert n_bytes["redress"] == 2 * (1 + 4 * 2)
    wide = Model([0], [0, 1], [[1]], n_booleans=8193, classes=["x"])
    assert "redress" not in sizes(wide)


EXAMPLE = random_model(np.random.default_rng(5), 40, 30, 3, 6)


@pytest.mark.parametrize("form", FORMS)
def test_every_cut_is_found(form):
    packed = _Stream(EXAMPLE.clauses.merged(), *form).packed()
    for n in range(len(packed.data)):
        with pytest.raises(CodeError):
            compact.read_payload(Payload.from_choices(packed.data[:n], packed.choices), 40, 3)
    with pytest.raises(CodeError, match="bytes follow"):
        compact.read_payload(Payload.from_choices(packed.data + b"\0", packed.choices), 40, 3)


@given(st.sampled_from(FORMS), st.data())
def test_damaged_streams_are_refused_or_valid(form, data):
    packed = _Stream(EXAMPLE.clauses.merged(), *form).packed()
    damaged = bytearray(packed.data)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    choices = data.draw(st.sampled_from([packed.choices, *range(0, 1 << 14, 97)]))
    read_or_refuse(Payload.from_choices(bytes(damaged), choices), 40, 3)


@given(st.binary(max_size=200), st.integers(0, (1 << 14) - 1), st.integers(0, 100), st.integers(1, 9))
def test_noise_is_refused_or_valid(data, choices, n_booleans, n_classes):
    read_or_refuse(Payload.from_choices(data, choices), n_booleans, n_classes)


def read_or_refuse(stream, n_booleans, n_classes):
    """What is read without a complaint must be clauses that a Model accepts."""
    try:
        c = compact.read_payload(stream, n_booleans, n_classes)
    except CodeError:
        return
    Model(c.literals, c.offsets, c.weights, n_booleans=n_booleans, classes=np.arange(n_classes))


@pytest.mark.parametrize("choices", [0, 1, 2, 3])
@pytest.mark.parametrize("filling", [b"\x00", b"\xff", b"\x55", b"\x00\x00\x00\x01\xff"])
def test_hostile_streams_take_little_memory(choices, filling):
    data = filling * 2000  # declares up to 2**32 clauses or literals in a few bytes
    tracemalloc.start()
    try:
        read_or_refuse(Payload.from_choices(data, choices), 2**24, 1000)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_limits(monkeypatch):
    with pytest.raises(CodeError, match=r"\b8388608\b"):
        compact.read_payload(Payload.from_choices(b"\xff" * (2**23 + 1), 0), 1, 1)
    assert compact.MAX_INCLUDES == 8388608
    with pytest.raises(CodeError, match=r"Only 14\b"):
        Payload.from_choices(b"", 1 << 14)
    monkeypatch.setattr("ethereal.model.codes.compact.MAX_INCLUDES", 10)
    with pytest.raises(ValueError, match=r"compact.*\b10\b"):
        compact.payload(EXAMPLE)
    monkeypatch.undo()
    monkeypatch.setattr("ethereal.model.codes.compact.MAX_BYTES", 10)
    with pytest.raises(ValueError, match="At most 10 are written"):
        compact.payload(EXAMPLE)


def test_more_votes_than_memory():
    # One run of all 2000 single literals, for a class of 100,000.
    model = Model(np.arange(2000), np.arange(2001), np.ones((2000, 1), int), n_booleans=1000, classes=["x"])
    with pytest.raises(CodeError, match="2,000 clauses for 100,000 classes"):
        compact.read_payload(compact.payload(model), 1000, 100_000)


@pytest.mark.parametrize("zeros, message", [(36, "ends within a number"), (37, "a number is out of range")])
def test_numbers_of_more_than_32_bits_are_out_of_range(zeros, message):
    data = (1 << (63 - zeros)).to_bytes(8, "big")
    with pytest.raises(CodeError, match=message):
        compact.read_payload(Payload.from_choices(data, 0), 1, 1)
