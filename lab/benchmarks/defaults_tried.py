"""Changes of the defaults that were tried: the table under "What did not pay" of lab/notes/defaults.md.

    python lab/benchmarks/defaults_tried.py TABLES --sets vowel,segment,pima --seeds 2 --out tried

Sets are those of defaults.py. Changes of votes and members share one training of the machine. `improve`,
which chooses the votes, is replaced for that. Each change is judged on test rows, which choose nothing in it.
"""

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np

import defaults
from ethereal import EtherealClassifier, _native
from ethereal.compress import join
from ethereal.model.clauses import Clauses
from ethereal.train import classifier, votes
from ethereal.train.automata import Training, Watch
from ethereal.train.classifier import usual_epochs
from ethereal.train.fitting import Fitting
from ethereal.trees.grow import Ground, Shape, _starts
from ethereal.trees.unseen import unseen_shares

TREES = Shape(60, 12, 0.2)
EPOCHS = {"3 last epochs": (1, 2, 3), "5 last epochs": (1, 2, 3, 4, 5), "3 epochs, 5 apart": (1, 6, 11)}


class Tried:
    """What one machine becomes by each change."""

    def __init__(self, X, y, X_test, y_test, seed):
        self.rows, self.test, self.right, self.epochs = (X, y), (X_test, y_test), {}, []
        improve, hold_out, take = classifier.improve, classifier.hold_out_by_class, Fitting._take

        def watched(fitting, step):
            if step.snapshot is not None:
                self.epochs.append(step.snapshot.clauses)
            return take(fitting, step)

        def held_out(*given):
            self.learn, rest = hold_out(*given)
            return self.learn, rest

        try:
            classifier.improve, classifier.hold_out_by_class, Fitting._take = self.improve, held_out, watched
            EtherealClassifier(random_state=seed).fit(X, y)
        finally:
            classifier.improve, classifier.hold_out_by_class, Fitting._take = improve, hold_out, take

    def improve(self, model, fitting, n_noise, *_):
        """Judge all changes, and return the model of today."""
        self.fitting, epochs = fitting, self.epochs[:]
        today = votes.improve(model, fitting, n_noise, True, 1, 0)
        T = fitting.training.feedback.T
        noise_training = votes._train_noise_clauses(fitting, n_noise, 1, 0)
        noise = model._with(clauses=noise_training.clauses)
        self.T, self.T_noise = T, min(noise_training.feedback.T, n_noise / 2)
        others = [model._with(clauses=self.another(i).clauses) for i in (1, 2, 3)]
        trees, shares = self.trees(model)
        self.right["today"] = self.accuracy(today)
        self.judge("five strengths", [model, noise], strengths=(0.01, 0.03, 0.1, 0.3, 1.0))
        self.judge("two machines", [model, others[0], noise], 2)
        self.judge("four machines", [model, *others, noise], 4)
        self.judge("leaves of 60 trees", [model, noise, trees])
        self.judge("answers to unseen rows", [model, noise], shares=shares)
        for name, which in EPOCHS.items():
            self.judge(name, [*(model._with(clauses=epochs[-i]) for i in which), noise], len(which))
        return today

    def judge(self, name, members, n_machines=1, strengths=votes._STRENGTHS, shares=None):
        """Join models, fit their votes again, and take the best on the held-out rows."""
        held_out, joined = self.fitting.watch.validation, join(members)
        known = votes._Candidate(joined, "as trained", n_machines * self.T + self.T_noise)
        candidates = [known, *self.refitted(joined.simplify(), strengths, shares)]
        best = votes._best(candidates, held_out.words, held_out.classes, None)
        self.right[name] = self.accuracy(best.model)

    def refitted(self, model, strengths, shares):
        """Yield the model with fitted votes, by labels or half by the shares that learners answer."""
        rows, n = self.fitting.rows, model.n_classes
        outputs, codes = model.clause_outputs(rows.words, packed=True), rows.classes
        weights = np.ones(len(codes))
        if shares is not None:
            wanted = 0.5 * np.eye(n)[codes] + 0.5 * shares
            row, codes = np.nonzero(wanted > 0.02)
            outputs, weights, codes = outputs[row], wanted[row, codes], codes.astype(rows.classes.dtype)
        regression = _native.VoteFitting(outputs, codes, weights, n)
        for strength in strengths:
            regression.fit(strength / 2 if n == 2 else strength, 20)
            fitted = regression.votes().reshape(-1, n)
            scale = votes._LARGEST_VOTE / float(np.abs(fitted).max())
            whole = np.rint(fitted * np.float32(scale)).astype(np.int32)
            made = model._with(clauses=model.clauses.voting(whole).merged())
            yield votes._Candidate(made, f"C={strength}", 3 * scale)

    def another(self, i):
        """Return the training of another machine."""
        machine, fitting = self.fitting.training, self.fitting
        shape = {name: machine.parameters[name] for name in ("n_classes", "n_clauses", "n_booleans")}
        training = Training(**shape, feedback=machine.feedback, seed=(machine.seed ^ votes._SEED) + i)
        Fitting(training, fitting.rows, fitting.visits, Watch(), None, None).run(machine.epochs_done, 1, 0)
        return training

    def trees(self, model):
        """Return boosted trees on the Booleans of a model, and answers to rows that learners did not see."""
        blank = model._with(clauses=Clauses([], [0], np.zeros((0, model.n_classes)), model.n_booleans))
        one_each = model.fitted is None
        ground = Ground(blank, np.arange(model.n_booleans) if one_each else _starts(model.feature_map))
        X, y = (part[self.learn] for part in self.rows)
        codes, targets = ground.codes(X), np.searchsorted(model.classes, y)
        grown = ground.grow(codes, y, TREES, 0).model()
        shares = unseen_shares(codes, targets, model.n_classes, None, 0)
        return model._with(clauses=grown.clauses), shares

    def accuracy(self, model):
        """Return the accuracy on test rows."""
        return float((model.predict(self.test[0]) == self.test[1]).mean())


def tried(X, y, X_test, y_test, seed):
    """Return the accuracy of each change, and what the changed trainings take against today's."""
    right, n_features = Tried(X, y, X_test, y_test, seed).right, X.shape[1]
    bins = 64 if n_features <= 16 else min(32, max(8, 4096 // n_features))
    changes = {
        "today's fit": {},
        "twice the epochs": {"epochs": 2 * usual_epochs(len(np.unique(y)))},
        "twice the bins": {"booleanizer": 2 * bins},
        "a fifth held out": {"validation_fraction": 0.2},
        "no noise clauses": {"noise_clauses": 0},
    }
    seconds = {}
    for name, change in changes.items():
        began = time.process_time()
        clf = EtherealClassifier(random_state=seed, **change).fit(X, y)
        seconds[name] = time.process_time() - began
        right[name] = float((clf.predict(X_test) == y_test).mean())
    return {"right": right, "seconds": seconds}


def main():
    """Record what is missing, and print the mean differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", required=True)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("tried"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    means = []
    for name in options.sets.split(","):
        runs = []
        for seed in range(options.seeds):
            path = options.out / f"{name}-{seed}.json"
            if not path.exists():
                path.write_text(json.dumps(tried(*defaults.rows(name, options.folder, seed), seed)))
            runs.append(json.loads(path.read_text())["right"])
        means.append({change: np.mean([run[change] - run["today"] for run in runs]) for change in runs[0]})
    for change in means[0]:
        points = 100 * np.array([one[change] for one in means])
        error = points.std(ddof=1) / math.sqrt(len(points)) if len(points) > 1 else math.nan
        print(f"{change:<24}{points.mean():+.2f} ± {error:.2f}")


if __name__ == "__main__":
    main()
