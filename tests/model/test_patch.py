"""Clauses over patches: the engine, rules, files and refusals."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ethereal import Booleanizer, _native
from ethereal.model import Clauses, Model, Patch
from ethereal.model.engine import booleans_of
from ethereal.model.file import ModelFileError, from_file_bytes, to_file_bytes
from random_patches import random_patch_model


def plain_fires(clauses: Clauses, row: np.ndarray) -> list[bool]:
    """Which clauses fire on a row of Booleans, by loops."""
    patch = clauses.patch
    cells = row.reshape(*patch.shape, patch.n_planes)
    fires = [False] * len(clauses)
    for position in product(*map(range, patch.positions)):
        seen = [bool(cells[tuple(np.add(position, place))][plane])
                for place in product(*map(range, patch.size)) for plane in range(patch.n_planes)]  # fmt: skip
        if patch.places:
            seen += [p > k for p, n in zip(position, patch.positions, strict=True) for k in range(n - 1)]
        for j, clause in enumerate(clauses):
            holds = [seen[x] if x < len(seen) else not seen[x - len(seen)] for x in clause.literals]
            fires[j] |= bool(holds) and all(holds)
    return fires


@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_the_engine_fires_as_the_definition_says(seed):
    for model, X in (random_patch_model(seed + i) for i in range(5)):
        booleans = booleans_of(model, X)
        fires = model.clauses.fires(booleans)
        assert fires[0].tolist() == plain_fires(model.clauses, booleans[0])
        for isa in _native.available_isas():
            _native.set_isa(isa)
            assert np.array_equal(model.clause_outputs(X, n_jobs=2), fires), isa
        _native.set_isa("auto")
        sums = fires @ model.weights
        assert np.array_equal(model.class_sums(X), sums)
        packed = np.packbits(booleans, axis=1, bitorder="little")
        assert np.array_equal(model.predict(packed, packed=True), model.classes[sums.argmax(axis=1)])
        assert np.array_equal(model.simplify().class_sums(X), sums)
        assert from_file_bytes(to_file_bytes(model)) == model


def test_images_of_64_by_64_and_long_frames():
    rng = np.random.default_rng(0)
    for patch in (Patch((64, 64), (9, 8), 1, places=True), Patch((500,), (40,), 3)):
        n = patch.n_booleans
        literals = np.sort(rng.integers(2 * n, size=(10, 3)), axis=1) + np.arange(3)
        clauses = Clauses(np.minimum(literals, 2 * n - 3 + np.arange(3)).ravel(), np.arange(0, 31, 3),
                          rng.integers(-3, 4, (10, 2)), n, "and", patch)  # fmt: skip
        X = rng.random((4, patch.n_row_booleans)) < 0.3
        assert np.array_equal(Model.of(clauses, classes=[0, 1]).clause_outputs(X), clauses.fires(X))


def bands(**keywords) -> Model:
    """Frames of two bands: loud in band 0, and 2 frames later not loud in band 1."""
    cell = Booleanizer(thresholds=[[1.5], [3.0]]).fit([[0.0, 0.0]]).feature_map_
    booleanizer = Booleanizer.from_feature_map(cell.replace(
        thresholds=np.tile(cell.thresholds, 5), threshold_offsets=np.arange(11),
        missing=np.zeros(10, bool), is_boolean=np.zeros(10, bool)))  # fmt: skip
    return Model([0, 11], [0, 2], [[2, 0]], n_booleans=6, classes=["yes", "no"], patch=Patch((5,), (3,), 2),
                 booleanizer=booleanizer, feature_names=["low", "high"], **keywords)  # fmt: skip


def test_rules_say_where_and_explanations_say_at_which_frame():
    model = bands()
    assert model.rules()[0].text == "somewhere: low[0] > 1.5 AND high[2] <= 3"
    assert "+2 IF somewhere: low[0] > 1.5" in model.describe()
    row = np.zeros((5, 2))
    row[1, 0] = 2
    explanation = model.explain(row)
    assert explanation.places == {0: ((1,),)}
    assert explanation.changes is None
    assert "(at 1)" in str(explanation)
    row[2, 0] = 2
    assert "(at 1 and 1 more)" in str(model.explain(row[None]))
    assert model.feature_importances().tolist() == [0.5, 0.5]
    assert model.input_names[:3] == ("low[0]", "high[0]", "low[1]")


def test_a_patch_that_does_not_fit_is_refused():
    for shape, size, message in (
        ((3,), (4,), "larger than a row"),
        ((3, 3), (2,), "a length for each axis"),
        ((0,), (1,), r"shape\[0\]"),
        ((3, 3, 3), (1, 1, 1), "one whole number for frames"),
        ((2**20,), (2**20,), "too large"),
    ):
        with pytest.raises(ValueError, match=message):
            Patch(shape, size, 2**10)
    with pytest.raises(ValueError, match="n_booleans is 5"):
        Clauses([], [0], np.zeros((0, 1), int), 5, patch=Patch((3,), (2,), 1))
    with pytest.raises(ValueError, match=r"X has the shape \(1, 4, 2\)"):
        bands().predict(np.zeros((1, 4, 2)))
    with pytest.raises(ValueError, match="other thresholds in some cells"):
        Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"], patch=Patch((2,), (1,), 1),
              booleanizer=Booleanizer(thresholds=[[1.0], [2.0]]).fit([[0.0, 0.0]]))  # fmt: skip


def test_a_damaged_record_of_a_patch_is_refused():
    data = to_file_bytes(bands())
    assert b'\\"format_version\\":7' in data
    broken = data.replace(b'\\"size\\":[3]', b'\\"size\\":[9]')
    with pytest.raises(ModelFileError):
        from_file_bytes(broken)


def test_clauses_keep_their_patch_and_are_not_joined_with_others():
    clauses = bands().clauses
    assert clauses.take([0, 0]).patch == clauses.merged().patch == clauses.patch
    other = Clauses([0], [0, 1], [[1, 0]], 6)
    with pytest.raises(ValueError, match="can be joined"):
        Clauses.concatenate([clauses, other])
    assert clauses != Clauses(clauses.literals, clauses.offsets, clauses.weights, 6)


def test_the_native_engine_checks_what_it_gets():
    parts = np.array([0], np.int32), np.array([0, 1]), np.array([[1]], np.int32)
    for n, numbers in ((2, (1, 3, 1, 1, 1, False)), (1, (1, 3, 1, 4, 1, False)), (0, (1, 3, 1, 0, 1, False))):
        with pytest.raises(ValueError, match="patch"):
            _native.PatchEngine(*parts, n, numbers)
    with pytest.raises(ValueError, match="literals"):
        _native.PatchEngine(np.array([2], np.int32), *parts[1:], 1, (1, 3, 1, 1, 1, False))
    engine = _native.PatchEngine(*parts, 1, (1, 80, 1, 1, 1, False))
    with pytest.raises(ValueError, match="too few words"):
        engine.run_packed(np.zeros((1, 1), np.uint64), np.zeros(1, np.int64))
