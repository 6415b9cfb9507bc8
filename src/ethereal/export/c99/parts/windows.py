"""Raw samples: the plan of the kernels, the stream, golden windows, and a bound of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.export.c99.ctext import Tables, comment, filled, wrap
from ethereal.export.c99.device_rows import NUMBER_TYPES, used_booleans
from ethereal.export.c99.parts.part import Assumed, Draft, Part, sections
from ethereal.features.front_end import FRAME, MEL_BANDS, FrontEnd, header, sines
from ethereal.model.simplify import drop_unused_kernels

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program
    from ethereal.export.options import ExportOptions

HEADER = "ethereal_windows.h"
_BANDED = ("bands", "spectrum", "mel")  # in the order of et_waves
N_GOLDEN = 4
_USUAL_RATE = 50.0  # samples per second, where it is not known
# Upper bounds of the code on a Cortex-M: what every front end has, each kernel, and what several share.
_BASE, _FFT, _SQUASH, _MAGNITUDE = 460, 620, 160, 120
_BASE_OF_FRAMES = -100  # because layouts of patches count what makes planes of floats
_CODE = {"stats": 130, "std": 120, "mad": 90, "step": 90, "shape": 130, "parts": 130, "haar": 180,
         "bands": 260, "spectrum": 260, "cov": 200, "mel": 620, "corr": 420, "sound": 560}  # fmt: skip


@dataclass(frozen=True)
class Windows(Part):
    """Takes samples, one or a window at a time, and makes the features of a row of them."""

    name = "windows"
    tables = frozenset(("et_plan", "et_sine", *(f"et_ends_of_{name}" for name in _BANDED)))
    writes_tables = True
    predicts = ("window", "push")
    bounded = ("push",)
    stack_bytes = 200  # of the kernels, about
    front_end: FrontEnd
    plane_bytes: int = 0  # of what frames say, which a stream keeps

    @property
    def row_variable(self) -> str:  # type: ignore[override]
        """Where the features are that clauses read. Those of frames change, and are bits then."""
        return "et_window_row" if self.front_end.frames is None else ""

    @classmethod
    def of(cls, draft: Draft) -> Windows | None:
        if draft.small.front_end is None:
            return None
        if draft.kind.name not in ("float", "int16"):
            raise ValueError(
                f"input is {draft.kind.name!r}, but features of windows are int16. Leave the option out."
            )
        draft.kind = NUMBER_TYPES["int16"]
        draft.small, draft.columns = drop_unused_kernels(draft.small)
        draft.model = draft.small
        assert draft.small.front_end is not None
        patch, n_planes = draft.small.patch, 0
        if patch is not None:
            n_planes = max(1, len(used_booleans(draft.small)) // patch.n_cells)
        wide = draft.small.front_end.n_frames > 32
        return cls(draft.small.front_end, n_planes * (8 if wide else 4))

    def code_bytes(self) -> int:
        return code_bytes(self.front_end)

    def ram_bytes(self, options: ExportOptions) -> int:
        return ram_of(self.front_end, options.majority) + self.plane_bytes

    def write_tables(self, out: Tables, options: ExportOptions) -> None:
        write_tables(out, self.front_end)

    def runtime(self) -> dict[str, str]:
        return {HEADER: header()}

    def text(self, which: str, program: Program) -> str:
        if which not in ("header", "source"):
            return ""
        return functions(self.front_end, program.options, program.number is not None)[which == "source"]

    def fills(self, program: Program) -> dict[str, str]:
        name, buffer = program.name, 2 * stream_numbers(self.front_end)
        shared = ", ".join(f"{name}_{function}()" for function in ("window", "push", "reset"))
        memory = [
            f"No heap, no recursion. RAM: {self.ram_bytes(program.options)} bytes of variables, {buffer} of "
            "them for a stream.",
            f"  Stack: about {program.stack_bytes} bytes, estimated for a Cortex-M.",
            f"- {shared} and",
            f"  {name}_features() share these variables: call them from one task.",
        ]
        period = str(round(1e6 / (self.front_end.rate or _USUAL_RATE)))
        note = f", as `{program.input.ctype}`"
        return {"input_note": note, "memory": "\n *  ".join(memory), "period_us": period}

    def golden(self, program: Program, features: NDArray[Any]) -> dict[str, str]:
        windows = windows_for(self.front_end, program.options.rows)
        classes = program.model.output.codes(program.model.class_sums(windows))
        values = {
            "n_windows": str(len(windows)),
            "windows": _table(windows.reshape(len(windows), -1)),
            "window_features": _table(_last(self.front_end.transform(windows))),
            **_of_frames(self.front_end),
            "window_classes": ", ".join(map(str, classes.tolist())),
            **_answers(program.name, program.number is not None),
        }
        texts = {which: self.section(which, program, **values) for which in ("golden", "test")}
        return texts | values

    def assumed(self, program: Program, function: str) -> list[list[Assumed]]:
        """Return variables of a stream, with values that stand for all that they can have before a sample.

        The number of samples is compared with the window, and is an index otherwise. So it is with the
        samples of a frame and the frames of sound.
        """
        if function != "push":
            return [[]]
        front_end, majority = self.front_end, program.options.majority
        if front_end.frames is not None:
            n, filled = front_end.n_frames, _before(front_end.frames[0])
            first = [n - front_end.hop // front_end.frames[1], n - 2, n - 1]
            frames = tuple(sorted({min(first), max(first[0], n - 2), n - 1}))
            stream = {"et_filled": filled, "et_frames": tuple(f % 2**16 for f in frames)}
            stream |= {"et_skipped": (front_end.skipped,)} if front_end.skipped else {}
            return self._with_answers(stream, majority)
        stream = {"et_filled": _before(FRAME if front_end.is_framed else front_end.window)}
        stream |= {"et_frames": _before(front_end.window // FRAME)} if front_end.is_framed else {}
        return self._with_answers(stream, majority)

    def _with_answers(self, stream: dict[str, tuple[int, ...]], majority: int) -> list[list[Assumed]]:
        stream |= {"et_n_answers": tuple(range(majority + 1))} if majority > 1 else {}
        return [[Assumed(variable, values) for variable, values in stream.items()]]


def functions(front_end: FrontEnd, options: ExportOptions, is_number: bool = False) -> tuple[str, str]:
    """Return declarations and definitions of the functions that take raw samples."""
    texts, values = sections("windows"), _values(front_end, options)
    values |= _answers(options.name, is_number)
    for which in _BY_ANSWER:
        values[which] = filled(texts[f"{which} of {'numbers' if is_number else 'classes'}"], values)
    frames = front_end.frames is not None
    values["features_header"] = filled(texts[f"features of {'frames' if frames else 'windows'}"], values)
    if frames:
        kind = "sound" if front_end.is_sound else "blocks"
        for which in ("history", "take_frame"):
            values[which] = filled(texts[f"{which} of {kind}"], values)
    else:
        push = texts["push of frames" if front_end.is_framed else "push"]
        values["push"] = filled(push, values).rstrip()
    return filled(texts["header"], values), filled(texts["source of frames" if frames else "source"], values)


def _last(features: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return features of windows, of the last frame only where there are frames."""
    return features if features.ndim == 2 else features[:, -1]


def _of_frames(front_end: FrontEnd) -> dict[str, str]:
    """Return what the template is filled with where `NAME_features` has those of the last frame."""
    if front_end.frames is None:
        return {"FRAME": "", "of_frames": "", "forgets": ""}
    return {"FRAME": "FRAME_", "of_frames": " of the last frame", "forgets": " Forgets the stream."}


_BY_ANSWER = ("push_header", "window_header", "majority_macro", "answers_kept", "answers_forgotten",
              "answers_taken")  # fmt: skip


def _answers(name: str, is_number: bool) -> dict[str, str]:
    """Return what the template is filled with where the answer of a window is a class, or a number."""
    if is_number:
        return {
            "answer_type": "int32_t",
            "answering": "sum",
            "answer_word": "sum",
            "declared": "int32_t answer;\n    unsigned i;",
            "none": "0",
            "returned": "et_pushed = answer;\n    return 1;",
            "is_early": "!= 0",
            "golden_type": "int32_t",
            "golden_answers": "window_sums",
            "is_wrong": f"answer != 1 || {name}_pushed() != ET_READ(window_sums[w])",
            "told_of_windows": "sums",
        }
    return {
        "answer_type": "unsigned",
        "answering": "predict",
        "answer_word": "class",
        "declared": "unsigned answer, i;",
        "none": "-1",
        "returned": "return (int)et_majority(answer);",
        "is_early": ">= 0",
        "golden_type": "uint16_t",
        "golden_answers": "window_classes",
        "is_wrong": "answer != (int)ET_READ(window_classes[w])",
        "told_of_windows": "classes",
    }


def _values(front_end: FrontEnd, options: ExportOptions) -> dict[str, str]:
    """Return what the template is filled with."""
    name = options.name
    side, work = front_end.scratch()
    step = 1 if front_end.frames is None else front_end.frames[1]
    axes = [f"   {i}: {comment(axis)}" for i, axis in enumerate(front_end.axes)]
    if front_end.scale is not None:
        units = front_end.units or ["unit"] * len(axes)
        per_unit = (
            f"{x:.9g} counts per {comment(unit)}" for x, unit in zip(front_end.scale, units, strict=True)
        )
        axes = [f"{axis}, {scale}" for axis, scale in zip(axes, per_unit, strict=True)]
    return {
        "name": name,
        "NAME": name.upper(),
        "n_axes": str(len(front_end.axes)),
        "window": str(front_end.window),
        "hop": str(front_end.hop),
        "majority": str(options.majority),
        "axes": "\n".join(axes),
        "rate": "" if front_end.rate is None else f", at {front_end.rate:.9g} samples per second",
        "n_frames": str(front_end.n_frames),
        "length": str(front_end.length),
        "step": str(step),
        "wait": str(front_end.n_frames - front_end.hop // step),
        "skipped": str(front_end.skipped),
        "n_features": str(len(front_end.names)),
        **_of_frames(front_end),
        "side": str(side),
        "work": str(work),
        "kept": "ET_FRAME" if front_end.is_framed else f"{name.upper()}_WINDOW * {name.upper()}_AXES",
        "frames": ", et_frames" if front_end.is_framed else "",
        "and_frames": " and frames" if front_end.is_framed else "",
        "no_frames": "\n    et_frames = 0;" if front_end.is_framed else "",
        "include": header() if options.single_header else f'#include "{HEADER}"',
    }


def code_bytes(front_end: FrontEnd) -> int:
    """Return an upper bound of the code that a front end takes on a Cortex-M."""
    used = {kernel for kernel, _ in front_end.groups}
    has_magnitude = any(source.startswith("|") for _, source in front_end.groups)
    shared = _FFT * (front_end.wave_size > 0) + _SQUASH * (not used <= {"stats", "shape", "parts"})
    base = _BASE if front_end.frames is None else _BASE_OF_FRAMES
    return base + shared + _MAGNITUDE * has_magnitude + sum(_CODE[kernel] for kernel in used)


def flash_bytes(front_end: FrontEnd) -> int:
    """Return an upper bound of the flash of a front end on a Cortex-M, code and tables."""
    out = Tables()
    write_tables(out, front_end)
    return code_bytes(front_end) + out.predict_bytes


def write_tables(out: Tables, front_end: FrontEnd) -> None:
    """Write the plan, and the sines and bins of the transforms that it has."""
    plan = front_end.plan
    codes = sorted(set(plan[:, 0].tolist()))
    out.define("ET_KERNELS", f"0x{sum(1 << code for code in codes):04X}")
    out.define("ET_STEPS", f"{len(plan)}u")
    groups = "\n".join(f"   {kernel} of {comment(source)}" for kernel, source in front_end.groups)
    if front_end.frames is not None:
        out.define("ET_STREAM", 1)
    if front_end.frames and front_end.is_sound:
        out.define("ET_BY_FRAME", 1)
    else:
        out.array("uint8_t", "et_plan", plan.ravel(), f"steps of {HEADER}: kernel and axes\n{groups}")
    write_waves(out, front_end)


def write_waves(out: Tables, front_end: FrontEnd) -> None:
    """Write the sines and bins of the transforms that a front end has."""
    size = front_end.wave_size
    if size:
        out.array("int16_t", "et_sine", sines(size), "three quarters of a wave, 32767 sin(2 pi i / size)")
    for name, ends in front_end.band_ends.items():
        out.array("uint16_t", f"et_ends_of_{name}", ends, f"the last bin of each band of {name}")
    tables = [f"et_ends_of_{name}" if name in front_end.band_ends else "0" for name in _BANDED]
    out.define("ET_WAVES", f"{{{'et_sine' if size else '0'}, {size}u, {', '.join(tables)}}}")


def ram_of(front_end: FrontEnd, majority: int = 1) -> int:
    """Return the RAM of the variables of a front end and its stream."""
    side, work = front_end.scratch()
    kept = majority * (majority > 1)
    if front_end.frames is not None:
        bands = front_end.n_frames * MEL_BANDS if front_end.is_sound else len(front_end.axes) + 1
        numbers = stream_numbers(front_end) + bands + side + len(front_end.names) + kept + 3
        return 2 * numbers + 4 * work
    numbers = stream_numbers(front_end) + len(front_end.axes) + 1 + side + len(front_end.names) + kept
    return 2 * numbers + 4 * work + 12


def stream_numbers(front_end: FrontEnd) -> int:
    """Return how many int16 numbers a stream keeps: the samples of a window, or of a frame and the bands."""
    frames = front_end.window // FRAME
    if front_end.frames is not None:
        return front_end.length * len(front_end.axes)
    return FRAME + frames * MEL_BANDS if front_end.is_framed else front_end.window * len(front_end.axes)


def _before(end: int) -> tuple[int, ...]:
    """Return numbers that stand for all below an end that one more is compared with."""
    return tuple(sorted({0, max(end - 2, 0), end - 1}))


def windows_for(front_end: FrontEnd, rows: ArrayLike | None) -> NDArray[np.int16]:
    """Return some of the windows that were given, else some that are hard on integers."""
    if rows is not None and np.ndim(rows) == 3 and len(np.asarray(rows)):
        given = front_end.counts(rows)
        return given[:: max(1, len(given) // N_GOLDEN)][:N_GOLDEN]
    rng = np.random.default_rng(0)
    shape = (front_end.window, len(front_end.axes))
    noise = rng.integers(-(2**15), 2**15, shape)
    waves = 2000 * np.sin(np.arange(front_end.window)[:, None] * rng.uniform(0.05, 2, len(front_end.axes)))
    return np.stack([noise, waves, waves / 500, np.full(shape, -(2**15))]).astype(np.int16)


def _table(rows: NDArray[np.int16]) -> str:
    return ",\n".join(wrap(list(map(str, row))) for row in rows.tolist())
