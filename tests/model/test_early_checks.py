"""Early answers in the model: what `predict` gives, what files keep, and who refuses them."""

from __future__ import annotations

import copy
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ethereal import Model, export, prune
from ethereal.compress import join, shorten
from ethereal.model.file import ModelFileError, from_file_bytes, to_file_bytes
from ethereal.model.needs import NotSupported
from ethereal.model.output import Check
from random_models import random_model


def with_checks(model: Model, pairs: list[tuple[int, int]]) -> Model:
    names = "n_booleans", "classes", "booleanizer", "typical_rows"
    kept: dict[str, Any] = {name: getattr(model, name) for name in names}
    return Model(model.literals, model.offsets, model.weights, early=pairs, **kept)


def plain_answer(model: Model, x: Any) -> Any:
    """Clause by clause, without numpy's help."""
    fires = model.clause_outputs(x[None])[0]
    sums = [0] * model.n_classes
    checks = dict(model.early)
    for j in range(model.n_clauses):
        if j in checks:
            highest = sorted(sums)[-2:]
            if highest[1] - highest[0] > checks[j]:
                break
        if fires[j]:
            sums = [class_sum + int(vote) for class_sum, vote in zip(sums, model.weights[j], strict=True)]
    return model.classes[sums.index(max(sums))]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 9999), data=st.data())
def test_predict_stops_at_the_first_check_that_is_clear(seed: int, data: st.DataObject) -> None:
    model, X = random_model(seed, n_classes=data.draw(st.integers(2, 5)))
    places = data.draw(st.lists(st.integers(1, model.n_clauses - 1), max_size=3, unique=True).map(sorted))
    early = with_checks(model, [(place, data.draw(st.integers(0, 8))) for place in places])
    assert early.predict(X).tolist() == [plain_answer(early, x) for x in X]
    assert np.array_equal(early.class_sums(X), model.class_sums(X))


def test_files_and_copies_keep_early_answers(tmp_path: Path) -> None:
    model, X = random_model(1)
    early = with_checks(model, [(5, 0), (9, 3)])
    early.save(tmp_path / "m.etm")
    for one in (Model.load(tmp_path / "m.etm"), copy.deepcopy(early), pickle.loads(pickle.dumps(early))):
        assert one == early != model
        assert one.early == (Check(5, 0), Check(9, 3))
        assert one.predict(X).tolist() == early.predict(X).tolist()
    assert early.with_temperature(2.0).early == early.early
    assert early.simplify() is early
    assert (
        early.with_clauses(model.literals, model.offsets, model.weights) == model
    )  # other clauses, no checks
    assert b'format_version\\":2' in to_file_bytes(model)  # older versions read models without early answers
    assert b'format_version\\":4' in to_file_bytes(early)


@pytest.mark.parametrize(
    "wrong", [[[5]], [[5, -1]], [[0, 1]], [[40, 1]], [[9, 1], [5, 1]], [[5, 1.5]], [[5, True]], 7]
)
def test_checks_that_cannot_be_are_refused(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = random_model(1)
    with pytest.raises((ValueError, TypeError)):
        with_checks(model, wrong)
    broken = model._with(early=wrong)
    data = to_file_bytes(broken)
    with pytest.raises(ModelFileError, match="not valid"):
        from_file_bytes(data)


def test_who_does_not_answer_early_says_so(tmp_path: Path) -> None:
    model, X = random_model(1)
    early, y = with_checks(model, [(5, 2)]), model.predict(X)
    uses: list[Any] = [
        lambda: early.to_bytes(),
        lambda: early.explain(X[0]),
        lambda: prune(early, X, y),
        lambda: shorten(early, X),
        lambda: join([model, early]),
        lambda: export.micropython(early, tmp_path / "m"),
    ]
    others = set(export.LAYOUTS) - {"straight"}
    uses += [partial(export.c, early, tmp_path / "c", layout=layout) for layout in sorted(others)]
    for use in uses:
        with pytest.raises(NotSupported, match=r"does not take early answers"):
            use()
    assert early.describe() == model.describe()
