"""Forests and boosted trees of a number in C answer like their whole numbers on the host, near the floats."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

from ethereal.chips.targets import find_core
from ethereal.device.program import execute
from ethereal.device.tree_sums import tree_sums_program


@pytest.mark.parametrize("kind", ["forest", "boosted"])
def test_the_sum_of_the_leaves(kind):
    X, y = make_friedman1(300, noise=1, random_state=0)
    if kind == "forest":
        grown, base, factor = (
            RandomForestRegressor(5, max_leaf_nodes=16, random_state=0).fit(X, y),
            0.0,
            1 / 5,
        )
    else:
        grown = GradientBoostingRegressor(n_estimators=10, max_leaf_nodes=4, random_state=0).fit(X, y)
        base, factor = float(y.mean()) / 0.1, 0.1
    trees = [tree.tree_ for tree in np.ravel(grown.estimators_)]
    program = tree_sums_program(trees, base, X)
    executed = execute(program, find_core("cortex-m7"))
    np.testing.assert_array_equal(executed.classes, program.expected)
    steps = 32000 / max(np.abs(tree.value).max() for tree in trees)
    np.testing.assert_allclose(program.expected / steps * factor, grown.predict(X), atol=0.02)
