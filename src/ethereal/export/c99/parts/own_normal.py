"""The board's own normal, in C: learning, the limit, drift, and a state that is saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.adapt.normal import HELD, Normal
from ethereal.export.c99.ctext import wrap
from ethereal.export.c99.parts.part import Draft, Part

if TYPE_CHECKING:
    from ethereal.export.c99.program import Program
    from ethereal.export.options import ExportOptions

_CODE = 1500  # bytes on a Cortex-M at most
_TAUGHT = 96  # rows of the self-test


@dataclass(frozen=True)
class OwnNormal(Part):
    """Learns centres and a limit for one machine."""

    name = "own_normal"
    functions = ("score", "is_normal", "normal_begin", "normal_learn", "normal_end", "normal_limit",
                 "normal_drift", "normal_save", "normal_restore")  # fmt: skip
    shares_state = "score or learn"
    learning_is = "Learning what is normal"
    remedy = "Take fewer centres (own_normal) or features."
    learner: Normal

    @classmethod
    def of(cls, draft: Draft) -> OwnNormal | None:
        n_centres = draft.options.own_normal
        if not n_centres:
            return None
        if draft.model.normal is None:
            raise ValueError(
                f"own_normal is {n_centres}, but the model does not know what is normal. Export that of an "
                "EtherealDetector, or one with model.with_normal(X, y, groups)."
            )
        return cls(Normal(draft.model, n_centres))

    def code_bytes(self) -> int:
        return _CODE

    def ram_bytes(self, options: ExportOptions) -> int:
        return self.learner.ram_bytes

    def values(self, program: Program) -> dict[str, str]:
        learner = self.learner
        return {
            "n": str(learner.n_features),
            "centres": str(learner.n_centres),
            "held": str(HELD),
            "least": str(HELD + 2 * learner.n_centres),
            "identity": f"{learner.identity:08X}",
            "state_bytes": str(learner.state_bytes),
            "ram": str(learner.ram_bytes),
        }

    def text(self, which: str, program: Program) -> str:
        return "" if which in ("golden", "test") else super().text(which, program)

    def golden(self, program: Program, features: NDArray[Any]) -> dict[str, str]:
        """Return golden calls: half of the rows first, then all of them."""
        learner = Normal(program.model, self.learner.n_centres)
        rows = features.astype(np.float64)
        if program.input.ctype != "float" and program.slots.accepts_missing:
            rows[features == program.input.missing] = np.nan
        half = max(1, len(rows) // 2)
        taught = [7 * i % half if 3 * i < 2 * _TAUGHT else 5 * i % len(rows) for i in range(_TAUGHT)]
        taken = [learner.learn(rows[i]) for i in taught]
        has_ended = learner.end()
        scores = learner.score(rows).tolist()
        drift = [learner.drift(scores[i % len(rows)]) for i in range(100)][-1]
        saved = learner.save()
        golden = self.section(
            "golden",
            program,
            n_taught=str(_TAUGHT),
            taught=wrap(list(map(str, taught))),
            taken=wrap(list(map(str, taken))),
            own_scores=wrap(list(map(str, scores))),
            saved=wrap([str(byte) for byte in saved or b"\0"]),
            saved_bytes=str(len(saved)),
            has_ended=str(has_ended),
            own_limit=str(learner.limit if has_ended else learner.general.limit),
            drift=str(drift),
        )
        return {"golden": golden, "test": self.section("test", program)}
