"""Random calls of all functions that learn, on the host, in C on this computer and on emulated cores.

After every call each of them tells what the call returned, a hash of the saved state and the sums of a row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from c_on_host import answers_of
from ethereal.adapt.learning import RefusedState, State
from ethereal.export.c99.program import Program

NAMES = ("learn", "last", "adapt", "step", "unlearn", "forget", "save", "restore", "entry", "use")
RATES = (0.45, 0.08, 0.05, 0.16, 0.07, 0.005, 0.06, 0.06, 0.055, 0.01)


def draw_calls(seed: int, n_calls: int, n_pool: int, n_classes: int) -> np.ndarray:
    """Calls x (function, a, b, c)."""
    rng = np.random.default_rng(seed)
    calls = rng.integers(0, 1 << 20, (n_calls, 4))
    calls[:, 0] = rng.choice(len(NAMES), n_calls, p=np.array(RATES) / sum(RATES))
    calls[:, 1] %= n_pool
    calls[:, 2] %= n_classes + 1  # one class too many
    calls[:, 3] %= 4096
    return calls.astype(np.int32)


def fnv(data: bytes) -> int:
    hashed = 2166136261
    for byte in data:
        hashed = (hashed ^ byte) * 16777619 & 0xFFFFFFFF
    return hashed


def _damaged(data: bytes, how: int) -> bytes:
    """As it is half of the time, else cut or with a bit flipped."""
    if how % 4 < 2:
        return data
    if how % 4 == 2:
        return data[:-1]
    changed = bytearray(data)
    changed[how // 4 % len(changed)] ^= 1 << (how % 8)
    return bytes(changed)


class HostBoard:
    """Two persons on the host."""

    def __init__(self, program: Program, rows: np.ndarray) -> None:
        assert program.learning is not None
        fires = program.slots.model.clauses.fires(program.device_booleans(rows))
        self.pool = [row.tobytes() for row in np.packbits(fires, axis=1, bitorder="little")]
        self.learning = program.learning
        self.states = [State(program.learning), State(program.learning)]
        self.own, self.saved, self.last = self.states[0], b"", None

    def call(self, name: int, a: int, b: int, c: int) -> int:
        state, n_classes = self.own, self.learning.n_classes
        match NAMES[name]:
            case "learn":
                if b >= n_classes:
                    return 0
                self.last = self.pool[a]
                return state.keep(b, self.last)
            case "last":
                return state.keep(b, self.last) if self.last is not None and b < n_classes else 0
            case "adapt":
                moved = state.adapt()
                return 0xFFFF if moved is None else moved
            case "step":
                return int(state.step())
            case "unlearn":
                return int(state.drop(c % (self.learning.n_rows + 1)))
            case "forget":
                state.forget()
                return 0
            case "save":
                self.saved = state.save()
                return len(self.saved)
            case "restore":
                try:
                    state.restore(_damaged(self.saved, c) if self.saved else b"")
                except RefusedState:
                    return 0
                return 1
            case "entry":
                i = a % (self.learning.n_rows + 1)
                if i >= len(state.rows):
                    return 0
                entry = bytearray(state.entry(i))
                entry[c % len(entry)] ^= c >> 8 & 1
                return state.keep_entry(bytes(entry))
        self.own = self.states[c % 2]
        return 0

    def told(self, a: int) -> list[int]:
        self.last = self.pool[a]
        sums = self.own.sums(self.pool[a])
        return [fnv(self.own.save()), *(int(x) & 0xFFFFFFFF for x in sums)]


def host_answers(program: Program, rows: np.ndarray, calls: np.ndarray) -> np.ndarray:
    """Calls x (returned, hash, sums)."""
    board = HostBoard(program, rows)
    return np.array([[board.call(*call), *board.told(call[1])] for call in calls.tolist()], dtype=np.uint32)


DRIVER = """
#include <stdio.h>
#include <string.h>
#include "m.h"

static m_input rows[N_POOL * M_FEATURES];
static m_state second;

static uint32_t fnv(const uint8_t *data, size_t size)
{
    uint32_t hashed = 2166136261u;

    while (size-- > 0)
        hashed = (hashed ^ *data++) * 16777619u;
    return hashed;
}

int main(void)
{
    static uint8_t saved[M_STATE_BYTES], state[M_STATE_BYTES], entry[M_ENTRY_BYTES];
    size_t n_saved = 0;
    int32_t call[4];

    if (fread(rows, sizeof rows, 1, stdin) != 1)
        return 1;
    while (fread(call, sizeof call, 1, stdin) == 1) {
        const unsigned a = (unsigned)call[1], b = (unsigned)call[2], c = (unsigned)call[3];
        uint32_t out[2 + M_CLASSES];
        int32_t sums[M_CLASSES];
        unsigned r = 0, i;

        switch (call[0]) {
        case 0: r = (unsigned)m_learn(rows + a * M_FEATURES, b); break;
        case 1: r = (unsigned)m_learn_last(b); break;
        case 2: r = m_adapt(); break;
        case 3: r = (unsigned)m_adapt_step(); break;
        case 4: r = (unsigned)m_unlearn(c % (M_ROWS + 1)); break;
        case 5: m_forget(); break;
        case 6: n_saved = m_save(saved); r = (unsigned)n_saved; break;
        case 7:
            memcpy(state, saved, sizeof saved);
            i = c / 4 % (n_saved ? (unsigned)n_saved : 1);
            if (c % 4 == 3 && n_saved)
                state[i] = (uint8_t)(state[i] ^ 1u << c % 8);
            r = (unsigned)m_restore(state, n_saved - (c % 4 == 2 && n_saved));
            break;
        case 8:
            if (m_entry(a % (M_ROWS + 1), entry)) {
                i = c % M_ENTRY_BYTES;
                entry[i] = (uint8_t)(entry[i] ^ (c >> 8 & 1u));
                r = (unsigned)m_learn_entry(entry);
            }
            break;
        default: m_use(c % 2 ? &second : 0);
        }
        m_class_sums(rows + a * M_FEATURES, sums);
        out[0] = r;
        out[1] = fnv(state, m_save(state));
        for (i = 0; i < M_CLASSES; i++)
            out[2 + i] = (uint32_t)sums[i];
        fwrite(out, sizeof out, 1, stdout);
    }
    return 0;
}
"""


def c_answers(program: Program, rows: np.ndarray, calls: np.ndarray, folder: Path) -> np.ndarray:
    """The same from the program, which is called m, compiled here under sanitizers."""
    (folder / "driver.c").write_text(f"#define N_POOL {len(rows)}u\n{DRIVER}")
    got = answers_of(program, rows.tobytes() + calls.tobytes(), folder)
    return np.frombuffer(got, dtype=np.uint32).reshape(len(calls), -1)


ENTRY_POINTS = [
    f"m_{name}"
    for name in ("predict", "check", "class_sums", "learn", "learn_last", "adapt", "adapt_step", "unlearn",
                 "forget", "save", "restore", "entry", "learn_entry", "use")
]  # fmt: skip


class EmulatedBoard:
    """The program on an emulated core, with a second person in the caller's memory."""

    def __init__(self, program: Program, rows: np.ndarray, target: str) -> None:
        from ethereal.chips.targets import find_target
        from ethereal.device import compile_elf
        from ethereal.device.emulator import EmulatedCore

        assert program.learning is not None
        learning, chip = program.learning, find_target(target)
        self.learning = learning
        self.core = EmulatedCore(compile_elf(program.files, chip, ENTRY_POINTS), chip)
        self.rows = [self.core.buffer(row) for row in rows]
        self.n_state = 4 + learning.n_rows * learning.row_bytes
        self.state, self.entry, self.second, self.sums = (
            self.core.buffer(np.zeros(size, dtype=np.uint8), writable=True)
            for size in (
                self.n_state,
                learning.row_bytes + 4,
                learning.ram_bytes + 64,
                4 * learning.n_classes,
            )
        )
        self.saved = b""

    def call(self, name: int, a: int, b: int, c: int) -> int:
        core, learning = self.core, self.learning
        match NAMES[name]:
            case "learn":
                return core.call("m_learn", self.rows[a], b)
            case "last":
                return core.call("m_learn_last", b)
            case "adapt" | "forget" as plain:
                returned = core.call(f"m_{plain}")
                return returned if plain == "adapt" else 0
            case "step":
                return core.call("m_adapt_step")
            case "unlearn":
                return core.call("m_unlearn", c % (learning.n_rows + 1))
            case "save":
                size = core.call("m_save", self.state)
                self.saved = core.read(self.state, size)
                return size
            case "restore":
                data = _damaged(self.saved, c) if self.saved else b""
                core.write(self.state, np.frombuffer(data.ljust(self.n_state, b"\0"), dtype=np.uint8))
                return core.call("m_restore", self.state, len(data))
            case "entry":
                if not core.call("m_entry", a % (learning.n_rows + 1), self.entry):
                    return 0
                entry = bytearray(core.read(self.entry, learning.row_bytes + 4))
                entry[c % len(entry)] ^= c >> 8 & 1
                core.write(self.entry, np.frombuffer(bytes(entry), dtype=np.uint8))
                return core.call("m_learn_entry", self.entry)
        core.call("m_use", self.second if c % 2 else 0)
        return 0

    def told(self, a: int) -> list[int]:
        self.core.call("m_class_sums", self.rows[a], self.sums)
        sums = np.frombuffer(self.core.read(self.sums, 4 * self.learning.n_classes), dtype="<u4")
        size = self.core.call("m_save", self.state)
        return [fnv(self.core.read(self.state, size)), *sums.tolist()]


def emulated_answers(program: Program, rows: np.ndarray, calls: np.ndarray, target: str) -> np.ndarray:
    """The same from an emulated core."""
    board: Any = EmulatedBoard(program, rows, target)
    return np.array([[board.call(*call), *board.told(call[1])] for call in calls.tolist()], dtype=np.uint32)
