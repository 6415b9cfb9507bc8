"""What `prune` says of a model by its training rows, and what test rows say: for lab/notes/tuning.md.

    python lab/benchmarks/pruned_alone.py TABLES/*.csv

A default `EtherealClassifier` is pruned without `validation=`, without a bound and to 2 kB by estimate. In
"quarter" the model hides how it was trained, so a quarter of its training rows judges, as it always did. In
"folds" machines judge that learned from parts of the rows. Each line of the output is JSON.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from ethereal import EtherealClassifier, prune
from ethereal.features.packing import evenly
from ethereal.tuning import BudgetError, priced
from small_tables import rows_of

MOST_ROWS = 3000


def compared(path, seed):
    """Yield the figures of both ways."""
    rows = rows_of(path, seed)
    some = evenly(len(rows.y_train), MOST_ROWS)
    X, y = rows.X_train[some], rows.y_train[some]
    model = EtherealClassifier(random_state=seed).fit(X, y, categories=rows.categories).model_

    def right(one):
        return float(np.mean(one.predict(rows.X_test) == rows.y_test))

    base = {"table": path.stem, "rows": len(y), "unpruned": right(model), "literals": model.n_includes}
    for how, one in (("quarter", model._with(provenance={})), ("folds", model)):
        for bound in ({}, {"flash": "2k", "measure": priced()}):
            began = time.process_time()
            try:
                pruned = prune(one, X, y, **bound)
            except BudgetError:
                continue
            yield base | {
                "how": how, "flash": bound.get("flash"), "said": pruned.accuracy, "is": right(pruned.model),
                "left": pruned.model.n_includes, "seconds": round(time.process_time() - began, 1),
            }  # fmt: skip


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tables", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for path in options.tables:
        for line in compared(path, options.seed):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
