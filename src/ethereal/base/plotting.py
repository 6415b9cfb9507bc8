"""What all figures share: their style, figures without windows, files written whole."""

from __future__ import annotations

import io
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethereal.base.atomic import write_bytes
from ethereal.base.package import lacks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "ethereal",  # the same figure gives the same file
}
DARK, LIGHT = "#1b3a57", "#d9822b"  # ETHEREAL, vanilla: far apart in grey, too


def style(**changes: Any) -> AbstractContextManager[None]:
    """Return a context with the style of every figure, with some settings changed."""
    return pyplot().rc_context(_STYLE | changes)  # type: ignore[no-any-return]


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of this size in inches, which has no window and is not managed by pyplot."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write NAME.png and NAME.svg, each whole or not at all."""
    paths = []
    for kind in ("png", "svg"):
        content = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        with style():
            figure.savefig(content, format=kind, dpi=200, metadata=metadata)
        path = folder / f"{name}.{kind}"
        write_bytes(path, content.getvalue())
        paths.append(path)
    return paths


def pyplot() -> Any:
    """Return matplotlib's pyplot. Raise a ValueError when it is not installed, before hours of work."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ValueError(lacks("A figure", "matplotlib", "study")) from error
    return plt
