"""Write a model as code for a board.

`c` writes a C99 library in a folder, `stm32f746g_disco` a complete project for the paper's board, `arduino`
and `zephyr` a library for those. They take the options of `ExportOptions` as keywords. docs/device.md says
what the layouts cost, docs/guide/board.md how to use them.
`micropython` writes a MicroPython package; docs/micropython.md.

Names are loaded when they are first used, so that a command's options are known quickly.
"""

from typing import TYPE_CHECKING

from ethereal.base.lazy import loader

if TYPE_CHECKING:
    from ethereal.base.folder import write_folder
    from ethereal.export.c99.choose import choose
    from ethereal.export.c99.layouts import LAYOUTS
    from ethereal.export.c99.program import Program, make_program
    from ethereal.export.errors import ModelTooLarge
    from ethereal.export.mpy.package import micropython
    from ethereal.export.numbers import NUMBER_TYPES
    from ethereal.export.options import ExportOptions
    from ethereal.export.projects.writer import arduino, c, project, stm32f746g_disco, zephyr

__all__ = [
    "LAYOUTS",
    "NUMBER_TYPES",
    "ExportOptions",
    "ModelTooLarge",
    "Program",
    "arduino",
    "c",
    "choose",
    "make_program",
    "micropython",
    "project",
    "stm32f746g_disco",
    "write_folder",
    "zephyr",
]

__getattr__ = loader(
    __name__,
    {
        "c99.choose": "choose",
        "c99.layouts": "LAYOUTS",
        "c99.program": "Program make_program",
        "errors": "ModelTooLarge",
        "mpy.package": "micropython",
        "numbers": "NUMBER_TYPES",
        "options": "ExportOptions",
        "projects.writer": "arduino c project stm32f746g_disco write_folder zephyr",
    },
)
