"""The layout "straight": code over features, without tables of its own and without a Booleanized row.

`tree.py` nests the tests and packs the sums. This file estimates what they take, and writes them as C with
the rules as comments.

Questions that compare with the same thresholds are put near each other. A Cortex-M reads the bits of a float
from a pool of constants behind the code, and a constant that is already in reach is not written again. The
order of the questions of a block does not change the sums.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.ctext import Tables, comment
from ethereal.export.c99.device_rows import Slots
from ethereal.export.c99.layouts import FRAMES, Costs, Plan
from ethereal.export.c99.layouts.straight.tree import (
    Asked,
    Block,
    Builder,
    Field,
    Fields,
    If,
    Test,
    Votes,
    make_fields,
    move_votes,
)
from ethereal.features.rounding import round_down
from ethereal.model.output import Number, early_answers, parts_of

_WORD = 1 << 32
# Instructions and bytes on a Cortex-M7, fitted to what twenty pruned models of five data sets take.
_SHORT_TEST, _TEST, _NAN = (3.25, 9.7), (3.9, 13.6), (2.0, 8.0)
_SHORT_VOTE, _LONG_VOTE = (1.0, 3.0), (2.65, 6.4)
_PER_CLASS, _PER_WORD, _ALWAYS = (5.0, 14.0), (3.0, 8.0), (15.0, 40.0)
_PER_CHECK, _CHECK_PER_CLASS = (15.0, 40.0), (7.0, 16.0)
_ROUND_UP = 1.15


@dataclass
class Amount:
    """Instructions that an average row executes, and bytes."""

    instructions: float = 0.0
    bytes: float = 0.0

    def add(self, what: tuple[float, float], share: float = 1.0, times: float = 1.0) -> None:
        """Add code that a share of the rows executes."""
        self.instructions += share * what[0] * times
        self.bytes += what[1] * times


def is_held(constant: int) -> bool:
    """Whether an instruction of a Cortex-M7 holds a constant or its opposite.

    That is so up to twelve bits, or for eight bits anywhere in the word.

    >>> is_held(0xFF000), is_held(-3), is_held(4095), is_held(0x10001), is_held(4097)
    (True, True, True, False, False)
    """
    both = constant % _WORD, -constant % _WORD
    return any(one < 4096 or one >> ((one & -one).bit_length() - 1) < 256 for one in both)


class Estimator:
    """Estimates the code of one model."""

    def __init__(self, slots: Slots, fields: Fields) -> None:
        self._slots = slots
        self._fields = fields
        self._is_float = slots.model.fitted is not None and not slots.scales
        self._accepts_missing = self._is_float and slots.accepts_missing

    def costs(self, parts: Sequence[Block], shares: Sequence[float]) -> Costs:
        """Return what a row takes, if these shares of all rows come to the parts of the code."""
        amount = Amount()
        amount.add(_PER_CLASS, times=len(self._fields.of_class) - self._fields.n_bits)
        amount.add(_PER_WORD, times=self._fields.n_words)
        amount.add(_ALWAYS)
        for part, share in zip(parts, shares, strict=True):
            for item in part.items:
                self._question(item, amount, part.weight / max(share, 1e-9), share)
        for share in shares[:-1]:
            amount.add(self.check, share)
        stack = 4 * self._fields.n_words + FRAMES // 2
        return Costs(amount.instructions, stack, round(_ROUND_UP * amount.bytes))

    @property
    def check(self) -> tuple[float, float]:
        """Instructions and bytes of a check whether the answer is known."""
        n = len(self._fields.of_class)
        return _PER_CHECK[0] + _CHECK_PER_CLASS[0] * n, _PER_CHECK[1] + _CHECK_PER_CLASS[1] * n

    def instructions(self, item: If, rows: float) -> float:
        """Return the instructions of one question."""
        amount = Amount()
        self._question(item, amount, rows, 1.0)
        return amount.instructions

    def _question(self, item: If, amount: Amount, rows: float, share: float) -> None:
        tests = item.asked.tests
        for test in tests:
            rows_per_test = share * item.tests / len(tests)
            amount.add(self._test(test), rows_per_test)
            if self._accepts_missing and test.kind == "above":
                amount.add(_NAN, rows_per_test)
        for side in (item.then, item.otherwise):
            part = side.weight / rows
            for word in self._fields.words(side.votes.tolist()):
                if word:
                    amount.add(_SHORT_VOTE if is_held(word) else _LONG_VOTE, part)
            for inner in side.items:
                self._question(inner, amount, rows, part)

    def _test(self, test: Test) -> tuple[float, float]:
        if self._is_float:
            return _TEST
        scales = self._slots.scales
        threshold = scales[test.feature].threshold(test.threshold) if scales and test.kind == "above" else 0
        return _SHORT_TEST if is_held(threshold) or is_held(threshold + 1) else _TEST


def plan(slots: Slots, rows: Callable[[], NDArray[np.bool_]], max_bytes: int | None) -> Plan:
    """Arrange the clauses of `slots`, in the same way whatever bytes there are."""
    model, typical = slots.model, rows()
    builder = Builder(slots, typical)
    votes = np.cumsum(
        (model.clauses.lengths > 0) & model.weights.any(axis=1)
    )  # the others are not in `slots`
    ends = [0, *(int(votes[check.n_clauses - 1]) for check in model.early), len(slots.clauses)]
    parts = [builder.build(first, last) for first, last in pairwise(ends)]
    fields = make_fields(parts)
    for part in parts:
        move_votes(part, fields)
    costs = Estimator(slots, fields).costs(parts, _shares(slots, typical))

    def write(out: Tables) -> None:
        for part in parts:
            arrange(part)
        Writer(slots, fields).write(out, parts)

    return Plan(write, None, costs)


def _shares(slots: Slots, typical: NDArray[np.bool_]) -> list[float]:
    """Return the share of typical rows that comes to each part."""
    if not slots.model.early:
        return [1.0]
    booleans = slots.every_boolean(typical)
    _, known = early_answers(slots.model, parts_of(slots.model), lambda part: part._votes(booleans))
    return [float((known >= i).mean()) for i in range(len(slots.model.early) + 1)]


_NEAR = 60  # tests between two uses of a constant that share it: loads reach about one kilobyte


def arrange(block: Block, asked: int | None = None) -> None:
    """Order the questions of a block, and of all blocks in it.

    One that begins with the feature that was `asked` for before comes first. That feature need not be read
    again.
    """
    order = near([item.every_test() for item in block.items])
    items = [block.items[i] for i in order]
    block.items = sorted(items, key=lambda item: item.asked.tests[0].feature != asked)
    for item in block.items:
        for side in (item.then, item.otherwise):
            arrange(side, item.asked.tests[0].feature)


def near(keys: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return an order in which each one has as many keys in common with those before it as can be.

    >>> near(["ab", "xy", "bc", "yz"])
    [0, 2, 1, 3]
    """
    users: dict[Hashable, list[int]] = defaultdict(list)
    for i, keys_of_one in enumerate(keys):
        for key in set(keys_of_one):
            users[key].append(i)
    shared = np.zeros(len(keys))  # keys of each one that are near
    order: list[int] = []
    recent: deque[Hashable] = deque()
    uses: Counter[Hashable] = Counter()
    for _ in keys:
        following = int(shared.argmax())
        order.append(following)
        shared[following] = -np.inf
        for key in keys[following]:
            recent.append(key)
            uses[key] += 1
            if uses[key] == 1:
                shared[users[key]] += 1
        while len(recent) > _NEAR:
            key = recent.popleft()
            uses[key] -= 1
            if uses[key] == 0:
                shared[users[key]] -= 1
    return order


_PART = 150  # tests in one function
_LONGEST = 100  # characters of a comment
# Tests of feature f, and of the feature that was read into x because it is asked for again.
_TESTS = {
    "ET_ABOVE(f, t)": "ET_IS_ABOVE(ET_FEATURE(f), t)",
    "ET_X_ABOVE(t)": "ET_IS_ABOVE(x, t)",
    "ET_ABOVE_NEGATIVE(f, t)": "ET_IS_ABOVE_NEGATIVE(ET_FEATURE(f), t)",
    "ET_X_ABOVE_NEGATIVE(t)": "ET_IS_ABOVE_NEGATIVE(x, t)",
    "ET_IS_MISSING(f)": "ET_ABSENT(ET_FEATURE(f))",
    "ET_X_IS_MISSING()": "ET_ABSENT(x)",
    "ET_TRUE(f)": "(ET_FEATURE(f) != 0)",
}


class Writer:
    """Writes the functions of one model."""

    def __init__(self, slots: Slots, fields: Fields) -> None:
        self._slots = slots
        self._fields = fields
        self._n_kept = fields.n_words  # words that are in variables while votes are added
        self._functions: list[str] = []

    def write(self, out: Tables, parts: Sequence[Block]) -> None:
        """Write definitions and functions. There is a check whether the answer is known between two parts."""
        self._define(out, len(parts))
        names = ["et_sum"] if len(parts) == 1 else [f"et_sum_{i}" for i in range(1, len(parts) + 1)]
        self._write_sums(out, names, parts)
        if self._slots.model.output.kind == "classes":
            out.code(function_of("static unsigned et_best(const uint32_t *sums)", self._best()))
        if len(parts) > 1:
            self._write_early(out, [f"{name}(features, sums);" for name in names])
        out.code(function_of("static void et_unpack(const uint32_t *sums, int32_t *votes)", self._unpack()))

    def _define(self, out: Tables, n_parts: int) -> None:
        model, kind = self._slots.model, self._slots.kind
        accepts = model.fitted is not None and self._slots.accepts_missing
        is_float = model.fitted is not None and kind.name == "float"
        out.define("ET_FLOAT_INPUT", int(is_float))
        if is_float:
            out.define("ET_CAN_BE_NAN", int(accepts))
        else:
            out.define("ET_MISSING_IS_HIGHEST", int(accepts and kind.missing > kind.low))
            if accepts:
                out.define("ET_MISSING_VALUE", f"({kind.missing})")
        if n_parts > 1:
            out.define("ET_UNCLEAR", f"{len(self._fields.of_class)}u")
        out.define("ET_WORDS", f"{max(1, self._fields.n_words)}u")

    def _write_sums(self, out: Tables, names: Sequence[str], parts: Sequence[Block]) -> None:
        """Write the functions that add the votes of the parts."""
        offsets = np.array([field.offset for field in self._fields.of_class])
        first = [f"0x{word:08X}u" for word in self._fields.words((offsets + parts[0].votes).tolist())]
        bodies = [self._body(replace(parts[0], votes=np.zeros_like(offsets)), first)]
        bodies += [self._body(part, None) for part in parts[1:]]
        for function in self._functions:
            out.code(function)
        for name, body in zip(names, bodies, strict=True):
            head = f"ET_SMALL static void {name}(const et_input *features, uint32_t *sums)"
            out.code(function_of(head, body))
        for test, meaning in _TESTS.items():
            if re.search(rf"\b{test.split('(')[0]}\(", out.functions):
                out.define(test, meaning)

    def _values(self) -> tuple[str, list[str]]:
        """Return a type, and the sum of each class in it. Sums with one offset compare as they are."""
        is_plain = len({place.offset for place in self._fields.of_class}) == 1
        values = [value_of(field) if is_plain else sum_of(field) for field in self._fields.of_class]
        return "uint32_t" if is_plain else "int32_t", values

    def _best(self) -> list[str]:
        """Return how to find the class with the highest sum, the lower one on a tie."""
        ctype, values = self._values()
        if len(values) == 1:
            return ["(void)sums;", "return 0;"]
        lines = [f"{ctype} most = {values[0]};", f"{ctype} sum;", "unsigned best = 0;", ""]
        for c, value in enumerate(values[1:], 1):
            lines += [f"sum = {value};", "if (sum > most) {", "    most = sum;", f"    best = {c};", "}"]
        del lines[-3]  # nothing is compared with the last
        return [*lines, "return best;"]

    def _clear(self) -> list[str]:
        """Return how to find the class that is ahead by more votes than a margin."""
        ctype, values = self._values()
        if len(values) == 1:
            return ["(void)sums;", "(void)margin;", "return ET_UNCLEAR;"]
        lines = [f"{ctype} most = {values[0]};", f"{ctype} next = {values[1]};", f"{ctype} sum;",
                 "unsigned best = 0;", "", "if (next > most) {", "    sum = most;", "    most = next;",
                 "    next = sum;", "    best = 1;", "}"]  # fmt: skip
        for c, value in enumerate(values[2:], 2):
            lines += [f"sum = {value};", "if (sum > most) {", "    next = most;", "    most = sum;",
                      f"    best = {c};", "} else if (sum > next) {", "    next = sum;", "}"]  # fmt: skip
        return [*lines, "return (uint32_t)(most - next) > margin ? best : ET_UNCLEAR;"]

    def _write_early(self, out: Tables, calls: Sequence[str]) -> None:
        """Write how to answer a row part by part, until it is clear."""
        out.code(function_of("static void et_sum(const et_input *features, uint32_t *sums)", calls))
        head = "static unsigned et_clear(const uint32_t *sums, uint32_t margin)"
        out.code(function_of(head, self._clear()))
        lines = ["uint32_t sums[ET_WORDS];", "unsigned best;", ""]
        for call, check in zip(calls[:-1], self._slots.model.early, strict=True):
            clear = f"best = et_clear(sums, {check.margin}u);"
            lines += [call, clear, "if (best != ET_UNCLEAR)", "    return best;"]
        lines += [calls[-1], "return et_best(sums);"]
        out.code(function_of("static unsigned et_early(const et_input *features)", lines))

    def _unpack(self) -> list[str]:
        lines = [f"votes[{c}] = {sum_of(field)};" for c, field in enumerate(self._fields.of_class)]
        return lines if self._fields.n_words else ["(void)sums;", *lines]

    def _body(self, code: Block, first: Sequence[str] | None) -> list[str]:
        """Return the function of some clauses, whose words begin with `first` or with what is in them."""
        if self._fields.n_words == 0:
            return ["(void)features;", "sums[0] = 0;"]
        if code.n_tests > _PART:
            return [*(f"sums[{w}] = {number};" for w, number in enumerate(first or ())), *self._parts(code)]
        unused = [] if code.n_tests else ["(void)features;"]
        return [*self._with_words(first or self._words, code), *unused]

    def _parts(self, block: Block, read: int | None = None) -> list[str]:
        """Write the functions of a block, and return the lines that call them."""
        lines, n_tests = self._votes(block.votes, "sums[{}]"), 0
        group: list[If] = []
        for item in block.items:
            if group and n_tests + item.n_tests > _PART:
                lines.append(self._function(group))
                group, n_tests = [], 0
            if item.n_tests > _PART and item.asked.how == "test":
                lines += self._question(item, self._parts, None)
                continue
            group.append(item)
            n_tests += item.n_tests
        if group:
            lines.append(self._function(group))
        return lines

    def _function(self, items: Sequence[If]) -> str:
        """Write a function for some questions, and return its call."""
        name = f"et_part_{len(self._functions) + 1}"
        code = Block(0, np.zeros(len(self._fields.of_class), np.int64), list(items))
        body = self._with_words(self._words, code)
        self._functions.append(function_of(f"ET_PART {name}(const et_input *features, uint32_t *sums)", body))
        return f"{name}(features, sums);"

    @property
    def _words(self) -> list[str]:
        return [f"sums[{w}]" for w in range(self._fields.n_words)]

    def _with_words(self, first: Sequence[str], code: Block) -> list[str]:
        """Return code with the words in variables, which begin with `first`."""
        kept = range(self._n_kept)
        lines = [f"uint32_t s{w} = {first[w]};" for w in kept]
        inside = self._inner(code, None)
        if any(line.lstrip().startswith("x = ") for line in inside):
            lines.append("et_number x; /* a feature that is asked for again */")
        others = range(self._n_kept, len(first)) if first != self._words else ()
        lines += ["", *(f"sums[{w}] = {first[w]};" for w in others), *(f"ET_HIDE(s{w});" for w in kept)]
        return [*lines, *inside, "", *(f"sums[{w}] = s{w};" for w in kept)]

    def _inner(self, block: Block, read: int | None) -> list[str]:
        """Return votes, and questions one after the other. The first of them finds feature `read` in x."""
        lines = self._votes(block.votes, "s{}")
        for item in block.items:
            lines += self._question(item, self._inner, read)
            read = None
        return lines

    def _question(
        self, item: If, inside: Callable[[Block, int | None], list[str]], read: int | None
    ) -> list[str]:
        """Return a question. A feature that is asked for again at once is read into x."""
        feature = item.asked.tests[0].feature
        lines = []
        if read != feature:
            read = feature if self._is_read_again(item) else None
            lines += [] if read is None else [f"x = ET_FEATURE({feature});"]
        then, otherwise = (inside(side, read) for side in (item.then, item.otherwise))
        if not then and not otherwise:
            return []
        asked = item.asked
        if not then:
            asked, then, otherwise = opposite(asked), otherwise, []
        lines += [f"if ({self._condition(asked, read)}) {{ /* {self._meaning(asked)} */"]
        lines += [f"    {line}" for line in then] + ["} else {"] * bool(otherwise)
        return [*lines, *(f"    {line}" for line in otherwise), "}"]

    def _is_read_again(self, item: If) -> bool:
        """Whether the first feature of a question is asked for again in it, or at once after it."""
        if item.n_tests > _PART:  # what follows may be in other functions
            return False
        first, *rest = item.asked.tests
        rest += [side.items[0].asked.tests[0] for side in (item.then, item.otherwise) if side.items]
        return any(test.feature == first.feature for test in rest)

    def _votes(self, votes: Votes, word: str) -> list[str]:
        lines = []
        for w, amount in enumerate(self._fields.words(votes.tolist())):
            if amount == 0:
                continue
            here = (c for c, place in enumerate(self._fields.of_class) if place.bits and place.word == w)
            notes = [self._voted(c, int(votes[c])) for c in here if votes[c]]
            less = (1 << 32) - amount
            how, size = ("SUBTRACT", less) if less.bit_count() < amount.bit_count() else ("ADD", amount)
            note = comment(", ".join(notes))[:_LONGEST]
            place_of_word = word.format(w) if w < self._n_kept else f"sums[{w}]"
            lines.append(f"ET_{how}({place_of_word}, 0x{size:X}u); /* {note} */")
        return lines

    def _voted(self, c: int, votes: int) -> str:
        """Return votes and what they are for, for readers."""
        output = self._slots.model.output
        return output.amount(votes) if isinstance(output, Number) else f"{votes:+d} {output.labels[c]}"

    def _condition(self, asked: Asked, read: int | None) -> str:
        if asked.test is not None:
            text = self._test(asked.test, read)
            return f"!{text}" if asked.how == "not" else text
        parts = [(self._condition(part, read), part.parts) for part in asked.parts]
        sign = " && " if asked.how == "all" else " || "
        return sign.join(f"({text})" if inner else text for text, inner in parts)

    def _test(self, test: Test, read: int | None) -> str:
        """Return a test as C. Feature `read` is in x."""
        f = test.feature
        if test.kind == "true":
            return f"ET_TRUE({f})"
        x, place = ("X_", "") if f == read else ("", f"{f}, ")
        if test.kind == "missing":
            return f"ET_{x}IS_MISSING({place.rstrip(', ')})"
        if self._slots.scales:
            return f"ET_{x}ABOVE({place}{self._slots.scales[f].threshold(test.threshold)})"
        bits = _float_bits(test.threshold)
        return f"ET_{x}ABOVE{'_NEGATIVE' if bits >> 31 else ''}({place}0x{bits:08X}u)"

    def _meaning(self, asked: Asked) -> str:
        """Return a condition for readers."""
        if asked.test is None:
            text = (" and " if asked.how == "all" else " or ").join(map(self._meaning, asked.parts))
            return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
        name, is_not = self._slots.model.input_names[asked.test.feature], asked.how == "not"
        if asked.test.kind == "missing":
            return comment(f"{name} is {'not ' if is_not else ''}missing")
        if asked.test.kind == "true":
            return comment(f"{'not ' if is_not else ''}{name}")
        return comment(f"{name} {'<=' if is_not else '>'} {asked.test.threshold:.9g}")


@lru_cache(maxsize=1 << 14)
def _float_bits(threshold: float) -> int:
    return int(round_down([threshold]).view(np.uint32)[0])


def opposite(asked: Asked) -> Asked:
    """Return the condition that holds when `asked` does not."""
    other = {"test": "not", "not": "test", "all": "any", "any": "all"}[asked.how]
    return Asked(other, asked.test, tuple(map(opposite, asked.parts)))  # type: ignore[arg-type]


def value_of(field: Field) -> str:
    """Return what is in a field, as C.

    >>> value_of(Field(0, 8, 6, 0)), value_of(Field(1, 20, 12, 0)), value_of(Field(0, 0, 0, 5))
    ('((sums[0] >> 8) & 0x3Fu)', '(sums[1] >> 20)', '5u')
    """
    if field.bits == 0:
        return f"{field.offset}u"
    text = f"(sums[{field.word}] >> {field.shift})" if field.shift else f"sums[{field.word}]"
    return text if field.shift + field.bits == 32 else f"({text} & 0x{(1 << field.bits) - 1:X}u)"


def sum_of(field: Field) -> str:
    """Return the sum of a class, as C."""
    if field.bits == 0:
        return "0"
    return f"et_votes_of({value_of(field)})" + (f" - {field.offset}" if field.offset else "")


def function_of(head: str, lines: Sequence[str]) -> str:
    """Return a function of these lines."""
    text = "\n".join(f"    {line}" if line else "" for line in lines)
    return f"{head}\n{{\n{text}\n}}\n"
