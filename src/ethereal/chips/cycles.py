"""Estimate cycles from the kinds of instructions that an emulated core executed.

The emulator executes instructions and knows nothing of pipelines. What each kind of instruction costs comes
from published tables. The result is an estimate, because a pipeline also depends on the order of
instructions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from ethereal.chips.targets import find_target

# What the native counter counts, in its order (native/block_counter.hpp).
KINDS = ("instructions", "loads", "loads_in_line", "stores", "words", "multiplies", "divides", "far_jumps",
         "jumps")  # fmt: skip


@dataclass(frozen=True)
class CycleTable:
    """Cycles that an instruction of a kind takes beyond its first one."""

    source: str
    loads: int  # of one register
    stores: int
    words: int  # each register of an instruction that moves several
    divides: int
    jumps: int  # taken branches, calls and returns
    loads_in_line: int = 0  # a load right behind another one, beside what a load takes
    multiplies: int = 0
    far_jumps: int = 0  # calls, and returns that load the program counter, beside what a jump takes


_PRICED = tuple(each.name for each in fields(CycleTable) if each.name != "source")
_M4 = CycleTable(
    "Arm Cortex-M4 Technical Reference Manual (DDI 0439), instruction set summary: a load takes 2 cycles, or "
    "1 behind another load, a store 1, a division 2 to 12 (here 7), a refill of the pipeline 1 to 3 (here 2)",
    loads=1, loads_in_line=-1, stores=0, words=1, divides=6, jumps=2,
)  # fmt: skip
_M7 = CycleTable(
    "assumed, because Arm publishes no table for it: no two instructions in one cycle, caches that hit, 4 "
    "cycles for a wrong prediction (as in LLVM's model of the core), and every second jump predicted",
    loads=0, stores=0, words=1, divides=6, jumps=2,
)  # fmt: skip

TABLES = {
    "cortex-m0plus": CycleTable(
        "Arm Cortex-M0+ Technical Reference Manual (DDI 0484), table 3.1, with the multiplier of one cycle",
        loads=1, stores=1, words=1, divides=0, jumps=1, far_jumps=1,
    ),
    "cortex-m4": _M4,
    "cortex-m7": _M7,
    "cortex-m33": replace(
        _M4, source="assumed to be those of the Cortex-M4, because Arm publishes no table for the Cortex-M33"
    ),
    "riscv32": CycleTable(
        "Hazard3 (RP2350), instruction cycle counts in its documentation: a load takes 2 cycles where the "
        "next instruction needs it (here always), a jump 2, a multiplication 1, a division 18",
        loads=1, stores=0, words=0, divides=17, jumps=1,
    ),
}  # fmt: skip


def estimate_cycles(target: str, mix: Mapping[str, float], wait_states: int = 0) -> float:
    """Estimate the cycles of a core from how many instructions of each kind it executed.

    Every jump and every load waits `wait_states` cycles, as if all were from flash. Instructions that follow
    each other are taken to be fetched in advance.

    >>> mix = dict.fromkeys(KINDS, 0) | {"instructions": 10, "loads": 2, "jumps": 1}
    >>> estimate_cycles("cortex-m0plus", mix), estimate_cycles("cortex-m0plus", mix, wait_states=2)
    (13, 19)
    """
    table, waits = TABLES[find_target(target).core], wait_states * (mix["jumps"] + mix["loads"])
    more = sum(mix[kind] * int(getattr(table, kind)) for kind in _PRICED)
    return mix["instructions"] + more + waits
