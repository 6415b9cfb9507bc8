"""A model as HTML, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ethereal.model.needs import NotSupported
from ethereal.model.rules import rules_by_class

if TYPE_CHECKING:
    from ethereal.model import Model

_RULES = 5  # per class
_CLASSES = 20
_LETTERS = 200  # of a rule or a label


def to_html(model: Model) -> str:
    """Return the size of a model and its first rules of each class."""
    parts = [f"<p><b>Model</b>: {escape(repr(model)[8:-1])}</p>"]
    try:
        classes = list(rules_by_class(model).items())
    except NotSupported:
        classes = []
    for label, rules in classes[:_CLASSES]:
        parts.append(f"<p>{_short(repr(label))}: {len(rules)} rules</p>")
        parts += ["<ul>", *(f"<li>{vote:+d} IF {_short(rule.text)}</li>" for vote, rule in rules[:_RULES])]
        if len(rules) > _RULES:
            parts.append(f"<li>... and {len(rules) - _RULES} more</li>")
        parts.append("</ul>")
    if len(classes) > _CLASSES:
        parts.append(f"<p>... and {len(classes) - _CLASSES} more classes</p>")
    return "\n".join(parts)


def _short(text: str) -> str:
    """Return a text for HTML, its end cut off when it is long."""
    return escape(text if len(text) <= _LETTERS else text[: _LETTERS - 4] + " ...")
