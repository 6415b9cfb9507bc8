"""Examples of the helpers of `ethereal/model`, as doctests."""

# ruff: noqa: F401

import numpy as np

from ethereal.features.feature_map import FeatureMap
from ethereal.model.calibration import fit_temperature, log_losses, softmax, vote_scale
from ethereal.model.clauses import decode, plain_votes
from ethereal.model.codes import from_bytes, to_bytes
from ethereal.model.codes.compact import Payload, payload, read_payload
from ethereal.model.codes.redress import read_text, read_words, write_text
from ethereal.model.deployment import Deployment
from ethereal.model.engine import Engine
from ethereal.model.file import describe_labels
from ethereal.model.needs import Supports
from ethereal.model.output import Classes, ClassesOrUnknown, checks_of, leads, parts_of
from ethereal.model.simplify import first_of_equals, is_empty, simplify

__test__ = {
    "softmax": """
    >>> softmax(np.array([[1.0, 1.0], [1000.0, 0.0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """,
    "vote_scale": """
    >>> sums, codes = np.array([[9, 1], [1, 9]]), np.array([0, 1])
    >>> vote_scale(sums, codes, 0.2) < 0.5, vote_scale(sums.repeat(500, 0), codes.repeat(500), 0.2) > 0.5
    (True, True)
    """,
    "fit_temperature": """
    >>> sums, codes = np.array([[9, 1], [1, 9], [8, 2], [2, 8]] * 100), np.array([0, 1, 1, 0] * 100)
    >>> fit_temperature(sums, codes, T=9)  # as many rows are wrong as right
    14.5
    """,
    "log_losses": """
    >>> log_losses(np.zeros((1, 2)), np.array([0])).round(3)
    array([0.693])
    """,
    "decode": """
    >>> decode(3, 2)
    (1, True)
    """,
    "plain_votes": """
    >>> plain_votes(2, 2).tolist()
    [[1, 0], [-1, 0], [0, 1], [0, -1]]
    >>> plain_votes(1, 3).tolist()
    [[1], [1], [-1]]
    """,
    "to_bytes": """
    >>> from ethereal import Model
    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> data = to_bytes(model, "compact")
    >>> sorted(from_bytes(data), key=lambda clause: clause.literals) == list(model)
    True
    """,
    "from_bytes": """
    >>> from_bytes(b"something else")
    Traceback (most recent call last):
    ...
    ethereal...CodeError: these are not the bytes of a model, or their beginning is cut off
    """,
    "Payload.choices": """
    >>> Payload(b"", 2, False, 1, 0, 0, 7).choices == 0b111_000_000_001_0_1
    True
    """,
    "Payload.from_choices": """
    >>> Payload.from_choices(b"", 5)
    Payload(data=b'', segments=2, votes_per_clause=False, count_parameter=1, ...)
    """,
    "read_payload": """
    >>> from ethereal import Model
    >>> model = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    >>> list(read_payload(payload(model), n_booleans=2, n_classes=2))
    [Clause(literals=(1,), weights={0: 2, 1: -1}), Clause(literals=(0, 3), weights={1: 1})]
    """,
    "read_words": """
    >>> list(read_words([0b10, 0b11, 0b1100000000000010], [3]))
    [Clause(literals=(1, 3), weights={0: 1}), Clause(literals=(1,), weights={0: -1})]
    """,
    "write_text": r"""
    >>> from ethereal import Model
    >>> write_text(Model([0, 1], [0, 1, 2], [[1, 0], [0, -1]], n_booleans=1, classes=["a", "b"]))
    ('0\n32769\n', '1\n1\n')
    """,
    "read_text": r"""
    >>> list(read_text("0\n32769\n", "1\n1\n"))
    [Clause(literals=(0,), weights={0: 1}), Clause(literals=(1,), weights={1: -1})]
    """,
    "Deployment.exceeded": """
    >>> Deployment(flash=4096, ram=200).exceeded(flash=4000, ram=212, instructions=900)
    ['It takes 212 bytes of RAM, more than the 200 bytes of RAM that the model was pruned for.']
    """,
    "Engine": """
    >>> import numpy as np
    >>> from ethereal import Model
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 2]], n_booleans=2, classes=["a", "b"])
    >>> engine = Engine(model)
    >>> engine.winners(np.array([[True, False], [True, True]]))
    array([1, 0])
    """,
    "describe_labels": """
    >>> describe_labels(np.array(["no", "yes"]))
    {'dtype': 'str', 'values': ['no', 'yes']}
    """,
    "Supports.check": """
    >>> from ethereal import Model
    >>> model = Model([0, 3], [0, 2], [[1]], n_booleans=2, classes=["x"])
    >>> Supports("layout x", n_booleans=1, instead="Use layout y.").check(model.needs)
    Traceback (most recent call last):
      ...
    ethereal.model.needs.NotSupported: layout x takes up to 1 Booleans, but the model has 2. Use layout y.
    """,
    "Classes": """
    >>> Classes(np.array(["no", "yes"])).answers(np.array([[1, 2], [3, 3]]))
    array(['yes', 'no'], dtype='<U3')
    """,
    "ClassesOrUnknown": """
    >>> own = ClassesOrUnknown(np.array(["no", "yes"]), margin=2, unknown="unknown")
    >>> own.answers(np.array([[1, 4], [3, 2]]))
    array(['yes', 'unknown'], dtype='<U7')
    >>> own.codes(np.array([[1, 4], [3, 2]]))
    array([1, 2])
    """,
    "leads": """
    >>> leads(np.array([[1, 4, 2], [3, 3, 0]]))
    array([2, 0])
    """,
    "checks_of": """
    >>> checks_of([(2, 5)], 3)
    (Check(n_clauses=2, margin=5),)
    """,
    "parts_of": """
    >>> from ethereal import Model
    >>> model = Model([0, 1], [0, 1, 2], [[5, 0], [0, 2]], n_booleans=2, classes=["a", "b"])
    >>> early = model._with(early=checks_of([(1, 2)], 2))
    >>> [part.n_clauses for part in parts_of(early)], early.predict([[True, True], [False, True]])
    ([1, 2], array(['a', 'b'], dtype='<U1'))
    """,
    "first_of_equals": """
    >>> first_of_equals(FeatureMap([1.0, 3.0, 3.0], [0, 3], [False])).tolist()
    [0, 1, 1]
    """,
    "is_empty": """
    >>> is_empty(FeatureMap([1.0, 3.0, 3.0], [0, 3], [False], "onehot")).tolist()
    [False, False, True, False]
    """,
    "simplify": """
    >>> from ethereal import Model
    >>> model = Model([0, 2, 1, 1], [0, 2, 3, 4], [[1], [2], [3]], n_booleans=2, classes=["x"])
    >>> list(simplify(model))  # "a AND NOT a" is gone, "b" and "b" are one
    [Clause(literals=(1,), weights={0: 5})]
    """,
}
