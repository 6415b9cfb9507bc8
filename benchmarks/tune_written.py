"""The model that `tune` hands over beside its trial, on rows that chose nothing: docs/tuning.md.

    python benchmarks/tune_written.py  # digits, breast cancer and two made-up sets, as Markdown
    python benchmarks/tune_written.py --sets digits --seeds 1

Per set and seed 40 % of the rows are kept away from `tune`. It runs with few trials and epochs. The table has
the chosen trial's accuracy on validation rows, the accuracies of the trial's own model and of the model that
was handed over on the unseen rows, and the shares of the budget that are used.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

from ethereal import tune

FLASH, INSTRUCTIONS = 4096, 5000


def noisy(seed, n_classes):
    """Rows of 16 features in several clumps per class, a tenth of the labels wrong."""
    shape = {"n_informative": 8, "n_clusters_per_class": 3, "n_classes": n_classes, "flip_y": 0.1}
    return datasets.make_classification(3000, 16, **shape, random_state=seed)


SETS = {
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "breast cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "two noisy classes": lambda: noisy(1, 2),
    "five noisy classes": lambda: noisy(2, 5),
}


def one(name, seed, trials, epochs):
    X, y = SETS[name]()
    X = X.astype(np.float32)  # what a device reads
    kept, unseen, y_kept, y_unseen = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
    start = time.process_time()
    found = tune(kept, y_kept, test=(unseen, y_unseen), flash=FLASH, instructions=INSTRUCTIONS, trials=trials,
                 folds=1, epochs=epochs, max_clauses=100, random_state=seed)  # fmt: skip
    took = found.footprint
    return {
        "validation": 100 * found.accuracy,
        "trial": 100 * found.trial_test_accuracy,
        "written": 100 * found.test_accuracy,
        "is": "trial's" if found.is_trials else "all rows",
        "flash": 100 * took.bytes / FLASH,
        "instructions": 100 * took.instructions / INSTRUCTIONS,
        "seconds": time.process_time() - start,
        "unseen": len(y_unseen),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=8)
    given = parser.parse_args()
    head = "set, seed", "validation %", "trial, unseen %", "handed over, unseen %", "which", "flash %"
    print(f"| {' | '.join(head)} | instructions % |")
    print("|---|---:|---:|---:|---|---:|---:|")
    rows = []
    for name in given.sets.split(","):
        for seed in range(given.seeds):
            r = one(name, seed, given.trials, given.epochs)
            rows.append(r)
            shares = f"{r['validation']:.2f} | {r['trial']:.2f} | {r['written']:.2f} | {r['is']}"
            print(f"| {name}, {seed} | {shares} | {r['flash']:.0f} | {r['instructions']:.0f} |", flush=True)
    mean = {k: np.mean([r[k] for r in rows]) for k in rows[0] if k != "is"}
    print(f"| mean | {mean['validation']:.2f} | {mean['trial']:.2f} | {mean['written']:.2f} | "
          f"| {mean['flash']:.0f} | {mean['instructions']:.0f} |")  # fmt: skip
    print(f"\n{sum(r['seconds'] for r in rows):.0f} s of CPU")


if __name__ == "__main__":
    main()
