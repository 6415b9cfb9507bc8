"""Names in C for the numbers of classes, features and categories, made of the names that the user gave."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from unicodedata import normalize

from ethereal.export.c99 import learn
from ethereal.export.c99.tables import comment

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program

_ALL_FEATURES = 200  # With more features, those that no clause asks for have no name.
_MOST_FEATURES = (
    500  # With more features that clauses ask for, none has a name: the header would be too long.
)
_LONGEST = 63  # characters that compilers must tell apart
# What headers define beside these names, behind the name of the model.
_TAKEN = (
    "H", "CLASSES", "FEATURES", "VERSION", "LAYOUT", "CHECKSUM", "MISSING", "UNKNOWN", "MARGIN", "AXES",
    "WINDOW", "HOP", "MAJORITY", "NOVEL", "ROWS", "STATE_BYTES", "ENTRY_BYTES", "NOTHING",
)  # fmt: skip


def constants_of(program: Program) -> str:
    """Return the names of a program as lines of its header."""
    used = {f"{program.name}_{word}".upper() for word in _TAKEN}
    return _classes(program, used) + _features(program, used) + _categories(program, used)


def _classes(program: Program, used: set[str]) -> str:
    model = program.model
    labels = learn.answer_names(program)
    del labels[model.n_classes : len(labels) - program.slots.n_new_classes]  # "unknown", which has a macro
    return "\n/* Classes by name. */\n" + _enum(
        (macro(f"{program.name}_class", label, used), i, label) for i, label in enumerate(labels)
    )


def _features(program: Program, used: set[str]) -> str:
    """Return the places of features in a row. A model of windows computes its features itself."""
    model, asked = program.model, {slot.feature for slot in program.slots.slots}
    if model.front_end is not None:
        return ""
    if len(asked) > _MOST_FEATURES:
        return f"\n/* The features have no names here, because clauses ask for {len(asked)} of them. */\n"
    has_all = model.n_features <= _ALL_FEATURES
    rest = "" if has_all else " No clause asks for the others, which may have any value."
    listed = [f for f in range(model.n_features) if has_all or f in asked]
    return f"\n/* Features by name: their places in a row.{rest} */\n" + _enum(
        (
            macro(f"{program.name}_feature", model.input_names[f], used),
            f,
            model.input_names[f] + ("" if f in asked else " (unused: no clause asks for it)"),
        )
        for f in listed
    )


def _enum(constants: Iterable[tuple[str, int, str]]) -> str:
    """Return an enumeration of names, numbers and notes. C++98 has no comma behind the last."""
    each = list(constants)
    lines = [
        f"    {name} = {number}{',' if i < len(each) else ''} /* {comment(note)} */\n"
        for i, (name, number, note) in enumerate(each, 1)
    ]
    return f"enum {{\n{''.join(lines)}}};\n"


def _categories(program: Program, used: set[str]) -> str:
    """Return the numbers of categories as macros, nothing for a model without any."""
    lines = ""
    for feature, names in program.model.categories.items():
        before = f", before {program.name}_convert()" if program.scales else ""
        lines += f"\n/* Values of the feature {comment(feature)}{before}. NaN is any other. */\n"
        for number, text in enumerate(names):
            name = macro(f"{program.name}_{feature}", text, used)
            lines += f"#define {name} {number} /* {comment(text)} */\n"
    return lines


def macro(first: str, text: str, used: set[str]) -> str:
    """Return a name in C that was not used before, made of two texts.

    >>> used = {"M_COLOUR_RED"}
    >>> macro("m_colour", "red", used), macro("m_T (\u00b0C)", "<5", used), macro("m", "gr\u00fcn", used)
    ('M_COLOUR_RED_2', 'M_T_C_5', 'M_GRUN')
    >>> macro("m_class", "-1", used), macro("m_class", "1", used), macro("m_class", "\u65e5\u672c", used)
    ('M_CLASS_MINUS_1', 'M_CLASS_1', 'M_CLASS_NO_NAME')
    """
    plain = re.sub(r"^-(?=[\d.])", "minus ", text)
    words = [_plain(first), _plain(plain) or "NO_NAME"]
    name = "_".join(words)[:_LONGEST].rstrip("_")
    numbered = (f"{name[: _LONGEST - len(str(i)) - 1]}_{i}" for i in itertools.count(2))
    name = next(each for each in itertools.chain([name], numbered) if each not in used)
    used.add(name)
    return name


def _plain(text: str) -> str:
    """Return a text in capitals, digits and underscores. Letters lose their accents."""
    ascii_text = normalize("NFKD", text.replace("\u00df", "ss")).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "_", ascii_text).strip("_").upper()
