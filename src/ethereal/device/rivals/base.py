"""A rival: C code with rows and answers."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Rival:
    """C files with a function that takes a pointer to a row and returns its class."""

    name: str
    files: dict[str, str]
    function: str
    rows: NDArray[Any]  # rows x what the function reads
    expected: NDArray[np.int64]  # class indices of the host


def template(name: str) -> str:
    """Text of a C template beside this module."""
    return (resources.files("ethereal.device.rivals") / name).read_text(encoding="utf-8")


def table(ctype: str, name: str, values: NDArray[Any]) -> str:
    """A constant table in C."""
    suffix = "u" if ctype.startswith("u") else ""
    return (
        f"static const {ctype} {name}[] = {{{', '.join(f'{x}{suffix}' for x in values.ravel().tolist())}}};\n"
    )
