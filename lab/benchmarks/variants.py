"""Variants that the paper's text has and its study did not run: a random start, unboosted Type I feedback.

    python lab/benchmarks/variants.py [--sets statlog,mammography] [--seeds 5] [--out study]

They are methods added to the study, under the protocol of the paper: the epoch has the best test accuracy.
lab/notes/results.md has what came out.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from ethereal_study import additions, tables
from ethereal_study.run import grid, run
from ethereal_study.settings import Settings
from ethereal_study.store import Store

VARIANTS: dict[str, dict[str, Any]] = {
    "random": {"init": "random"},
    "unboosted": {"boost_true_positive": False},
    "both": {"init": "random", "boost_true_positive": False},
}


def train(rows: Any, settings: Settings, seed: int, *, excludes: bool, **changes: Any) -> dict[str, Any]:
    """Train a changed machine of the study. Test rows choose the epoch, as the paper did."""
    every = settings.exclude_every if excludes else None
    clf = settings.machine(exclude_every=every, booleanizer=rows.booleanizer, random_state=seed, **changes)
    clf.fit(rows.X_train, rows.y_train, validation_set=(rows.X_test, rows.y_test))
    accuracy = float((clf.model_.predict(rows.X_test) == rows.y_test).mean())
    return {"accuracy": accuracy, "includes": clf.model_.n_includes, "clauses": clf.model_.n_clauses}


def main() -> None:
    """Compute the cells that are missing, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default="statlog,mammography")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("study"))
    given = parser.parse_args()
    methods = ["vanilla", "ethereal"]
    for kind in list(methods):
        for name, changes in VARIANTS.items():
            method = partial(train, excludes=kind == "ethereal", **changes)
            additions.add_method(f"{kind}.{name}", method)
            methods.append(f"{kind}.{name}")
    cells = grid(given.sets.split(","), methods, "paper", given.seeds, None)
    results = run(cells, Store(given.out / "cells"), 1)
    print(tables.table2(results, "paper").markdown())


if __name__ == "__main__":
    main()
