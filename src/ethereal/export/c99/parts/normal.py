"""What is normal, in C: positions of features, centres, the score and the limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.export.c99.ctext import unsigned_type, wrap
from ethereal.export.c99.parts.part import Draft, Part
from ethereal.normal import Normal

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program
    from ethereal.model import Model

_CODE, _CODE_OF_FLOATS, _PER_FEATURE = (
    260,
    160,
    8,
)  # bytes on a Cortex-M at most, and of tables beside centres


@dataclass(frozen=True)
class NormalRows(Part):
    """Scores a row by its distance from what is normal.

    Its flash counts where it is the answer. Beside a classifier it does not, as that of `NAME_drift`, so that
    a model that was pruned to a bound keeps it.
    """

    name = "normal"
    normal: Normal
    is_alone: bool  # whether the answer is "normal" or "not normal"
    learns: bool  # whether the board learns what is normal here

    @classmethod
    def of(cls, draft: Draft) -> NormalRows | None:
        normal = draft.model.normal
        if normal is None:
            return None
        takes_any = draft.kind.ctype == "float" or draft.model.front_end is not None
        if not takes_any and not normal.is_whole:
            raise ValueError(
                f"input is {draft.kind.name!r}, but what is normal was found in numbers that are not whole. "
                "Leave the option out, or fit it on the numbers that the board reads."
            )
        return cls(normal, draft.model.output.kind == "normal", bool(draft.options.own_normal))

    def code_bytes(self) -> int:
        n = len(self.normal.features)
        if not (self.is_alone or self.learns):
            return 0
        return _CODE + _CODE_OF_FLOATS + n * (_PER_FEATURE + len(self.normal.centres))

    def about(self, program: Program) -> str:
        return "" if self.is_alone else "It also tells rows that are not normal."

    def values(self, program: Program) -> dict[str, str]:
        normal, model = self.normal, program.model
        is_float = program.input.ctype == "float" and model.fitted is not None
        features = normal.features.tolist()
        self._refuse_scales(program)
        is_every = features == list(range(len(features)))
        which = "i" if is_every else "ET_READ(which[i])"
        values = {
            "n": str(len(features)),
            "centres": str(len(normal.centres)),
            "limit": f"{normal.limit}L",
            "limit_now": self._limit(program),
            "own": self.section("own", program) if self.learns else "",
            "position": "int16_t" if self.learns else "int8_t",
            "size": self.section("finer" if self.learns else "usual", program).rstrip(),
            "beside": "" if self.is_alone else (
                f"\n   Not normal is not {program.name}_predict()'s \"unknown\": clauses may agree on a row "
                "that is far from all\n   that training saw."
            ),
            "which": "" if is_every else _table(unsigned_type(max(features)), "which", features),
            "middle": "int16_t" if not is_float and _fits(normal.middles) else "int32_t",
            "middles": _wrapped(normal.middles),
            "gains": _wrapped(normal.gains),
            "exponents": _table("int8_t", "exponents", normal.exponents.tolist()) if is_float else "",
            "numbers": ",\n".join(_wrapped(row) for row in normal.centres),
            "bits": self.section("bits", program) if is_float else "",
        }  # fmt: skip
        value = f"features[{which}]"
        if is_float:
            values["steps"] = self.section("steps of floats", program, f=which).rstrip()
        else:
            value = f"((int32_t){value} - ET_READ(middles[i]))"
            if model.fitted is None:
                value = f"((features[{which}] != 0u) ? 1 : 0) - ET_READ(middles[i])"
            elif program.slots.accepts_missing:
                value = f"(features[{which}] == {program.name.upper()}_MISSING) ? 0 : {value}"
            values["steps"] = f"        const int32_t away = {value};"
        return values

    def _limit(self, program: Program) -> str:
        return f"{program.name}_normal_limit()" if self.learns else f"{program.name.upper()}_NORMAL_LIMIT"

    def fills(self, program: Program) -> dict[str, str]:
        return {"limit_now": self._limit(program)}

    def text(self, which: str, program: Program) -> str:
        return "" if which in ("golden", "test") else super().text(which, program)

    def golden(self, program: Program, features: NDArray[Any]) -> dict[str, str]:
        rows = features.astype(np.float64)
        if program.input.ctype != "float" and program.slots.accepts_missing:
            rows[features == program.input.missing] = np.nan
        scores, values = _wrapped(self.normal.score(rows)), self.values(program)
        return {which: self.section(which, program, **values, scores=scores) for which in ("golden", "test")}

    def _refuse_scales(self, program: Program) -> None:
        for f in self.normal.features.tolist() if program.scales else ():
            if program.scales[f].exponent or program.scales[f].offset:
                raise ValueError(
                    f"input is {program.input.name!r}, which scales {program.model.input_names[f]!r}, "
                    "and what is normal reads it as it is. Leave the option out, or take what is normal off "
                    "with model.with_normal(None)."
                )


def near_centres(model: Model, n_rows: int) -> NDArray[Any]:
    """Return rows near the centres of what is normal, and some far away."""
    normal = model.normal
    assert normal is not None
    rng = np.random.default_rng(0)
    rows = np.zeros((n_rows, model.n_features))
    spread = (
        rng.integers(-40, 41, (n_rows, len(normal.features))) * (1 + 3 * (np.arange(n_rows) % 3))[:, None]
    )
    near = normal.centres[np.arange(n_rows) % len(normal.centres)].astype(np.int64) + spread // 4
    rows[:, normal.features] = np.rint(normal.values(near)) if normal.is_whole else normal.values(near)
    return rows


def _fits(numbers: NDArray[Any]) -> bool:
    return bool((np.abs(numbers.astype(np.int64)) < 1 << 15).all())


def _wrapped(numbers: NDArray[Any]) -> str:
    return wrap([str(number) for number in numbers.tolist()])


def _table(ctype: str, name: str, numbers: list[int]) -> str:
    listed = wrap(list(map(str, numbers)))
    return f"    static const ET_FLASH {ctype} {name}[ET_NORMAL_FEATURES] = {{\n{listed}\n    }};\n"
