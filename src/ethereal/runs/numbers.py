"""The stages of a run whose label is a number: learn, prune, and grow a forest and boosted trees beside it.

`pipeline` has those of classes, and what both have in common.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.messages import progress
from ethereal.base.splits import hold_out
from ethereal.datasets.rows import Rows
from ethereal.device.tree_sums import tree_sums_program
from ethereal.model import Model, Number
from ethereal.runs.folder import RunFolder
from ethereal.runs.forest import per_halving_of, why_not, without_missing
from ethereal.runs.results import Errors, Forest, ForestScores, Learned, LeftOut, Pruned, Scores
from ethereal.runs.reuse import choose
from ethereal.runs.sample import MOST_ROWS_OF_SPLIT, chosen_rows
from ethereal.runs.scores import LEVEL, mean_interval
from ethereal.tuning.budget import worth_of

if TYPE_CHECKING:
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

    from ethereal.device.program import CProgram
    from ethereal.runs.options import Settings
    from ethereal.runs.pipeline import Plan
    from ethereal.train.options import TrainingOptions

_TREES, _LEAVES = 25, (8, 16, 32, 64, 128, 256)
_BOOSTED, _BOOSTED_LEAVES, _RATES = (10, 25, 50, 100, 200), (4, 8, 16), (0.1, 0.3)
_MOST_NODES = 20_000  # that are compiled
_SHARE = 0.2  # of the rows to learn from, which chooses the shapes


def scores(
    model: Model | None, predicted: NDArray[Any], y: NDArray[Any], groups: NDArray[Any] | None = None
) -> Scores:
    """Return R2 and the errors of numbers on test rows. A model tells the interval around its answers.

    >>> scored = scores(None, np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]))
    >>> scored.accuracy, round(scored.errors.mean, 2)
    (0.5, 0.33)
    """
    error = np.abs(predicted.astype(np.float64) - y)
    variance = float(np.var(y))
    r2 = 1 - float((error**2).mean()) / variance if variance > 0 else 0.0
    number = None if model is None or not isinstance(model.output, Number) else model.output
    half_width = None if number is None else number.half_width
    errors = Errors(
        mean=float(error.mean()),
        interval=mean_interval(error, groups),
        root_mean_square=float(np.sqrt((error**2).mean())),
        half_width=half_width,
        inside=None if half_width is None else float((error <= half_width).mean()),
    )
    return Scores(
        accuracy=r2,
        interval=None,
        interval_level=LEVEL,
        balanced=r2,
        classes=(),
        rows=len(y),
        groups=None if groups is None else len(np.unique(groups)),
        errors=errors,
    )


def check(settings: Settings, training: TrainingOptions) -> None:
    """Refuse options that a number has no use for."""
    training.regressor().check_parameters()
    settings.unknown.refuse_numbers()
    if settings.extent.paper:
        raise ValueError("paper= is for classes, but the label is a number. Leave it out.")


def learn(folder: RunFolder, rows: Rows, plan: Plan) -> Learned:
    """Train the regressor on all rows to learn from."""
    begin = time.perf_counter()
    with progress("learn", 1.0, quiet=plan.quiet) as show:
        model = _trained(plan, rows, rows.X_train, rows.y_train)
        show(1.0, "")
    model.save(folder.path / "machine.etm")
    model.simplify().save(folder.path / "host.etm")
    scored = scores(model, model.ignoring_missing().predict(rows.X_test), rows.y_test, rows.groups_test)
    return Learned(
        **vars(scored),
        seconds=time.perf_counter() - begin,
        history=(),
        clauses=model.n_clauses,
        includes=model.n_includes,
    )


def _trained(plan: Plan, rows: Rows, X: NDArray[Any], y: NDArray[Any]) -> Model:
    reg = plan.training.regressor().fit(X, y, categories=rows.categories)
    name = rows.label or ""
    return reg.model_.with_feature_names(rows.feature_names).with_number(name=name)


def prune(folder: RunFolder, rows: Rows, plan: Plan, finish: Callable[..., Pruned],
          machine: Callable[[], Model]) -> Pruned:  # fmt: skip
    """Prune the machine to its knee or to the bounds, with machines that learned from a part of the rows."""
    begin, seed = time.perf_counter(), plan.training.seed
    ways = tuple(way for way in plan.ways if way.teacher != "unseen")  # which knows shares of classes

    def train(X: NDArray[Any], y: NDArray[Any]) -> Model:
        some = chosen_rows(np.zeros(len(y)), MOST_ROWS_OF_SPLIT, seed)
        return _trained(plan, rows, X[some], y[some])

    with progress("prune", 1.0, quiet=plan.quiet) as show:
        chosen = choose(folder, rows, replace(plan, ways=ways), train, machine, show)
    model = chosen.model.simplify().drop_unused_kernels()
    scored = scores(model, model.predict(rows.X_test), rows.y_test, rows.groups_test)

    def r2(one: Model) -> float:
        return scores(None, one.predict(rows.X_test), rows.y_test).accuracy

    return finish(model, scored, chosen, r2, begin)


def grow(rows: Rows, seed: int, progress: Callable[[int], None]) -> Forest | LeftOut:
    """Return a forest and boosted trees, with shapes that held-out rows chose, or why there are none."""
    why = why_not(rows)
    if why is not None:
        return LeftOut(why)
    begin = time.perf_counter()
    n_missing = int(np.isnan(rows.X).sum()) if rows.X.dtype.kind == "f" else 0
    filled = without_missing(rows)
    sizes = []
    for i, leaves in enumerate(_LEAVES):
        sizes.append(_figures(forest(filled, _TREES, leaves, seed), filled, _TREES, leaves))
        progress(i)
    price = per_halving_of(len(filled.y_train))
    learned = _of_learners(filled, seed)
    tried = {
        (n, leaves): worth_of(score, nodes, price) for n, leaves, score, nodes in _forests(learned, seed)
    }
    n, leaves = max(tried, key=lambda one: tried[one])
    best = replace(_figures(forest(filled, n, leaves, seed), filled, n, leaves), tuned=True)
    sizes = [one for one in sizes if (one.trees, one.leaves) != (n, leaves)]
    grown = tuple(_boosted_sizes(filled, learned, seed))
    return Forest(
        **vars(best),
        sizes=(*sizes, best),
        random_state=seed,
        missing=n_missing,
        seconds=time.perf_counter() - begin,
        per_halving=price,
        boosted=grown,
    )


def _of_learners(rows: Rows, seed: int) -> Rows:
    """Return the rows to learn from, a fifth of them as test rows."""
    test = np.zeros(len(rows.y_train), dtype=bool)
    strata = rows.strata if rows.test is None else rows.strata[~rows.test]
    test[hold_out(strata, _SHARE, seed % 2**32, rows.groups_train)[1]] = True
    return replace(rows, X=rows.X_train, y=rows.y_train, groups=rows.groups_train, test=test)


def _forests(rows: Rows, seed: int) -> Iterator[tuple[int, int, float, float]]:
    """Yield trees, leaves, R2 on held-out rows, and nodes."""
    for leaves in _LEAVES:
        grown = forest(rows, _TREES, leaves, seed)
        X = rows.X_test.astype(np.float32)
        answers = np.cumsum([tree.predict(X) for tree in grown.estimators_], axis=0)
        nodes = np.cumsum([tree.tree_.node_count for tree in grown.estimators_])
        for n in (5, 10, _TREES):
            yield n, leaves, scores(None, answers[n - 1] / n, rows.y_test).accuracy, float(nodes[n - 1])


def forest(rows: Rows, n: int, leaves: int | None, seed: int) -> RandomForestRegressor:
    """Return a forest, grown on the rows to learn from."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(n, max_leaf_nodes=leaves, random_state=seed, n_jobs=-1)
    return forest.fit(rows.X_train, rows.y_train)


def boosted(rows: Rows, n: int, leaves: int, rate: float, seed: int) -> GradientBoostingRegressor:
    """Return boosted trees, grown on the rows to learn from."""
    from sklearn.ensemble import GradientBoostingRegressor

    grown = GradientBoostingRegressor(
        n_estimators=n, max_depth=None, max_leaf_nodes=leaves, learning_rate=rate, random_state=seed
    )
    return grown.fit(rows.X_train, rows.y_train)


def _boosted_sizes(rows: Rows, learned: Rows, seed: int) -> Iterator[ForestScores]:
    """Yield boosted trees of several sizes, with leaves and a rate that held-out rows chose for each."""
    best: dict[int, tuple[float, int, float]] = {}
    price = per_halving_of(len(rows.y_train))
    for leaves in _BOOSTED_LEAVES:
        for rate in _RATES:
            grown = boosted(learned, _BOOSTED[-1], leaves, rate, seed)
            for n, answers in enumerate(grown.staged_predict(learned.X_test), 1):
                score = scores(None, answers, learned.y_test).accuracy if n in _BOOSTED else -np.inf
                if n in _BOOSTED and score > best.get(n, (-np.inf, 0, 0.0))[0]:
                    best[n] = score, leaves, rate
    worths = {n: worth_of(score, n * leaves, price) for n, (score, leaves, _) in best.items()}
    chosen = max(worths, key=lambda n: worths[n])
    for n, (_, leaves, rate) in best.items():
        made = _figures(boosted(rows, n, leaves, rate, seed), rows, n, leaves, rate)
        yield replace(made, tuned=n == chosen)


def _figures(grown: Any, rows: Rows, n: int, leaves: int, rate: float | None = None) -> ForestScores:
    scored = scores(None, grown.predict(rows.X_test), rows.y_test, rows.groups_test)
    trees = _trees_of(grown)
    n_nodes = int(sum(tree.node_count for tree in trees))
    return ForestScores(**vars(scored), trees=n, leaves=leaves, nodes=n_nodes, rate=rate)


def _trees_of(grown: Any) -> Sequence[Any]:
    return [tree.tree_ for tree in np.ravel(grown.estimators_)]


def program_of(one: ForestScores, seed: int, filled: Rows, X: NDArray[Any]) -> CProgram:
    """Return the C of a forest or of boosted trees of a run, which are grown again from their seed."""
    if one.nodes > _MOST_NODES:
        raise ValueError(f"it takes minutes to compile its {one.nodes:,} nodes")
    assert one.leaves is not None
    if one.rate is None:
        trees, base = _trees_of(forest(filled, one.trees, one.leaves, seed)), 0.0
    else:
        grown = boosted(filled, one.trees, one.leaves, one.rate, seed)
        trees, base = _trees_of(grown), float(np.mean(filled.y_train)) / one.rate
    return tree_sums_program(trees, base, X, "forest" if one.rate is None else "boosted")
