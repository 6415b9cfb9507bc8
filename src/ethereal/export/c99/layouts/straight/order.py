"""Put questions that compare with the same thresholds near each other.

A Cortex-M reads the bits of a float from a pool of constants behind the code, and a constant that is already
in reach is not written again. The order of the questions of a block does not change the sums.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Sequence

import numpy as np

from ethereal.export.c99.layouts.straight.asked import Test, asked_tests
from ethereal.export.c99.layouts.straight.tree import Block, If

_NEAR = 60  # tests between two uses of a constant that share it: loads reach about one kilobyte


def arrange(block: Block, asked: int | None = None) -> None:
    """Order the questions of a block, and of all blocks in it.

    One that begins with the feature that was `asked` for before comes first. That feature need not be read
    again.
    """
    order = near([tests_of(item) for item in block.items])
    items = [block.items[i] for i in order]
    block.items = sorted(items, key=lambda item: asked_tests(item.asked)[0].feature != asked)
    for item in block.items:
        feature = asked_tests(item.asked)[0].feature
        arrange(item.then, feature)
        arrange(item.otherwise, feature)


def near(keys: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return an order in which each one has as many keys in common with those before it as can be.

    >>> near(["ab", "xy", "bc", "yz"])
    [0, 2, 1, 3]
    """
    users: dict[Hashable, list[int]] = defaultdict(list)
    for i, own in enumerate(keys):
        for key in set(own):
            users[key].append(i)
    shared = np.zeros(len(keys))  # keys of each one that are near
    order: list[int] = []
    recent: deque[Hashable] = deque()
    uses: Counter[Hashable] = Counter()
    for _ in keys:
        following = int(shared.argmax())
        order.append(following)
        shared[following] = -np.inf
        for key in keys[following]:
            recent.append(key)
            uses[key] += 1
            if uses[key] == 1:
                shared[users[key]] += 1
        while len(recent) > _NEAR:
            key = recent.popleft()
            uses[key] -= 1
            if uses[key] == 0:
                shared[users[key]] -= 1
    return order


def tests_of(item: If) -> list[Test]:
    """Return all tests in a question, in the order in which they are written."""
    found = asked_tests(item.asked)
    for side in (item.then, item.otherwise):
        for inner in side.items:
            found += tests_of(inner)
    return found
