"""What a part is, a capability that the C of some models has beside a prediction, and the short parts.

They are the check, what a row may hold, early answers, unknown, what training saw, and names.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.ctext import comment, filled, read, string, unsigned_type, wrap
from ethereal.features.rounding import places_of
from ethereal.model.file import to_file_bytes
from ethereal.model.output import ClassesOrUnknown
from ethereal.model.seen import SLOWNESS

if TYPE_CHECKING:
    from typing import Self

    from ethereal.chips.targets import Target
    from ethereal.export.c99.ctext import Tables
    from ethereal.export.c99.device_rows import NumberType
    from ethereal.export.c99.layouts import CLayout
    from ethereal.export.c99.program import Program
    from ethereal.export.options import ExportOptions
    from ethereal.model import Model


@dataclass
class Draft:
    """What a program will be made of. A part may change it before the clauses are arranged."""

    model: Model
    small: Model  # the model, simplified
    options: ExportOptions
    kind: NumberType
    columns: NDArray[np.intp] | None = None  # features of the given model that are read, None for all
    n_new_classes: int = 0  # that the board is yet to learn
    simplified: Model = field(init=False)  # as it was before any part changed it

    def __post_init__(self) -> None:
        self.simplified = self.small


@dataclass(frozen=True)
class Assumed:
    """Values of a number in a variable that stand for all that it can have, or that take the most.

    They are those before a call, or whenever it is read. Where it is a pointer, `points_to` is a variable.
    """

    variable: str
    values: tuple[int, ...] = ()
    offset: int = 0
    width: int = 0  # bytes, those of the variable if 0
    always: bool = False
    points_to: str = ""


@dataclass(frozen=True)
class Part:
    """A capability of the C. What a part does not say is nothing.

    Its template NAME.c.in has sections, which begin with a line such as `//// source`. `values` fills them.
    These are written where they are: "macros", "header" and "source" of the model, "before" for what
    predictions call, "golden" for data and functions of the self-test, "test" for its lines, and "readme".
    Other sections are the part's own affair.
    """

    name: ClassVar[str] = ""
    includes: ClassVar[tuple[str, ...]] = ()  # headers that its declarations need
    tables: ClassVar[frozenset[str]] = frozenset()  # that a prediction may read
    writes_tables: ClassVar[bool] = False
    stack_bytes: ClassVar[int] = 0  # beside that of a prediction from features, estimated for a Cortex-M
    row_variable: ClassVar[str] = ""  # where `predicts` keeps the features that it makes
    # Functions behind NAME_: those that firmware calls in place of `predict`, those that flash is counted for
    # as well, and those that have a bound of instructions of their own.
    predicts: ClassVar[tuple[str, ...]] = ()
    functions: ClassVar[tuple[str, ...]] = ()
    bounded: ClassVar[tuple[str, ...]] = ()
    # What functions that share a state in RAM do, what learning is called, and what makes it smaller.
    shares_state: ClassVar[str] = ""
    learning_is: ClassVar[str] = ""
    remedy: ClassVar[str] = ""

    @classmethod
    def of(cls, draft: Draft) -> Self | None:
        """Return the part if a program is to have it. What cannot be is refused."""
        raise NotImplementedError

    @classmethod
    def prepared(cls, model: Model, options: ExportOptions) -> Model:
        """Return the model that a program is chosen for, in place of the one that was given."""
        return model

    @classmethod
    def layouts(cls, options: ExportOptions) -> tuple[CLayout, ...]:
        """Return the layouts that it needs, the quickest first."""
        return ()

    def values(self, program: Program) -> dict[str, str]:
        """Return what its template is filled with, beside the name of the model."""
        return {}

    def fills(self, program: Program) -> dict[str, str]:
        """Return what other templates are filled with in place of the usual."""
        if not self.shares_state:
            return {}
        memory = [
            f"No heap, no recursion. RAM: about {program.ram_bytes} bytes of variables.",
            f"  Stack: about {self.stack_of(program)} bytes, estimated for a Cortex-M.",
            f"- All functions that {self.shares_state} share these variables: call them from one task.",
        ]
        note = f"All functions that {self.shares_state} share variables, so call them from one task."
        return {"memory": "\n *  ".join(memory), "tasks_note": note}

    def write_tables(self, out: Tables, options: ExportOptions) -> None:
        """Write its tables and definitions, behind those of the clauses."""

    def section(self, which: str, program: Program, /, **values: str) -> str:
        """Return a section of its template, filled with `values` and the name of the model."""
        return filled(sections(self.name).get(which, ""), named(program) | values)

    def text(self, which: str, program: Program) -> str:
        """Return what it adds to the C under the name of a section."""
        return self.section(which, program, **self.values(program)) if which in sections(self.name) else ""

    def golden(self, program: Program, features: NDArray[Any]) -> dict[str, str]:
        """Return the sections "golden" and "test" of the self-test, whose rows are `features`.

        Whatever else it returns fills templates of projects.
        """
        return {which: self.text(which, program) for which in ("golden", "test")}

    def about(self, program: Program) -> str:
        """Return a sentence that says what answers are like."""
        return ""

    def classes(self) -> list[str]:
        """Return the names of classes that it adds to those of the model."""
        return []

    def answers(self, program: Program) -> list[str]:
        """Return the names of answers that are not classes."""
        return []

    def runtime(self) -> dict[str, str]:
        """Return texts of runtime files that stand beside the model's, by name."""
        return {}

    def beside(self, program: Program) -> dict[str, str | bytes]:
        """Return other files of a project, by path."""
        return {}

    def code_bytes(self) -> int:
        """Return an upper bound of its code on a Cortex-M, where the layout's does not count it."""
        return 0

    def ram_bytes(self, options: ExportOptions) -> int:
        """Return the RAM of its variables."""
        return 0

    def stack_of(self, program: Program) -> int:
        """Return the stack that is told where functions share a state."""
        return program.stack_bytes

    def excess(self, program: Program, chip: Target) -> str:
        """Return why it does not fit a chip, nothing if it does."""
        needed = program.ram_bytes + program.costs.stack_bytes
        if not self.shares_state or needed <= chip.ram_bytes:
            return ""
        return (
            f"{self.learning_is} takes {needed} bytes of RAM, {needed - chip.ram_bytes} more than the "
            f"{chip.ram_bytes} of {chip.name} ({chip.chip}). {self.remedy}"
        )

    def assumed(self, program: Program, function: str) -> list[list[Assumed]]:
        """Return what a bound assumes of variables. The function is followed for each list.

        `function` is one of the `bounded` of any part, or "" for a prediction.
        """
        return [[]]


@functools.cache
def sections(part: str) -> dict[str, str]:
    """Return the sections of a part's template by name. What stands before the first is for readers.

    >>> list(sections("check"))
    ['tables', 'no tables']
    """
    _, *rest = re.split(r"(?m)^//// (.*)\n", read(f"c99/parts/{part}.c.in")) if part else [""]
    return dict(zip(rest[::2], rest[1::2], strict=True))


def named(program: Program) -> dict[str, str]:
    """Return the values that every template may use."""
    return {"name": program.name, "NAME": program.name.upper()}


_ALL_FEATURES = 200  # With more features, those that no clause asks for have no name.
_MOST_FEATURES = 500  # With more that clauses ask for, none has a name: the header would be too long.
_LONGEST = 63  # characters that compilers must tell apart


class Check(Part):
    """Compares a checksum of the tables, once at start-up. Code without tables has nothing to compare."""

    name = "check"
    functions = ("check",)

    @classmethod
    def of(cls, draft: Draft) -> Check:
        return cls()

    def fills(self, program: Program) -> dict[str, str]:
        layout = program.c_layout
        if program.tables.predict_bytes == 0:
            return {"check": self.section("no tables", program).strip(), "checked": "1"}
        check = self.section("tables", program).strip()
        if not layout.has_rows and not layout.learns:  # the others have the checksum in their runtime
            check = f"{read('c99/runtime/crc.h')}\n{check}"
        return {"check": check, "checked": f"{program.name}_check()"}


class Inputs(Part):
    """Finds values that the host refuses to miss, and makes integers of the user's numbers."""

    name = "inputs"

    @classmethod
    def of(cls, draft: Draft) -> Inputs | None:
        return cls() if draft.model.fitted is not None and draft.model.front_end is None else None

    def text(self, which: str, program: Program) -> str:
        if which == "macros" and program.slots.accepts_missing and program.input.ctype != "float":
            return self.section("macros", program, missing=str(program.input.missing))
        if which not in ("header", "source"):
            return ""
        text = self._missing(which, program) if program.slots.refused_features else ""
        text += self._convert(which, program) if program.scales else ""
        return (self.section("bits of a float", program) if "et_float_bits(" in text else "") + text

    def _missing(self, which: str, program: Program) -> str:
        """Return declaration or definition of the function that finds values which must not be missing.

        An integer is missing when it has the number for that. Where no feature may be missing there is no
        such number, so the function looks at the floats that become integers.
        """
        name, refused = program.name, program.slots.refused_features
        is_float = program.input.ctype == "float" or not program.slots.accepts_missing
        is_converted = bool(program.scales) and is_float
        test = f"(features[f] == {name.upper()}_MISSING)"
        if is_float:
            test = "((et_float_bits(features[f]) & 0x7FFFFFFFu) > 0x7F800000u)"
        n_features, table = program.model.n_features, ""
        if len(refused) < n_features:
            flags = np.packbits(np.isin(np.arange(n_features), refused), bitorder="little").tolist()
            listed = wrap(list(map(str, flags)))
            table = self.section("never missing", program, n_flags=str(len(flags)), flags=listed)
            test += " && ((((uint32_t)ET_READ(never[f / 8u]) >> (f % 8u)) & 1u) != 0u)"
        # Learning a row begins with it.
        answers = program.predict_function if program.number else f"{name}_predict"
        is_small = program.learning is not None and is_float and not table
        how = "missing, in few bytes" if is_small else "missing"
        return self.section(
            "missing header" if which == "header" else how,
            program,
            type="float" if is_converted else f"{name}_input",
            when=f"Call it before {name}_convert()." if is_converted else f"Call it before {answers}().",
            table=table,
            test=test,
        )

    def _convert(self, which: str, program: Program) -> str:
        """Return declaration or definition of the function that makes integers of the user's numbers."""
        scales, names = program.scales, program.model.input_names
        notes = [f"   {comment(name)}: {scale.note()}" for name, scale in zip(names, scales, strict=True)]
        if which == "header":
            return self.section("convert header", program, notes="\n".join(notes))
        low = str(scales[0].low)
        values = dict.fromkeys(("float_of", "offsets", "shift"), "")
        if any(scale.offset for scale in scales):
            bits = np.array([scale.offset for scale in scales], dtype=np.float32).view(np.uint32).tolist()
            values["float_of"] = self.section("float of bits", program)
            values["shift"] = self.section("shift", program)
            values["offsets"] = self.section("offsets", program, bits=wrap([f"0x{x:08X}u" for x in bits]))
        return self.section(
            "convert",
            program,
            exponents=wrap([str(scale.exponent) for scale in scales]),
            low=low,
            high=str(scales[0].high),
            missing=f"{program.name.upper()}_MISSING" if program.slots.accepts_missing else low,
            **values,
        )

    def fills(self, program: Program) -> dict[str, str]:
        name, slots, is_float = program.name, program.slots, program.input.ctype == "float"
        nan, note = "", f", as `{program.input.ctype}`"  # the second says what the features on the device are
        if slots.refused_features:
            nan = f" {name}_missing() tells of rows that\n *    the host refuses."
        if is_float and slots.accepts_missing:
            nan = f" A missing value is not a number (NaN).{nan}"
        elif is_float:
            nan = (
                " No value was missing in training, so a value that\n *    is not a number (NaN) counts as "
                f"very large or very small. Call {name}_missing() first."
            )
        if any(scale.exponent or scale.offset for scale in program.scales):
            note += f" that `{name}_convert()` makes of the numbers of the training data"
        if slots.accepts_missing:
            note += f"; a missing value is {'not a number' if is_float else f'`{name.upper()}_MISSING`'}"
        if slots.refused_features:
            note += f"; `{name}_missing()` tells whether one is missing that never was in training"
        return {"nan_note": nan, "input_note": note}


class Early(Part):
    """Answers clear rows after a part of the clauses. The layout "straight" writes the checks."""

    name = "early"

    @classmethod
    def of(cls, draft: Draft) -> Early | None:
        return cls() if draft.model.early else None

    @classmethod
    def prepared(cls, model: Model, options: ExportOptions) -> Model:
        if not options.early:
            return model
        from ethereal.export.c99.early import answering_early

        return answering_early(model, options.rows, options.early, input=options.input)

    def about(self, program: Program) -> str:
        return f"Clear rows are answered early, as by {program.name}.etm."

    def fills(self, program: Program) -> dict[str, str]:
        return {"answer": "return et_early(features);"}

    def beside(self, program: Program) -> dict[str, str | bytes]:
        return {f"{program.name}.etm": to_file_bytes(program.model)}  # which is not the model that was given


@dataclass(frozen=True)
class Unknown(Part):
    """Answers only if a class leads by a margin."""

    name = "unknown"
    output: ClassesOrUnknown

    @classmethod
    def of(cls, draft: Draft) -> Unknown | None:
        output = draft.model.output
        return cls(output) if isinstance(output, ClassesOrUnknown) else None

    def answers(self, program: Program) -> list[str]:
        return [self.output.unknown if isinstance(self.output.unknown, str) else "unknown"]

    def values(self, program: Program) -> dict[str, str]:
        label, margin = comment(self.answers(program)[0]), str(self.output.margin)
        return {"unknown": str(program.model.n_classes), "label": label, "margin": margin}

    def text(self, which: str, program: Program) -> str:
        text = super().text(which, program)
        if which != "before":
            return text
        if program.c_layout.has_rows:
            return f"#if ET_CELLS == 0\n{text}#endif\n"
        return text + super().text("before, in words", program)  # which hold the sums of several classes each

    def fills(self, program: Program) -> dict[str, str]:
        name = program.name.upper()
        return {
            "argmax": "et_answer",
            "best": "et_answer_of",
            "sliced_argmax": self.text("sliced", program).rstrip(),
            "answers": f"answer is a class below {name}_CLASSES, or {name}_UNKNOWN",
            "winner": ", winner",
            "expect": self.text("expect", program).rstrip(),
        }

    def code_bytes(self) -> int:
        return 100  # of the comparison, at most


class Seen(Part):
    """Counts features outside of their range in training, and follows the rates of answers."""

    name = "seen"

    @classmethod
    def of(cls, draft: Draft) -> Seen | None:
        # What training saw of the answers says nothing of classes that are yet to be learned.
        if draft.model.seen is None or draft.options.learns_classes:
            return None
        ranges = draft.model.seen.has_ranges
        if ranges and draft.kind.ctype != "float" and draft.model.front_end is None:
            raise ValueError(
                f"input is {draft.kind.name!r}, but ranges of features are compared as float. Leave the "
                "option out, or take the ranges off with model.with_normal(None)."
            )
        return cls()

    def text(self, which: str, program: Program) -> str:
        has_ranges = program.model.seen is not None and program.model.seen.has_ranges
        of_drift = {"header": "header of drift", "source": "source of drift"}
        if which in of_drift:
            values = self.values(program)
            ranges = self.section(which, program, **values) if has_ranges else ""
            return ranges + self.section(of_drift[which], program, **values)
        return super().text(which, program)

    def values(self, program: Program) -> dict[str, str]:
        seen, is_float = program.model.seen, program.input.ctype == "float"
        assert seen is not None
        kept = np.flatnonzero(np.isfinite(seen.high))
        low, high = (
            _wrapped(places_of(limits[kept]) if is_float else limits[kept].astype(np.int64))
            for limits in (seen.low, seen.high)
        )
        return {
            "limit": str(seen.limit),
            "n": str(len(kept)),
            "index": unsigned_type(max(kept.tolist(), default=0)),
            "which": _wrapped(kept),
            "low": low,
            "high": high,
            "type": "int32_t" if is_float else "int16_t",
            "value": "et_place(features[f])" if is_float else "features[f]",
            "place": self.section("place of a float", program) if is_float else "",
            "is_missing": " && value != INT32_MIN" if is_float else "",
            "answers": str(len(seen.rates)),
            "rates": _wrapped(np.array(seen.rates)),
            "slowness": str(SLOWNESS),
        }


def _wrapped(numbers: NDArray[Any]) -> str:
    return wrap([str(number) for number in numbers.tolist()] or ["0"])


class Names(Part):
    """Macros for the numbers of classes, features and categories, and functions that return their names."""

    name = "names"

    @classmethod
    def of(cls, draft: Draft) -> Names:
        return cls()

    def text(self, which: str, program: Program) -> str:
        if which == "macros":
            used = {f"{program.name}_{word}".upper() for word in _words_of_headers()}
            classes = "" if program.number else _classes(program, used)
            return classes + _features(program, used) + _categories(program, used)
        if which not in ("header", "source") or not program.options.with_names:
            return ""
        named_things = {"class": program.answer_names} if program.answer_names else {}
        named_things["feature"] = list(program.model.input_names)
        return "".join(self._function(which, program, *item) for item in named_things.items())

    def _function(self, which: str, program: Program, what: str, names: list[str]) -> str:
        texts = [f"    static const ET_FLASH char name_{i}[] = {string(x)};\n" for i, x in enumerate(names)]
        listed = wrap([f"name_{i}" for i in range(len(names))])
        size = str(max(len(text.encode()) for text in names) + 1)
        return self.section(which, program, what=what, names="".join(texts), list=listed, size=size)


@functools.cache
def _words_of_headers() -> list[str]:
    """Return what headers define behind the name of the model, whatever parts they have."""
    folder = resources.files("ethereal.export.c99")
    texts = [entry.read_text("utf-8") for entry in (folder / "parts").iterdir() if entry.name.endswith(".in")]
    texts.append(read("c99/templates/model.h.in"))
    return [word for text in texts for word in re.findall(r"(?m)^#define @NAME@_(\w+)", text)]


def _classes(program: Program, used: set[str]) -> str:
    labels = enumerate(program.class_names)
    return "\n/* Classes by name. */\n" + _enum(
        (macro(f"{program.name}_class", label, used), i, label) for i, label in labels
    )


def _features(program: Program, used: set[str]) -> str:
    """Return the places of features in a row. A model of windows computes its features itself."""
    model, asked = program.model, {slot.feature for slot in program.slots.slots}
    if model.normal is not None:
        asked |= set(model.normal.features.tolist())
    if model.front_end is not None:
        return ""
    if len(asked) > _MOST_FEATURES:
        return f"\n/* The features have no names here, because clauses ask for {len(asked)} of them. */\n"
    has_all = model.n_features <= _ALL_FEATURES
    rest = "" if has_all else " No clause asks for the others, which may have any value."
    listed = [(f, name) for f, name in enumerate(model.input_names) if has_all or f in asked]
    unused = " (unused: no clause asks for it)"
    return f"\n/* Features by name: their places in a row.{rest} */\n" + _enum(
        (macro(f"{program.name}_feature", name, used), f, name if f in asked else name + unused)
        for f, name in listed
    )


def _enum(constants: Iterable[tuple[str, int, str]]) -> str:
    """Return an enumeration of names, numbers and notes. C++98 has no comma behind the last."""
    *before, last = [(f"    {name} = {number}", comment(note)) for name, number, note in constants]
    lines = [*(f"{text}, /* {note} */\n" for text, note in before), f"{last[0]} /* {last[1]} */\n"]
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
    words = [_plain(first), _plain(re.sub(r"^-(?=[\d.])", "minus ", text)) or "NO_NAME"]
    name = "_".join(words)[:_LONGEST].rstrip("_")
    numbered = (f"{name[: _LONGEST - len(str(i)) - 1]}_{i}" for i in itertools.count(2))
    name = next(each for each in itertools.chain([name], numbered) if each not in used)
    used.add(name)
    return name


def _plain(text: str) -> str:
    """Return a text in capitals, digits and underscores. Letters lose their accents."""
    ascii_text = normalize("NFKD", text.replace("\u00df", "ss")).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "_", ascii_text).strip("_").upper()
