"""The machines of the field beside the plain one: what differs in training, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ethereal.base.checks import check_number


@dataclass(frozen=True)
class Machine:
    """Which Tsetlin machine trains, for `EtherealClassifier(machine=...)`. The defaults are the plain one.

    Parameters
    ----------
    weighted
        Whether clauses learn a whole number as their vote (integer-weighted machine). A clause that fires and
        gets feedback has one vote more after Type I, and one less after Type II, but never less than one.
    coalesced
        Whether all classes share one bank of `n_clauses` clauses, which learn a vote for each class. A vote
        may change its sign. Training then takes one thread.
    negated_literals
        Whether clauses may include negated literals.
    focused_negatives
        Whether the other class that a row teaches is drawn by how wrong its sum is, in place of evenly.
        Training then takes one thread.
    drop_clauses
        Share of the clauses that an epoch leaves out, drawn anew for each.
    drop_literals
        Share of the literals that an epoch leaves out, the same ones for all clauses.

    Examples
    --------
    >>> Machine.read("coalesced,drop_clauses=0.25")
    Machine(weighted=False, coalesced=True, negated_literals=True, focused_negatives=False,
        drop_clauses=0.25, drop_literals=0.0)
    """

    weighted: bool = False
    coalesced: bool = False
    negated_literals: bool = True
    focused_negatives: bool = False
    drop_clauses: float = 0.0
    drop_literals: float = 0.0

    def __post_init__(self) -> None:
        """Check everything."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(field.default, bool):
                if check_number(field.name, value, 0.0, 1.0) == 1:
                    raise ValueError(f"{field.name} is 1, which leaves nothing to learn. Take less.")
            elif not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"{field.name} is {value!r}. It must be True or False.")

    @classmethod
    def read(cls, text: str) -> Machine:
        """Return the machine of a text such as "weighted,negated_literals=no,drop_clauses=0.1"."""
        known = {field.name: field.default for field in fields(cls)}
        given: dict[str, Any] = {}
        for part in text.split(","):
            name, _, value = (piece.strip() for piece in part.partition("="))
            if name not in known:
                raise ValueError(f"machine has {name!r}. Its parts are {', '.join(known)}.")
            if isinstance(known[name], bool):
                if value not in ("", "yes", "no"):
                    raise ValueError(f"machine has {name}={value}. It must be yes or no.")
                given[name] = value != "no"
            else:
                try:
                    given[name] = float(value)
                except ValueError:
                    raise ValueError(f"machine has {name}={value}. It must be a number.") from None
        return cls(**given)

    @property
    def has_votes(self) -> bool:
        """Whether votes learn."""
        return self.weighted or self.coalesced

    @property
    def classes_apart(self) -> bool:
        """Whether classes learn from rows alone, so that workers may have some of them each."""
        return not (self.has_votes or self.focused_negatives)

    def native(self) -> dict[str, Any]:
        """Return the keyword of the native trainer, none for the plain machine."""
        drops = float(self.drop_clauses), float(self.drop_literals)
        kind = self.weighted, self.coalesced, self.negated_literals, self.focused_negatives
        return {} if self == Machine() else {"variant": (*map(bool, kind), *drops)}
