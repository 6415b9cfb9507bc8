"""Compile exported code for a core, execute it in an emulator, and count what it costs."""

from ethereal.chips.elf import Elf
from ethereal.chips.targets import TARGETS, Target, find_core, find_target
from ethereal.chips.toolchain import CompileError, compile_elf
from ethereal.device.emulator import BoardRun, DeviceFault, EmulatedBoard, EmulatedCore
from ethereal.device.gates import GateMeasurement, measure_gates
from ethereal.device.kernel_prices import FrontEndCost, front_end_cost, group_costs, kernel_prices
from ethereal.device.measurement import (
    Estimate,
    Measurement,
    from_samples,
    measure,
    measure_layouts,
    measure_program,
)
from ethereal.device.program import CProgram, on_rows
from ethereal.export.c99.choose import ModelTooLarge

__all__ = [
    "TARGETS", "BoardRun", "CProgram", "CompileError", "DeviceFault", "Elf", "EmulatedBoard", "EmulatedCore",
    "Estimate", "FrontEndCost", "GateMeasurement", "Measurement", "ModelTooLarge", "Target", "compile_elf",
    "find_core", "find_target", "from_samples", "front_end_cost", "group_costs", "kernel_prices", "measure",
    "measure_gates", "measure_layouts", "measure_program", "on_rows",
]  # fmt: skip
