"""green-tsetlin: its clauses are shared by all classes and carry a weight per class.

It gets as many clauses as the others have over all classes, so that the automata are as many; boosted true
positives and a negative class drawn uniformly, as the others do. The trainer reports the time of its epochs.
"""

from importlib.metadata import version

import green_tsetlin
import numpy as np

LIBRARY = "green-tsetlin"
VERSION = version("green-tsetlin")
ROWS = np.uint8


def train(task):
    machine = green_tsetlin.TsetlinMachine(
        n_literals=task.n_booleans,
        n_clauses=task.n_clauses * task.n_classes,
        n_classes=task.n_classes,
        s=float(task.s),
        threshold=task.T,
        boost_true_positives=True,
    )
    includes = []  # per epoch, over all clauses
    trainer = green_tsetlin.Trainer(
        machine,
        feedback_type="uniform",
        n_jobs=1,
        n_epochs=task.epochs,
        seed=task.seed + 1,  # 0 would mean: take any
        early_exit_acc=2.0,  # never
        load_best_state=False,
        progress_bar=False,
        fn_epoch_callback=lambda *_: includes.append(count_includes(machine)),
        copy_training_data=False,
    )
    trainer.set_train_data(task.rows("train", np.uint8), task.labels("train", np.uint32))
    # The trainer always evaluates; on one row when the accuracy of every epoch is not asked for.
    n_test = None if task.evaluate else 1
    trainer.set_eval_data(task.rows("test", np.uint8)[:n_test], task.labels("test", np.uint32)[:n_test])
    trainer.train()
    results = trainer.results
    for seconds, count, accuracy in zip(
        results["train_time_of_epochs"], includes, results["eval_log"], strict=True
    ):
        task.record(seconds, count, float(accuracy) if task.evaluate else None)
    predictor = machine.get_predictor()
    return lambda rows: [predictor.predict(row) for row in rows]


def count_includes(machine):
    """Count the automata, clauses x literals, at or above the middle."""
    return int((machine._load_state_from_backend(only_return_copy=True).c >= 0).sum())
