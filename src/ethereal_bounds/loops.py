"""Blocks of instructions, and where they are among loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ethereal_bounds.instruction import Instruction


@dataclass
class Block:
    """Instructions that are executed one after the other."""

    start: int
    steps: list[tuple[int, Instruction]] = field(default_factory=list)
    following: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Spot:
    """Where a block is among loops: the place and header of each loop around it, and its own place."""

    loops: tuple[tuple[int, int], ...]
    place: int


def spots(blocks: Mapping[int, Block], entry: int) -> dict[int, Spot]:
    """Return where each block is among loops. Without the ways back, places ascend along every way."""
    found: dict[int, Spot] = {}

    def arrange(inside: set[int], first: int, loops: tuple[tuple[int, int], ...]) -> None:
        parts = components(inside, first, lambda x: (y for y in blocks[x].following if y in inside))
        for place, part in enumerate(parts):
            header = part[-1]
            if len(part) == 1 and header not in blocks[header].following:
                found[header] = Spot(loops, place)
                continue
            around = (*loops, (place, header))
            found[header] = Spot(around, -1)
            rest = set(part) - {header}
            while rest:  # what the header leads to comes first
                begin = next((x for x in blocks[header].following if x in rest), min(rest))
                arrange_part(rest, begin, around)
                rest -= {x for x in rest if x in found}

    def arrange_part(inside: set[int], first: int, loops: tuple[tuple[int, int], ...]) -> None:
        arrange(inside, first, loops)

    arrange(set(blocks), entry, ())
    return found


def components(nodes: set[int], first: int, following: Callable[[int], Iterable[int]]) -> list[list[int]]:
    """Return the strongly connected parts in an order along the edges. The entry of each is its last."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    parts: list[list[int]] = []
    for root in (first, *sorted(nodes - {first})):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter(list(following(root))))]
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(list(following(other)))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        part.append(member)
                        if member == node:
                            break
                    parts.append(part)
    return parts[::-1]
