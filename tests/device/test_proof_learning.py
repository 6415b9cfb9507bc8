"""Exports that learn are proven by Frama-C, and faults that were put into them are found."""

import shutil
from dataclasses import replace

import pytest

from ethereal.device.proof import Source, prove
from ethereal.export.c99.choose import programs
from ethereal.export.options import ExportOptions
from random_models import random_model
from thinned import few

pytestmark = pytest.mark.skipif(shutil.which("frama-c") is None, reason="frama-c is not installed")
# A line, what stands there instead, and the function whose analysis must notice it.
FAULTS = {
    "class": ("m.c", "et_has_last != 0u && class_ < ET_CLASSES ?", "et_has_last != 0u ?", "learn_last"),
    "row": ("m.c", "if (own->n_rows >= ET_ROWS) {", "if (own->n_rows > ET_ROWS) {", "learn"),
    "spare bits": ("m.c", "#define ET_LAST_BITS 7u", "#define ET_LAST_BITS 255u", "adapt_step"),
}


def small_source(layout, n_classes=3, **options):
    model, X = random_model(1, n_features=3, n_clauses=8, n_classes=n_classes)
    if n := options.get("anchors"):
        options["anchors"] = X[-n:], model.predict(X[-n:])
    given = {"learn": "votes", "learn_rows": 3, "margin": 3, "name": "m", **options}
    every = programs(model, ExportOptions.of("test", given))
    return Source.of(next(program for program, _ in every if program.layout == layout))


@pytest.mark.parametrize(
    "layout, options, function, bits",
    [
        ("branches", {}, "learn", 16),
        pytest.param("branches", {"guard": False}, "adapt_step", 16, marks=pytest.mark.slow),
        pytest.param("branches", {"n_classes": 6}, "adapt_step", 16, marks=pytest.mark.slow),
        pytest.param("lists", {"classes": 1, "anchors": 2}, "adapt_step", 32, marks=pytest.mark.slow),
        ("lists", {"learn": "bias"}, "adapt_step", 16),
        ("branches", {}, "unlearn", 32),
        pytest.param("branches", {"classes": 1, "anchors": 2}, "learn_entry", 16, marks=pytest.mark.slow),
        ("lists", {}, "answer_learned", 32),
    ],
)
def test_a_small_export_that_learns_is_proven(layout, options, function, bits):
    (analysis,) = prove(small_source(layout, **options), functions=[function], int_bits=(bits,))
    assert analysis.is_proven, analysis.findings


@pytest.mark.parametrize("what", few(list(FAULTS), 1))
def test_a_seeded_fault_is_found(what):
    file, old, new, function = FAULTS[what]
    source = small_source("branches")
    assert source.files[file].count(old) == 1
    broken = source.files | {file: source.files[file].replace(old, new)}
    (analysis,) = prove(replace(source, files=broken), functions=[function], int_bits=(32,))
    assert not analysis.is_proven
    assert analysis.findings
