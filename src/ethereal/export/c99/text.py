"""The files of a model: templates filled with its tables and names."""

from __future__ import annotations

import functools
import re
from importlib import resources
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from ethereal.export.c99 import learn, seen, unknown, windows
from ethereal.export.c99 import tables as ctext
from ethereal.export.c99.constants import constants_of
from ethereal.export.c99.device_rows import Slots
from ethereal.export.numbers import NumberType
from ethereal.features import front_end

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program


def files_of(program: Program) -> dict[str, str]:
    """Return texts by the names of the files."""
    name, layout, tables = program.name, program.layout, program.tables
    values = _values(program)
    own_folder = f"c99/layouts/{layout}"
    side = own_folder if program.c_layout.rows_per_call > 1 else "c99/templates"
    values["predict"] = fill("predict.c", values, side).strip()
    values["batch"] = fill("batch.c", values, side).strip()
    has_rows = program.c_layout.has_rows
    has_tables = tables.predict_bytes > 0
    values["check"] = fill("check.c", values, "c99/templates" if has_tables else own_folder).strip()
    values["checked"] = f"{name}_check()" if has_tables else "1"
    for part in ("row", "two_steps"):
        values[part] = fill(f"{part}.h", values) if has_rows else ""
    flash, is_single = read("c99/runtime/flash.h"), program.options.single_header
    values["flash"] = flash.strip() if is_single else '#include "ethereal_flash.h"'
    header = fill("model.h", values)
    row = f"typedef {name}_row et_row;\n" if has_rows else ""
    # Straight code that does not learn has no loop over classes.
    classes = f"#define ET_CLASSES {name.upper()}_CLASSES\n" if has_rows or program.learning else ""
    body = f"typedef {name}_input et_input;\n{row}\n{classes}{tables.render()}"
    functions = fill("model.c", values, "c99/templates" if has_rows else own_folder) + values["strings_c"]
    crc = read("c99/runtime/crc.h")
    common = read("c99/runtime/common.h").replace("/* crc.h */\n", crc) if has_rows else ""
    own = {path: read(where) for path, where in program.c_layout.runtime.items()}
    if has_tables and not has_rows and program.learning is None:  # the runtime of learning has one of its own
        functions = f"{crc}\n{functions}"
    if unknown.is_asked(program.model):
        functions = f"{_answer(values, has_rows)}\n{functions}"
    if tables.functions:
        functions = f"{tables.functions}\n{functions}"
    if is_single:
        headers = "\n".join([common, *own.values()])
        everything = f"#define ET_API static inline\n\n{body}\n{headers}\n{functions}"
        return {f"{name}.h": _one_header(name, header, everything)}
    included = "".join(f'#include "{path}"\n' for path in ((["ethereal.h"] if has_rows else []) + [*own]))
    source = (
        f'/* {"Tables" if has_rows else "Code"} of {name}; see {name}.h. */\n#include "{name}.h"\n\n'
        f"#define ET_API\n\n{body}\n{included}\n{functions}"
    )
    files = {f"{name}.h": header, f"{name}.c": source, "ethereal.h": common, "ethereal_flash.h": flash}
    if program.model.front_end is not None:
        files[windows.HEADER] = front_end.header()
    return {path: text for path, text in files.items() if text} | own


# Straight code has the sums of several classes in a word.
# The body of NAME_predict in straight code.
_ANSWER = """\
uint32_t sums[ET_WORDS];

    et_sum(features, sums);
    return @best@(sums);"""
_OF_WORDS = """
static unsigned et_answer_of(const uint32_t *sums)
{
    int32_t votes[@NAME@_CLASSES];

    et_unpack(sums, votes);
    return et_answer(votes);
}
"""


def _answer(values: dict[str, str], has_rows: bool) -> str:
    """Return the function that finds the answer of a model that may have none."""
    text = fill("unknown.c", values)
    return f"#if ET_CELLS == 0\n{text}#endif\n" if has_rows else text + filled(_OF_WORDS, values)


def _values(program: Program) -> dict[str, str]:
    """Return what the templates are filled with."""
    model, slots, kind, name = program.model, program.slots, program.input, program.name
    labels = learn.answer_names(program)
    strings_h, strings_c = "", ""
    if program.options.with_names:
        strings_h, strings_c = _strings(name, labels, model.input_names)
    missing = ""
    if slots.accepts_missing and kind.ctype != "float":
        missing = f"#define {name.upper()}_MISSING ({kind.missing}) /* stands for a missing value */\n"
    convert_h, convert_c = _conversion(program)
    missing_h, missing_c = _missing(program)
    bits_c = _FLOAT_BITS if "et_float_bits(" in missing_c + convert_c else ""
    windows_h, windows_c = _windows(program)
    learn_h, learn_c = learn.texts_of(program)
    seen_h, seen_c = _seen(program)
    n_at_once = program.c_layout.rows_per_call
    answers = unknown.values_of(program)
    return {
        **answers,
        "name": name,
        "NAME": name.upper(),
        "about": "\n".join(f" * {ctext.comment(line)}" for line in program.about.splitlines()),
        "classes": str(model.n_classes + slots.n_new_classes),
        "features": str(model.n_features),
        "version": package_version(),
        "layout": program.layout,
        "checksum": f"{program.tables.checksum:08X}",
        "sums_checksum": f"{program.tables.sums_checksum:08X}",
        "answer": filled("return et_early(features);" if model.early else _ANSWER, answers),
        "missing": (learn.INCLUDE if learn_h else "") + missing + answers["unknown"] + constants_of(program),
        "input": "uint8_t" if model.fitted is None else kind.ctype,
        "memory": learn.memory_note(program, windows.memory_note(program)),
        "tasks": "The functions" if program.ram_bytes == 0 else "All other functions",
        "nan_note": _nan_note(slots, kind, name),
        "slot_bytes": str(program.row_bytes),
        "row_words": str(program.row_bytes // 4),
        "class_list": "\n".join(f"   {i}: {ctext.comment(label)}" for i, label in enumerate(labels)),
        "batch_note": f", {n_at_once} at a time" if n_at_once > 1 else "",
        "strings": missing_h + convert_h + windows_h + seen_h + learn_h + strings_h,
        "strings_c": bits_c + missing_c + convert_c + windows_c + seen_c + learn_c + strings_c,
    }


# Comments and strings stay as they are, because they may hold names that the user gave.
_RUNTIME_NAME = re.compile(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\bet_(?=\w)|\bET_(?!FLASH|READ)(?=\w)', re.DOTALL)


def _one_header(name: str, header: str, body: str) -> str:
    """Return one header with static inline functions, in which the model's name begins every name.

    The macros of flash.h keep their names, because the self-test uses them and they are always the same.
    """
    own = {"et_": f"{name}_et_", "ET_": f"{name.upper()}_ET_"}
    body = _RUNTIME_NAME.sub(lambda match: own.get(match[0], match[0]), body)
    body = re.sub(r"(?m)^static (?=(void|uint32_t|unsigned|const \w+ \*) ?\w+\()", "static inline ", body)
    # The declarations stand between two blocks for C++, which static functions do not need.
    head, rest = header.split("#ifdef __cplusplus\nextern", 1)
    declarations = rest.split("#endif\n", 1)[1].split("#ifdef __cplusplus", 1)[0]
    declarations = re.sub(
        r"(?m)^(?=(unsigned|void|int|size_t|const \w+ \*) ?\w+\()", "static inline ", declarations
    )
    return f"{head}{declarations}\n{body}\n#endif\n"


def fill(template: str, values: dict[str, str], folder: str = "c99/templates") -> str:
    """Return a template of a folder of this package with @key@ replaced."""
    return filled(read(f"{folder}/{template}.in"), values)


def filled(text: str, values: dict[str, str]) -> str:
    """Return text with @key@ replaced.

    >>> filled("int @name@(void);", {"name": "tiny"})
    'int tiny(void);'
    """
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], text)


@functools.cache
def package_version() -> str:
    """Return the version of this package, which `version` finds by reading a file."""
    return version("ethereal-tm")


@functools.cache
def read(path: str) -> str:
    """Return a file of this package."""
    return resources.files("ethereal.export").joinpath(*path.split("/")).read_text(encoding="utf-8")


def _nan_note(slots: Slots, kind: NumberType, name: str) -> str:
    """Return what a feature that is not a number means."""
    if slots.model.fitted is None:
        return ""
    if slots.model.front_end is not None:
        return ""
    told = f" {name}_missing() tells of rows that\n *    the host refuses." if refused_features(slots) else ""
    if kind.ctype != "float":
        return told
    if slots.accepts_missing:
        return f" A missing value is not a number (NaN).{told}"
    return (
        " No value was missing in training, so a value that\n *    is not a number (NaN) counts as very "
        f"large or very small. Call {name}_missing() first."
    )


def refused_features(slots: Slots) -> list[int]:
    """Return the features whose missing values the host refuses."""
    model = slots.model
    if model.fitted is None:
        return []
    return [f for f in range(model.n_features) if not model.feature_map.accepts_missing(f)]


_FLOAT_BITS = """
/* The bits of a float, because compilers may be told that no float is NaN. */
static uint32_t et_float_bits(float value)
{
    const uint8_t *const from = (const uint8_t *)&value;
    uint32_t bits = 0;
    uint8_t *const to = (uint8_t *)&bits;

    to[0] = from[0];
    to[1] = from[1];
    to[2] = from[2];
    to[3] = from[3];
    return bits;
}
"""


def _missing(program: Program) -> tuple[str, str]:
    """Return declaration and definition of the function that finds values which the host refuses to miss.

    An integer is missing when it has the number for that. Where no feature may be missing there is no such
    number, so the function looks at the floats that become integers.
    """
    name, slots, refused = program.name, program.slots, refused_features(program.slots)
    if not refused or program.model.front_end is not None:
        return "", ""
    is_float = program.input.ctype == "float" or not slots.accepts_missing
    n_features, table, test = program.model.n_features, "", ""
    if len(refused) < n_features:
        flags = [sum(1 << (f % 8) for f in refused if f // 8 == i) for i in range((n_features + 7) // 8)]
        table = (
            "    /* a bit per feature, 1 when it never was missing */\n"
            f"    static const ET_FLASH uint8_t never[{len(flags)}] = {{\n"
            f"{ctext.wrap([str(flag) for flag in flags])}\n    }};\n"
        )
        test = " && (((ET_READ(never[f / 8u]) >> (f % 8u)) & 1u) != 0u)"
    values = {
        "name": name,
        "NAME": name.upper(),
        "type": "float" if program.scales and is_float else f"{name}_input",
        "when": f"Call it before {name}_convert()." if program.scales and is_float else
                f"Call it before {name}_predict().",
        "table": table,
        "test": ("((et_float_bits(features[f]) & 0x7FFFFFFFu) > 0x7F800000u)" if is_float else
                 f"(features[f] == {name.upper()}_MISSING)") + test,
    }  # fmt: skip
    is_quick = program.learning is not None and is_float and not table  # learning a row begins with it
    return fill("missing.h", values), fill("missing_quick.c" if is_quick else "missing.c", values)


def _windows(program: Program) -> tuple[str, str]:
    """Return declarations and definitions of what takes raw samples, nothing for other models."""
    own = program.model.front_end
    return ("", "") if own is None else windows.functions(own, program.options)


def _seen(program: Program) -> tuple[str, str]:
    """Return declarations and definitions of what compares with the training rows."""
    values = seen.values_of(program)
    return ("", "") if values is None else (fill("seen.h", values), fill("seen.c", values))


def _conversion(program: Program) -> tuple[str, str]:
    """Return declaration and definition of the function that makes integers of the user's numbers."""
    name, scales, names = program.name, program.scales, program.model.input_names
    if not scales or program.model.front_end is not None:
        return "", ""
    notes = "\n".join(
        f"   {ctext.comment(feature)}: {scale.note()}" for feature, scale in zip(names, scales, strict=True)
    )
    values = {
        "name": name,
        "NAME": name.upper(),
        "notes": notes,
        **_offsets(program),
        "exponents": ctext.wrap([str(scale.exponent) for scale in scales]),
        "low": str(scales[0].low),
        "high": str(scales[0].high),
        "missing": f"{name.upper()}_MISSING" if program.slots.accepts_missing else str(scales[0].low),
    }
    return fill("convert.h", values), fill("convert.c", values)


_FLOAT_OF = """
/* The float that has these bits. */
static float et_float_of(uint32_t bits)
{
    const uint8_t *const from = (const uint8_t *)&bits;
    float value = 0.0f;
    uint8_t *const to = (uint8_t *)&value;
    unsigned i;

    for (i = 0; i < sizeof(value); i++) {
        to[i] = from[i];
    }
    return value;
}
"""
_SHIFT = """\
            const uint32_t offset = ET_READ(offsets[f]);

            if (offset != 0u) {
                bits = et_float_bits(features[f] - et_float_of(offset));
            }
"""


def _offsets(program: Program) -> dict[str, str]:
    """Return what is subtracted from features before they are scaled, nothing where that is 0 for all."""
    if not any(scale.offset for scale in program.scales):
        return {"float_of": "", "offsets": "", "shift": ""}
    bits = [f"0x{int(np.float32(scale.offset).view(np.uint32)):08X}u" for scale in program.scales]
    table = (
        "    /* offsets as the bits of floats */\n"
        f"    static const ET_FLASH uint32_t offsets[{program.name.upper()}_FEATURES] = {{\n"
        f"{ctext.wrap(bits)}\n    }};\n"
    )
    return {"float_of": _FLOAT_OF, "offsets": table, "shift": _SHIFT}


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
    """Return declarations and definitions of functions that return names."""
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
