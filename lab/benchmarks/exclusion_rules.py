"""Rules of exclusion compared: accuracy against includes, as lab/notes/beyond-exclusion.md records them.

    python lab/benchmarks/exclusion_rules.py [--sets statlog,har] [--rules "paper;vanilla"] [--seeds 5]
                                         [--epochs 100] [--store FOLDER]

The protocol is honest. Thresholds and training use four fifths of the training rows. The other fifth chooses
the epoch, or the moment after an exclusion. Test rows are used once. Clauses, T, s, k and epochs are the
study's, and `--epochs` caps the epochs. Each rule's machine is also shortened to the literals that decide on
the training rows (compress.shorten), and pruned (ethereal.prune) to a part of the includes that the paper's
rule left with the same seed. The best validation accuracy within that part chooses the point of the curve.
Trained machines are kept in the store, so that a killed run continues.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import Booleanizer, Model, _native, compress, datasets, prune
from ethereal.base.splits import hold_out
from ethereal.features.packing import is_boolean
from ethereal.model import codes as encode
from ethereal.model.clauses import Clauses, plain_votes
from ethereal_study.settings import SETTINGS, Settings

HALF = 128  # an automaton includes its literal from this state on
VALIDATION = 0.2  # share of the training rows
PARTS = (2, 8, 32)  # of the includes that the paper's rule leaves
States = NDArray[np.uint8]  # classes x clauses x literals; the first half of the clauses votes for the class


# --- rules: which includes are lowered by 128 after every k epochs


def shared(states: States) -> NDArray[np.bool_]:
    """Includes of literals that clauses of both polarities of a class include: the paper's rule."""
    positive, negative = polarity_counts(states)
    return included(states) & ((positive > 0) & (negative > 0))[:, None]


def minority_side(states: States) -> NDArray[np.bool_]:
    """Of the shared literals, only the includes of the polarity that has fewer of them."""
    positive, negative = polarity_counts(states)
    half = states.shape[1] // 2
    losers = np.repeat(np.stack([positive <= negative, negative <= positive], 1), half, axis=1)
    return shared(states) & losers


def balanced(ratio: float) -> Callable[[States], NDArray[np.bool_]]:
    """Shared literals whose rarer side has more than `ratio` times the includes of the other."""

    def rule(states: States) -> NDArray[np.bool_]:
        positive, negative = polarity_counts(states)
        crowded = np.minimum(positive, negative) > ratio * np.maximum(positive, negative)
        return included(states) & crowded[:, None]

    return rule


def unsure(states: States) -> NDArray[np.bool_]:
    """Includes whose automaton is in the lower half of the including states, shared or not."""
    return included(states) & (states < HALF + HALF // 2)


def unsure_and_shared(states: States) -> NDArray[np.bool_]:
    """The paper's rule for automata that are not sure."""
    return shared(states) & unsure(states)


def drawn(share: float) -> Callable[[States], NDArray[np.bool_]]:
    """The paper's rule for a random share of the includes."""
    rng = np.random.default_rng(0)
    return lambda states: shared(states) & (rng.random(states.shape) < share)


def included(states: States) -> NDArray[np.bool_]:
    return states >= HALF


def polarity_counts(states: States) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many positive and negative clauses include each literal: classes x literals, twice."""
    half = states.shape[1] // 2
    return included(states[:, :half]).sum(axis=1), included(states[:, half:]).sum(axis=1)


@dataclass(frozen=True)
class Rule:
    """What happens after every k epochs, and what else differs from the study's machine."""

    exclude: Callable[[States], NDArray[np.bool_]] | None = None
    lower_by: int = HALF
    at_decisive: bool = False  # lower the includes that never decide on the training rows
    literal_budget: int | None = None
    s: float = 1.0  # times the study's s


RULES = {
    "paper": Rule(shared),
    "vanilla": Rule(),
    "minority side": Rule(minority_side),
    "balanced 0.2": Rule(balanced(0.2)),
    "lower by 64": Rule(shared, lower_by=64),
    "unsure": Rule(unsure),
    "unsure and shared": Rule(unsure_and_shared),
    "random half": Rule(drawn(0.5)),
    "never decides": Rule(at_decisive=True),
    "vanilla, s/2": Rule(s=0.5),
    "vanilla, budget 8": Rule(literal_budget=8),
    "paper, budget 8": Rule(shared, literal_budget=8),
}


# --- training


@dataclass(frozen=True)
class Split:
    """Rows of one seed: X raw, y class numbers."""

    train: tuple[NDArray[Any], NDArray[np.int32]]
    validation: tuple[NDArray[Any], NDArray[np.int32]]
    test: tuple[NDArray[Any], NDArray[np.int32]]
    booleanizer: Booleanizer | None
    n_classes: int


def split(name: str, settings: Settings, seed: int) -> Split:
    data = datasets.load(name)
    X = data.X if settings.n_features is None else data.X[:, : settings.n_features]
    labels, y = np.unique(data.y, return_inverse=True)
    y = y.astype(np.int32)
    rows = np.flatnonzero(~data.test)
    train, validation = (rows[part] for part in hold_out(y[rows], VALIDATION, seed))
    booleanizer = None
    if is_boolean(X):
        X = X.astype(bool)
    else:
        booleanizer = settings.booleanizer().fit(X[train])
    parts = [(X[part], y[part]) for part in (train, validation, np.flatnonzero(data.test))]
    return Split(*parts, booleanizer, len(labels))


def train(rows: Split, settings: Settings, rule: Rule, n_epochs: int, seed: int) -> Model:
    """The machine of the moment with the best validation accuracy; fewer includes on a tie."""
    bits = rows.train[0] if rows.booleanizer is None else rows.booleanizer.transform(rows.train[0])
    packed, n_booleans = _native.pack_literals(bits), bits.shape[1]
    trainer = _native.Trainer(
        n_classes=rows.n_classes,
        n_clauses=settings.n_clauses,
        n_booleans=n_booleans,
        T=settings.T,
        s=max(1.0, settings.s * rule.s),
        boost_true_positive=True,
        literal_budget=rule.literal_budget or 2 * n_booleans,
        seed=seed,
    )
    votes = plain_votes(rows.n_classes, settings.n_clauses)
    best: tuple[float, int, Model] | None = None
    period = settings.exclude_every

    def look() -> None:
        nonlocal best
        model = Model(
            *trainer.clauses(),
            votes,
            n_booleans=n_booleans,
            classes=np.arange(rows.n_classes),
            booleanizer=rows.booleanizer,
            boolean_rates=bits.mean(axis=0),
        )
        key = accuracy(model, rows.validation), -model.n_includes
        if best is None or key > best[:2]:
            best = *key, model

    for epoch in range(n_epochs):
        if epoch and epoch % period == 0 and (rule.exclude is not None or rule.at_decisive):
            states = trainer.states
            out = idle_includes(trainer, bits) if rule.at_decisive else rule.exclude(states)
            states[out] -= rule.lower_by
            trainer.states = states
            look()
        trainer.epoch(packed, rows.train[1], None, 1)
        look()
    assert best is not None
    return best[2]


def idle_includes(trainer: _native.Trainer, bits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Includes that shortening on the training rows would drop."""
    literals, offsets = trainer.clauses()
    shape = trainer.states.shape
    kept = np.zeros((shape[0] * shape[1], shape[2]), dtype=bool)
    no_votes = np.zeros((len(kept), 0), dtype=np.int32)
    short = Clauses(*_native.shorten(bits, literals, offsets), no_votes, shape[2] // 2)
    kept[short.clause, short.literals] = True
    return included(trainer.states) & ~kept.reshape(shape)


def accuracy(model: Model, rows: tuple[NDArray[Any], NDArray[np.int32]]) -> float:
    return float((model.predict(rows[0]) == rows[1]).mean())


# --- cells and table


def machine(name: str, rule: str, seed: int, cap: int | None, rows: Split, store: Path) -> Model:
    settings = SETTINGS[name]
    n_epochs = min(settings.epochs, cap or settings.epochs)
    key = hashlib.sha256(f"{name}|{RULES[rule]!r}|{rule}|{n_epochs}|{seed}".encode()).hexdigest()[:16]
    path = store / f"{name}-{seed}-{key}.etm"
    if not path.exists():
        store.mkdir(parents=True, exist_ok=True)
        train(rows, settings, RULES[rule], n_epochs, seed).save(path)
    return Model.load(path)


def finishes(model: Model, rows: Split, paper_includes: int) -> dict[str, Model]:
    models = {"as trained": model, "shortened": compress.shorten(model, rows.train[0])}
    curve = prune(model, *rows.train, validation=rows.validation).curve
    for part in PARTS:
        inside = [p for p in curve if p.model.n_includes <= paper_includes / part]
        best = max(inside, key=lambda p: (p.accuracy, -p.model.n_includes))
        models[f"pruned to 1/{part}"] = best.model
    return models


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(n for n in SETTINGS if n != "mnist"))
    parser.add_argument("--rules", default="paper;vanilla", help=f"separated by ;, of {'; '.join(RULES)}")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, help="at most so many")
    parser.add_argument("--store", type=Path, default=Path("runs/exclusion"))
    args = parser.parse_args()
    rules = list(RULES) if args.rules == "all" else args.rules.split(";")
    columns = ["set", "rule", "then", "test %", "includes", "clauses", "compact bytes"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    for name in args.sets.split(","):
        hashes: dict[tuple[str, str], list[tuple[float, ...]]] = {}
        for seed in range(args.seeds):
            rows = split(name, SETTINGS[name], seed)
            paper = machine(name, "paper", seed, args.epochs, rows, args.store)
            for rule in rules:
                model = machine(name, rule, seed, args.epochs, rows, args.store)
                for finish, one in finishes(model, rows, paper.n_includes).items():
                    size = encode.sizes(one)["compact"]
                    figures = 100 * accuracy(one, rows.test), one.n_includes, one.n_clauses, size
                    hashes.setdefault((rule, finish), []).append(figures)
        for (rule, finish), figures in hashes.items():
            values = np.array(figures)
            error = values.std(axis=0, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0 * values[0]
            cells = [f"{values[:, 0].mean():.2f} ± {error[0]:.2f}"]
            cells += [f"{values[:, i].mean():.0f} ± {error[i]:.0f}" for i in (1, 2, 3)]
            print(f"| {name} | {rule} | {finish} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
