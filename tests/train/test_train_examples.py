"""Examples of the helpers of `ethereal/train`, as doctests."""

# ruff: noqa: F401

import numpy as np

from ethereal.train.automata import EpochClock, Feedback, excludes_after, mark_kept
from ethereal.train.checkpoint import identity
from ethereal.train.classifier import EtherealClassifier, _start_name, usual_epochs
from ethereal.train.data import tunable
from ethereal.train.fitting import _class_ranges
from ethereal.train.paper import PAPER, paper_keywords
from ethereal.train.rules import excluded, rule_name
from ethereal.train.unknown import find_margin
from ethereal.train.votes import noise_clauses

__test__ = {
    "find_margin": """
    >>> found = find_margin(np.array([8, 6, 1, 1, 7]), np.array([1, 1, 0, 1, 1]) > 0, answered=0.5)
    >>> found.margin, found.accuracy, found.answered
    (6, 1.0, 0.6)
    """,
    "Feedback.native": """
    >>> Feedback(5, 3.0, True, None).native()["literal_budget"] == 2**31 - 1
    True
    """,
    "excludes_after": """
    >>> [done for done in range(8) if excludes_after(done, 3)]
    [3, 6]
    """,
    "mark_kept": """
    >>> history = [{"epoch": e, "phase": "train", "kept": e == 1} for e in (1, 2)]
    >>> mark_kept(history, 2)
    >>> [record["kept"] for record in history]
    [False, True]
    """,
    "EpochClock.call": """
    >>> from ethereal.features.packing import pack
    >>> a, b = (pack(np.array([[0], [1]]), np.array(y, np.int32), None) for y in ([0, 1], [1, 0]))
    >>> clock, excluded = EpochClock(), []
    >>> for batch in (a, b, a, b, b, a):
    ...     clock, exclude = clock.call(batch, None, 1)
    ...     excluded.append(exclude)
    >>> excluded
    [False, False, True, False, False, True]
    """,
    "identity": """
    >>> identity({"T": 5}) == identity({"T": 5}), identity({"T": 5}) == identity({"T": 6})
    (True, False)
    """,
    "usual_epochs": """
    >>> usual_epochs(2), usual_epochs(10), usual_epochs(100)
    (40, 100, 200)
    """,
    "_start_name": """
    >>> _start_name("random"), _start_name(np.zeros((2, 10, 4), np.uint8))
    ('random', 'given')
    """,
    "tunable": """
    >>> tunable("auto", {"T": 5, "booleanizer__n_bins": 4})["booleanizer"]
    Booleanizer(missing='auto', n_bins='auto')
    """,
    "_class_ranges": """
    >>> _class_ranges(np.array([0, 0, 0, 0, 0, 0, 1, 2, 3, 4], np.int32), 5, 2)
    [(0, 2), (2, 5)]
    """,
    "PaperSettings.booleanizer": """
    >>> PAPER["statlog"].booleanizer()
    Booleanizer(n_bins=20)
    """,
    "paper_keywords": """
    >>> paper_keywords(["mnist"], {"epochs": 5})["epochs"], paper_keywords([20], {})["n_clauses"]
    (5, 20)
    >>> paper_keywords(["iris"], {})
    Traceback (most recent call last):
        ...
    ValueError: The paper has no data set 'iris'. Its data sets are emg, gas, gesture, har, mammography,
    sensorless, sports, statlog, mnist.
    """,
    "excluded": """
    >>> states = np.array([[[200, 127], [128, 130]]], np.uint8)
    >>> excluded(states, lambda includes: includes.all(axis=1, keepdims=True) & includes).tolist()
    [[[72, 127], [0, 130]]]
    """,
    "rule_name": """
    >>> rule_name("shared"), rule_name(np.any)
    ('shared', 'numpy.any')
    """,
    "noise_clauses": """
    >>> noise_clauses("auto", 600), noise_clauses(10, 600)
    (100, 10)
    """,
    "T": """
    >>> EtherealClassifier(600)._feedback().T, EtherealClassifier(1)._feedback().T
    (17, 1)
    """,
    "class_weight": """
    >>> EtherealClassifier(class_weight={0: 1, 1: -1}).check_parameters()
    Traceback (most recent call last):
        ...
    ValueError: class_weight of label 1 is -1. It must be a number from 0 on.
    """,
}
