"""For the reference: doctests in docstrings shown as code wherever they stand, not as quoted text."""

from __future__ import annotations

import doctest
import re
from typing import Any

import griffe


def fenced(text: str) -> str:
    """The text with each run of examples, up to the next empty line, between fences."""
    blocks = re.split(r"\n[ \t]*\n", text)
    for i, block in enumerate(blocks):
        lines = block.split("\n")
        begin = next((k for k, line in enumerate(lines) if line.startswith(">>> ")), None)
        if begin is not None:
            code = re.sub(r"[ \t]*# doctest: .*", "", "\n".join(lines[begin:]))
            blocks[i] = "\n".join([*lines[:begin], "", "```python", code, "```"]).lstrip("\n")
    return "\n\n".join(blocks)


class Examples(griffe.Extension):
    """Fence the doctests of every object."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring and doctest.DocTestParser().get_examples(obj.docstring.value):
            obj.docstring.value = fenced(obj.docstring.value)
