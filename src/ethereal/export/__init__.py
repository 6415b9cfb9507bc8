"""Write a model as code for a board.

`c` writes a C99 library in a folder, `stm32f746g_disco` a complete project for the paper's board, `arduino`
and `zephyr` a library for those. They take the options of `ExportOptions` as keywords. `micropython` writes a
MicroPython package, `verilog` the gates of an FPGA, `tinytapeout` those of a small chip, and `web` a page in
which the C runs.
docs/guide/board.md says how to use them, lab/notes/device.md what the layouts cost.

Names are loaded at their first use, so that a command knows its options quickly.
"""

from typing import TYPE_CHECKING

from ethereal.base.package import loader

if TYPE_CHECKING:
    from ethereal.base.atomic import write_folder
    from ethereal.export.c99.choose import ModelTooLarge, choose
    from ethereal.export.c99.device_rows import NUMBER_TYPES
    from ethereal.export.c99.early import answering_early
    from ethereal.export.c99.layouts import LAYOUTS
    from ethereal.export.c99.program import Program, make_program
    from ethereal.export.hdl import verilog
    from ethereal.export.hdl.tapeout import tinytapeout
    from ethereal.export.mpy import micropython
    from ethereal.export.options import ExportOptions
    from ethereal.export.page.web import web
    from ethereal.export.projects.writer import arduino, c, project, stm32f746g_disco, zephyr

__all__ = [
    "LAYOUTS",
    "NUMBER_TYPES",
    "ExportOptions",
    "ModelTooLarge",
    "Program",
    "answering_early",
    "arduino",
    "c",
    "choose",
    "make_program",
    "micropython",
    "project",
    "stm32f746g_disco",
    "tinytapeout",
    "verilog",
    "web",
    "write_folder",
    "zephyr",
]

__getattr__ = loader(
    __name__,
    {
        "c99.choose": "ModelTooLarge choose",
        "c99.layouts": "LAYOUTS",
        "c99.program": "Program make_program",
        "c99.early": "answering_early",
        "hdl": "verilog",
        "hdl.tapeout": "tinytapeout",
        "mpy": "micropython",
        "c99.device_rows": "NUMBER_TYPES",
        "options": "ExportOptions",
        "page.web": "web",
        "projects.writer": "arduino c project stm32f746g_disco write_folder zephyr",
    },
)
