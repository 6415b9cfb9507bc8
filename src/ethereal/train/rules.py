"""What a researcher may put into a training: a rule of exclusion, and a function that sees every epoch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.model.clauses import Clauses

if TYPE_CHECKING:
    from ethereal.train.automata import Training

MIDDLE = 128  # automata include from here on

Rule = Callable[[NDArray[np.bool_]], NDArray[np.bool_]]


class Automata:
    """The automata of a training under way, as `on_epoch` gets them."""

    def __init__(self, training: Training) -> None:
        self._training = training
        self.was_set = False  # whether `states` was assigned to

    @property
    def epochs_done(self) -> int:
        """Whole epochs so far."""
        return self._training.epochs_done

    @property
    def clauses(self) -> Clauses:
        """What the clauses include now, with their votes."""
        return self._training.clauses

    @property
    def states(self) -> NDArray[np.uint8]:
        """Automata, classes x clauses x literals, included from 128 on, as a copy. Assign to change them."""
        return self._training.states

    @states.setter
    def states(self, states: ArrayLike) -> None:
        self._training.states = checked_states("states", states, self._training)
        self.was_set = True


OnEpoch = Callable[[Automata, dict[str, Any]], bool | None]


def asks_to_stop(on_epoch: OnEpoch, automata: Automata, record: dict[str, Any]) -> bool:
    """Call `on_epoch` with a copy of a record, and return whether training shall end."""
    answer = on_epoch(automata, dict(record))
    if answer is not None and not isinstance(answer, (bool, np.bool_)):
        raise TypeError(f"on_epoch returned {answer!r}. It must return True to end training, else None.")
    return bool(answer)


def checked_states(name: str, states: ArrayLike, training: Training) -> NDArray[np.uint8]:
    """Return automata for a training, or raise a ValueError that calls them `name`."""
    array, shape = np.asarray(states), training.shape
    if array.dtype != np.uint8 or array.shape != shape:
        raise ValueError(
            f"{name} has {array.dtype} of shape {array.shape}. It must have uint8 of shape {shape} "
            "(classes, clauses, literals)."
        )
    most = int((array >= MIDDLE).sum(axis=2).max(initial=0))
    budget = training.feedback.literal_budget
    if budget is not None and most > budget:
        raise ValueError(
            f"{name} has a clause of {most} includes, but literal_budget is {budget}. Raise it first."
        )
    if not training.machine.negated_literals and (array[:, :, shape[2] // 2 :] >= MIDDLE).any():
        raise ValueError(f"{name} includes negated literals, but the machine has negated_literals=False.")
    return np.ascontiguousarray(array)


def excluded(states: NDArray[np.uint8], rule: Rule) -> NDArray[np.uint8]:
    """Return automata after a rule, which says which of the included ones go down by half the states."""
    includes = states >= MIDDLE
    chosen = np.asarray(rule(includes.copy()))
    if chosen.dtype != np.bool_ or chosen.shape != includes.shape:
        raise ValueError(
            f"The rule of exclude returned {chosen.dtype} of shape {chosen.shape}. It must return bool of "
            f"shape {includes.shape}, True for each include to take out."
        )
    return np.where(chosen & includes, states - np.uint8(MIDDLE), states)


def rule_name(exclude: Any) -> str:
    """Return the name of a rule, for the provenance of a model."""
    if isinstance(exclude, str):
        return exclude
    named = exclude if hasattr(exclude, "__qualname__") else type(exclude)
    return f"{named.__module__}.{named.__qualname__}"


def fingerprint(value: Any) -> str:
    """Return a hash of a rule or of automata that is the same in another process.

    That of a function changes with its code, its defaults and the values that it closes over.
    """
    if isinstance(value, partial):
        return f"{fingerprint(value.func)} {joblib.hash((value.args, value.keywords))}"
    if not isinstance(value, FunctionType):
        try:
            return f"{rule_name(value)} {joblib.hash(value)}"
        except Exception as error:  # pickle has no exception of its own for what it cannot take
            raise ValueError(
                f"{value!r} cannot be stored ({error}). A checkpoint needs a function, or an object that "
                "pickle takes."
            ) from error
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    parts = [value.__defaults__, value.__kwdefaults__, *cells]
    inner = [fingerprint(p) if callable(p) else joblib.hash(p) for p in parts]
    code = hashlib.sha256(_code_text(value.__code__).encode()).hexdigest()
    return f"{rule_name(value)} {code} {inner}"


def _code_text(code: CodeType) -> str:
    """Return what a function does, without the places of its lines and without addresses."""
    constants = [
        _code_text(c) if isinstance(c, CodeType)
        else repr(sorted(map(repr, c))) if isinstance(c, frozenset)  # has no order of its own
        else repr(c)
        for c in code.co_consts
    ]  # fmt: skip
    return repr((code.co_code, code.co_names, code.co_varnames, constants))
