"""Why a model decides as it does on one row, and what would have to change for the runner-up to win."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import check_integer
from ethereal.features.categories import to_numbers
from ethereal.features.feature_map import empty_bins
from ethereal.features.matrices import feature_matrix
from ethereal.model.engine import booleans_of, features_of
from ethereal.model.needs import ALL_ANSWERS, FRAMED, PATCHES, Supports
from ethereal.model.output import ClassesOrUnknown, Number
from ethereal.model.rules import Condition, ConditionWriter, Rule

if TYPE_CHECKING:
    from ethereal.model import Model

SUPPORTS = Supports("an explanation", front_ends=FRAMED, outputs=ALL_ANSWERS, patches=PATCHES)
_MAX_CHANGES = 20  # more explain nothing to a person


@dataclass(frozen=True)
class Change:
    """One raw feature that would have to be different."""

    condition: Condition  # what it would have to be
    value: float | None  # what it is, None when missing
    before: str  # what it is in words, empty where the condition says it because all input is Boolean

    def __str__(self) -> str:
        return f"{self.condition.text} instead of {self.before}" if self.before else self.condition.text


@dataclass(frozen=True)
class Explanation:
    """Votes of one row, the clauses that fired for the winner and the runner-up, and what would change it.

    `changes` is a small set of features which together make the runner-up win, none of them superfluous. Each
    step of the search takes the single change that helps most, so a smaller set may exist. It is None when no
    step helps any more, or there is no runner-up. Changes are not searched for a model with a patch. There
    `places` says where the clauses matched.
    """

    answer: Any  # label, that of "unknown" when the winner leads by too few votes
    winner: Any  # label
    runner_up: Any  # label, None when there is one class only
    votes: Mapping[Any, int]  # label -> votes
    for_winner: tuple[tuple[int, Rule], ...]  # (vote, rule) of the clauses that fired, heaviest first
    for_runner_up: tuple[tuple[int, Rule], ...]
    changes: tuple[Change, ...] | None
    margin: int | None = None  # votes by which the winner must lead, None when every row is answered
    max_rules: int | None = None  # rules of each class that `str` shows, None for all
    places: Mapping[int, tuple[tuple[int, ...], ...]] | None = None  # clause -> positions where it matched

    def _line(self, vote: int, rule: Rule) -> str:
        """Return a rule in words, and where it matched first."""
        line = f"  {vote:+d} IF {rule.text}"
        if self.places is None:
            return line
        first, *others = self.places[rule.clause]
        more = f" and {len(others)} more" if others else ""
        return f"{line} (at {', '.join(map(str, first))}{more})"

    def __str__(self) -> str:
        lines = [f"{self.winner!r} has {self.votes[self.winner]} votes"]
        if self.runner_up is not None:
            lines[0] += f", {self.runner_up!r} has {self.votes[self.runner_up]}"
        if self.margin is not None:
            lead = self.votes[self.winner] - self.votes[self.runner_up]
            asks = "is less than" if lead < self.margin else "is at least"
            lines.append(
                f"the answer is {self.answer!r}: a lead of {lead} {asks} the {self.margin} asked for"
            )
        for label, fired in ((self.winner, self.for_winner), (self.runner_up, self.for_runner_up)):
            if label is not None:
                lines.append(f"for {label!r}:")
                shown = fired[: self.max_rules]
                lines += [self._line(vote, rule) for vote, rule in shown] or ["  no clause fired"]
                if len(shown) < len(fired):
                    lines.append(f"  ... and {len(fired) - len(shown)} more")
        if self.changes is not None:
            lines.append(f"{self.runner_up!r} would win with these changes:")
            lines += [f"  {change}" for change in self.changes]
        elif self.runner_up is not None and self.places is None:
            many = f"No set of up to {_MAX_CHANGES} changes was found"
            lines.append(f"{many} with which {self.runner_up!r} would win.")
        return "\n".join(lines)


@dataclass(frozen=True)
class ExplainedNumber:
    """What pushed a number up and down on one row, in its unit."""

    answer: float
    number: Number  # scale, offset and unit
    up: tuple[tuple[int, Rule], ...]  # (votes, rule) of the clauses that fired, heaviest first
    down: tuple[tuple[int, Rule], ...]
    max_rules: int | None = None  # rules of each direction that `str` shows, None for all

    def __str__(self) -> str:
        number = self.number
        pushes = [number.amount(sum(vote for vote, _ in fired)) for fired in (self.up, self.down) if fired]
        lines = [f"{number.columns[0]} is {', '.join([number.text(self.answer), *self.interval])}"]
        lines.append(" ".join([number.text(number.offset), *pushes]))
        for how, fired in (("up", self.up), ("down", self.down)):
            lines.append(f"pushed {how}:")
            shown = fired[: self.max_rules]
            lines += [f"  {number.amount(vote)} IF {rule.text}" for vote, rule in shown] or [
                "  no clause fired"
            ]
            if len(shown) < len(fired):
                lines.append(f"  ... and {len(fired) - len(shown)} more")
        return "\n".join(lines)

    @property
    def interval(self) -> list[str]:
        """Where 90 % of the true values are, in words, nothing if that is not known."""
        half = self.number.half_width
        if half is None:
            return []
        ends = (self.number.text(self.answer + side * half) for side in (-1, 1))
        return [f"nine times of ten between {' and '.join(ends)}"]


def explain(model: Model, x: Any, max_rules: int | None = None) -> Explanation | ExplainedNumber:
    """Explain the model's decision on one row, see `Model.explain`."""
    SUPPORTS.check(model.needs)
    if max_rules is not None:
        check_integer("max_rules", max_rules, 0, 2**31 - 1)
    row = to_numbers(_one_row(model, x), model.feature_map.categories)
    rows = feature_matrix(row, model.n_features, model.feature_names if model.patch is None else None)
    if len(rows) != 1:
        raise ValueError(f"x has {len(rows)} rows. Give one.")
    booleans = booleans_of(model, rows)
    sums = model._votes(booleans)[0]
    fired = np.flatnonzero(model.clause_outputs(rows)[0])
    writer = ConditionWriter(model)
    if isinstance(model.output, Number):
        rules = _fired_rules(model, writer, fired, 0)
        up, down = (tuple(pair for pair in rules if (pair[0] > 0) == is_up) for is_up in (True, False))
        return ExplainedNumber(float(model.output.answers(sums[None])[0]), model.output, up, down, max_rules)
    order = np.argsort(-sums.astype(np.int64), kind="stable")  # on a tie the lower class comes first
    winner, runner_up = int(order[0]), int(order[1]) if len(order) > 1 else None
    labels = model.classes.tolist()
    searches = runner_up is not None and model.patch is None
    return Explanation(
        answer=model.output.answers(sums[None]).tolist()[0],
        margin=model.output.margin if isinstance(model.output, ClassesOrUnknown) else None,
        winner=labels[winner],
        runner_up=None if runner_up is None else labels[runner_up],
        votes=dict(zip(labels, sums.tolist(), strict=True)),
        for_winner=_fired_rules(model, writer, fired, winner),
        for_runner_up=() if runner_up is None else _fired_rules(model, writer, fired, runner_up),
        changes=_changes(model, writer, rows[0], booleans[0], runner_up) if searches else None,  # type: ignore
        max_rules=max_rules,
        places=None if model.patch is None else _places(model, booleans, fired),
    )


def _places(
    model: Model, booleans: NDArray[np.bool_], fired: NDArray[np.intp]
) -> dict[int, tuple[tuple[int, ...], ...]]:
    """Return the positions where each of these clauses matches, in their order."""
    assert model.patch is not None
    clauses = model.clauses.take(fired)
    matches = np.array([match[0] for match in clauses.matches(booleans)])  # positions x clauses
    where = [np.unravel_index(np.flatnonzero(m), model.patch.positions) for m in matches.T]
    return {j: tuple(zip(*(axis.tolist() for axis in one), strict=True))
            for j, one in zip(fired.tolist(), where, strict=True)}  # fmt: skip


def _one_row(model: Model, x: Any) -> Any:
    front_end = model.front_end
    if front_end is not None and np.shape(x)[-2:] == (front_end.window, len(front_end.axes)):
        return features_of(model, np.asarray(x)[None] if np.ndim(x) == 2 else x)
    if model.patch is not None:
        shape, n_channels = model.patch.shape, len(model.channel_names)
        is_one = np.shape(x) in ((model.n_features,), shape, (*shape, n_channels))
        return features_of(model, np.reshape(x, (1, model.n_features)) if is_one else x)
    if hasattr(x, "infer_objects") and not hasattr(x, "columns"):  # a row of a pandas frame keeps its names
        return x.to_frame().T.infer_objects()
    return np.asarray(x)[None] if np.ndim(x) == 1 else x


def _fired_rules(
    model: Model, writer: ConditionWriter, fired: NDArray[np.intp], c: int
) -> tuple[tuple[int, Rule], ...]:
    fired_rules = []
    for j in fired[model.weights[fired, c] != 0].tolist():
        rule = writer.rule(j, model.clauses[j])
        fired_rules.append((rule.weights[c], rule))
    return tuple(sorted(fired_rules, key=lambda pair: (-abs(pair[0]), pair[0] < 0)))


def _changes(
    model: Model, writer: ConditionWriter, row: NDArray[Any], booleans: NDArray[np.bool_], target: int
) -> tuple[Change, ...] | None:
    """Return features and bins that make the target class win, found greedily and then thinned out."""
    feature_map = model.feature_map
    now = booleans.copy()
    chosen: dict[int, int] = {}  # feature -> bin

    def set_bin(row: NDArray[np.bool_], f: int, state: int) -> None:
        start, end = feature_map.boolean_offsets[f : f + 2]
        row[start:end] = feature_map.states(f)[state]

    while model.output.codes(sums := model._votes(now[None]).astype(np.int64))[0] != target:
        step = _best_step(model, now, sums[0], target, chosen)
        if step is None or len(chosen) == _MAX_CHANGES:
            return None
        chosen[step[0]] = step[1]
        set_bin(now, *step)
    for f in list(chosen):
        fewer = booleans.copy()
        for other, state in chosen.items():
            if other != f:
                set_bin(fewer, other, state)
        if model.output.codes(model._votes(fewer[None]))[0] == target:
            del chosen[f]
    return tuple(_change(model, writer, f, state, float(row[f])) for f, state in sorted(chosen.items()))


def _change(model: Model, writer: ConditionWriter, f: int, state: int, value: float) -> Change:
    """Return the change of feature `f` from a value to a state."""
    feature_map = model.feature_map
    if math.isnan(value):
        before = "missing"
    elif model.fitted is None:
        before = ""
    elif f in feature_map.categories:
        names = feature_map.categories[f]
        before = names[int(np.clip(np.ceil(value - 0.5), 0, len(names) - 1))]
    elif feature_map.is_boolean[f]:
        above = value > feature_map.thresholds_of(f)[0]
        before = writer.condition(f, np.array([not above, above])).text
    elif model.front_end is not None:
        before = model.front_end.texts(f, [value])[0]
    else:
        before = f"{value:.6g}"
    wanted = writer.condition(f, np.arange(len(feature_map.states(f))) == state)
    return Change(wanted, None if math.isnan(value) else value, before)


def _best_step(
    model: Model, row: NDArray[np.bool_], sums: NDArray[np.int64], target: int, changed: Mapping[int, int]
) -> tuple[int, int] | None:
    """Return the feature and bin that bring the target class closest to winning, None when nothing helps."""

    def lead(votes: NDArray[np.int64]) -> list[int]:  # of the target over the best other class
        return list((votes[:, target] - np.delete(votes, target, axis=1).max(axis=1)).tolist())

    feature_map = model.feature_map
    best: tuple[int, int, int, int] | None = None  # (lead, -bins moved, -feature, -bin), the largest wins
    for f, effect in _effects(model, row).items():
        if f in changed:
            continue
        states = feature_map.states(f)
        now = row[feature_map.boolean_offsets[f] : feature_map.boolean_offsets[f + 1]]
        current = int((states == now).all(axis=1).argmax())
        empty = empty_bins(feature_map.thresholds_of(f))  # a value cannot be made missing
        for state, gain in enumerate(lead(sums + effect[: len(empty)])):
            if empty[state]:
                continue
            candidate = gain, -abs(state - current), -f, -state
            if best is None or candidate > best:
                best = candidate
    if best is None or best[0] <= lead(sums[None])[0]:
        return None
    return -best[2], -best[3]


def _effects(model: Model, row: NDArray[np.bool_]) -> dict[int, NDArray[np.int64]]:
    """Return the change of the class sums for every change of one feature, feature -> states x classes.

    A change of one feature can only matter to a clause whose conditions on all other features hold.
    """
    feature_map, clauses, n_features = model.feature_map, model.clauses, model.n_features
    if not len(clauses.literals):
        return {}
    boolean, negated = clauses.boolean, clauses.negated
    holds = row[boolean] != negated
    pair_of_literal = clauses.clause * n_features + feature_map.feature[boolean]
    order = np.argsort(pair_of_literal, kind="stable")
    pairs, starts = np.unique(pair_of_literal[order], return_index=True)  # (clause, feature), ascending
    pair_holds = np.logical_and.reduceat(holds[order], starts)
    broken = np.bincount(pairs[~pair_holds] // n_features, minlength=len(clauses))
    ends = np.append(starts[1:], len(order))
    effects: dict[int, NDArray[np.int64]] = {}
    for p in np.flatnonzero(broken[pairs // n_features] == ~pair_holds).tolist():
        j, f = divmod(int(pairs[p]), n_features)
        literals = order[starts[p] : ends[p]]
        allowed = feature_map.states_of(f, boolean[literals], negated[literals])
        gained = allowed.astype(np.int64) - int(pair_holds[p])  # the clause fires now when the pair holds
        effects.setdefault(f, np.zeros((len(allowed), model.n_classes), dtype=np.int64))
        effects[f] += gained[:, None] * clauses.weights[j]
    return effects
