"""A model that was pruned to a bound keeps its bound, its chip and its layout until its export."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from sklearn.datasets import load_digits

from ethereal import EtherealClassifier, Model, device, export
from ethereal.export.c99 import choose as choosing
from ethereal.model.deployment import Deployment
from ethereal.model.file import ModelFileError, from_file_bytes, to_file_bytes
from ethereal.tuning import Budget, prune
from old_ranges import with_ranges
from random_models import random_model
from says import says

BOUND = 2400


@pytest.fixture(scope="module")
def pruned():
    X, y = load_digits(return_X_y=True)
    machine = EtherealClassifier.paper(20, 10, epochs=5, booleanizer=4, random_state=3).fit(X, y).model_
    return prune(machine, X, y, budget=Budget(flash=BOUND, target="cortex-m4"))


@pytest.fixture
def bounded():
    """A model with a record, and rows."""
    model, X = random_model(3, n_clauses=150)
    return model.with_deployment(Deployment("cortex-m4", "compact", input="int16", flash=5000)), X


def test_the_export_of_a_pruned_model_keeps_its_bound(pruned, tmp_path):
    X, _ = load_digits(return_X_y=True)
    pruned.model.save(tmp_path / "small.etm")
    model = Model.load(tmp_path / "small.etm")
    assert export.choose(model, target="cortex-m4", layout="auto").layout == "straight"  # which is larger
    program = export.choose(model)
    assert program.layout == pruned.footprint.layout
    measured = device.measure(model, X[:20])
    assert measured.name == pruned.footprint.layout
    assert measured.target == "cortex-m4"
    assert measured.flash_bytes == pruned.footprint.bytes <= BOUND
    export.c(model, tmp_path / "c")
    assert (tmp_path / "c" / f"ethereal_{program.layout}.h").exists()


def test_one_option_of_the_form_replaces_the_recorded_form(bounded):
    model, _ = bounded
    kept = export.choose(model)
    assert (kept.layout, kept.options.target, kept.input.name) == ("compact", "cortex-m4", "int16")
    assert export.choose(model, "auto").layout == "straight"
    assert export.choose(model, flash=100_000).layout == "straight"
    assert export.choose(model, clause_bytes=0).layout == "straight"
    other = export.choose(model, target="cortex-m7", input="float")
    assert (other.layout, other.options.target, other.input.name) == ("compact", "cortex-m7", "float")
    assert export.choose(model, learn="votes", learn_rows=10, margin=10).layout in ("branches", "lists")


def test_an_export_beyond_the_recorded_flash_is_refused_and_a_measurement_is_not(bounded):
    model, X = bounded
    tight = model.with_deployment(Deployment("cortex-m4", "compact", flash=300))
    with pytest.raises(export.ModelTooLarge, match=r"more.*\b300\b"):
        export.choose(tight)
    assert export.choose(tight, "auto").layout == "straight"
    assert device.measure(tight, X[:3]).flash_bytes > 300


def test_without_a_compiler_the_recorded_layout_is_trusted(bounded, monkeypatch):
    def missing(*_, **__):
        raise ModuleNotFoundError("no compiler")

    model, _ = bounded
    monkeypatch.setattr(choosing, "compile_elf", missing)
    tight = model.with_deployment(Deployment("cortex-m4", "compact", flash=300))
    assert export.choose(tight).layout == "compact"


def test_a_model_keeps_the_record_as_long_as_it_has_its_clauses(bounded):
    model, X = bounded
    deployment = model.deployment
    kept = [
        *(model.simplify(), model.with_unknown(2), with_ranges(model, X), model.with_typical_rows(None)),
        *(model.with_temperature(2.0), model.with_feature_names(list("abcdef"))),
        *(copy.deepcopy(model), pickle.loads(pickle.dumps(model)), from_file_bytes(to_file_bytes(model))),
    ]
    assert [other.deployment for other in kept] == [deployment] * len(kept)
    assert model.with_clauses(model.literals, model.offsets, model.weights).deployment is None
    assert model == model.with_deployment(None)


@pytest.mark.parametrize(
    "wrong", [{"flash": -1}, {"flash": "4k"}, {"layout": 3}, {"clause_bytes": 1.5}, {"speed": 1}, [1], 7]
)
def test_a_wrong_record_in_a_file_is_refused(bounded, wrong, monkeypatch):
    class Odd(Deployment):
        def as_dict(self):
            return wrong

    with pytest.raises(ModelFileError, match="not valid"):
        from_file_bytes(to_file_bytes(bounded[0].with_deployment(Odd())))


def test_commands_say_what_a_model_was_pruned_for(bounded, call):
    bounded[0].save("small.etm")
    says(call("inspect", "small.etm").stdout, "pruned", "5,000", "flash", "cortex-m4")
    shown = call("export", "small.etm").stdout
    says(shown, "layout compact", "5,000", "flash", "cortex-m4")
    told = json.loads(call("export", "small.etm", "--layout", "auto", "--force", "--json").stdout)
    assert (told["layout"], told["target"], told["pruned_for"]["flash"]) == ("straight", "cortex-m4", 5000)
    measured = call("measure", "small.etm", "--no-worst").stdout
    assert "pruned for 5,000 bytes" in measured
    assert "straight" not in measured
    both = json.loads(call("measure", "small.etm", "--layout", "all", "--no-worst", "--json").stdout)
    assert {"compact", "straight"} <= {one["name"] for one in both}


def test_measure_ends_with_exit_code_3_beyond_the_recorded_worst_case(bounded, call):
    model = bounded[0].with_deployment(Deployment("cortex-m4", "straight", worst_instructions=20))
    model.save("small.etm")
    assert "20 instructions" in call("measure", "small.etm", code=3).stderr


def test_a_large_model_that_was_not_pruned_gets_the_advice(call):
    model, _ = random_model(3, n_features=20, n_clauses=900)
    model.save("m.etm")
    assert "ethereal prune m.etm" in call("export", "m.etm").stdout
    model.with_deployment(Deployment()).save("m.etm")
    assert "ethereal prune" not in call("export", "m.etm", "--force").stdout
    few = model.with_clauses([0], [0, 1], [[1, 0, 0]])
    few.save("m.etm")
    assert "ethereal prune" not in call("export", "m.etm", "--force").stdout
