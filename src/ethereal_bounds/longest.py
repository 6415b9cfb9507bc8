"""The longest way through a graph, where ways that need different values of one input exclude each other."""

from __future__ import annotations

import math
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from ethereal_bounds.instruction import Unbounded
from ethereal_bounds.state import Edge, Graph, Need

_END = -1
_MOST_EDGES = 15_000  # for which exclusions are looked at


def longest(graph: Graph, *, excludes: bool = True) -> int:
    """Return a bound of the instructions of every way.

    With `excludes`, ways that need different values of one input exclude each other, as far as a linear
    program finds out.
    """
    order = _sorted(graph.edges)
    edges = _shortened(graph.edges, order)
    plain = _plain(edges)
    flat = [(start, edge) for start in order if start in edges for edge in edges[start]]
    if not excludes or not any(edge.needs for _, edge in flat) or len(flat) > _MOST_EDGES:
        return plain
    return min(plain, _program(flat, graph.n_values))


def _sorted(edges: dict[int, list[Edge]]) -> list[int]:
    """Return the points that can be reached, each before those that it leads to."""
    following: dict[int, set[int]] = {}
    waiting = [0]
    while waiting:
        start = waiting.pop()
        if start not in following and start != _END:
            following[start] = {edge.to for edge in edges[start]} - {_END}
            waiting += following[start]
    try:
        return [*TopologicalSorter(following).static_order()][::-1]
    except CycleError:
        raise Unbounded("a loop has no end that its tables tell") from None


def _shortened(edges: dict[int, list[Edge]], order: list[int]) -> dict[int, list[Edge]]:
    """Return the graph without points that one way leads from, and without what no longest way takes.

    Points come in the opposite order.
    """
    ends: dict[int, Edge] = {}  # of the points that are left out
    shortened = {}
    for start in reversed(order):
        best: dict[tuple[int, tuple[Need, ...]], int] = {}
        for edge in edges[start]:
            end = ends.get(edge.to, Edge(edge.to, 0))
            key = end.to, edge.needs
            best[key] = max(edge.cost + end.cost, best.get(key, 0))
        ways = [Edge(to, cost, needs) for (to, needs), cost in best.items()]
        if len(edges[start]) == 1 and start != 0 and not ways[0].needs:
            ends[start] = ways[0]
            continue
        free = {way.to: way.cost for way in ways if not way.needs}
        shortened[start] = [way for way in ways if not way.needs or way.cost > free.get(way.to, -1)]
    return shortened


def _plain(edges: dict[int, list[Edge]]) -> int:
    most = {_END: 0}
    for start, ways in edges.items():
        most[start] = max((way.cost + most[way.to] for way in ways), default=0)
    return most[0]


def _program(flat: list[tuple[int, Edge]], n_values: tuple[int, ...]) -> int:
    """Return the bound of a linear program: a flow of 1 that values of the inputs let through."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]
    from scipy.sparse import csr_array  # type: ignore[import-untyped]

    sets: dict[int, set[int]] = defaultdict(set)
    for _, edge in flat:
        for f, allowed in edge.needs:
            sets[f].add(allowed)
    first: dict[int, list[tuple[int, int]]] = {}  # of an input: kinds of values, and their variables
    n = len(flat)
    for f, asked in sorted(sets.items()):
        kinds: dict[tuple[bool, ...], int] = {}
        listed = sorted(asked)
        for r in range(n_values[f]):
            kind = tuple(bool(s >> r & 1) for s in listed)
            kinds[kind] = kinds.get(kind, 0) | 1 << r
        first[f] = [(values, n + i) for i, values in enumerate(kinds.values())]
        n += len(kinds)
    rows: list[int] = []
    columns: list[int] = []
    numbers: list[float] = []
    low: list[float] = []
    high: list[float] = []

    def add(entries: list[tuple[int, float]], least: float, most: float) -> None:
        for column, number in entries:
            rows.append(len(low))
            columns.append(column)
            numbers.append(number)
        low.append(least)
        high.append(most)

    at: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for i, (start, edge) in enumerate(flat):
        at[start].append((i, 1.0))
        at[edge.to].append((i, -1.0))
    for point, entries in at.items():
        if point != _END:
            wanted = 1.0 if point == 0 else 0.0
            add(entries, wanted, wanted)
    for values in first.values():
        add([(variable, 1.0) for _, variable in values], 1.0, 1.0)
    for (f, allowed), together in _excluding(flat):
        inside = [(variable, -1.0) for values, variable in first[f] if values & allowed]
        if len(inside) < len(first[f]):
            add([*((i, 1.0) for i in together), *inside], -math.inf, 0.0)
    costs = np.zeros(n)
    costs[: len(flat)] = [-edge.cost for _, edge in flat]
    matrix = csr_array((numbers, (rows, columns)), shape=(len(low), n))
    limits = LinearConstraint(matrix, np.array(low), np.array(high))
    solution = milp(costs, constraints=limits, bounds=Bounds(0, 1))
    if solution.status != 0:
        raise Unbounded("the linear program has no solution")
    return math.floor(-float(solution.fun) * (1 + 1e-9) + 1e-3)


def _excluding(flat: list[tuple[int, Edge]]) -> list[tuple[Need, list[int]]]:
    """Return sets of ways that have a need in common and of which no execution takes two.

    Each way has a number: how many with the same need can come before it at most. Of two ways with the same
    number, none comes before the other. The ways are given in an order along the graph.
    """
    needs = sorted({need for _, edge in flat for need in edge.needs})
    number = {need: i for i, need in enumerate(needs)}
    before: dict[int, NDArray[np.int32]] = {}
    none = np.zeros(len(needs), np.int32)
    excluded: dict[tuple[int, int], list[int]] = defaultdict(list)
    last: int | None = None
    most_at_start = none
    for i, (start, edge) in enumerate(flat):
        if start != last:  # nothing leads there any more
            most_at_start, last = before.pop(start, none), start
        most = most_at_start
        if edge.needs:
            numbers = sorted({number[need] for need in edge.needs})
            for need in numbers:
                excluded[need, int(most[need])].append(i)
            most = most.copy()
            most[numbers] += 1
        before[edge.to] = np.maximum(before[edge.to], most) if edge.to in before else most
    return [(needs[need], together) for (need, _), together in excluded.items()]
