"""Compare many models with their exported C on this computer: hundreds of programs in one executable.

Every program answers every row. Class sums, the class of a row and of a batch, and the integers that
NAME_convert() makes of a row must be the host's. A model that a program cannot hold must be refused by name.
"""

from __future__ import annotations

import math
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ethereal import Model
from ethereal.export import LAYOUTS
from ethereal.export.c99.choose import programs
from ethereal.export.c99.device_rows import NUMBER_TYPES
from ethereal.export.c99.program import Program, make_program
from ethereal.export.options import ExportOptions
from ethereal.model import Number
from ethereal.model.engine import booleans_of
from ethereal.model.output import LinearNumber
from kept_builds import build
from odd_models import odd_model

INPUTS = tuple(NUMBER_TYPES)
LEARNING = ("branches", "lists")  # layouts of exports that learn, whose sums are sixteenths of a vote
FLAGS = {"plain": ("-O0",), "fast math": ("-O1", "-ffast-math")}
MOST_WORDS = 3000  # of the layout "redress", which repeats a clause for every vote

# A program reads rows as the user has them: floats, or bytes for Boolean input.
_DRIVER = """
#include <stdio.h>
#include <string.h>

static void get(void *to, size_t size)
{
    if (fread(to, 1, size, stdin) != size)
        memset(to, 0, size);
}

#define RUN(name, NAME, n_rows, given, CONVERT) \\
    static void run_##name(void) \\
    { \\
        static given rows[n_rows * NAME##_FEATURES]; \\
        static name##_input read[n_rows * NAME##_FEATURES]; \\
        static uint16_t batch[n_rows]; \\
        unsigned r, f; \\
        get(rows, sizeof rows); \\
        for (r = 0; r < n_rows; r++) { \\
            CONVERT(name, &rows[r * NAME##_FEATURES], &read[r * NAME##_FEATURES], NAME##_FEATURES) \\
        } \\
        name##_predict_batch(read, n_rows, batch); \\
        for (r = 0; r < n_rows; r++) { \\
            int32_t out[NAME##_CLASSES + 3 + NAME##_FEATURES]; \\
            out[0] = (int32_t)name##_predict(&read[r * NAME##_FEATURES]); \\
            out[1] = batch[r]; \\
            out[2] = name##_check_all(); \\
            name##_class_sums(&read[r * NAME##_FEATURES], &out[3]); \\
            for (f = 0; f < NAME##_FEATURES; f++) \\
                out[3 + NAME##_CLASSES + f] = WHOLE_##CONVERT(read[r * NAME##_FEATURES + f]); \\
            fwrite(out, sizeof out, 1, stdout); \\
        } \\
    }
#define RUN_NUMBER(name, NAME, n_rows, given, CONVERT) \\
    static void run_##name(void) \\
    { \\
        static given rows[n_rows * NAME##_FEATURES]; \\
        static name##_input read[n_rows * NAME##_FEATURES]; \\
        unsigned r, f; \\
        get(rows, sizeof rows); \\
        for (r = 0; r < n_rows; r++) { \\
            int32_t out[3 + NAME##_FEATURES]; \\
            float value; \\
            CONVERT(name, &rows[r * NAME##_FEATURES], &read[r * NAME##_FEATURES], NAME##_FEATURES) \\
            value = name##_value(&read[r * NAME##_FEATURES]); \\
            out[0] = name##_sum(&read[r * NAME##_FEATURES]); \\
            memcpy(&out[1], &value, sizeof value); \\
            out[2] = name##_check_all(); \\
            for (f = 0; f < NAME##_FEATURES; f++) \\
                out[3 + f] = WHOLE_##CONVERT(read[r * NAME##_FEATURES + f]); \\
            fwrite(out, sizeof out, 1, stdout); \\
        } \\
    }
#define AS_IT_IS(name, from, to, n) memcpy(to, from, n * sizeof(*to));
#define CONVERTED(name, from, to, n) name##_convert(from, to);
#define WHOLE_AS_IT_IS(x) 0
#define WHOLE_CONVERTED(x) (int32_t)(x)
"""


@dataclass
class Comparison:
    """What was compared."""

    n_models: int = 0
    n_programs: int = 0
    n_answers: int = 0  # rows times programs
    refused: Counter[str] = field(default_factory=Counter)
    rounded: int = 0  # programs whose integers are coarser than the thresholds, of which the export warns
    differences: list[str] = field(default_factory=list)

    def add(self, other: Comparison) -> None:
        """Add what another one found."""
        self.n_models += other.n_models
        self.n_programs += other.n_programs
        self.n_answers += other.n_answers
        self.rounded += other.rounded
        self.refused.update(other.refused)
        self.differences += other.differences

    def __str__(self) -> str:
        refused = "".join(f"\n  {n:,} programs: {why}" for why, n in self.refused.most_common())
        return (
            f"{self.n_models:,} models, {self.n_programs:,} programs, {self.n_answers:,} answers, "
            f"{len(self.differences):,} programs that differ\n"
            f"{self.rounded:,} programs with integers that are coarser than the thresholds\nrefused by name:"
            f"{refused or ' none'}"
        )


@dataclass(frozen=True)
class _Case:
    """One program, its rows and what it must answer."""

    told: str  # the seed, layout and input
    program: Program
    sent: bytes
    expected: NDArray[
        np.int32
    ]  # rows x (class, batch, check, sums, integers) or (sum, bits, check, integers)

    @property
    def text(self) -> str:
        name, n_rows = self.program.name, len(self.expected)
        how = "CONVERTED" if self.program.scales else "AS_IT_IS"
        given = "uint8_t" if self.program.model.fitted is None else "float"
        header = self.program.files[f"{name}.h"]
        run = "RUN_NUMBER" if self.program.number else "RUN"
        return f"{header}\n{run}({name}, {name.upper()}, {n_rows}u, {given}, {how})\n"


def compare(
    seeds: Iterable[int],
    folder: Path,
    *,
    flags: Iterable[str] = FLAGS,
    cover: Literal["few", "layouts", "all"] = "layouts",
    keep: bool = True,
) -> Comparison:
    """Compare the models of `seeds`.

    A model has every layout with every number type ("all"), each layout with another one ("layouts"),
    or the layout "straight" and one more ("few"). With `keep` the executable is kept for the next time.
    """
    comparison, cases = Comparison(), []
    for seed in seeds:
        model, rows = odd_model(seed)
        comparison.n_models += 1
        _check_host(model, rows, seed, comparison)
        others = [layout for layout in (*LAYOUTS, *LEARNING) if layout != "straight"]
        layouts = (
            [*LAYOUTS, LEARNING[seed % 2]] if cover != "few" else ["straight", others[seed % len(others)]]
        )
        for i, layout in enumerate(layouts):
            inputs = INPUTS if cover == "all" else (INPUTS[(seed + i) % len(INPUTS)],)
            for kind in inputs if model.fitted is not None else INPUTS[:1]:
                case = _case(model, rows, seed, layout, kind, comparison)
                cases += [] if case is None else [case]
    for flag in flags:
        _run(cases, folder, flag, comparison, keep)
    return comparison


def plain_sums(model: Model, rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return class sums by the definition of a clause, in numpy."""
    sums = model.clauses.fires(booleans_of(model, rows)).astype(np.int64) @ model.weights.astype(np.int64)
    if isinstance(model.output, LinearNumber):
        sums[:, 0] += [_plain_line(model.output, row) for row in rows.astype(np.float32).tolist()]
    return sums


def _plain_line(number: LinearNumber, row: list[float]) -> int:
    """Return the votes of the linear part of a row, in fractions without a limit."""
    vote = Fraction(number.scale) / Fraction(number.line.step)
    fine = vote // 2
    for slope in number.line.slopes:
        value = row[slope.feature]
        steps = slope.low if math.isnan(value) else slope.high if value > 0 else slope.low
        if math.isfinite(value):
            steps = min(
                max(math.trunc(Fraction(value) / Fraction(2) ** slope.exponent), slope.low), slope.high
            )
        fine += slope.weight * (steps - slope.low)
    return fine // vote


def _check_host(model: Model, rows: NDArray[Any], seed: int, comparison: Comparison) -> None:
    """Compare the host with the definition."""
    expected = plain_sums(model, rows)
    if not np.array_equal(model.class_sums(rows), expected):
        comparison.differences.append(f"seed {seed}: the host's class sums are not those of the definition")
    if isinstance(model.output, Number):
        number = np.float32(model.output.offset) + np.float32(model.output.scale) * expected.astype(
            np.float32
        )
        if model.predict(rows).tobytes() != number[:, 0].tobytes():
            comparison.differences.append(f"seed {seed}: predict is not offset + scale * votes")
        return
    answers = np.append(model.classes, model.output.labels[-1:])[model.output.codes(expected)]
    if model.output.kind == "classes" and not np.array_equal(model.predict(rows), answers):
        comparison.differences.append(f"seed {seed}: predict is not the first class with the most votes")


def _case(
    model: Model, rows: NDArray[Any], seed: int, layout: str, kind: str, comparison: Comparison
) -> _Case | None:
    told = f"seed {seed}, layout {layout}, input {kind}"
    words = int((np.abs(model.weights.astype(np.int64)).sum(axis=1) * model.clauses.lengths).sum())
    if layout == "redress" and words > MOST_WORDS:
        comparison.refused[f"left out: redress would have more than {MOST_WORDS} words"] += 1
        return None
    try:
        program = _program(model, layout, input=kind, name=f"m{seed}_{layout}_{kind}", single_header=True)
        program.files  # noqa: B018
    except ValueError as error:  # NotSupported is one
        comparison.refused[_reason(str(error))] += 1
        return None
    features, host = program.features(rows), model.class_sums(rows) * (16 if layout in LEARNING else 1)
    sums = program.device_sums(features)
    if all(scale.is_exact for scale in program.scales):
        if not np.array_equal(sums, host):
            comparison.differences.append(f"{told}: integers compare unlike the numbers")
    else:
        comparison.rounded += 1
    comparison.n_programs += 1
    comparison.n_answers += len(rows)
    answers = model.output.codes(sums)
    whole = features.astype(np.int32) if program.scales else np.zeros(features.shape, np.int32)
    if isinstance(model.output, Number):
        bits = model.output.answers(sums).view(np.int32)
        expected = np.column_stack([answers, bits, np.ones(len(rows), np.int32), whole]).astype(np.int32)
    else:
        expected = np.column_stack([answers, answers, np.ones(len(rows)), sums, whole]).astype(np.int32)
    sent = rows.astype(np.uint8) if model.fitted is None else rows.astype(np.float32)
    return _Case(told, program, sent.tobytes(), expected)


def _program(model: Model, layout: str, **options: Any) -> Program:
    if layout not in LEARNING:
        return make_program(model, layout, **options)
    asked = ExportOptions.of(
        "compare", {"learn": "votes", "learn_rows": 3, "margin": 3, "guard": False, **options}
    )
    every = [program for program, _ in programs(model, asked)]
    return next((program for program in every if program.layout == layout), every[-1])


def _reason(message: str) -> str:
    """Return a refusal without the names and numbers of one model."""
    if message.startswith("Feature "):
        return "thresholds of a feature are the same in the number type"
    return message.split(", but")[0].split(". ")[0]


def _run(cases: Sequence[_Case], folder: Path, flag: str, comparison: Comparison, keep: bool) -> None:
    """Compile all cases into one program, run it and compare."""
    calls = "".join(f"    run_{case.program.name}();\n" for case in cases)
    text = (
        _DRIVER + "".join(case.text for case in cases) + f"\nint main(void)\n{{\n{calls}    return 0;\n}}\n"
    )
    (folder / "many.c").write_text(text, encoding="utf-8")
    command = ["gcc", "-std=c99", *FLAGS[flag], "many.c", "-o", "many"]
    if keep:
        made = build(command, folder, "many")
    else:
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise RuntimeError(f"gcc failed:\n{made.stderr[:4000]}")
    sent = b"".join(case.sent for case in cases)
    told = subprocess.run([folder / "many"], input=sent, capture_output=True, check=True).stdout
    answers, at = np.frombuffer(told, dtype=np.int32), 0
    for case in cases:
        of_case = answers[at : at + case.expected.size].reshape(case.expected.shape)
        at += case.expected.size
        wrong = np.argwhere(of_case != case.expected)
        if len(wrong):
            r, column = wrong[0].tolist()
            comparison.differences.append(
                f"{case.told}, {flag}: {len({int(r) for r, _ in wrong})} rows differ, row {r} in column "
                f"{column}: {of_case[r].tolist()[:12]} and not {case.expected[r].tolist()[:12]}"
            )
