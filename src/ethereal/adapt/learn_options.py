"""The options of learning, which are keywords of functions and options of commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from ethereal.base.options import option

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FORMS = ("votes", "bias")
DEFAULT_ROWS = 60


@dataclass(frozen=True)
class LearnOptions:
    """How an export goes on learning on the board. Without `learn` it does not.

    Parameters
    ----------
    learn
        "votes" learns a vote per clause and class. "bias" learns one number per class, in little RAM.
    learn_rows
        Rows that the board keeps. `rows=60` says the same. When they are full, the oldest of the most
        frequent class goes.
    guard
        Whether a third of the rows checks what the others taught. What is not better there is not kept.
    classes
        How many classes the board can learn that the model does not know, or their names. They need
        `anchors`.
    anchors
        General rows with their labels, `(X, y)`. The board replays them, so that old classes stay.
    margin
        Votes that the right class should be ahead. By default it is the median lead of the winner on the
        typical rows that the model carries.
    """

    learn: str | None = option(None, "Go on learning on the board: votes, or bias for little RAM.")
    learn_rows: int = option(DEFAULT_ROWS, "Rows that the board keeps to learn from.")
    guard: bool = option(True, "Keep only what is better on a third of the rows.", "--guard/--no-guard")
    classes: int | Sequence[Any] = 0
    anchors: tuple[ArrayLike, ArrayLike] | None = None
    margin: float | None = option(
        None, "Votes that the right class should be ahead. Default: the usual lead on training rows."
    )

    @property
    def learns_classes(self) -> bool:
        """Whether the board is to learn classes that the model does not know."""
        classes = self.classes
        return self.learn is not None and (classes > 0 if isinstance(classes, int) else len(classes) > 0)


def check_learning(options: LearnOptions) -> None:
    """Refuse options of learning where nothing learns."""
    if options.learn is not None:
        return
    for each in fields(LearnOptions):
        value = getattr(options, each.name)
        if each.name != "learn" and value is not each.default and value != each.default:
            raise ValueError(f'{each.name} is {value!r}, but nothing learns. Give learn="votes" too.')
