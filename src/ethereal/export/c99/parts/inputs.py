"""What a row may hold: values that are missing, and the user's numbers where features are integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ethereal.export.c99.ctext import comment, wrap
from ethereal.export.c99.parts.part import Draft, Part, named

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program


class Inputs(Part):
    """Finds values that the host refuses to miss, and makes integers of the user's numbers."""

    name = "inputs"

    @classmethod
    def of(cls, draft: Draft) -> Inputs | None:
        is_raw = draft.model.fitted is not None and draft.model.front_end is None
        return cls() if is_raw else None

    def text(self, which: str, program: Program) -> str:
        if which == "macros" and program.slots.accepts_missing and program.input.ctype != "float":
            value = program.input.missing
            return f"#define {program.name.upper()}_MISSING ({value}) /* stands for a missing value */\n"
        if which not in ("header", "source"):
            return ""
        missing = self._missing(program) if program.slots.refused_features else ("", "")
        convert = self._convert(program) if program.scales else ("", "")
        if which == "header":
            return missing[0] + convert[0]
        source = missing[1] + convert[1]
        return (self.section("bits of a float", {}) if "et_float_bits(" in source else "") + source

    def _missing(self, program: Program) -> tuple[str, str]:
        """Return declaration and definition of the function that finds values which must not be missing.

        An integer is missing when it has the number for that. Where no feature may be missing there is no
        such number, so the function looks at the floats that become integers.
        """
        name, refused = program.name, program.slots.refused_features
        is_float = program.input.ctype == "float" or not program.slots.accepts_missing
        is_converted = bool(program.scales) and is_float
        n_features, table, test = program.model.n_features, "", ""
        if len(refused) < n_features:
            flags = [sum(1 << (f % 8) for f in refused if f // 8 == i) for i in range((n_features + 7) // 8)]
            table = (
                "    /* a bit per feature, 1 when it never was missing */\n"
                f"    static const ET_FLASH uint8_t never[{len(flags)}] = {{\n"
                f"{wrap([str(flag) for flag in flags])}\n    }};\n"
            )
            test = " && (((ET_READ(never[f / 8u]) >> (f % 8u)) & 1u) != 0u)"
        is_nan = "((et_float_bits(features[f]) & 0x7FFFFFFFu) > 0x7F800000u)"
        values = named(program) | {
            "type": "float" if is_converted else f"{name}_input",
            "when": f"Call it before {name}_{'convert' if is_converted else 'predict'}().",
            "table": table,
            "test": (is_nan if is_float else f"(features[f] == {name.upper()}_MISSING)") + test,
        }
        # Learning a row begins with it.
        is_small = program.learning is not None and is_float and not table
        how = "missing, in few bytes" if is_small else "missing"
        return self.section("missing header", values), self.section(how, values)

    def _convert(self, program: Program) -> tuple[str, str]:
        """Return declaration and definition of the function that makes integers of the user's numbers."""
        scales, names = program.scales, program.model.input_names
        notes = [f"   {comment(name)}: {scale.note()}" for name, scale in zip(names, scales, strict=True)]
        is_missable = program.slots.accepts_missing
        values = named(program) | {
            "notes": "\n".join(notes),
            "float_of": "",
            "offsets": "",
            "shift": "",
            "exponents": wrap([str(scale.exponent) for scale in scales]),
            "low": str(scales[0].low),
            "high": str(scales[0].high),
            "missing": f"{program.name.upper()}_MISSING" if is_missable else str(scales[0].low),
        }
        if any(scale.offset for scale in scales):
            bits = [f"0x{int(np.float32(scale.offset).view(np.uint32)):08X}u" for scale in scales]
            values["float_of"] = self.section("float of bits", values)
            values["shift"] = self.section("shift", values)
            values["offsets"] = (
                "    /* offsets as the bits of floats */\n"
                f"    static const ET_FLASH uint32_t offsets[{program.name.upper()}_FEATURES] = {{\n"
                f"{wrap(bits)}\n    }};\n"
            )
        return self.section("convert header", values), self.section("convert", values)

    def fills(self, program: Program) -> dict[str, str]:
        name, note = program.name, ""
        if program.slots.refused_features:
            note = f" {name}_missing() tells of rows that\n *    the host refuses."
        if program.input.ctype == "float" and program.slots.accepts_missing:
            note = f" A missing value is not a number (NaN).{note}"
        elif program.input.ctype == "float":
            note = (
                " No value was missing in training, so a value that\n *    is not a number (NaN) counts as "
                f"very large or very small. Call {name}_missing() first."
            )
        return {"nan_note": note, "input_note": self._readme_note(program)}

    def _readme_note(self, program: Program) -> str:
        """Return what the features on the device are."""
        name, is_float = program.name, program.input.ctype == "float"
        note = f", as `{program.input.ctype}`"
        if any(scale.exponent or scale.offset for scale in program.scales):
            note += f" that `{name}_convert()` makes of the numbers of the training data"
        if program.slots.accepts_missing:
            note += f"; a missing value is {'not a number' if is_float else f'`{name.upper()}_MISSING`'}"
        if program.slots.refused_features:
            note += f"; `{name}_missing()` tells whether one is missing that never was in training"
        return note
