"""pyTsetlinMachine's training, read out without its clipping of the class sums: for `same_learning.py`.

Its `predict` cuts class sums at T and so loses rows to ties; what was learned shows in the whole sums.
"""

import runpy
from pathlib import Path

import numpy as np

default = runpy.run_path(str(Path(__file__).with_name("pytsetlinmachine.py")))
LIBRARY = "pyTsetlinMachine unclipped"
VERSION, ROWS, train = default["VERSION"], default["ROWS"], default["train"]


def predict(machine, rows):
    false_literals = np.concatenate([1 - rows, rows], axis=1).astype(np.float32)
    polarity = np.where(np.arange(machine.number_of_clauses) % 2, -1, 1)
    sums = []
    for clauses in default["includes"](machine):  # per class, clauses x literals
        fires = (false_literals @ clauses.T.astype(np.float32) == 0) & clauses.any(axis=1)
        sums.append(fires @ polarity)
    return np.argmax(sums, axis=0)


train.__globals__["predict"] = predict
