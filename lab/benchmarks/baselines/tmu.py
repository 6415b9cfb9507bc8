"""tmu's classifier with one bank of clauses per class, boosted true positives, 8 state bits (its defaults).

`fit` is one epoch and shuffles; it encodes the rows when it sees them first, which is done here beforehand.
"""

import time
from importlib.metadata import version

import numpy as np
from tmu.models.classification.vanilla_classifier import TMClassifier

LIBRARY = "tmu"
VERSION = version("tmu")
ROWS = np.uint32


def train(task):
    machine = TMClassifier(task.n_clauses, task.T, task.s, seed=task.seed + 1)  # 0 hangs it
    rows, labels = task.rows("train", np.uint32), task.labels("train", np.uint32)
    machine.init(rows, labels)
    machine.train_encoder_cache.get_encoded_data(rows, machine.clause_banks[0].prepare_X)
    for _ in range(task.epochs):
        start = time.perf_counter()
        machine.fit(rows, labels)
        seconds = time.perf_counter() - start
        includes = sum(
            machine.number_of_include_actions(k, j)
            for k in range(task.n_classes)
            for j in range(task.n_clauses)
        )
        accuracy = task.score(machine.predict(task.rows("test", np.uint32))) if task.evaluate else None
        task.record(seconds, includes, accuracy)
    return machine.predict
