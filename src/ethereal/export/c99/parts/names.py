"""Names of classes, features and categories: macros for their numbers, and functions that return them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING
from unicodedata import normalize

from ethereal.export.c99.ctext import comment, string, wrap
from ethereal.export.c99.parts.part import Draft, Part, named

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program

_ALL_FEATURES = 200  # With more features, those that no clause asks for have no name.
_MOST_FEATURES = 500  # With more that clauses ask for, none has a name: the header would be too long.
_LONGEST = 63  # characters that compilers must tell apart


class Names(Part):
    """Macros for the numbers of classes, features and categories, and functions that return their names."""

    name = "names"

    @classmethod
    def of(cls, draft: Draft) -> Names:
        return cls()

    def text(self, which: str, program: Program) -> str:
        if which == "macros":
            used = {f"{program.name}_{word}".upper() for word in _words_of_headers()}
            return _classes(program, used) + _features(program, used) + _categories(program, used)
        if which not in ("header", "source") or not program.options.with_names:
            return ""
        named_things = {"class": program.answer_names, "feature": list(program.model.input_names)}
        return "".join(self._function(which, program, *item) for item in named_things.items())

    def _function(self, which: str, program: Program, what: str, names: list[str]) -> str:
        values = named(program) | {
            "what": what,
            "names": "".join(
                f"    static const ET_FLASH char name_{i}[] = {string(text)};\n"
                for i, text in enumerate(names)
            ),
            "list": wrap([f"name_{i}" for i in range(len(names))]),
            "size": str(max(len(text.encode()) for text in names) + 1),
        }
        return self.section(which, values)


@cache
def _words_of_headers() -> list[str]:
    """Return what headers define behind the name of the model, whatever parts they have."""
    folder = resources.files("ethereal.export.c99")
    texts = [entry.read_text("utf-8") for entry in (folder / "parts").iterdir() if entry.name.endswith(".in")]
    texts += [(folder / "templates" / "model.h.in").read_text("utf-8"), "#define @NAME@_MISSING"]
    return [word for text in texts for word in re.findall(r"(?m)^#define @NAME@_(\w+)", text)]


def _classes(program: Program, used: set[str]) -> str:
    labels = program.class_names
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
