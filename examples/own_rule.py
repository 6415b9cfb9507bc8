"""A rule of exclusion of your own, beside the paper's, with validation, history and a checkpoint.

The rule gets what the clauses include, bool, classes x clauses x literals. It says which includes go. In each
class the first half of the clauses votes for the class, the second half against it.
"""

from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_digits

from ethereal import EtherealClassifier

X, y = load_digits(return_X_y=True)
test = np.arange(len(y)) % 4 == 0


# %% The paper's rule, written again: literals that clauses of both polarities of a class include.
def shared(includes):
    half = (includes.shape[1] + 1) // 2
    both = includes[:, :half].any(axis=1) & includes[:, half:].any(axis=1)
    return includes & both[:, None]


# %% A rule of your own: literals that more than a fifth of the clauses of a polarity include.
def common(includes):
    half = (includes.shape[1] + 1) // 2
    chosen = np.zeros_like(includes)
    for half_of in (slice(0, half), slice(half, None)):
        share = includes[:, half_of].mean(axis=1, keepdims=True)
        chosen[:, half_of] = includes[:, half_of] & (share > 0.2)
    return chosen


# %% Train by each rule. Held-out rows choose the epoch, as always.
machines = {}
for name, rule in (("built in", "shared"), ("shared", shared), ("common", common)):
    clf = EtherealClassifier.paper(40, 10, 4.0, epochs=12, exclude_every=2, exclude=rule, random_state=0)
    clf.fit(X[~test], y[~test])
    machines[name] = clf
    per_clause = clf.model_.n_includes / clf.model_.n_clauses
    print(f"{name:9} {clf.score(X[test], y[test]):6.1%} {per_clause:5.1f} includes per clause")
same = np.array_equal(machines["built in"].ta_states_, machines["shared"].ta_states_)
print(f"the paper's rule from outside gives the same bits: {same}")


# %% See every epoch and exclusion, and stop when nothing is gained.
def watch(automata, record):
    print(f"epoch {record['epoch']:2} {record['phase']:8}{record['includes']:6} includes")
    return record["epoch"] == 6 and record["phase"] == "train"


machines["common"].fit(X[~test], y[~test], on_epoch=watch)

# %% Stop and resume: the same bits as in one piece.
with TemporaryDirectory() as folder:
    for epochs in (5, 12):
        half_way = EtherealClassifier.paper(
            40, 10, 4.0, epochs=epochs, exclude_every=2, exclude=shared, random_state=0
        )
        half_way.fit(X[~test], y[~test], checkpoint=folder, resume=True)
print("resumed to the same bits:", np.array_equal(half_way.ta_states_, machines["shared"].ta_states_))

# %% A warm start from stored automata.
warm = EtherealClassifier.paper(40, 10, 4.0, epochs=3, init=half_way.ta_states_, random_state=1)
warm.fit(X[~test], y[~test])
print(f"after 3 epochs from there: {warm.score(X[test], y[test]):.1%}")
