"""What an export is, as JSON for other tools: inputs, answers, sizes and limits, under keys that stay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ethereal.chips.targets import find_target
from ethereal.export.c99.ctext import package_version
from ethereal.export.c99.program import Program
from ethereal.model import Model
from ethereal.model.output import Number

FORMAT_VERSION = 1  # a key that is added leaves it as it is, and one that goes or changes raises it
# What an export's command measured or estimated that stands here too.
_TAKEN = (
    "measured",
    "flash_bytes",
    "ram_bytes",
    "stack_bytes",
    "instructions",
    "instructions_max",
    "clock_hz",
)


def described(model: Model, name: str, form: str, code: Mapping[str, Any] | None = None) -> str:
    """Return the description of an export as JSON. `form` says what it is, such as "c" or "micropython".

    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> record = json.loads(described(model, "tiny", "c"))
    >>> record["answers"]["classes"], record["inputs"][0]["name"]
    (['a', 'b'], 'x0')
    """
    record = {
        "format": "ethereal export",
        "format_version": FORMAT_VERSION,
        "name": name,
        "form": form,
        "made_by": f"ethereal {package_version()}",
        "answers": _answers(model),
        "inputs": [] if model.front_end is not None else _inputs(model),
        "windows": _windows(model),
        "model": {
            "classes": None if model.is_number else model.n_classes,
            "features": model.n_features,
            "booleans": model.n_booleans,
            "clauses": model.n_clauses,
            "includes": model.n_includes,
        },
        "code": code,
        "limits": None if model.deployment is None else model.deployment.as_dict(),
    }
    return "{\n" + ",\n".join(f'  "{key}": {_line(value)}' for key, value in record.items()) + "\n}\n"


def _line(value: Any) -> str:
    """Return a value as one line of JSON, and a list of records as one line for each."""
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f"    {_line(one)}" for one in value) + "\n  ]"
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def described_program(program: Program, form: str, takes: Mapping[str, Any] | None = None) -> str:
    """Return the description of a program in C. `takes` has what was measured of it, if anything was."""
    target = find_target(program.options.target)
    code: dict[str, Any] = {
        "layout": program.layout,
        "input_type": "uint8" if program.model.fitted is None else program.input.name,
        "scales": [{"offset": s.offset, "factor": s.factor} for s in program.scales] or None,
        "functions": program.entry_points,
        "checksum": f"{program.tables.checksum(True):08X}",
        "target": target.name,
        "measured": False,
        "flash_bytes": program.flash_bytes,
        "ram_bytes": program.ram_bytes,
        "stack_bytes": program.stack_bytes,
        "instructions": round(program.costs.instructions),
        "instructions_max": None,
        "clock_hz": target.clock_hz,
    }
    if takes is not None and takes.get("counted", "instructions") == "instructions":
        code |= {key: takes[key] for key in _TAKEN if key in takes}
        code["instructions"] = round(code["instructions"])
    return described(program.model, program.name, form, code)


def _answers(model: Model) -> dict[str, Any]:
    """Return what comes out: the classes by their numbers, and what stands for "unknown"."""
    output, margin = model.output, getattr(model.output, "margin", None)
    unknown = None if margin is None else {"number": model.n_classes, "margin": margin}
    if isinstance(output, Number):
        return {"kind": output.kind, "classes": None, "unknown": None, "number": output.as_dict()}
    return {"kind": output.kind, "classes": model.classes.tolist(), "unknown": unknown, "number": None}


def _inputs(model: Model) -> list[dict[str, Any]]:
    """Return what each feature may be, in the order of a row."""
    used, inputs = np.zeros(model.n_features, dtype=bool), []
    used[model.feature_map.feature[model.clauses.boolean]] = True
    for f, name in enumerate(model.input_names):
        is_boolean, thresholds = model.fitted is None, model.feature_map.thresholds_of(f)
        low: float | None = None
        high: float | None = None
        if is_boolean:
            low, high = 0.0, 1.0
        elif model.seen is not None and np.isfinite([model.seen.low[f], model.seen.high[f]]).all():
            low, high = float(model.seen.low[f]), float(model.seen.high[f])
        inputs.append(
            {
                "name": name,
                "unit": None,
                "used": bool(used[f]),
                "low": low,  # in training
                "high": high,
                "lowest_threshold": None if is_boolean or not len(thresholds) else float(min(thresholds)),
                "highest_threshold": None if is_boolean or not len(thresholds) else float(max(thresholds)),
                "may_be_missing": not is_boolean and bool(model.feature_map.accepts_missing(f)),
                "categories": list(model.categories.get(name, ())) or None,
            }
        )
    return inputs


def _windows(model: Model) -> dict[str, Any] | None:
    """Return what the samples of a window are, None for a model of rows."""
    front_end = model.front_end
    if front_end is None:
        return None
    n = len(front_end.axes)
    scale, units = front_end.scale or [None] * n, front_end.units or [None] * n
    axes = [
        {"name": axis, "unit": unit, "counts_per_unit": counts, "type": "int16"}
        for axis, unit, counts in zip(front_end.axes, units, scale, strict=True)
    ]
    return {
        "axes": axes,
        "samples": front_end.window,
        "hop": front_end.hop,
        "rate": front_end.rate,
        "features": list(front_end.names),
    }
