"""What a person gains who teaches a board: accuracy on unseen people before and after (lab/notes/adapt.md).

    python lab/benchmarks/adapt.py watch har sports gesture --folder DATA --models CACHE --seeds 5
    python lab/benchmarks/adapt.py watch --costs

DATA holds NAME.npz with tables (sports) and raw/NAME.npz with windows (watch, har, gesture). Models are
trained on other people and pruned to 4 kB. Of each person the first rows of every class are taught, and later
rows test. Nothing is chosen by the people who are tested.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ethereal import EtherealClassifier, Model, WindowFeatures, prune
from ethereal.adapt import Votes
from ethereal.adapt.learning import State

sys.path.insert(0, str(Path(__file__).parent))

GROUPS: dict[str, dict[str, list[str]]] = {
    "har": {"stats": ["ax", "ay", "gx", "gz"], "haar": ["az", "gx", "gy"], "corr": ["ax*ay", "gx*gz"],
            "bands": ["ax", "gx", "gz"]},
    "gesture": {"parts": ["axes", "|a|"], "haar": ["axes"]},
    "watch": {name: ["axes", "|a|"] for name in ("stats", "std", "shape", "haar")} | {"cov": ["axes"]},
}  # fmt: skip
EXAMPLES = (1, 2, 5, 10, 20)
MOST_TRAINING_ROWS = 8000
FLASH = 4096


class Data(NamedTuple):
    """Rows of people."""

    X: Any  # rows x features
    y: Any
    person: Any
    folds: list[Any]  # people that a model has not seen, one list per model


def load(name: str, folder: Path) -> Data:
    """Read a set, and make features of windows."""
    if name == "sports":
        data = np.load(folder / "sports.npz")
        people = np.unique(data["group"])
        return Data(data["X"], data["y"], data["group"], [people[i::4] for i in range(4)])
    data = np.load(folder / "raw" / f"{name}.npz")
    windowed = WindowFeatures(
        GROUPS[name], axes=[str(n) for n in data["axis_names"]], rate=float(data["rate"])
    )
    X = windowed.fit_transform(data["X"])
    return Data(X, data["y"], data["group"], [np.unique(data["group"][data["test"]])])


def general_rows(data: Data, unseen: Any, rng: Any, drop: int | None = None) -> Any:
    """Return the rows of other people that a machine learns from."""
    rows = np.flatnonzero(~np.isin(data.person, unseen) & (data.y != (-1 if drop is None else drop)))
    return np.sort(rng.permutation(rows)[:MOST_TRAINING_ROWS])


def machine(data: Data, rows: Any, seed: int) -> EtherealClassifier:
    """Return a machine of these rows, which is not pruned."""
    clf = EtherealClassifier(100, epochs=15, booleanizer=8, validation_fraction=0, random_state=seed)
    return clf.fit(data.X[rows], data.y[rows])


def trained(data: Data, unseen: Any, seed: int, drop: int | None = None) -> Model:
    """Return a model of the other people, pruned to 4 kB. `drop` is a class that it must not know."""
    rng = np.random.default_rng(seed)
    rows = general_rows(data, unseen, rng, drop)
    people = np.unique(data.person[rows])
    held = np.isin(data.person[rows], rng.permutation(people)[: max(1, len(people) // 4)])
    clf = machine(data, rows, seed)
    learn, choose = rows[~held], rows[held]
    return prune(
        clf.model_, data.X[learn], data.y[learn], validation=(data.X[choose], data.y[choose]), flash=FLASH
    ).model


def cached(name: str, data: Data, fold: int, seed: int, folder: Path, drop: int | None = None) -> Model:
    """Return a model that was trained before, or train it."""
    path = folder / f"{name}-{fold}-{seed}{'' if drop is None else f'-without-{drop}'}.etm"
    if not path.exists():
        start = time.time()
        model = trained(data, data.folds[fold], seed, drop)
        folder.mkdir(parents=True, exist_ok=True)
        model.save(path)
        print(f"{path.name}: {model.n_clauses} clauses in {time.time() - start:.0f} s", flush=True)
    return Model.load(path)


def taught_rows(name: str, y: Any) -> tuple[list[Any], Any]:
    """Return, of one person's rows, those that may be taught per class, and those that test."""
    taught, tests = [], []
    for c in np.unique(y):
        of_class = np.flatnonzero(y == c)
        n = 20 if name == "watch" else len(of_class) // 2
        taught.append(of_class[:n])
        tests.append(of_class[n:])
    return taught, np.concatenate(tests)


def in_turn(taught: list[Any], n: int) -> list[int]:
    """Return the first n rows of each class, class after class in turn."""
    return [int(taught_row[i]) for i in range(n) for taught_row in taught if i < len(taught_row)]


def personal(learning: Any, bits: list[bytes], rows: list[int], labels: Any) -> State:
    """Return the state after these rows."""
    state = State(learning)
    for i in rows:
        state.keep(int(labels[i]), bits[i])
    state.adapt()
    return state


def accuracy(state: State, bits: list[bytes], rows: Any, labels: Any) -> float:
    """Return the share of rows that a state answers rightly."""
    return float(np.mean([int(state.sums(bits[i]).argmax()) == labels[i] for i in rows]))


def nearest(fires: Any, rows: list[int], tests: Any, labels: Any) -> float:
    """Return the accuracy of the kept row with the most equal clause bits."""
    kept = fires[rows].astype(np.float32) * 2 - 1
    answers = labels[rows][((fires[tests].astype(np.float32) * 2 - 1) @ kept.T).argmax(axis=1)]
    return float((answers == labels[tests]).mean())


def retrained(data: Data, unseen: Any, seed: int, shown: Any) -> EtherealClassifier:
    """Return a machine of other people and of one person's rows, which are repeated to be a fifth of all.

    It is trained on the host and not pruned.
    """
    rows = general_rows(data, unseen, np.random.default_rng(seed))
    more = np.tile(shown, max(1, len(rows) // 4 // max(1, len(shown))))
    return machine(data, np.concatenate([rows, more]), seed)


def wrong(labels: Any, rows: list[int], share: float, n_classes: int, seed: int) -> Any:
    """Return labels of which a share of the taught rows is wrong."""
    rng = np.random.default_rng(seed)
    labels = labels.copy()
    for i in rng.choice(rows, round(share * len(rows)), replace=False):
        labels[i] = (labels[i] + rng.integers(1, n_classes)) % n_classes
    return labels


def study(name: str, data: Data, args: argparse.Namespace) -> None:
    """Print gains per number of examples, over people and seeds."""
    results: dict[tuple[str, int], dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    for seed in range(args.seeds):
        for fold, unseen in enumerate(data.folds):
            model = cached(name, data, fold, seed, args.models)
            forms = {
                "votes": Votes(model, 400).learning,
                "no guard": Votes(model, 400, guard=False).learning,
                "bias": Votes(model, 400, learn="bias").learning,
            }
            for who in unseen:
                one_person(
                    name, data, model, forms, who, unseen, seed, results, has_baselines=not args.no_baselines
                )
        report(name, results, seed + 1)


def one_person(
    name: str,
    data: Data,
    model: Model,
    forms: dict[str, Any],
    who: Any,
    unseen: Any,
    seed: int,
    results: Any,
    *,
    has_baselines: bool,
) -> None:
    """Teach one person's rows, and add what came out to `found`."""
    rows = np.flatnonzero(data.person == who)
    X, known = data.X[rows], {label: i for i, label in enumerate(model.classes.tolist())}
    labels = np.array([known[label] for label in data.y[rows].tolist()])
    fires = forms["votes"].general.clause_outputs(X)
    bits = forms["votes"].bits(X)
    taught, tests = taught_rows(name, labels)
    tests = tests[:: max(1, len(tests) // 600)]
    strangers = np.flatnonzero(np.isin(data.person, unseen[unseen != who]))
    strangers = strangers[:: max(1, len(strangers) // 300)]
    other_bits = forms["votes"].bits(data.X[strangers])
    other_labels = np.array([known[label] for label in data.y[strangers].tolist()])
    before = accuracy(State(forms["votes"]), bits, tests, labels)
    if has_baselines:
        apart = machine(data, general_rows(data, unseen, np.random.default_rng(seed)), seed).predict(X[tests])
        results["before, not pruned", 1][who].append(float((apart == data.y[rows[tests]]).mean()) - before)
    others = accuracy(State(forms["votes"]), other_bits, range(len(strangers)), other_labels)
    results["before", 0][who].append(before)
    for n in EXAMPLES:
        first_taught = in_turn(taught, n)
        for form, learning in forms.items():
            state = personal(learning, bits, first_taught, labels)
            results[form, n][who].append(accuracy(state, bits, tests, labels) - before)
            if form == "votes":
                results["others", n][who].append(
                    accuracy(state, other_bits, range(len(strangers)), other_labels) - others
                )
        if n in (5, 20):
            spoilt = wrong(labels, first_taught, 0.2, model.n_classes, n)
            for form in ("votes", "no guard"):
                state = personal(forms[form], bits, first_taught, spoilt)
                results[f"{form}, 1 in 5 wrong", n][who].append(accuracy(state, bits, tests, labels) - before)
        if not has_baselines:
            continue
        results["nearest", n][who].append(nearest(fires, first_taught, tests, labels) - before)
        forest = RandomForestClassifier(50, random_state=0).fit(X[first_taught], labels[first_taught])
        results["forest", n][who].append(float((forest.predict(X[tests]) == labels[tests]).mean()) - before)
        again = retrained(data, unseen, seed, rows[first_taught]).predict(X[tests]) == data.y[rows[tests]]
        results["retrained on the host", n][who].append(float(again.mean()) - before)


def report(name: str, results: Any, n_seeds: int) -> None:
    """Print a table: mean over people (of the means over seeds), its standard error, the worst person."""
    people = {who: np.mean(accuracy) for who, accuracy in results["before", 0].items()}
    mean = 100 * np.mean(list(people.values()))
    print(f"\n{name}: {len(people)} people, {n_seeds} seeds, before {mean:.1f} %")
    for (what, n), by_person in sorted(results.items()):
        if n == 0:
            continue
        percent = 100 * np.array([np.mean(gains) for gains in by_person.values()])
        error = percent.std(ddof=1) / np.sqrt(len(percent)) if len(percent) > 1 else 0.0
        print(
            f"  {what:26} N={n:<3} {percent.mean():+6.1f} ({error:.1f})  worst {percent.min():+6.1f}",
            flush=True,
        )


def new_class(name: str, data: Data, args: argparse.Namespace) -> None:
    """Print recall of a class that the model did not know, and accuracy on the old classes."""
    results: dict[tuple[str, int], list[tuple[float, float, float]]] = defaultdict(list)
    unseen = data.folds[0]
    for seed in range(args.seeds):
        for drop in [c for c in np.unique(data.y) if c != args.keep]:
            model = cached(name, data, 0, seed, args.models, int(drop))
            rng = np.random.default_rng(seed)
            general = np.flatnonzero(~np.isin(data.person, unseen) & (data.y != drop))
            general = np.concatenate(
                [rng.permutation(general[data.y[general] == c])[:10] for c in model.classes.tolist()]
            )
            anchors = data.X[general], data.y[general]
            for how in ("guard", "no guard"):
                given = {"classes": [int(drop)], "anchors": anchors, "guard": how == "guard"}
                learning = Votes(model, 400, **given).learning
                for who in unseen:
                    add_class(name, data, learning, int(drop), who, results, how)
    for (how, n), gains in results.items():
        recall, after, before = 100 * np.mean(np.array(gains), axis=0)
        print(
            f"{name}, new class, {how}, N={n}: recall {recall:.0f}, old classes {after:.1f} "
            f"(before {before:.1f}), "
            f"{len(gains)} cases",
            flush=True,
        )


def add_class(name: str, data: Data, learning: Any, drop: int, who: Any, results: Any, how: str) -> None:
    """Teach one person's rows of all classes, the new one among them."""
    rows = np.flatnonzero(data.person == who)
    known = {label: i for i, label in enumerate(learning.labels)}
    labels = np.array([known[label] for label in data.y[rows].tolist()])
    new = known[drop]
    if (labels == new).sum() < 8 or len(np.unique(labels)) < 2:
        return
    bits = learning.bits(data.X[rows])
    taught, tests = taught_rows(name, labels)
    before = accuracy(State(learning), bits, tests[labels[tests] != new], labels)
    for n in (1, 5, 20):
        state = personal(learning, bits, in_turn(taught, n), labels)
        recall = accuracy(state, bits, tests[labels[tests] == new], labels)
        old = accuracy(state, bits, tests[labels[tests] != new], labels)
        results[how, n].append((recall, old, before))


def costs(name: str, data: Data, args: argparse.Namespace) -> None:
    """Print flash, RAM and instructions on cores, without learning and with it."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
    from learning_costs import measured

    model = cached(name, data, 0, 0, args.models)
    rows = data.X[np.isin(data.person, data.folds[0])]
    for layout in ("branches", "lists"):
        for target in ("cortex-m7", "cortex-m0plus"):
            costs = measured(model, rows[::97][:60], target, args.rows, layout)
            print(json.dumps({"set": name, **costs}), flush=True)


def main() -> None:
    """Do what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--models", type=Path, default=Path("adapt-models"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--no-baselines", action="store_true", help="only what votes and a bias gain")
    parser.add_argument("--new-class", action="store_true")
    parser.add_argument("--keep", type=int, default=-1, help="a class that is never the new one")
    parser.add_argument("--costs", action="store_true")
    args = parser.parse_args()
    for name in args.sets:
        data = load(name, args.folder)
        kinds = {"costs": costs, "new_class": new_class}
        asked = [run for flag, run in kinds.items() if getattr(args, flag)] or [study]
        for run in asked:
            run(name, data, args)


if __name__ == "__main__":
    main()
