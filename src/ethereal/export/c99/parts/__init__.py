"""Capabilities of the C beside a prediction. A new one is a module, its template and a line here.

`part.py` says what a part is. The writer goes over `PARTS` in their order, so what one defines, those behind
it may use.
"""

from ethereal.export.c99.parts.check import Check
from ethereal.export.c99.parts.early import Early
from ethereal.export.c99.parts.inputs import Inputs
from ethereal.export.c99.parts.learn import Learn
from ethereal.export.c99.parts.names import Names
from ethereal.export.c99.parts.part import Part
from ethereal.export.c99.parts.seen import Seen
from ethereal.export.c99.parts.unknown import Unknown
from ethereal.export.c99.parts.windows import Windows

PARTS: tuple[type[Part], ...] = (Check, Inputs, Early, Unknown, Windows, Seen, Learn, Names)
