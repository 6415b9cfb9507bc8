"""Clauses in the user's terms: conditions on raw features, how much each feature decides, and HTML.

Counting literals would give a rule that never fires as much weight as one that always does. Therefore a
feature counts by the votes that move when it takes the value of another typical row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.features import categories
from ethereal.features.feature_map import empty_bins, format_thresholds
from ethereal.model.clauses import Clause, decode
from ethereal.model.needs import ALL_ANSWERS, FRAMED, PATCHES, NotSupported, Supports
from ethereal.model.output import Number
from ethereal.model.patch import clause_names

if TYPE_CHECKING:
    from ethereal.model import Model

_IMPORTANCES = Supports("feature importances", front_ends=FRAMED, outputs=ALL_ANSWERS, patches=PATCHES)
_BLOCK_BYTES = 1 << 24  # of rows x literals at a time
SUPPORTS = Supports("rules", front_ends=FRAMED, outputs=ALL_ANSWERS, patches=PATCHES, early=True)
_RULES = 5  # per class
_CLASSES = 20
_LETTERS = 200  # of a rule or a label


def feature_importances(model: Model) -> NDArray[np.float64]:
    """Return the share of each raw feature in the votes that can move, see `Model.feature_importances`."""
    _IMPORTANCES.check(model.needs)
    if model.patch is not None:
        return _channel_importances(model)
    clauses, n_features = model.clauses, model.n_features
    moved = np.zeros(n_features)
    if not len(clauses.literals):
        return moved
    pair_of_literal = clauses.clause * n_features + model.feature_map.feature[clauses.boolean]
    order = np.argsort(pair_of_literal, kind="stable")
    pairs, starts = np.unique(pair_of_literal[order], return_index=True)  # (clause, feature), ascending
    clause, feature = np.divmod(pairs, n_features)
    votes = clauses.weights.astype(np.float64)
    # Votes that every class gets alike decide nothing. Those for a number all move it.
    decisive = np.ptp(votes, axis=1) if model.n_classes > 1 else np.abs(votes[:, 0])
    flips = np.ones(len(pairs)) if model.typical_rows is None else _flips(model, order, starts, clause)
    np.add.at(moved, feature, flips * decisive[clause])
    total = moved.sum()
    return moved / total if total > 0 else moved


def _channel_importances(model: Model) -> NDArray[np.float64]:
    """Return the share of each number of a cell in the votes of the clauses that ask for it."""
    assert model.patch is not None
    n_channels, clauses = len(model.channel_names), model.clauses
    feature = model.clause_map.feature[clauses.boolean]
    is_content = clauses.boolean < model.patch.n_content
    asked = np.zeros((model.n_clauses, n_channels), dtype=bool)
    asked[clauses.clause[is_content], feature[is_content] % n_channels] = True
    rates = _firing_rates(model)
    votes = clauses.weights.astype(np.float64)
    decisive = np.ptp(votes, axis=1) if model.n_classes > 1 else np.abs(votes[:, 0])
    moved = (decisive * np.sqrt(rates * (1 - rates))) @ asked
    total = moved.sum()
    return np.asarray(moved / total if total > 0 else moved)


def _firing_rates(model: Model) -> NDArray[np.float64]:
    """Return the share of typical rows on which each clause fires, a half where there are no such rows."""
    if model.typical_rows is None or not len(model.typical_rows):
        return np.full(model.n_clauses, 0.5)
    return np.asarray(model.clause_outputs(model.typical_rows, packed=True).mean(axis=0))


def _flips(
    model: Model, order: NDArray[np.intp], starts: NDArray[np.intp], clause: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how often a clause changes its vote when one of its features takes a value of another row.

    There is one number per pair of clause and feature. `starts` are the pairs' places in `order`.
    """
    assert model.typical_rows is not None
    clauses, n_rows = model.clauses, len(model.typical_rows)
    boolean, negated = clauses.boolean[order], clauses.negated[order]
    first = np.flatnonzero(np.diff(clause, prepend=-1))  # pair that begins each clause that has one
    of_pair = np.cumsum(np.diff(clause, prepend=-1) != 0) - 1
    held, alone_true, alone_false = np.zeros((3, len(starts)))
    step = max(1, _BLOCK_BYTES // len(order))
    for start in range(0, n_rows, step):
        rows = np.unpackbits(model.typical_rows[start : start + step], axis=1, bitorder="little")
        holds = np.logical_and.reduceat(rows[:, boolean] != negated, starts, axis=1)  # rows x pairs
        broken = np.add.reduceat(~holds, first, axis=1, dtype=np.int32)[:, of_pair]
        held += holds.sum(axis=0)
        alone_true += (broken == 0).sum(axis=0)  # the clause fires
        alone_false += ((broken == 1) & ~holds).sum(axis=0)  # this feature alone keeps it from firing
    share = held / max(n_rows, 1)
    return (alone_true * (1 - share) + alone_false * share) / max(n_rows, 1)


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
    anywhere: bool = False  # whether it looks for them anywhere in a row, with places counted from there

    @property
    def text(self) -> str:
        """The conditions joined by AND. FALSE for an empty clause, which never fires."""
        conditions = " AND ".join(condition.text for condition in self.conditions)
        return f"{'somewhere: ' * self.anywhere}{conditions}" if conditions else "FALSE"


def rules(model: Model) -> list[Rule]:
    """Return the rules of all clauses, in their order."""
    writer = ConditionWriter(model)
    return [writer.rule(j, clause) for j, clause in enumerate(model)]


def rules_by_class(model: Model, label: Any = None) -> dict[Any, list[tuple[int, Rule]]]:
    """Return label -> votes and rules of that class, those first whose votes differ most on typical rows.

    A rule that always fires decides nothing, and neither does one that never fires. Of equal rules the
    heavier comes first. Models without typical rows have the heaviest first. With `label`, or its text, only
    that class is returned. A number has one entry, under its name.
    """
    is_number = isinstance(model.output, Number)
    if is_number and label is not None:
        raise ValueError(f"The answer of the model is a number, so it has no class {label!r}.")
    labels = model.output.columns if is_number else model.classes.tolist()
    chosen = [c for c, one in enumerate(labels) if label is None or one == label or str(one) == label]
    if not chosen:
        known = ", ".join(map(str, labels[:20])) + (", ..." if len(labels) > 20 else "")
        raise ValueError(f"The model has no class {label!r}. Its classes are {known}.")
    rates = _firing_rates(model)
    everything, spread, by_class = rules(model), np.sqrt(rates * (1 - rates)).tolist(), {}
    for c in chosen:
        of_class = [(rule.weights[c], rule) for rule in everything if c in rule.weights]
        of_class.sort(key=lambda pair: (-abs(pair[0]) * spread[pair[1].clause], -abs(pair[0]), pair[0] < 0))
        by_class[labels[c]] = of_class
    return by_class


def describe(model: Model, max_rules: int | None = None, label: Any = None) -> str:
    """Return readable rules per class in the order of `rules_by_class`, at most `max_rules` of each class."""
    lines: list[str] = []
    output = model.output
    for name, rules in rules_by_class(model, label).items():
        n_includes = sum(rule.n_includes for _, rule in rules)
        size = f"{_plural(len(rules), 'clause')}, {_plural(n_includes, 'include')}"
        if isinstance(output, Number):
            lines.append(f"{name}: {output.text(output.offset)}, and {size}")
        else:
            lines.append(f"class {name!r}: {size}")
        shown = rules if max_rules is None else rules[:max_rules]
        lines += [f"  {amount(model, vote)} IF {rule.text}" for vote, rule in shown]
        if len(shown) < len(rules):
            lines.append(f"  ... and {len(rules) - len(shown)} more")
    return "\n".join(lines)


def amount(model: Model, vote: int) -> str:
    """Return a vote in words: what it adds to a number in its unit, or votes for a class."""
    return model.output.amount(vote) if isinstance(model.output, Number) else f"{vote:+d}"


class ConditionWriter:
    """Writes conditions of one model's features, and keeps them, because clauses repeat them."""

    def __init__(self, model: Model) -> None:
        SUPPORTS.check(model.needs)
        self._feature_map = model.clause_map
        self._front_end = model.front_end
        n_cells = 1 if model.patch is None else math.prod(model.patch.size)
        self._n_content = n_cells * len(model.channel_names)  # features before those of the place
        self._names = model.clause_names
        self._anywhere = model.patch is not None
        if self._front_end is not None:
            channels = [self._front_end.meaning(f) for f in range(len(self._front_end.names))]
            self._names = tuple(channels) if model.patch is None else clause_names(model.patch, channels)
        self._feature = 2 * self._feature_map.feature.tolist()  # literal -> feature, as a quick list
        self._thresholds: dict[int, list[str] | None] = {}  # in words, None for a Boolean feature
        self._written: dict[tuple[int, ...], Condition] = {}

    def rule(self, j: int, clause: Clause) -> Rule:
        """Return clause number `j` as a rule."""
        conditions = tuple(self.conditions(clause.literals))
        return Rule(j, clause.weights, len(clause.literals), conditions, self._anywhere)

    def conditions(self, literals: Sequence[int]) -> Iterator[Condition]:
        """Yield the conditions of a clause, one per feature that it mentions."""
        feature = self._feature.__getitem__
        for f, group in groupby(sorted(literals, key=feature), key=feature):
            key = tuple(group)
            if key not in self._written:
                booleans, negated = decode(np.array(key), self._feature_map.n_booleans)
                self._written[key] = self.condition(f, self._feature_map.states_of(f, booleans, negated))
            yield self._written[key]

    def condition(self, feature: int, allowed: NDArray[np.bool_]) -> Condition:
        """Return the condition that takes the allowed states of a feature."""
        thresholds = self._feature_map.thresholds_of(feature)
        n_bins = len(thresholds) + 1
        # An empty bin takes the flag of the bin before: no value is in it.
        before = np.maximum.accumulate(np.where(empty_bins(thresholds), 0, np.arange(n_bins)))
        bins, missing = [bool(flag) for flag in allowed[before]], bool(allowed[n_bins:].any())
        ends = [-math.inf, *thresholds.tolist(), math.inf]
        intervals = tuple((ends[a], ends[b]) for a, b in _runs(bins))
        name = self._names[feature]
        if feature in self._feature_map.categories:
            # All Booleans are false for an unknown value, which is then in the first of two categories.
            unknown = missing or (bins == [True, False] and len(allowed) == 2)
            text = categories.describe(name, self._feature_map.categories[feature], bins, unknown)
            return Condition(feature, intervals, missing, text)
        if feature not in self._thresholds:
            self._thresholds[feature] = self._texts(feature, thresholds)
        text = _text(name, bins, self._thresholds[feature], missing)
        return Condition(feature, intervals, missing, text)

    def _texts(self, feature: int, thresholds: NDArray[np.float64]) -> list[str] | None:
        """Return thresholds in words, those of windows in the units of the samples, None for a Boolean."""
        if self._feature_map.is_boolean[feature]:
            return None
        if self._front_end is None or feature >= self._n_content:
            return format_thresholds(thresholds)
        return self._front_end.texts(feature % len(self._front_end.names), thresholds.tolist())


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


def to_html(model: Model) -> str:
    """Return the size of a model and its first rules of each class."""
    parts = [f"<p><b>Model</b>: {escape(repr(model)[8:-1])}</p>"]
    try:
        classes = list(rules_by_class(model).items())
    except NotSupported:
        classes = []
    for label, rules in classes[:_CLASSES]:
        name = label if isinstance(model.output, Number) else repr(label)
        parts.append(f"<p>{_short(name)}: {len(rules)} rules</p>")
        parts += [
            "<ul>",
            *(
                f"<li>{escape(amount(model, vote))} IF {_short(rule.text)}</li>"
                for vote, rule in rules[:_RULES]
            ),
        ]
        if len(rules) > _RULES:
            parts.append(f"<li>... and {len(rules) - _RULES} more</li>")
        parts.append("</ul>")
    if len(classes) > _CLASSES:
        parts.append(f"<p>... and {len(classes) - _CLASSES} more classes</p>")
    return "\n".join(parts)


def _short(text: str) -> str:
    """Return a text for HTML, its end cut off when it is long."""
    return escape(text if len(text) <= _LETTERS else text[: _LETTERS - 4] + " ...")
