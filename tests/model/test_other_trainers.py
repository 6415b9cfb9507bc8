"""The guide's functions that read machines of tmu and pyTsetlinMachine, with stand-ins for these."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "tmu.md"
N_BOOLEANS, N_CLAUSES, CLASSES = 5, 6, ["a", "b", "c"]
RNG = np.random.default_rng(4)
ACTIONS = RNG.random((len(CLASSES), N_CLAUSES, 2 * N_BOOLEANS)) < 0.2  # in the library's own order of clauses


@pytest.fixture
def functions():
    text = GUIDE.read_text()
    space: dict = {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], space)
    return SimpleNamespace(**space)


def sums(signs):
    """Class sums of the library, from its own clauses and signs, on random rows."""
    rows = RNG.random((200, N_BOOLEANS)) < 0.5
    literals = np.concatenate([rows, ~rows], axis=1)
    fires = (literals[:, None, None, :] | ~ACTIONS).all(axis=-1) & ACTIONS.any(axis=-1)
    return rows, (fires * signs).sum(axis=-1)


def test_a_machine_of_tmu(functions):
    half = N_CLAUSES // 2
    machine = SimpleNamespace(
        number_of_clauses=N_CLAUSES,
        clause_banks=[SimpleNamespace(number_of_literals=2 * N_BOOLEANS)] * len(CLASSES),
        get_ta_action=lambda clause, ta, the_class=0, polarity=0: int(
            ACTIONS[the_class, clause + polarity * half, ta]
        ),
    )
    rows, expected = sums(np.repeat([1, -1], half))
    model = functions.from_tmu(machine, CLASSES)
    assert np.array_equal(model.class_sums(rows), expected)


def test_a_machine_of_pytsetlinmachine(functions):
    machine = SimpleNamespace(
        number_of_clauses=N_CLAUSES, ta_action=lambda c, clause, ta: int(ACTIONS[c, clause, ta])
    )
    rows, expected = sums(np.tile([1, -1], N_CLAUSES // 2))
    model = functions.from_pytsetlin(machine, N_BOOLEANS, CLASSES)
    assert np.array_equal(model.class_sums(rows), expected)
