"""Capabilities of the C beside a prediction. A new one is a class, its template and an entry here.

`part.py` says what a part is, and has the short ones. The program goes over `PARTS` in their order, so what
one defines, those behind it may use.
"""

from ethereal.export.c99.parts.learn import Learn
from ethereal.export.c99.parts.line import Line
from ethereal.export.c99.parts.normal import NormalRows
from ethereal.export.c99.parts.number import Number
from ethereal.export.c99.parts.own_normal import OwnNormal
from ethereal.export.c99.parts.part import Check, Early, Inputs, Names, Part, Seen, Unknown
from ethereal.export.c99.parts.windows import Windows

PARTS: tuple[type[Part], ...] = (
    Check,
    Inputs,
    Early,
    Unknown,
    Number,
    Line,
    Windows,
    Seen,
    OwnNormal,
    NormalRows,
    Learn,
    Names,
)
