"""Your own table and your own method in the paper's Table 2, beside the study's sets that are at hand.

ethereal study table2 --sets mine.csv --label kind     # the same for a file, without a script
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from ethereal import datasets
from ethereal.datasets.rows import Rows
from ethereal_study import additions, tables
from ethereal_study.run import grid, run
from ethereal_study.settings import Settings
from ethereal_study.store import Store


# %% A method gets rows, the set's settings and a seed. It returns the accuracy on the test rows.
def tree(rows, settings, seed):
    fitted = DecisionTreeClassifier(max_depth=5, random_state=seed).fit(rows.bits()[~rows.test], rows.y_train)
    return fitted.score(rows.bits()[rows.test], rows.y_test)


with TemporaryDirectory() as folder:
    # %% A set has rows, test rows and settings: clauses, T, s, epochs, k and bins.
    X, y = load_breast_cancer(return_X_y=True)
    rows = Rows(X, y, test=np.arange(len(y)) % 5 == 0)
    machine = Settings(40, 10, 4.0, epochs=10, exclude_every=1, n_bins=5)
    additions.add_set("cancer", rows, machine, Path(folder) / "sets")
    additions.add_method("tree", tree)

    # %% Cells are kept in the store, so a second run is instant. -1 instead of 1 takes all cores.
    at_hand = [name for name in ("mammography",) if datasets.status(name).path is not None]
    cells = grid(["cancer", *at_hand], ["tree", "vanilla", "ethereal"], "honest", seeds=2, epochs=None)
    results = run(cells, Store(Path(folder) / "cells"), 1, quiet=True)
    print(tables.table2(results, "honest").markdown())
