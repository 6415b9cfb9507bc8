"""Whether the tables in flash are as they were exported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ethereal.export.c99.ctext import read
from ethereal.export.c99.parts.part import Draft, Part, named

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program


class Check(Part):
    """Compares a checksum of the tables, once at start-up. Code without tables has nothing to compare."""

    name = "check"
    functions = ("check",)

    @classmethod
    def of(cls, draft: Draft) -> Check:
        return cls()

    def fills(self, program: Program) -> dict[str, str]:
        name, layout = program.name, program.c_layout
        if program.tables.predict_bytes == 0:
            return {"check": self.section("no tables", named(program)).strip(), "checked": "1"}
        check = self.section("tables", named(program)).strip()
        if not layout.has_rows and not layout.learns:  # the others have the checksum in their runtime
            check = f"{read('c99/runtime/crc.h')}\n{check}"
        return {"check": check, "checked": f"{name}_check()"}
