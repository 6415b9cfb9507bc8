"""The emulated core: compiling, executing, counting, faults."""

import numpy as np
import pytest

from ethereal.device import TARGETS, CompileError, DeviceFault, Elf, EmulatedCore, compile_elf, find_target

TOTAL = """
#include <stdint.h>
int32_t total(const int32_t *x, int32_t n);
int32_t total(const int32_t *x, int32_t n)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < n; i++) sum += x[i];
    return sum;
}
"""


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.isa != "avr"])
def test_executes_and_returns(name: str) -> None:
    target = TARGETS[name]
    core = EmulatedCore(compile_elf({"a.c": TOTAL}, target, ["total"], optimize="-Os"), target)
    x = np.arange(-5, 95, dtype=np.int32)
    assert core.call("total", core.buffer(x), 100) == x.sum()
    first = core.instructions
    assert core.call("total", core.buffer(x[:7]), 7) == x[:7].sum()
    # Linear in the number of rows, and the same in every run.
    again = EmulatedCore(core.elf, target)
    counts = []
    for n in (10, 20, 30):
        before = again.instructions
        again.call("total", again.buffer(x), n)
        counts.append(again.instructions - before)
    assert counts[2] - counts[1] == counts[1] - counts[0] > 0
    before = again.instructions
    again.call("total", again.buffer(x), 100)
    assert again.instructions - before == first


def test_counts_every_instruction_predicated_ones_too() -> None:
    # 3 setup; per round: cmp, it, addgt (executed or not), subs, bne; then bx.
    asm = """
    __attribute__((naked)) int loop(int n, int x);
    int loop(int n, int x) {
        __asm volatile(".syntax unified\\n movs r2, #0\\n movs r3, #1\\n nop\\n"
                       "1: cmp r1, #5\\n it gt\\n addgt r2, #1\\n subs r0, #1\\n bne 1b\\n"
                       "mov r0, r2\\n bx lr");
    }
    """
    target = TARGETS["cortex-m7"]
    elf = compile_elf({"a.c": asm}, target, ["loop"], flags=["-std=gnu99", "-Wno-return-type"])
    for x, result in ((6, 10), (5, 0)):
        core = EmulatedCore(elf, target)
        assert core.call("loop", 10, x) == result
        assert core.instructions == 3 + 10 * 5 + 2
        assert core.profile() == {"loop": core.instructions}


@pytest.mark.parametrize("name", ["cortex-m0plus", "cortex-m7", "riscv32"])
def test_many_arguments_and_stack(name: str) -> None:
    code = """
    int deep(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j);
    int deep(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j)
    {
        volatile int room[64];
        for (int k = 0; k < 64; k++) room[k] = k;
        return room[3] + a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
    }
    """
    target = TARGETS[name]
    core = EmulatedCore(compile_elf({"a.c": code}, target, ["deep"]), target)
    assert core.call("deep", *range(1, 11)) == 3 + sum(k * k for k in range(1, 11))
    assert 256 <= core.stack_bytes <= 256 + 120


def test_sections_are_told_apart() -> None:
    code = """
    #include <stdint.h>
    static const uint16_t table[100] = {7, 8, 9, 10};
    static uint8_t counter[40];
    static int32_t start = 5;
    int32_t next(uint32_t i);
    int32_t next(uint32_t i) { counter[i & 31]++; start++; return table[i & 63] + counter[i & 31] + start; }
    int unused(void);
    int unused(void) { return 1; }
    """
    target = TARGETS["cortex-m7"]
    elf = compile_elf({"a.c": code}, target, ["next"])
    assert elf.table_bytes == 204  # the table and the first value of `start`
    assert elf.ram_bytes == 44
    assert 0 < elf.code_bytes < 80
    assert "unused" not in elf.symbols
    core = EmulatedCore(elf, target)
    assert core.call("next", 1) == 8 + 1 + 6
    assert core.call("next", 1) == 8 + 2 + 7


@pytest.mark.parametrize(
    "body, kind",
    [
        ("return p[100];", "read"),  # past the buffer, which ends with its page
        ("((int *)0x08000000)[0] = 1; return 0;", "write"),  # flash
        ("return *(volatile int *)0x20400000;", "read"),  # beyond the RAM
        ("((int *)p)[0] = 1; return 0;", "write"),  # a buffer to read only
        ("return ((int (*)(void))0x08800001)();", "jump"),
    ],
)
def test_stray_access_faults(body: str, kind: str) -> None:
    target = TARGETS["cortex-m7"]
    code = f"int stray(const int *p); int stray(const int *p) {{ {body} }}"
    core = EmulatedCore(compile_elf({"a.c": code}, target, ["stray"]), target)
    with pytest.raises(DeviceFault, match=f"stray on cortex-m7: {kind} of"):
        core.call("stray", core.buffer(np.zeros(100, np.int32)))


@pytest.mark.parametrize("name", ["cortex-m7", "cortex-m0plus", "riscv32"])
def test_an_endless_loop_is_stopped_by_its_instructions(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("ethereal.device.emulator._MOST_INSTRUCTIONS", 5000)
    code = "int turn(int n); int turn(int n) { volatile int i = 0; while (i != n) i = i + 1; return i; }"
    core = EmulatedCore(compile_elf({"a.c": code}, TARGETS[name], ["turn"]), TARGETS[name])
    for n in (100, 300, 100):  # each call has a bound of its own
        assert core.call("turn", n) == n
    before = core.instructions
    with pytest.raises(DeviceFault, match=rf"turn on {name} did not return within 5,000 .*stopped in turn"):
        core.call("turn", -1)
    assert 5000 <= core.instructions - before < 5020  # the last block is executed whole
    assert core.call("turn", 100) == 100


def test_errors_say_what_and_how(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"unknown.*'cortex-m9'.*mean 'cortex-m"):
        find_target("cortex-m9")
    with pytest.raises(CompileError, match="undeclared"):
        compile_elf({"a.c": "int f(void) { return x; }"}, TARGETS["cortex-m7"], ["f"])
    with pytest.raises(ValueError, match=r"32-bit.*ELF"):
        Elf(b"\x7fELF\x02\x01\x01" + bytes(60))
    with pytest.raises(ValueError, match="compiler is 'tcc'"):
        compile_elf({"a.c": ""}, TARGETS["cortex-m7"], ["f"], compiler="tcc")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="riscv32"):
        compile_elf({"a.c": ""}, TARGETS["riscv32"], ["f"], compiler="gcc")
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="gcc-arm-none-eabi"):
        compile_elf({"a.c": ""}, TARGETS["cortex-m7"], ["f"], compiler="gcc")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"ethereal-tm\[device\]"):
        compile_elf({"a.c": ""}, TARGETS["cortex-m7"], ["f"])
    elf = Elf.__new__(Elf)
    with pytest.raises(ModuleNotFoundError, match=r"ethereal-tm\[device\]"):
        EmulatedCore(elf, TARGETS["cortex-m7"])
