"""A complete bare-metal project for the paper's board, the STM32F746G-DISCO."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path
from typing import Literal

from numpy.typing import ArrayLike

from ethereal.base.folder import write_folder
from ethereal.export.c99.choose import choose
from ethereal.export.c99.program import Layout
from ethereal.export.c99.text import filled
from ethereal.export.golden import golden_rows, table
from ethereal.export.numbers import Input
from ethereal.model import Model


def stm32f746g_disco(
    model: Model,
    folder: str | os.PathLike[str],
    *,
    name: str = "model",
    layout: Layout | Literal["auto"] = "auto",
    input: Input = "float",
    rows: ArrayLike | None = None,
    flash: int | None = None,
    force: bool = False,
) -> Path:
    """Write a project that predicts golden rows on the board and prints classes and cycles over semihosting.

    The parameters are those of `ethereal.export.c`. The chip has 1 MiB of flash.

    >>> import tempfile
    >>> model = Model([0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     (stm32f746g_disco(model, parent + "/board") / "stm32f746.ld").exists()
    True
    """
    program = choose(model, layout, flash=flash, target="cortex-m7", name=name, input=input, rows=rows)
    features, sums = golden_rows(program, rows)
    classes = sums.argmax(axis=1).tolist()
    values = {
        "name": name,
        "NAME": name.upper(),
        "layout": program.layout,
        "n_rows": str(len(features)),
        "rows": table(features),
        "classes": ", ".join(map(str, classes)),
    }
    files = dict(program.files)
    for entry in (resources.files("ethereal.export.projects") / "stm32f746g_disco").iterdir():
        text = entry.read_text(encoding="utf-8")
        is_template = entry.name.endswith(".in")
        files[entry.name.removesuffix(".in")] = filled(text, values) if is_template else text
    return write_folder(folder, files, force=force)
