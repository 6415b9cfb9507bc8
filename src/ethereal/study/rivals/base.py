"""What rivals share: C templates and tables."""

from __future__ import annotations

from importlib import resources
from typing import Any

from numpy.typing import NDArray


def template(name: str) -> str:
    """Text of a C template beside this module."""
    return (resources.files("ethereal.study.rivals") / name).read_text(encoding="utf-8")


def table(ctype: str, name: str, values: NDArray[Any]) -> str:
    """A constant table in C."""
    suffix = "u" if ctype.startswith("u") else ""
    return (
        f"static const {ctype} {name}[] = {{{', '.join(f'{x}{suffix}' for x in values.ravel().tolist())}}};\n"
    )
