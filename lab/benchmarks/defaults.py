"""The defaults of `EtherealClassifier` against those of scikit-learn: the tables of lab/notes/defaults.md.

    python lab/benchmarks/defaults.py --folder tables --out defaults
    python lab/benchmarks/defaults.py --folder tables --methods ethereal,catboost,lightgbm,xgboost

Every baseline has its own defaults. CatBoost, LightGBM and XGBoost have to be installed for it. A set has at
most 3000 training and 3000 test rows: 70 and 30 % by class, or the set's own test rows. Times are CPU seconds
of one thread. --folder has further sets as CSV files with a header, whose last column is the label. What is
finished stays in --out.
"""

import argparse
import csv
import importlib
import json
import math
import os
import pickle
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn import datasets as sklearn_sets
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split

from ethereal import EtherealClassifier, datasets
from ethereal.base.atomic import write_text

MOST_ROWS = 3000
# Sets on which the defaults were chosen. All others only confirm.
DEVELOPMENT = {
    *("iris", "breast_cancer", "vowel", "segment", "satimage", "phoneme", "spambase", "magic"),
    *("statlog", "gas", "pima", "german", "xor"),
}
OURS = "iris", "breast_cancer", "wine", "digits"
STUDY = "statlog", "gas", "mammography", "har", "gesture"
NOISY = "xor", "parity"  # made here, and left out of the means


def boosted(package, name, **quiet):
    """Return what makes a classifier of a package with its own defaults, on one thread."""
    return lambda random_state: getattr(importlib.import_module(package), name)(
        random_state=random_state, **quiet
    )


METHODS = {
    "ethereal": EtherealClassifier,
    "forest": RandomForestClassifier,
    "boosting": HistGradientBoostingClassifier,
    "catboost": boosted(
        "catboost", "CatBoostClassifier", thread_count=1, verbose=0, allow_writing_files=False
    ),
    "lightgbm": boosted("lightgbm", "LGBMClassifier", n_jobs=1, verbose=-1),
    "xgboost": boosted("xgboost", "XGBClassifier", n_jobs=1),
}
USUAL = "ethereal,forest,boosting"


def noisy(name, seed):
    """Return 12 random bits with a rule, a part of the training labels wrong, and which rows are clean."""
    rng, n = np.random.default_rng(seed), 5000 if name == "xor" else 3000
    X = rng.integers(0, 2, (2 * n, 12))
    y, test = X[:, 0] ^ X[:, 1], np.arange(2 * n) >= n
    if name == "xor":  # 40 % are flipped
        return X.astype(float), np.where((rng.random(2 * n) < 0.4) & ~test, 1 - y, y), test
    y = y + (X[:, 2] ^ X[:, 3])  # 20 % are drawn
    return X.astype(float), np.where((rng.random(2 * n) < 0.2) & ~test, rng.integers(0, 3, 2 * n), y), test


def table(path):
    """Return rows and labels of a CSV file. A text counts as its place in the alphabet."""
    with path.open(newline="", encoding="utf-8") as file:
        *columns, y = (np.array(column[1:]) for column in zip(*csv.reader(file), strict=True))
    return np.column_stack([numbers(column) for column in columns]), y


def numbers(column):
    """Return a column as numbers, NaN where it is empty."""
    try:
        return np.where(column == "", "nan", column).astype(float)
    except ValueError:
        return np.unique(column, return_inverse=True)[1].astype(float)


def rows(name, folder, seed):
    """Return training rows and labels, then test rows and labels."""
    if name in NOISY:
        X, y, test = noisy(name, seed)
        return X[~test], y[~test], X[test], y[test]
    if name in STUDY:
        data = datasets.load(name)
        X, y, train, test = (
            data.X.astype(float),
            data.y,
            np.flatnonzero(~data.test),
            np.flatnonzero(data.test),
        )
    else:
        is_ours = name in OURS
        X, y = (
            getattr(sklearn_sets, f"load_{name}")(return_X_y=True)
            if is_ours
            else table(folder / f"{name}.csv")
        )
        train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    rng = np.random.default_rng(seed)
    train, test = rng.permutation(train)[:MOST_ROWS], rng.permutation(test)[:MOST_ROWS]
    return X[train], y[train], X[test], y[test]


def result(path, name, folder, seed, methods):
    """Return accuracy, seconds and kilobytes of methods. The file of the set has those that were recorded."""
    facts = json.loads(path.read_text()) if path.exists() else {}
    missing = [method for method in methods if method not in facts]
    if not missing:
        return facts
    X, y, X_test, y_test = rows(name, folder, seed)
    classes, codes = np.unique(y, return_inverse=True)  # XGBoost takes numbers alone
    codes_test = np.searchsorted(classes, y_test)
    for method in missing:
        start = time.process_time()
        clf = METHODS[method](random_state=seed).fit(X, codes)
        seconds = time.process_time() - start
        code = clf.model_.simplify().to_bytes() if method == "ethereal" else pickle.dumps(clf)
        right = np.asarray(clf.predict(X_test)).ravel() == codes_test
        facts[method] = [float(right.mean()), seconds, len(code) / 1000]
        if method == "ethereal":
            facts["votes"] = clf.model_.provenance["votes"]
            facts["plain"] = float((clf.plain_model_.predict(X_test) == codes_test).mean())
    write_text(path, json.dumps(facts))
    return facts


def summary(title, results, methods):
    """Print the mean accuracy and the geometric means of seconds and sizes: sets x methods x 3.

    Return the mean difference to each baseline in points, with its standard error over sets.
    """
    rest = np.exp(np.log(results[:, :, 1:]).mean(axis=0))
    print(line(f"**{title}**", np.column_stack([results[:, :, 0].mean(axis=0), rest])))
    told = []
    for i, baseline in enumerate(methods[1:], 1):
        points = 100 * (results[:, 0, 0] - results[:, i, 0])
        error = points.std(ddof=1) / math.sqrt(len(points)) if len(points) > 1 else math.nan
        told.append(f"{title}: {points.mean():+.2f} ± {error:.2f} points against {baseline}")
    return told


def line(name, values):
    """Return a line of the table."""
    accuracies, seconds, sizes = np.asarray(values).T
    cells = [f"{100 * a:.1f}" for a in accuracies] + [f"{s:.2f}" for s in seconds]
    return f"| {' | '.join([name, *cells, *(f'{k:.0f}' for k in sizes)])} |"


def main():
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="CSV files of further sets")
    parser.add_argument("--out", type=Path, default=Path("defaults"))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sets", help="some sets only, separated by commas")
    parser.add_argument("--methods", default=USUAL, help=f"of {', '.join(METHODS)}, the first is compared")
    options = parser.parse_args()
    methods = options.methods.split(",")
    options.out.mkdir(parents=True, exist_ok=True)
    tables = sorted(path.stem for path in options.folder.glob("*.csv")) if options.folder else []
    names = options.sets.split(",") if options.sets else [*OURS, *STUDY, *tables, *NOISY]
    means = {}
    for name in names:
        runs = [
            result(options.out / f"{name}-{seed}.json", name, options.folder, seed, methods)
            for seed in range(options.seeds)
        ]
        means[name] = {m: np.mean([run[m] for run in runs], axis=0) for m in methods}
    headings = [f"{m}{unit}" for unit in (", %", ", s", ", kB") for m in methods]
    print(f"| set | {' | '.join(headings)} |\n|---|{'---:|' * len(headings)}")
    for name in names:
        print(line(f"{name}{' (d)' if name in DEVELOPMENT else ''}", [means[name][m] for m in methods]))
    told = []
    groups = {"all": set(names), "development": DEVELOPMENT, "confirmation": set(names) - DEVELOPMENT}
    for title, group in groups.items():
        chosen = [n for n in names if n in group and n not in NOISY]
        if chosen:
            means_of = np.array([[means[n][m] for m in methods] for n in chosen])
            told += summary(f"{title}, {len(chosen)} sets", means_of, methods)
    print("\n" + "\n".join(told))


if __name__ == "__main__":
    main()
