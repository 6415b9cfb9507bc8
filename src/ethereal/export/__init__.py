"""Write a model as code for a board.

`c` writes a C99 library in a folder, `stm32f746g_disco` a complete project for the paper's board;
docs/device.md says what the layouts cost. `micropython` writes a MicroPython package; docs/micropython.md.
"""

from ethereal.export.folder import write_folder
from ethereal.export.library import c
from ethereal.export.micropython import micropython
from ethereal.export.program import LAYOUTS, Layout, ModelTooLarge, Program, make_program
from ethereal.export.stm32f746g import stm32f746g_disco
from ethereal.export.thresholds import INPUT_TYPES, Input

__all__ = [
    "INPUT_TYPES",
    "LAYOUTS",
    "Input",
    "Layout",
    "ModelTooLarge",
    "Program",
    "c",
    "make_program",
    "micropython",
    "stm32f746g_disco",
    "write_folder",
]
