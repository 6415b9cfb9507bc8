"""REDRESS words as another encoder writes them, and a plain decoder."""

import numpy as np


def foreign_machine(seed):
    """Clauses of each class as lists of literals, positive ones first, and the number of Booleans."""
    rng = np.random.default_rng(seed)
    n, half = int(rng.integers(3, 12)), int(rng.integers(1, 6))
    longest = int(rng.integers(1, 5))

    def clause():
        return sorted(rng.choice(2 * n, rng.integers(0, longest + 1), replace=False).tolist())

    return [[clause() for _ in range(2 * half)] for _ in range(int(rng.integers(1, 5)))], n


def toggled_on_empty_clauses(machine, n):
    """Words and counts. The toggle flips on every clause, an empty one too, which merges its neighbours."""
    words, counts, toggle = [], [], 0
    for clauses in machine:
        before = len(words)
        for j, literals in enumerate(clauses):
            toggle ^= 1
            negative = 2 * j >= len(clauses)
            words += [negative << 15 | toggle << 14 | (x % n) << 1 | (x >= n) for x in literals]
        counts.append(len(words) - before)
    return words, counts


def scan(words, counts, row):
    """Class sums of one Boolean row as a board computes them."""
    sums, at = [], 0
    for count in counts:
        total, clause, polarity, toggle = 0, False, 0, None
        for word in words[at : at + count]:
            if (word >> 14 & 1) != toggle:
                total += polarity * clause
                clause, toggle = True, word >> 14 & 1
            polarity = -1 if word >> 15 else 1
            clause = clause and bool(row[word >> 1 & 0x1FFF]) != bool(word & 1)
        sums.append(total + polarity * clause)
        at += count
    return sums
