"""Compile exported code for a core, execute it in an emulator, and count what it costs."""

from ethereal.chips.elf import Elf
from ethereal.chips.targets import TARGETS, Target, find_core, find_target
from ethereal.chips.toolchain import CompileError, compile_elf
from ethereal.device.boot import Board, BoardRun
from ethereal.device.emulator import DeviceFault, Machine
from ethereal.device.measurement import (
    Estimate,
    Measurement,
    measure,
    measure_layouts,
    measure_program,
    measure_rival,
)
from ethereal.export.errors import ModelTooLarge

__all__ = [
    "TARGETS",
    "Board",
    "BoardRun",
    "CompileError",
    "DeviceFault",
    "Elf",
    "Estimate",
    "Machine",
    "Measurement",
    "ModelTooLarge",
    "Target",
    "compile_elf",
    "find_core",
    "find_target",
    "measure",
    "measure_layouts",
    "measure_program",
    "measure_rival",
]
