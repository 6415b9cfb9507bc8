"""Models whose exports reach every branch of the runtime, and drivers that call them, for `tools/mcdc.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from ethereal import Model, WindowFeatures
from ethereal.export import choose, make_program
from ethereal.export.c99.layouts import LAYOUTS, fast
from ethereal.export.c99.program import Program
from ethereal.export.projects.writer import project_files
from ethereal.model.output import checks_of
from learning_calls import DRIVER as CALLS
from learning_calls import draw_calls
from old_ranges import with_ranges
from random_models import random_model
from windows import everything, hard_windows, model_of

# As on a small core: without the builtin and without a division, or with the flash macros of an AVR.
CORES = {
    "host": "",
    "small": "#undef __GNUC__\n#undef __clang__\n#define __ARM_ARCH_6M__ 1\n",
    "avr": "#define __AVR__ 1\n",
}
PGMSPACE = """
#define PROGMEM
#define pgm_read_byte(p) (*(uint8_t *)(p))
#define pgm_read_word(p) (*(uint16_t *)(p))
#define pgm_read_dword(p) (*(uint32_t *)(p))
#define pgm_read_ptr(p) (*(void **)(p))
"""

# The tables are made writable, so that they can be damaged.
HEAD = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
@core@
#define const
#define main golden_main
#include "m.c"
#define rows golden_rows
#include "m_test.c"
#undef rows
#undef main

#ifdef HAS_TABLES
static et_table et_tables[] = {ET_TABLES};
#endif
#ifdef ET_SUM_TABLES
static et_table et_sum_tables[] = {ET_SUM_TABLES};
#endif

static int damaged(void)
{
    int failures = 0;
#ifdef HAS_TABLES
    unsigned i;

    for (i = 0; i < sizeof et_tables / sizeof et_tables[0]; i++) {
        *(uint8_t *)et_tables[i].data ^= 1u;
        failures += m_check() != 0 || m_check_all() != 0;
        *(uint8_t *)et_tables[i].data ^= 1u;
    }
#ifdef ET_SUM_TABLES
    for (i = 0; i < sizeof et_sum_tables / sizeof et_sum_tables[0]; i++) {
        *(uint8_t *)et_sum_tables[i].data ^= 1u;
        failures += m_check() != 1 || m_check_all() != 0;
        *(uint8_t *)et_sum_tables[i].data ^= 1u;
    }
#endif
#endif
    return failures + (m_check_all() != 1) + golden_main();
}
"""

ROWS = """
#define main rows_main
int main(void)
{
    static m_input rows[N_POOL * M_FEATURES], own[M_FEATURES];
    static float raw[M_FEATURES];
    static uint16_t classes[N_POOL];
    unsigned r;

    if (fread(rows, sizeof rows, 1, stdin) != 1)
        return 1;
    m_predict_batch(rows, N_POOL, classes);
    for (r = 0; r < N_POOL; r++) {
        m_input *row = rows + r * M_FEATURES;
        int32_t sums[M_CLASSES];

        m_class_sums(row, sums);
        if (m_predict(row) != classes[r])
            return 2;
#ifdef HAS_missing
        m_missing(row);
#endif
#ifdef HAS_novelty
        m_novelty(row);
        m_drift(classes[r]);
#endif
#ifdef HAS_predict_row
        {
            static m_row made[32];

            m_booleanize(row, &made[r % 32]);
            m_predict_row(&made[r % 32]);
            m_class_sums_row(&made[r % 32], sums);
            if (r % 32 == 31)
                m_predict_32_rows(made, classes);
        }
#endif
    }
#ifdef HAS_convert
    while (fread(raw, sizeof raw, 1, stdin) == 1)
        m_convert(raw, own);
#endif
    (void)raw;
    (void)own;
    return 0;
}
#undef main
int main(void) { return rows_main() != 0 ? 1 : damaged(); }
"""

WINDOWS = """
int main(void)
{
    static int16_t samples[M_WINDOW * M_AXES];
    unsigned i, answers = 0;

    while (fread(samples, sizeof samples, 1, stdin) == 1) {
        m_window(samples);
        m_features();
        for (i = 0; i < M_WINDOW; i++)
            answers += m_push(samples + i * M_AXES) >= 0;
    }
    m_reset();
    return answers == 0 ? 1 : damaged();
}
"""


@dataclass
class Case:
    """An exported folder with what its driver reads."""

    name: str
    export: dict[str, str]  # files
    driver: str  # after HEAD
    sent: bytes
    core: str = "host"
    is_generated: bool = False  # its clauses are code of its own
    has_every_row: bool = False  # so many rows that they reach all of that code


def cases() -> Iterator[Case]:
    """All cases, the smallest first."""
    yield from _rows()
    yield from _forms_of_fast()
    yield from _windows()
    yield from _learning()


def _files(program: Program) -> dict[str, str]:
    files = project_files("c", program)
    return {
        name: text for name, text in files.items() if isinstance(text, str) and name.endswith((".c", ".h"))
    }


def _is_generated(program: Program) -> bool:
    return program.layout in ("straight", "branches")


def case_of_rows(name: str, program: Program, X: Any, core: str = "host") -> Case:
    rows = program.features(X)
    sent = [rows.tobytes()]
    if rows.dtype == np.float32:  # whatever the model expects, bits may be any
        wild = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-45], dtype=np.float32)
        extra = np.random.default_rng(0).choice(wild, (len(wild), rows.shape[1]))
        extra[np.arange(len(wild)), np.arange(len(wild)) % rows.shape[1]] = wild
        rows = np.concatenate([rows, extra.astype(np.float32)])
        sent = [rows.tobytes()]
    elif program.scales:
        raw = np.concatenate(
            [np.asarray(X, dtype=np.float32), np.array([[np.nan], [1e30], [-1e30]]) + X[:1] * 0]
        )
        sent.append(raw.astype(np.float32).tobytes())
    driver = f"#define N_POOL {len(rows)}u\n" + ROWS
    return Case(name, _files(program), driver, b"".join(sent), core, _is_generated(program), True)


KINDS: dict[str, dict[str, Any]] = {
    "levels": {"n_features": 5, "n_bins": 6, "n_clauses": 60, "missing": "some"},
    "bins": {"encoding": "onehot", "n_features": 5, "n_bins": 6, "n_clauses": 60, "missing": "ignore"},
    "mixed": {"encoding": "mixed", "n_features": 5, "n_bins": 6, "n_clauses": 60, "missing": "some"},
    "Booleans": {"encoding": None, "n_features": 14, "n_clauses": 60, "heaviest": 40},
    "plain": {"n_features": 5, "n_bins": 2, "n_clauses": 40, "n_classes": 9},
    "long": {"encoding": None, "n_features": 300, "n_clauses": 60, "longest": 100, "heaviest": 300},
    "one class": {"n_features": 3, "n_classes": 1, "n_clauses": 9},
    "two": {"seed": 12, "n_features": 6, "n_classes": 2},
    "groups": {
        "seed": 7,
        "encoding": None,
        "n_features": 20,
        "one_class": True,
        "heaviest": 1,
        "longest": 12,
    },
    "silent class": {"n_classes": 4, "n_clauses": 2, "one_class": True},
}


def _random(kind: str, **other: Any) -> tuple[Model, Any]:
    return random_model(**{"seed": 3, **KINDS[kind], **other})


def _every_row(model: Model, X: Any, n_rows: int = 4000) -> Any:
    """Rows with every state of every feature, in as many combinations as are wanted."""
    rng = np.random.default_rng(0)
    if model.fitted is None:
        rows = rng.random((n_rows, model.n_features)) < rng.choice([0.1, 0.5, 0.9, 0.99], (n_rows, 1))
        for row, first, end in zip(rows, model.offsets, model.offsets[1:], strict=False):  # each clause fires
            asked = model.literals[first:end]
            row[asked % model.n_booleans] = asked < model.n_booleans
        return rows
    columns = []
    for f in range(model.n_features):
        exact = model.feature_map.thresholds_of(f).astype(np.float32)
        values = [exact, np.nextafter(exact, np.float32(1e9)), exact[:1] - 1]
        if model.feature_map.accepts_missing(f):
            values.append(np.array([np.nan], dtype=np.float32))
        columns.append(rng.choice(np.concatenate(values), n_rows))
    return np.concatenate([X, np.stack(columns, axis=1)])


def _rows() -> Iterator[Case]:
    for layout in LAYOUTS:
        for kind in KINDS:
            model, X = _random(kind)
            if layout == "straight" and kind in ("long", "silent class"):
                continue  # more branches than rows could reach, and a class that never wins
            X = _every_row(model, X, 40_000 if layout == "straight" else 300)
            for core in ("host", "small", "avr") if kind in ("levels", "Booleans") else ("host",):
                yield case_of_rows(
                    f"{layout}, {kind}, {core}", make_program(model, layout, name="m"), X, core
                )
        model, X = random_model(21, missing="some", n_classes=4)
        X = _every_row(model, X, 40_000 if layout == "straight" else 300)
        yield case_of_rows(f"{layout}, int16", make_program(model, layout, name="m", input="int16"), X)
        seen = make_program(with_ranges(model, X[:40]), layout, name="m")
        yield case_of_rows(f"{layout}, seen", seen, X)
        for kind in ("levels", "two"):
            model, X = _random(kind)
            program = make_program(model.with_unknown(2), layout, name="m")
            yield case_of_rows(f"{layout}, {kind}, unknown", program, _every_row(model, X))
    model, X = _random("levels", missing="no")
    early = model._with(early=checks_of([(model.n_clauses // 2, 3)], model.n_clauses))
    program = make_program(early, "straight", name="m")
    yield case_of_rows("straight, early", program, _every_row(model, X, 40_000))


def _forms_of_fast() -> Iterator[Case]:
    """Every way in which `fast` could arrange the clauses, chosen or not."""
    for kind in ("levels", "bins", "plain", "long"):
        model, X = _random(kind, seed=5)
        X = _every_row(model, X, 300)
        for i in range(20):
            with (
                patch.object(
                    fast, "fast_tables", lambda slots, rows, _, i=i: fast._candidates(slots, rows)[i]
                ),
                patch.object(fast, "make_cells", lambda *_, **__: None),
            ):
                try:
                    program = make_program(model, "fast", name="m")
                except IndexError:
                    break
                yield case_of_rows(f"fast, {kind}, form {i}", program, X)


def _case_of_windows(
    name: str, extractor: WindowFeatures, windows: Any, core: str = "host", **options: Any
) -> Case:
    program = choose(model_of(extractor.fit(windows), windows), name="m", **options)
    return Case(name, _files(program), WINDOWS, windows.tobytes(), core, _is_generated(program))


def _windows() -> Iterator[Case]:
    for n, core in ((64, "host"), (100, "small"), (128, "avr")):
        yield _case_of_windows(
            f"windows of {n}, {core}", everything(hop=n // 2), hard_windows(n, 6, 6), core, majority=5
        )
    yield _case_of_windows("windows of two axes", everything(2, hop=32), hard_windows(64, 2, 2))
    quiet = hard_windows(4096, 1, 3)
    quiet[-3:, :1500] //= 4000
    quiet[-2:, 3000:] //= 4000
    for hop, majority, core in ((4096, 1, "host"), (2048, 3, "small")):
        extractor = WindowFeatures(["mel"] if core == "host" else ["mel", "stats"], rate=8000, hop=hop)
        yield _case_of_windows(f"sound, hop {hop}, {core}", extractor, quiet, core, majority=majority)


LEARNING: dict[str, dict[str, Any]] = {
    "votes": {},
    "bias": {"learn": "bias", "guard": False},
    "new classes": {"classes": 2, "anchors": 12},
    "one row": {"learn_rows": 1, "guard": False},
    "many clauses": {"learn_rows": 40, "margin": 400},  # so many moves that votes come to their ends
}
MANY: dict[str, dict[str, Any]] = {"many clauses": {"n_clauses": 400, "n_classes": 2}}


def _learning() -> Iterator[Case]:
    for kind, options in LEARNING.items():
        made = {"n_clauses": 45, "missing": "some" if kind == "bias" else "no"} | MANY.get(kind, {})
        model, X = random_model(2, **made)
        if n := options.get("anchors"):
            options = {**options, "anchors": (X[-n:], model.predict(X[-n:]))}
        program = choose(model, **{"learn": "votes", "learn_rows": 14, "margin": 3, "name": "m", **options})
        rows = program.features(X[:40])
        rows[0, 0] = np.nan  # which is not taught where nothing was missing
        calls = draw_calls(1, 6000, len(rows), program.learning.n_classes)
        shown = (program.device_sums(rows).argmax(axis=1)[calls[:, 1]] + 1) % program.learning.n_classes
        calls[:, 2] = np.where(calls[:, 3] % 4 > 0, shown, calls[:, 2])  # mostly one class per row
        driver = f"#define N_POOL {len(rows)}u\n#define main calls_main\n{CALLS}#undef main\n"
        driver += "int main(void) { return m_learn_last(0) + calls_main() != 0 ? 1 : damaged(); }\n"
        for core in ("host", "avr"):
            sent = rows.tobytes() + calls.tobytes()
            name = f"learning, {kind}, {core}"
            yield Case(name, _files(program), driver, sent, core, _is_generated(program))
