"""Parts of the C: each has a module and a template, and what its template has is used."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from ethereal.export import make_program
from ethereal.export.c99 import parts
from ethereal.export.c99.parts import PARTS
from ethereal.export.c99.parts.part import Part, sections
from ethereal.export.c99.parts.windows import _BY_ANSWER
from random_models import random_model

FOLDER = Path(parts.__file__).parent
PLACES = {"macros", "header", "source", "before", "golden", "test", "readme"}


def test_every_part_has_a_template() -> None:
    templates = {path.name.removesuffix(".c.in") for path in FOLDER.glob("*.in")}
    assert [part.name for part in PARTS] == list(dict.fromkeys(part.name for part in PARTS))
    assert templates == {"classes"} | {part.name for part in PARTS}


def test_a_class_and_a_number_have_the_same_texts() -> None:
    """What depends on the kind of answer is said for both, in the same places."""
    of_classes, of_number = list(sections("classes")), set(sections("number"))
    assert not set(of_classes) - of_number
    alone = of_number - set(of_classes)
    assert alone == {"macros", "macros of an interval", "value", "answer_text"}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_section_has_a_place_or_is_used_by_its_module(part: type[Part]) -> None:
    source = Path(inspect.getfile(part)).read_text()
    if part.name == "number":  # whose other sections stand where those of classes do
        return
    if part.name == "windows":  # some of its sections are for classes and some for numbers
        source += "".join(f'"{which} of {kind}"' for which in _BY_ANSWER for kind in ("classes", "numbers"))
        kinds = [
            ("features", ("windows", "frames")),
            *((one, ("blocks", "sound")) for one in ("history", "take_frame")),
        ]
        source += "".join(f'"{which} of {kind}"' for which, of in kinds for kind in of)
    assert [name for name in sections(part.name) if name not in PLACES and f'"{name}"' not in source] == []


def test_a_plain_program_has_the_check_its_inputs_and_its_names() -> None:
    model, _ = random_model(1)
    assert [part.name for part in make_program(model, "compact").parts] == ["check", "inputs", "names"]
    model = model.with_unknown(2)
    assert [part.name for part in make_program(model, "compact").parts][2] == "unknown"


def test_what_a_part_does_not_say_is_nothing() -> None:
    program = make_program(random_model(1)[0], "compact")
    plain = Part()
    assert {plain.text(place, program) for place in PLACES} == {""}
    assert plain.assumed(program, "") == [[]]
    assert (plain.code_bytes(), plain.ram_bytes(program.options), plain.stack_bytes) == (0, 0, 0)
