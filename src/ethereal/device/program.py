"""C code with rows and answers, to be measured like a model: a rival is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class CProgram:
    """C files with a function that takes a pointer to a row and returns its class."""

    name: str
    files: dict[str, str]
    function: str
    rows: NDArray[Any]  # rows x what the function reads
    expected: NDArray[np.int64]  # class indices of the host
