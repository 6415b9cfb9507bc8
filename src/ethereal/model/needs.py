"""What a model needs, and what a consumer supports.

A consumer is whatever takes a model, such as a layout of the C, a code, MicroPython or rules. Each has a
constant `Supports` beside its code. It refuses what it does not support by name, before it does any work.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ethereal.model import Model

_ANY = 2**31 - 1
WINDOWS: frozenset[str | None] = frozenset({None, "windows"})  # front ends of consumers that take raw windows
FRAMED = WINDOWS | {"frames"}  # and frames of them, for clauses over patches
PATCHES: frozenset[str | None] = frozenset({None, "frames", "images"})  # of consumers of clauses over patches
ANSWERS = frozenset({"classes", "unknown"})  # outputs of consumers that may leave a row unanswered
ALL_ANSWERS = ANSWERS | {"number"}
EVERY_ANSWER = ALL_ANSWERS | {"normal"}  # and of those that take a model which only tells what is normal
# What a consumer takes so many of, what the model has, and the remedy.
_PRUNE = "Train with literal_budget=, or prune the model."
_BINS = "Use fewer bins, or the thermometer encoding."
_WORDS = {
    "n_classes": ("classes", "has {}", "Use fewer classes."),
    "n_booleans": ("Booleans", "has {}", "Use fewer features or fewer bins."),
    "n_literals": ("literals", "has {}", _PRUNE),
    "longest_clause": ("literals in a clause", "has a clause of {}", _PRUNE),
    "heaviest_vote": ("votes per clause and class", "has a clause with {}", "Scale the votes down."),
    "most_states": ("states per feature", "has a feature with {}", _BINS),
}

_REMEDIES = {
    "frames": " Export it as C, or use a model of the frames alone.",
    "windows": " Export it as C, or use a model of the features alone.",
    "normal": " The model has no clauses. Export it as C, and ask model.explain_normal(x) why it answers.",
    "unknown": " Take the margin off with model.with_unknown(None), and set it again afterwards.",
}


class NotSupported(ValueError):
    """A consumer does not take a model like this one."""


@dataclass(frozen=True)
class Needs:
    """Facts of one model that consumers differ in. `Model.needs` computes them."""

    meaning: str  # of a clause: "and"
    output: str  # "classes", "unknown", "number" or "normal"
    patch: str | None  # what clauses look for patterns in: None for rows as a whole, "frames" or "images"
    front_end: str | None  # what makes features of raw windows
    n_classes: int
    n_booleans: int
    n_literals: int  # of all clauses
    longest_clause: int  # literals
    heaviest_vote: int  # absolute
    most_states: int  # that one feature can be in
    missing: bool  # whether NaN is a value like any other for some feature
    early: bool  # whether rows may be answered before all clauses

    @staticmethod
    def of(model: Model) -> Needs:
        """Return those of a model."""
        import numpy as np  # here, because commands read what layouts support before they start

        most_states, missing, front_end = min(2, 1 + model.n_booleans), False, model.front_end
        if model.fitted is not None:  # else their map would say no more, and there may be millions
            feature_map = model.fitted.feature_map
            states = np.diff(feature_map.threshold_offsets) + 1 + feature_map.has_missing_state
            most_states = int(states.max(initial=1))
            missing = bool((feature_map.missing | feature_map.ignores_missing).any())
        return Needs(
            meaning=model.clauses.meaning,
            output=model.output.kind,
            patch=None if model.clauses.patch is None else model.clauses.patch.over,
            front_end=None if front_end is None else "windows" if front_end.frames is None else "frames",
            n_classes=model.n_classes,
            n_booleans=model.n_booleans,
            n_literals=model.n_includes,
            longest_clause=int(model.clauses.lengths.max(initial=0)),
            heaviest_vote=int(np.abs(model.weights.astype(np.int64)).max(initial=0)),
            most_states=most_states,
            missing=missing,
            early=bool(model.early),
        )


@dataclass(frozen=True)
class Supports:
    """What a consumer takes. A field that is not given has no limit, or the one kind there is today."""

    consumer: str  # as a user knows it: "layout sliced"
    meanings: frozenset[str] = frozenset({"and"})
    outputs: frozenset[str] = frozenset({"classes"})
    front_ends: frozenset[str | None] = frozenset({None})
    patches: frozenset[str | None] = frozenset({None})
    n_classes: int = _ANY
    n_booleans: int = _ANY
    n_literals: int = _ANY
    longest_clause: int = _ANY
    heaviest_vote: int = _ANY
    most_states: int = _ANY
    early: bool = False
    elsewhere: str = ""  # what takes the kinds of models that this consumer does not
    instead: str = ""  # what to use for a model that is refused, such as "Use the layout compact."

    def check(self, needs: Needs) -> None:
        """Raise `NotSupported` when the model needs what this consumer does not have."""
        why = self.refusal(needs)
        if why is not None:
            raise NotSupported(why)

    def refusal(self, needs: Needs) -> str | None:
        """Say why a model is refused, None when it is taken."""
        kinds = {
            "clauses of the meaning": (needs.meaning, self.meanings),
            "output of the kind": (needs.output, self.outputs),
            "a front end": (needs.front_end, self.front_ends),
            "a patch over": (needs.patch, self.patches),
        }
        for what, (needed, supported) in kinds.items():
            if needed not in supported:
                remedy = _REMEDIES.get(needed or "", f" {self.elsewhere}".rstrip())
                return f"{self.consumer} does not take {what} {needed!r}.{remedy}"
        if needs.early and not self.early:
            return f"{self.consumer} does not take early answers. Use the model that they were added to."
        for field in fields(Needs):
            if field.name in _WORDS and (needed := getattr(needs, field.name)) > getattr(self, field.name):
                what, has, remedy = _WORDS[field.name]
                return (
                    f"{self.consumer} takes up to {getattr(self, field.name)} {what}, but the model "
                    f"{has.format(needed)}. {self.instead or remedy}"
                )
        return None
