"""The files of a model: templates filled with its tables and names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from importlib.metadata import version

import numpy as np

from ethereal.export.c99 import tables as ctext
from ethereal.export.c99.device_rows import Slots
from ethereal.export.numbers import NumberType, Scale
from ethereal.model import Model


class Texts:
    """The files of a model, from templates."""

    def __init__(
        self,
        model: Model,
        slots: Slots,
        scales: Sequence[Scale],
        name: str,
        layout: str,
        kind: NumberType,
        tables: ctext.Tables,
        *,
        stack_bytes: int,
        with_names: bool,
    ) -> None:
        self.model, self.slots, self.layout, self.tables = model, slots, layout, tables
        self.name = name
        is_boolean = model.booleanizer is None
        labels = [str(label) for label in model.classes.tolist()]
        self.about = (
            f"{name}: a Tsetlin machine with {slots.model.n_clauses} clauses and "
            f"{slots.model.n_includes} literals,\n"
            f'exported by ethereal {version("ethereal-tm")} in the layout "{layout}".'
        )
        strings_h, strings_c = _strings(name, labels, model.input_names) if with_names else ("", "")
        missing = ""
        if slots.accepts_missing and kind.ctype != "float":
            missing = f"#define {name.upper()}_MISSING ({kind.missing}) /* stands for a missing value */\n"
        convert_h, convert_c = _conversion(
            name, kind, scales, model.input_names, accepts_missing=slots.accepts_missing
        )
        self.values = {
            "name": name,
            "NAME": name.upper(),
            "about": "\n".join(f" * {ctext.comment(line)}" for line in self.about.splitlines()),
            "classes": str(model.n_classes),
            "features": str(model.n_features),
            "version": version("ethereal-tm"),
            "layout": layout,
            "checksum": f"{tables.checksum:08X}",
            "sums_checksum": f"{tables.sums_checksum:08X}",
            "missing": missing,
            "input": "uint8_t" if is_boolean else kind.ctype,
            "stack": str(stack_bytes),
            "nan_note": _nan_note(slots, kind),
            "slot_bytes": str((slots.n_slots + 3) // 4 * 4),
            "row_words": str((slots.n_slots + 3) // 4),
            "class_list": "\n".join(f"   {i}: {ctext.comment(label)}" for i, label in enumerate(labels)),
            "batch_note": ", 32 at a time" if layout == "sliced" else "",
            "strings": convert_h + strings_h,
            "strings_c": convert_c + strings_c,
        }

    def files(self, *, single_header: bool) -> dict[str, str]:
        """Texts by the names of the files."""
        side = "sliced" if self.layout == "sliced" else "single"
        self.values["predict"] = self._fill(f"predict_{side}.c").strip()
        self.values["batch"] = self._fill(f"batch_{side}.c").strip()
        flash = _read("c99/runtime/flash.h")
        self.values["flash"] = flash.strip() if single_header else '#include "ethereal_flash.h"'
        header = self._fill("model.h")
        name = self.name
        types = f"typedef {name}_input et_input;\ntypedef {name}_row et_row;\n\n"
        body = types + self.tables.render()
        functions = self._fill("model.c") + self.values["strings_c"]
        common, own = _read("c99/runtime/common.h"), _read(f"c99/layouts/{self.layout}/{self.layout}.h")
        if single_header:
            everything = f"#define ET_API static inline\n\n{body}\n{common}\n{own}\n{functions}"
            return {f"{name}.h": _one_header(name, header, everything)}
        source = (
            f'/* Tables of {name}; see {name}.h. */\n#include "{name}.h"\n\n#define ET_API\n\n{body}\n'
            f'#include "ethereal.h"\n#include "ethereal_{self.layout}.h"\n\n{functions}'
        )
        return {
            f"{name}.h": header,
            f"{name}.c": source,
            "ethereal.h": common,
            "ethereal_flash.h": flash,
            f"ethereal_{self.layout}.h": own,
        }

    def _fill(self, template: str) -> str:
        return fill(template, self.values)


def _one_header(name: str, header: str, body: str) -> str:
    """Everything in one header: functions static inline, and names of the runtime made the model's own.

    The macros of flash.h keep their names: they are the same for every model, and the self-test uses them.
    """
    body = re.sub(r"\bet_(?=\w)", f"{name}_et_", body)
    body = re.sub(r"\bET_(?!FLASH|READ)(?=\w)", f"{name.upper()}_ET_", body)
    body = re.sub(r"(?m)^static (?=(void|uint32_t|unsigned|const \w+ \*) ?\w+\()", "static inline ", body)
    # The declarations stand between two blocks for C++, which static functions do not need.
    head, rest = header.split("#ifdef __cplusplus\nextern", 1)
    declarations = rest.split("#endif\n", 1)[1].split("#ifdef __cplusplus", 1)[0]
    declarations = re.sub(
        r"(?m)^(?=(unsigned|void|int|const char \*) ?\w+\()", "static inline ", declarations
    )
    return f"{head}{declarations}\n{body}\n#endif\n"


def fill(template: str, values: dict[str, str], folder: str = "c99/templates") -> str:
    """Text of a template in a folder of this package with @key@ replaced."""
    return filled(_read(f"{folder}/{template}.in"), values)


def filled(text: str, values: dict[str, str]) -> str:
    """Text with @key@ replaced.

    >>> filled("int @name@(void);", {"name": "tiny"})
    'int tiny(void);'
    """
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], text)


def _read(path: str) -> str:
    return resources.files("ethereal.export").joinpath(*path.split("/")).read_text(encoding="utf-8")


def _nan_note(slots: Slots, kind: NumberType) -> str:
    """What a feature that is not a number means."""
    if kind.ctype != "float" or slots.model.booleanizer is None:
        return ""
    if slots.accepts_missing:
        return " A missing value is not a number (NaN)."
    return (
        " No value was missing in training, so a value that\n *    is not a number (NaN) counts as very "
        "large or very small. Test for it before the call."
    )


def _conversion(
    name: str, kind: NumberType, scales: Sequence[Scale], names: Sequence[str], *, accepts_missing: bool
) -> tuple[str, str]:
    """Declaration and definition of the function that makes integers of the user's numbers."""
    if not scales:
        return "", ""
    notes = "\n".join(
        f"   {ctext.comment(feature)}: {scale.note()}" for feature, scale in zip(names, scales, strict=True)
    )
    values = {
        "name": name,
        "NAME": name.upper(),
        "notes": notes,
        "offsets": ctext.wrap([f"0x{int(np.float32(s.offset).view(np.uint32)):08X}u" for s in scales]),
        "exponents": ctext.wrap([str(scale.exponent) for scale in scales]),
        "low": str(scales[0].low),
        "high": str(scales[0].high),
        "missing": f"{name.upper()}_MISSING" if accepts_missing else str(scales[0].low),
    }
    return fill("convert.h", values), fill("convert.c", values)


# On AVR the caller can print a name only from RAM.
_RETURN_NAME = """\
#if defined(__AVR__)
    {{
        static char name[{size}];
        const char *from = (const char *)ET_READ_POINTER(names[{i}]);
        char *to = name;

        while ((*to++ = (char)ET_READ(*from++)) != 0) {{
        }}
        return name;
    }}
#else
    return names[{i}];
#endif
}}
"""


def _strings(name: str, labels: list[str], features: tuple[str, ...]) -> tuple[str, str]:
    """Declarations and definitions of functions that return names."""
    header, source = "", ""
    for what, texts in (("class", labels), ("feature", list(features))):
        function = f"const char *{name}_{what}_name(unsigned {what}_)"
        header += f"\n/* Name of a {what}, in UTF-8. On AVR it is good until the next call. */\n{function};\n"
        source += (
            f"\nET_API {function}\n{{\n"
            + "".join(
                f"    static const ET_FLASH char name_{i}[] = {ctext.string(text)};\n"
                for i, text in enumerate(texts)
            )
            + "    static const ET_FLASH char *const names[] = {\n"
            + f"{ctext.wrap([f'name_{i}' for i in range(len(texts))])}\n    }};\n\n"
            + _RETURN_NAME.format(i=f"{what}_", size=max(len(text.encode()) for text in texts) + 1)
        )
    return header, source
