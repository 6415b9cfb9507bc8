"""The C of models that read raw windows: the plan of their kernels, the stream and golden windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.export.c99.tables import Tables, comment, wrap
from ethereal.export.numbers import NUMBER_TYPES, NumberType
from ethereal.export.options import ExportOptions
from ethereal.features.front_end import FRAME, MEL_BANDS, FrontEnd, header, sines

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program

HEADER = "ethereal_windows.h"
_BANDED = ("bands", "spectrum", "mel")  # in the order of et_waves
TABLES = frozenset(("et_plan", "et_sine", *(f"et_ends_of_{name}" for name in _BANDED)))
STACK_BYTES = 200  # of the kernels, about
N_GOLDEN = 4
_USUAL_RATE = 50.0  # samples per second, where it is not known
# Upper bounds of the code on a Cortex-M: what every front end has, each kernel, and what several share.
_BASE, _FFT, _SQUASH, _MAGNITUDE = 460, 620, 160, 120
_CODE = {"stats": 130, "std": 120, "mad": 90, "step": 90, "shape": 130, "parts": 130, "haar": 180,
         "bands": 260, "spectrum": 260, "cov": 200, "mel": 620, "corr": 420}  # fmt: skip


def code_bytes(front_end: FrontEnd) -> int:
    """Return an upper bound of the code that a front end takes on a Cortex-M."""
    used = {kernel for kernel, _ in front_end.groups}
    has_magnitude = any(source.startswith("|") for _, source in front_end.groups)
    shared = _FFT * (front_end.wave_size > 0) + _SQUASH * (not used <= {"stats", "shape", "parts"})
    return _BASE + shared + _MAGNITUDE * has_magnitude + sum(_CODE[kernel] for kernel in used)


def flash_bytes(front_end: FrontEnd) -> int:
    """Return an upper bound of the flash of a front end on a Cortex-M, code and tables."""
    out = Tables()
    write_tables(out, front_end)
    return code_bytes(front_end) + out.predict_bytes


def number_type(asked: str) -> NumberType:
    """Return the type of the features, which is int16 for windows, whatever else may be asked for."""
    if asked not in ("float", "int16"):
        raise ValueError(f"input is {asked!r}, but features of windows are int16. Leave the option out.")
    return NUMBER_TYPES["int16"]


def write_tables(out: Tables, front_end: FrontEnd) -> None:
    """Write the plan, and the sines and bins of the transforms that it has."""
    plan = front_end.plan
    codes = sorted(set(plan[:, 0].tolist()))
    out.define("ET_KERNELS", f"0x{sum(1 << code for code in codes):04X}")
    out.define("ET_STEPS", f"{len(plan)}u")
    groups = "\n".join(f"   {kernel} of {comment(source)}" for kernel, source in front_end.groups)
    out.array("uint8_t", "et_plan", plan.ravel(), f"steps of {HEADER}: kernel and axes\n{groups}")
    write_waves(out, front_end)


def write_waves(out: Tables, front_end: FrontEnd) -> None:
    """Write the sines and bins of the transforms that a front end has."""
    size = front_end.wave_size
    if size:
        out.array("int16_t", "et_sine", sines(size), "three quarters of a wave, 32767 sin(2 pi i / size)")
    for name, ends in front_end.band_ends.items():
        out.array("uint16_t", f"et_ends_of_{name}", ends, f"the last bin of each band of {name}")
    own = [f"et_ends_of_{name}" if name in front_end.band_ends else "0" for name in _BANDED]
    out.define("ET_WAVES", f"{{{'et_sine' if size else '0'}, {size}u, {', '.join(own)}}}")


def values_of(own: FrontEnd, options: ExportOptions) -> dict[str, str]:
    """Return what the templates of windows are filled with."""
    name = options.name
    side, work = own.scratch()
    axes = [
        f"   {i}: {comment(name)}"
        + ("" if own.scale is None else f", {own.scale[i]:.9g} counts per {comment(_unit(own, i))}")
        for i, name in enumerate(own.axes)
    ]
    return {
        "name": name,
        "NAME": name.upper(),
        "n_axes": str(len(own.axes)),
        "window": str(own.window),
        "hop": str(own.hop),
        "majority": str(options.majority),
        "axes": "\n".join(axes),
        "rate": "" if own.rate is None else f", at {own.rate:.9g} samples per second",
        "side": str(side),
        "work": str(work),
        "kept": "ET_FRAME" if own.is_framed else f"{name.upper()}_WINDOW * {name.upper()}_AXES",
        "frames": ", et_frames" if own.is_framed else "",
        "and_frames": " and frames" if own.is_framed else "",
        "no_frames": "\n    et_frames = 0;" if own.is_framed else "",
        "include": header() if options.single_header else f'#include "{HEADER}"',
    }


def functions(own: FrontEnd, options: ExportOptions) -> tuple[str, str]:
    """Return declarations and definitions of the functions that take raw samples."""
    from ethereal.export.c99.text import fill

    values = values_of(own, options)
    values["push"] = fill("push_frames.c" if own.is_framed else "push.c", values).rstrip()
    return fill("windows.h", values), fill("windows.c", values)


def ram_bytes(program: Program) -> int:
    """Return the RAM of the variables that windows and the stream need, 0 for models of features."""
    own = program.model.front_end
    return 0 if own is None else ram_of(own, program.options.majority)


def ram_of(own: FrontEnd, majority: int = 1) -> int:
    """Return the RAM of the variables of a front end and its stream."""
    side, work = own.scratch()
    kept = majority * (majority > 1)
    return 2 * (stream_numbers(own) + len(own.axes) + 1 + side + len(own.names) + kept) + 4 * work + 12


def stream_numbers(own: FrontEnd) -> int:
    """Return how many int16 numbers a stream keeps: the samples of a window, or of a frame and the bands."""
    return FRAME + own.window // FRAME * MEL_BANDS if own.is_framed else own.window * len(own.axes)


ROW = "et_window_row"  # the variable that features are kept in


def stream_values(own: FrontEnd, majority: int = 1) -> dict[str, tuple[int, ...]]:
    """Return variables of a stream, with values that stand for all that they can have before a sample.

    The number of samples is compared with the window, and is an index otherwise. So it is with the samples
    of a frame and the frames of sound.
    """
    found = {"et_filled": _before(FRAME if own.is_framed else own.window)}
    if own.is_framed:
        found["et_frames"] = _before(own.window // FRAME)
    return found | ({"et_n_answers": tuple(range(majority + 1))} if majority > 1 else {})


def _before(end: int) -> tuple[int, ...]:
    """Return numbers that stand for all below an end that one more is compared with."""
    return tuple(sorted({0, max(end - 2, 0), end - 1}))


def stack_of(program: Program) -> int:
    """Return the stack of a prediction from features or from raw samples, estimated for a Cortex-M."""
    return program.costs.stack_bytes + (0 if program.model.front_end is None else STACK_BYTES)


def memory_note(program: Program) -> str:
    """Return the part of the contract about memory."""
    stack, own = stack_of(program), program.model.front_end
    if own is None:
        lines = [
            "No heap, no recursion, no variables that outlive a call. RAM: none. Stack: about "
            f"{stack} bytes,",
            "  estimated for a Cortex-M.",
        ]
    else:
        shared = ", ".join(f"{program.name}_{function}()" for function in ("window", "push", "reset"))
        buffer = 2 * stream_numbers(own)
        lines = [
            f"No heap, no recursion. RAM: {ram_bytes(program)} bytes of variables, {buffer} of them for a "
            "stream.",
            f"  Stack: about {stack} bytes, estimated for a Cortex-M.",
            f"- {shared} and",
            f"  {program.name}_features() share these variables: call them from one task.",
        ]
    return "\n *  ".join(lines)


def windows_for(own: FrontEnd, rows: ArrayLike | None) -> NDArray[np.int16]:
    """Return some of the windows that were given, else some that are hard on integers."""
    if rows is not None and np.ndim(rows) == 3 and len(np.asarray(rows)):
        given = own.counts(rows)
        return given[:: max(1, len(given) // N_GOLDEN)][:N_GOLDEN]
    rng = np.random.default_rng(0)
    shape = (own.window, len(own.axes))
    noise = rng.integers(-(2**15), 2**15, shape)
    waves = 2000 * np.sin(np.arange(own.window)[:, None] * rng.uniform(0.05, 2, len(own.axes)))
    return np.stack([noise, waves, waves / 500, np.full(shape, -(2**15))]).astype(np.int16)


def test_values(program: Program) -> dict[str, str]:
    """Return what the template of the self-test needs for windows, empty texts for other models."""
    if program.model.front_end is None:
        return {"golden_windows": "", "test_windows": ""}
    windows = windows_for(program.model.front_end, program.options.rows)
    classes = program.model.output.indices(program.model.class_sums(windows))
    features = program.model.front_end.transform(windows)
    values = {
        "name": program.name,
        "NAME": program.name.upper(),
        "period_us": str(round(1e6 / (program.model.front_end.rate or _USUAL_RATE))),
        "n_windows": str(len(windows)),
        "windows": _table(windows.reshape(len(windows), -1)),
        "window_features": _table(features),
        "window_classes": ", ".join(map(str, classes.tolist())),
    }
    from ethereal.export.c99.text import fill

    return values | {
        "golden_windows": "\n" + fill("windows_test.c", values),
        "test_windows": "\n    failures += test_windows();",
    }


def _table(rows: NDArray[np.int16]) -> str:
    return ",\n".join(wrap(list(map(str, row))) for row in rows.tolist())


def _unit(own: FrontEnd, i: int) -> str:
    return "unit" if own.units is None else own.units[i]
