"""Times are those of the target's chip: its clock, and cycles by kind of instruction."""

import pytest

from ethereal import Model
from ethereal.chips.targets import TARGETS
from ethereal.device import measure
from ethereal.device.measurement import Estimate

MODEL = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
CLOCKS = {"cortex-m0plus": 64e6, "cortex-m4": 84e6, "cortex-m7": 216e6, "cortex-m33": 160e6, "riscv32": 108e6,
          "atmega328p": 16e6, "atmega2560": 16e6}  # fmt: skip


def test_each_chip_has_the_clock_of_its_data_sheet():
    assert {name: chip.clock_hz for name, chip in TARGETS.items()} == CLOCKS
    assert {name: Estimate.of(name).clock_hz for name in TARGETS} == CLOCKS


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m7"])
def test_time_is_cycles_by_the_clock_of_the_chip(target):
    measured = measure(MODEL, [[True, True], [False, False]], target)
    assert measured.estimated_cycles > measured.total_instructions
    assert measured.estimated_seconds == measured.estimated_cycles / CLOCKS[target]


def test_export_says_cycles_where_cycles_are_counted(call):
    """An AVR counts cycles. A time stands beside its clock."""
    from shutil import which

    if which("avr-gcc") is None or which("simavr") is None:
        pytest.skip("no gcc-avr or simavr; `make system` installs them where it may")
    MODEL.save("m.etm")
    shown = call("export", "m.etm", "--target", "atmega328p").stdout
    assert "cycles per row" in shown
    assert "instructions" not in shown
    assert "at 16 MHz" in shown
