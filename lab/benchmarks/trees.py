"""Ensembles of trees as Models, for lab/notes/trees.md. Tables are those of ETHEREAL_DATA.

    python lab/benchmarks/trees.py equal          # rows that a Model answers otherwise than its library
    python lab/benchmarks/trees.py numbers        # regressors of the last column, and isolation forests
    python lab/benchmarks/trees.py walk           # unpruned trees in "straight" beside a walk through them
    python lab/benchmarks/trees.py pruned         # a forest of 25 x 14 pruned to a tenth of its flash
    python lab/benchmarks/trees.py export         # seconds to import and export a forest of 25 x 14

Test rows judge and choose nothing. Flash and instructions are those of programs compiled for a Cortex-M7 and
executed. Each line is printed when it is known.
"""

import argparse
import itertools
import os
import time
import warnings
from pathlib import Path

import lightgbm
import numpy as np
import xgboost
from sklearn import ensemble as forests
from sklearn.datasets import load_breast_cancer

import ethereal
from ethereal.device.measurement import measure, measure_program
from ethereal.export.c99.choose import choose
from ethereal.trees import import_trees

FOLDER = Path(os.environ.get("ETHEREAL_DATA", "."))
TABLES = ("breast", "mammography", "statlog", "gas", "gesture", "emg")
MOST_ROWS = 4000
KINDS = {
    "RandomForest": lambda: forests.RandomForestClassifier(25, max_depth=14, random_state=0),
    "ExtraTrees": lambda: forests.ExtraTreesClassifier(25, max_depth=14, random_state=0),
    "GradientBoosting": lambda: forests.GradientBoostingClassifier(n_estimators=20, random_state=0),
    "HistGradientBoosting": lambda: forests.HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "LightGBM": lambda: lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, random_state=0, n_jobs=1),
    "XGBoost": lambda: xgboost.XGBClassifier(n_estimators=20, n_jobs=1),
    "XGBoost, vectors": lambda: xgboost.XGBClassifier(
        n_estimators=20, n_jobs=1, multi_strategy="multi_output_tree", tree_method="hist"
    ),
    "XGBoost, a file": None,
}

NUMBERS = {
    "RandomForest": lambda: forests.RandomForestRegressor(25, max_depth=10, random_state=0),
    "ExtraTrees": lambda: forests.ExtraTreesRegressor(25, max_depth=10, random_state=0),
    "GradientBoosting": lambda: forests.GradientBoostingRegressor(n_estimators=40, random_state=0),
    "HistGradientBoosting": lambda: forests.HistGradientBoostingRegressor(max_iter=40, random_state=0),
    "LightGBM": lambda: lightgbm.LGBMRegressor(n_estimators=40, verbose=-1, random_state=0, n_jobs=1),
    "XGBoost": lambda: xgboost.XGBRegressor(n_estimators=40, n_jobs=1),
    "IsolationForest": lambda: forests.IsolationForest(random_state=0),
    "IsolationForest, 5 %": lambda: forests.IsolationForest(contamination=0.05, random_state=0),
}


def table(name, seed=0):
    """Return training rows and test rows, with their labels. A seed draws the former where they are many."""
    if name == "breast":
        X, y = load_breast_cancer(return_X_y=True)
        is_test = np.arange(len(y)) % 5 == 4
    else:
        data = np.load(FOLDER / f"{name}.npz", allow_pickle=False)
        X, y, is_test = data["X"], data["y"], data["test"]
        X, y = X.reshape(len(X), -1).astype(np.float64), np.unique(y, return_inverse=True)[1]
    train = np.random.default_rng(seed).permutation(np.flatnonzero(~is_test))[:MOST_ROWS]
    return X[train], y[train], X[is_test], y[is_test]


def equal(names, seeds):
    print("table; kind; trees; leaves; clauses; rows; certain %; differing; of these ties; seconds")
    for name in names:
        X, y, X_test, _ = table(name)
        rows = np.concatenate([X, X_test])
        for kind, make in KINDS.items():
            if kind == "GradientBoosting" and np.isnan(X).any():
                print(f"{name}; {kind}; refuses missing values", flush=True)
                continue
            estimator = (make or KINDS["XGBoost"])().fit(X, y)
            began = time.process_time()
            if make is None:
                path = Path("/tmp") / f"ethereal_trees_{os.getpid()}.json"
                estimator.save_model(path)
                result = import_trees(str(path), rows)
                path.unlink()
                differing = int((result.model.predict(rows) != estimator.predict(rows)).sum())
            else:
                result = import_trees(estimator, rows)
                differing = result.n_differing
            seconds = time.process_time() - began
            print(
                f"{name}; {kind}; {result.n_trees}; {result.n_leaves}; {result.model.n_clauses}; "
                f"{result.n_rows}; {100 * result.certain:.1f}; {differing}; {result.n_ties}; {seconds:.1f}",
                flush=True,
            )


def numbers(names, seeds):
    print("table; kind; leaves; rows; certain %; differing or beyond; largest difference; bound; spread")
    for name in names:
        X, _, X_test, _ = table(name)
        X, X_test = X.astype(np.float32), X_test.astype(np.float32)  # no value between two of a board
        known = ~np.isnan(X[:, -1])
        rows = np.concatenate([X, X_test])
        for kind, make in NUMBERS.items():
            if kind == "GradientBoosting" and np.isnan(X[:, :-1]).any():
                continue
            if kind.startswith("Isolation"):
                result, spread = import_trees(make().fit(X), rows), ""
            else:
                estimator = make().fit(X[known, :-1], X[known, -1])
                result, spread = import_trees(estimator, rows[:, :-1]), f"{np.std(X[known, -1]):.4g}"
            known_by = "; ".join(
                f"{one:.3g}" if one is not None else "" for one in (result.difference, result.bound)
            )
            print(
                f"{name}; {kind}; {result.n_leaves}; {result.n_rows}; {100 * result.certain:.1f}; "
                f"{result.n_differing}; {known_by}; {spread}",
                flush=True,
            )


def walk(names, seeds):
    from ethereal_study.baselines.vector_trees import train_vector_trees, vector_trees

    print("table; trees x depth; walk flash, instructions; straight flash, instructions; more %")
    for name in names:
        X, y, X_test, _ = table(name)
        X, X_test = np.nan_to_num(X, nan=-1.0), np.nan_to_num(X_test, nan=-1.0)
        for n_trees, depth in ((5, 3), (5, 5), (20, 3), (20, 5)):
            trees = train_vector_trees(X, y, n_trees, depth, 0)
            rows = X_test[:200]
            plain = measure_program(vector_trees(trees, rows), "cortex-m7")
            model = trees.model
            some = model.booleanizer.transform(X[np.linspace(0, len(X) - 1, 256).astype(int)])
            model = model.with_typical_rows(np.packbits(some, axis=1, bitorder="little"))
            ours = measure(model, rows, "cortex-m7", "straight")
            assert ours.agreement == plain.agreement == 1.0
            flash, steps = (
                100 * (ours.flash_bytes / plain.flash_bytes - 1),
                100 * (ours.total_instructions / plain.total_instructions - 1),
            )
            print(
                f"{name}; {n_trees} x {depth}; {plain.flash_bytes} {plain.total_instructions:.0f}; "
                f"{ours.flash_bytes} {ours.total_instructions:.0f}; {flash:+.1f} {steps:+.1f}",
                flush=True,
            )


def pruned(names, seeds):
    print("table; seed; forest leaves; its flash; accuracy; pruned flash; accuracy; points; error; seconds")
    for name, seed in itertools.product(names, range(seeds)):
        X, y, X_test, y_test = table(name, seed)
        kept = np.arange(len(y)) % 5 != 4  # the others choose
        forest = forests.RandomForestClassifier(25, max_depth=14, random_state=seed).fit(X[kept], y[kept])
        model = ethereal.from_trees(forest, X[kept])
        whole = choose(model, target="cortex-m7", flash=1 << 24).flash_bytes
        began = time.process_time()
        result = ethereal.prune(model, X[kept], y[kept], validation=(X[~kept], y[~kept]), flash=whole // 10,
                                random_state=seed)  # fmt: skip
        seconds = time.process_time() - began
        before, after = ((m.predict(X_test) == y_test).astype(float) for m in (model, result.model))
        error = 100 * np.std(after - before) / len(before) ** 0.5
        print(
            f"{name}; {seed}; {model.n_clauses}; {whole}; {100 * before.mean():.2f}; "
            f"{result.footprint.bytes}; {100 * after.mean():.2f}; {100 * (after - before).mean():+.2f}; "
            f"{error:.2f}; {seconds:.0f}",
            flush=True,
        )


def export(names, seeds):
    print("table; leaves; literals; seconds to import, to export; layout; flash at most")
    for name in names:
        X, y, *_ = table(name)
        forest = forests.RandomForestClassifier(25, max_depth=14, random_state=0).fit(X, y)
        began = time.process_time()
        model = ethereal.from_trees(forest, X)
        imported = time.process_time()
        program = choose(model, target="cortex-m7", flash=1 << 24)
        n_bytes = sum(map(len, program.files.values()))
        print(
            f"{name}; {model.n_clauses}; {model.n_includes}; {imported - began:.1f}, "
            f"{time.process_time() - imported:.1f}; {program.layout}; {program.flash_bytes} ({n_bytes} of C)",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("equal", "numbers", "walk", "pruned", "export"))
    parser.add_argument("--tables", default=",".join(TABLES), help="names, with commas")
    parser.add_argument("--seeds", type=int, default=1, help="of rows and forests, for pruned")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    globals()[args.what](args.tables.split(","), args.seeds)
