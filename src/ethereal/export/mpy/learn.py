"""Tables of MicroPython packages that learn, and the lines that use them."""

from __future__ import annotations

import struct
from typing import Any

from ethereal.adapt.learning import PASSES, Learning
from ethereal.adapt.options import LearnOptions, check_learning
from ethereal.base.options import refuse, split_kwargs
from ethereal.model import Model

_HEAD = struct.Struct("<IiHHHBBBII")
# Calls of the learner that become functions of the module.
NAMES = ("predict", "predict_many", "class_sums", "learn", "learn_last", "adapt", "adapt_step", "unlearn",
         "forget", "save", "restore", "entry", "learn_entry")  # fmt: skip


def learning_of(model: Model, keywords: dict[str, Any]) -> Learning | None:
    """Return how a package learns by its keywords, None if it does not. Others are refused by name."""
    options, rest = split_kwargs(LearnOptions, keywords)
    refuse("micropython", rest, LearnOptions)
    check_learning(options)
    if options.learn is not None and model.front_end is not None:
        raise ValueError(
            "The model reads raw windows, and such a package does not learn. Export it as C, or leave "
            "learn out."
        )
    if options.learn is not None and 2 * model.n_booleans > 1 << 16:
        raise ValueError(
            f"The model has {model.n_booleans} Booleans. Learning in MicroPython takes up to {1 << 15}."
        )
    return Learning.asked(model, options)


def table(own: Learning) -> bytes:
    """Return the bounds, the literals and votes of all clauses, and the general rows."""
    clauses = list(own.general.clauses)
    literals = b"".join(
        struct.pack(f"<{1 + len(c.literals)}H", len(c.literals), *c.literals) for c in clauses
    )
    votes = b"".join(
        bytes([len(c.weights)]) + b"".join(struct.pack("<Bh", *vote) for vote in c.weights.items())
        for c in clauses
    )
    votes_at = _HEAD.size + len(literals)
    head = _HEAD.pack(
        own.identity, own.margin, own.n_rows, own.n_clauses, len(own.anchors), own.moves, PASSES,
        (own.form == "bias") | own.has_guard << 1, votes_at, votes_at + len(votes),
    )  # fmt: skip
    return head + literals + votes + b"".join(own.anchors)


def lines_of(own: Learning) -> list[str]:
    """Return the lines of a module that make the learner, and give its calls the module's names."""
    data = table(own)
    rows = [f"    {data[i : i + 24]!r}" for i in range(0, len(data), 24)]
    new = f", {own.new_labels!r}" if own.new_labels else ""
    return ["learner = Learner(model, (", *rows, f"){new})", *(f"{name} = learner.{name}" for name in NAMES)]
