"""Write a model as code for a board.

`c` writes a C99 library in a folder, `stm32f746g_disco` a complete project for the paper's board, `arduino`
and `zephyr` a library for those. docs/device.md says what the layouts cost, docs/guide/board.md how to use
them.
`micropython` writes a MicroPython package; docs/micropython.md.
"""

from ethereal.base.folder import write_folder
from ethereal.export.c99.choose import choose
from ethereal.export.c99.program import LAYOUTS, Layout, Program, make_program
from ethereal.export.errors import ModelTooLarge
from ethereal.export.mpy.package import micropython
from ethereal.export.numbers import NUMBER_TYPES, Input
from ethereal.export.projects.arduino_zephyr import arduino, zephyr
from ethereal.export.projects.library import c
from ethereal.export.projects.stm32 import stm32f746g_disco

__all__ = [
    "LAYOUTS",
    "NUMBER_TYPES",
    "Input",
    "Layout",
    "ModelTooLarge",
    "Program",
    "arduino",
    "c",
    "choose",
    "make_program",
    "micropython",
    "stm32f746g_disco",
    "write_folder",
    "zephyr",
]
