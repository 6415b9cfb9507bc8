"""Clauses in the user's terms, with the literals of a raw feature merged into intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.features import categories
from ethereal.features.thresholds import empty_bins, format_thresholds
from ethereal.model.clauses import Clause, decode
from ethereal.model.importance import firing_rates
from ethereal.model.needs import ANSWERS, WINDOWS, Supports

if TYPE_CHECKING:
    from ethereal.model import Model


SUPPORTS = Supports("rules", front_ends=WINDOWS, outputs=ANSWERS, early=True)


@dataclass(frozen=True)
class Condition:
    """What a clause demands of one raw feature."""

    feature: int
    intervals: tuple[tuple[float, float], ...]  # low < value <= high, ascending
    missing: bool  # whether it takes a missing value
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Rule:
    """One clause in the user's terms.

    >>> from ethereal import Booleanizer, Model
    >>> booleanizer = Booleanizer(thresholds=[1.5, 3.0]).fit([[0.0, 0.0]])
    >>> model = Model(
    ...     [0, 3, 5], [0, 3], [[2]], n_booleans=4, classes=["x"], booleanizer=booleanizer,
    ...     feature_names=["width", "height"])
    >>> rule = model.rules()[0]
    >>> rule.text
    '1.5 < width <= 3 AND height > 3'
    >>> rule.conditions[0].intervals
    ((1.5, 3.0),)
    """

    clause: int  # its number in the model
    weights: Mapping[int, int]  # class index -> vote, zero votes left out
    n_includes: int
    conditions: tuple[Condition, ...]  # all must hold, in the order of the features

    @property
    def text(self) -> str:
        """The conditions joined by AND. FALSE for an empty clause, which never fires."""
        return " AND ".join(condition.text for condition in self.conditions) or "FALSE"


def rules(model: Model) -> list[Rule]:
    """Return the rules of all clauses, in their order."""
    writer = ConditionWriter(model)
    return [writer.rule(j, clause) for j, clause in enumerate(model)]


def rules_by_class(model: Model, label: Any = None) -> dict[Any, list[tuple[int, Rule]]]:
    """Return label -> votes and rules of that class, those first whose votes differ most on typical rows.

    A rule that always fires decides nothing, and neither does one that never fires. Of equal rules the
    heavier comes first. Models without typical rows have the heaviest first. With `label`, or its text, only
    that class is returned.
    """
    labels = model.classes.tolist()
    chosen = [c for c, own in enumerate(labels) if label is None or own == label or str(own) == label]
    if not chosen:
        known = ", ".join(map(str, labels[:20])) + (", ..." if len(labels) > 20 else "")
        raise ValueError(f"The model has no class {label!r}. Its classes are {known}.")
    rates = firing_rates(model)
    everything, spread, found = rules(model), np.sqrt(rates * (1 - rates)).tolist(), {}
    for c in chosen:
        own = [(rule.weights[c], rule) for rule in everything if c in rule.weights]
        own.sort(key=lambda pair: (-abs(pair[0]) * spread[pair[1].clause], -abs(pair[0]), pair[0] < 0))
        found[labels[c]] = own
    return found


def describe(model: Model, max_rules: int | None = None, label: Any = None) -> str:
    """Return readable rules per class in the order of `rules_by_class`, at most `max_rules` of each class."""
    lines: list[str] = []
    for name, own in rules_by_class(model, label).items():
        n_includes = sum(rule.n_includes for _, rule in own)
        lines.append(f"class {name!r}: {_plural(len(own), 'clause')}, {_plural(n_includes, 'include')}")
        shown = own if max_rules is None else own[:max_rules]
        lines += [f"  {vote:+d} IF {rule.text}" for vote, rule in shown]
        if len(shown) < len(own):
            lines.append(f"  ... and {len(own) - len(shown)} more")
    return "\n".join(lines)


class ConditionWriter:
    """Writes conditions of one model's features, and keeps them, because clauses repeat them."""

    def __init__(self, model: Model) -> None:
        SUPPORTS.check(model.needs)
        self._feature_map = model.feature_map
        self._front_end = model.front_end
        self._names = model.input_names
        if self._front_end is not None:
            self._names = tuple(self._front_end.meaning(f) for f in range(model.n_features))
        self._feature = 2 * self._feature_map.feature.tolist()  # literal -> feature, as a quick list
        self._thresholds: dict[int, list[str] | None] = {}  # in words, None for a Boolean feature
        self._written: dict[tuple[int, ...], Condition] = {}

    def rule(self, j: int, clause: Clause) -> Rule:
        """Return clause number `j` as a rule."""
        return Rule(j, clause.weights, len(clause.literals), tuple(self.conditions(clause.literals)))

    def conditions(self, literals: Sequence[int]) -> Iterator[Condition]:
        """Yield the conditions of a clause, one per feature that it mentions."""
        feature = self._feature.__getitem__
        for f, group in groupby(sorted(literals, key=feature), key=feature):
            own = tuple(group)
            if own not in self._written:
                literals_of_f = decode(np.array(own), self._feature_map.n_booleans)
                self._written[own] = self.condition(f, self._feature_map.states_of(f, *literals_of_f))
            yield self._written[own]

    def condition(self, feature: int, allowed: NDArray[np.bool_]) -> Condition:
        """Return the condition that takes the allowed states of a feature."""
        thresholds = self._feature_map.thresholds_of(feature)
        n_bins = len(thresholds) + 1
        bins, missing = _filled(allowed[:n_bins], empty_bins(thresholds)), bool(allowed[n_bins:].any())
        ends = [-math.inf, *thresholds.tolist(), math.inf]
        intervals = tuple((ends[a], ends[b]) for a, b in _runs(bins))
        name = self._names[feature]
        if feature in self._feature_map.categories:
            # All Booleans are false for an unknown value, which is then in the first of two categories.
            unknown = missing or (bins == [True, False] and len(allowed) == 2)
            text = categories.describe(name, self._feature_map.categories[feature], bins, unknown)
            return Condition(feature, intervals, missing, text)
        if feature not in self._thresholds:
            is_boolean = self._feature_map.is_boolean[feature]
            self._thresholds[feature] = None if is_boolean else self._texts(feature, thresholds)
        text = _text(name, bins, self._thresholds[feature], missing)
        return Condition(feature, intervals, missing, text)

    def _texts(self, feature: int, thresholds: NDArray[np.float64]) -> list[str]:
        """Return thresholds in words, those of windows in the units of the samples."""
        if self._front_end is None:
            return format_thresholds(thresholds)
        return self._front_end.texts(feature, thresholds.tolist())


def _text(name: str, bins: list[bool], thresholds: list[str] | None, missing: bool) -> str:
    """Return a condition in words. A feature without texts of thresholds is a Boolean."""
    runs, gaps = _runs(bins), _runs([not flag for flag in bins])
    if not runs:
        return f"{name} is missing" if missing else f"{name} is contradictory"
    if not gaps:  # every value but a missing one, else there would be no condition
        return f"{name} is known"
    if thresholds is None:
        text = name if bins[1] else f"NOT {name}"
    elif len(runs) == 1:
        (a, b), last = runs[0], len(bins)
        low = f"{thresholds[a - 1]} < " if a > 0 else ""
        high = f" <= {thresholds[b - 1]}" if b < last else ""
        text = f"{name} > {thresholds[a - 1]}" if b == last else f"{low}{name}{high}"
    elif len(gaps) < len(runs):
        text = f"{name} not " + " nor ".join(_piece(*gap, thresholds) for gap in gaps)
    else:
        text = f"{name} " + " or ".join(_piece(*run, thresholds) for run in runs)
    return f"({text} or missing)" if missing else text


def _filled(bins: NDArray[np.bool_], empty: NDArray[np.bool_]) -> list[bool]:
    """Return the flags of bins, an empty one taking that of the bin before: no value is in it."""
    before = np.maximum.accumulate(np.where(empty, 0, np.arange(len(bins))))
    return [bool(flag) for flag in bins[before]]


def _piece(a: int, b: int, thresholds: list[str]) -> str:
    """Bins a to b - 1."""
    if a == 0:
        return f"<= {thresholds[b - 1]}"
    if b == len(thresholds) + 1:
        return f"> {thresholds[a - 1]}"
    return f"in ({thresholds[a - 1]}, {thresholds[b - 1]}]"


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """Half-open ranges of consecutive true flags."""
    runs, start = [], 0
    for flag, group in groupby(flags):
        end = start + len(list(group))
        if flag:
            runs.append((start, end))
        start = end
    return runs


def _plural(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"
