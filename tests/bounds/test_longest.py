"""The longest way through random graphs, against all ways with all values of the inputs."""

from __future__ import annotations

import itertools

import numpy as np

from ethereal_bounds.longest import longest
from ethereal_bounds.state import Edge, Graph

N_VALUES = (3, 2, 4)


def _graph(rng: np.random.Generator, n_points: int) -> Graph:
    """Return a random graph. Some ways need values of one or two inputs, some of them the same twice."""
    edges: dict[int, list[Edge]] = {}
    for start in range(n_points):
        collected = []
        for _ in range(int(rng.integers(1, 4))):
            to = int(rng.integers(start + 1, min(start + 4, n_points) + 1))
            needs = []
            for f in rng.choice(3, int(rng.integers(0, 3))).tolist():
                needs.append((f, int(rng.integers(1, 1 << N_VALUES[f]))))
            collected.append(Edge(-1 if to == n_points else to, int(rng.integers(1, 30)), tuple(needs)))
        collected.append(Edge(-1 if start + 1 == n_points else start + 1, 1))  # always possible
        edges[start] = collected
    return Graph(edges, N_VALUES)


def _most(graph: Graph) -> int:
    """Return the most of all values of the inputs and all ways that they allow."""
    best = 0
    for values in itertools.product(*map(range, N_VALUES)):
        most = {-1: 0}
        for start in sorted(graph.edges, reverse=True):
            most[start] = max(
                edge.cost + most[edge.to]
                for edge in graph.edges[start]
                if all(allowed >> values[f] & 1 for f, allowed in edge.needs)
            )
        best = max(best, most[0])
    return best


def test_no_possible_way_is_longer_than_the_bound() -> None:
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(100):
        graph = _graph(rng, int(rng.integers(2, 12)))
        most, bound = _most(graph), longest(graph)
        assert most <= bound <= longest(graph, excludes=False)
        ratios.append(bound / most)
    assert np.mean(ratios) < 1.05
