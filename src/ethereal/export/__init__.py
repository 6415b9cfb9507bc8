"""Write a model as code for a board.

`c` writes a C99 library in a folder, `micropython` a MicroPython package.
"""

from ethereal.export.folder import write_folder
from ethereal.export.library import c
from ethereal.export.micropython import micropython
from ethereal.export.program import LAYOUTS, Layout, Program, make_program
from ethereal.export.thresholds import INPUT_TYPES, Input

__all__ = [
    "INPUT_TYPES",
    "LAYOUTS",
    "Input",
    "Layout",
    "Program",
    "c",
    "make_program",
    "micropython",
    "write_folder",
]
