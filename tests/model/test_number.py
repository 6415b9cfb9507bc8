"""A number as the answer of a model: what it is, what it costs, and who refuses it."""

import copy
import hashlib
import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from safetensors import numpy as safetensors

from ethereal import Model
from ethereal.model import Number
from ethereal.model.file import ModelFileError, from_file_bytes, to_file_bytes
from ethereal.model.needs import NotSupported

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=bool)
NUMBER = Number(scale=2.0**-7, offset=0.1, half_width=0.3, unit="degC", name="temperature")


def model_of(votes, number=NUMBER, **keywords):
    return Model([0, 3], [0, 1, 2], [[vote] for vote in votes], n_booleans=2, output=number, **keywords)


def by_hand(number, total):
    """Return a value in plain float32, one operation after the other."""
    product = np.float32(np.float32(number.scale) * np.float32(total))
    return np.float32(np.float32(number.offset) + product)


@pytest.mark.parametrize("offset", [0.1, -3e4, 1e-9, 0.0])
def test_values_are_those_of_float32(offset):
    number = replace(NUMBER, offset=offset)
    model = model_of([2**24 - 1, -(2**24)], number)
    wanted = [by_hand(number, total) for total in (-(2**24), 0, -1, 2**24 - 1)]
    assert model.class_sums(X)[:, 0].tolist() == [-(2**24), 0, -1, 2**24 - 1]
    assert model.predict(X).dtype == np.float32
    assert model.predict(X).tolist() == wanted
    # A sum that is rounded once, from double precision, is the same: so fused operations are.
    fused = [np.float32(float(np.float32(offset)) + number.scale * total) for total in (-(2**24), -1)]
    assert fused == [wanted[0], wanted[2]]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"scale": 0.3}, r"scale is 0\.3.*Number\.scale_of\(0\.3\), which is 0\.25"),
        ({"scale": -0.5}, "scale is -0.5"),
        ({"scale": 2.0**-101}, "scale is"),
        ({"scale": math.nan}, "scale is nan"),
        ({"offset": math.inf}, "offset is inf"),
        ({"offset": 3e38}, r"offset is 3e\+38"),
        ({"offset": 1e-40}, "offset is 1e-40"),
        ({"half_width": -1.0}, r"half_width is -1\.0"),
        ({"unit": "a\nb"}, r"unit is 'a\\nb'"),
        ({"name": 3}, "name is 3"),
    ],
)
def test_what_is_no_number_is_refused(keywords, message):
    with pytest.raises((ValueError, TypeError), match=message):
        replace(NUMBER, **keywords)


def test_models_refuse_what_makes_no_number():
    with pytest.raises(ValueError, match="may add up to 16,777,216"):
        model_of([2**24, 1])
    with pytest.raises(ValueError, match=r"shape .* A number has votes in one column"):
        Model([0], [0, 1], [[1, 2]], n_booleans=1, output=NUMBER)
    with pytest.raises(TypeError, match="neither classes nor output"):
        Model([0], [0, 1], [[1]], n_booleans=1)
    with pytest.raises(TypeError, match="both classes and output"):
        Model([0], [0, 1], [[1]], n_booleans=1, classes=["y"], output=NUMBER)
    with pytest.raises(TypeError, match="output is 3"):
        Model([0], [0, 1], [[1]], n_booleans=1, output=3)
    with pytest.raises(ValueError, match="no early answers"):
        model_of([1, 2], early=[(1, 3)])


def test_what_belongs_to_classes_is_refused():
    model = model_of([3, -2])
    for what in (lambda: model.classes, lambda: model.output.n_answers):
        with pytest.raises(NotSupported, match="answer of this model is a number"):
            what()
    with pytest.raises(NotSupported, match="with_unknown does not take output of the kind 'number'"):
        model.with_unknown(None)
    with pytest.raises(NotSupported, match="with_normal does not take output of the kind 'number'"):
        model.with_normal(X)
    with pytest.raises(NotSupported, match="predict_proba does not take output of the kind 'number'"):
        model.predict_proba(X)
    with pytest.raises(NotSupported, match="is a class"):
        Model([0], [0, 1], [[1]], n_booleans=1, classes=["y"]).with_number(unit="m")


def test_copies_and_files_keep_the_number():
    model = model_of([3, -2], feature_names=["a", "b"])
    copies = [
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        from_file_bytes(to_file_bytes(model)),
        model.with_clauses(model.literals, model.offsets, model.weights),
        model.with_number(unit="K").with_number(unit="degC"),
    ]
    for one in copies:
        assert one == model
        assert one.output == NUMBER
        assert one.predict(X).tobytes() == model.predict(X).tobytes()
    assert model.with_number(half_width=None) != model
    assert repr(model).startswith("<Model: a number, 2 clauses")


def test_files_of_numbers_have_a_version_of_their_own():
    assert b'format_version\\":5' in to_file_bytes(model_of([3, -2]))
    assert b'format_version\\":2' in to_file_bytes(Model([0], [0, 1], [[1]], n_booleans=1, classes=["y"]))


def test_simplification_keeps_values():
    model = Model([0, 0, 1], [0, 1, 2, 3], [[3], [4], [0]], n_booleans=2, output=NUMBER)
    assert model.simplify().n_clauses == 1
    assert model.simplify().predict(X).tobytes() == model.predict(X).tobytes()


def edited(change):
    """A file of a number whose description a hostile hand changed, with a checksum that fits."""
    blank = to_file_bytes(model_of([3, -2]))
    length = int.from_bytes(blank[:8], "little")
    about = json.loads(json.loads(blank[8 : 8 + length])["__metadata__"]["ethereal"])
    change(about)
    about["sha256"] = "0" * 64
    arrays = {name: np.ascontiguousarray(array) for name, array in safetensors.load(blank).items()}
    data = safetensors.save(arrays, {"ethereal": json.dumps(about, separators=(",", ":"))})
    return data.replace(b"0" * 64, hashlib.sha256(data).hexdigest().encode())


@pytest.mark.parametrize(
    "change",
    [
        lambda about: about.pop("number"),
        lambda about: about.update(number=None),
        lambda about: about.update(number=[1.0]),
        lambda about: about["number"].update(scale=0.3),
        lambda about: about["number"].update(scale="1"),
        lambda about: about["number"].update(offset=1e39),
        lambda about: about["number"].update(half_width=-1),
        lambda about: about["number"].update(unit=["m"]),
        lambda about: about["number"].update(more=1),
        lambda about: about.update(unknown={"margin": 2, "label": None}),
        lambda about: about.update(early=[[1, 2]]),
        lambda about: about.update(format_version=4),
    ],
)
def test_hostile_files_are_refused(change):
    assert from_file_bytes(edited(lambda about: None)) == model_of([3, -2])
    with pytest.raises(ModelFileError):
        from_file_bytes(edited(change))
