"""A published model in REDRESS words: two text files, and rows of Booleans to try it on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ethereal.base.options import option

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ethereal.datasets.options import TableOptions
    from ethereal.model import Model

_LINE = 7  # bytes of a word in decimal and of its line's end, on any system


@dataclass(frozen=True)
class WordsOptions:
    """Files of a model in REDRESS words, in place of a model file."""

    words: Path | None = option(None, "REDRESS words, a decimal number per line.", kind=Path | None)
    counts: Path | None = option(None, "Words of each class, a number per line.", kind=Path | None)
    lenient: bool = option(
        False, "Where words of a clause differ in polarity, the last one tells it.", "--lenient"
    )

    def __post_init__(self) -> None:
        """Check that they come together."""
        if (self.words is None) != (self.counts is None):
            has, lacks = ("--words", "--counts") if self.counts is None else ("--counts", "--words")
            raise ValueError(f"{has} is given without {lacks}. Give both files of the model.")
        if self.lenient and self.words is None:
            raise ValueError("--lenient is given without --words. It tells how words are read.")


class WordsOnRows(NamedTuple):
    """A model that was read from words, and rows with their labels where there are any."""

    model: Model
    X: NDArray[Any] | None
    y: NDArray[Any] | None


def read_model(options: WordsOptions, source: str | None, reading: TableOptions) -> WordsOnRows:
    """Return the model, and the rows of `source`, its test rows where it has a split of its own."""
    import numpy as np

    from ethereal.model.codes.container import CodeError
    from ethereal.model.codes.redress import read_text

    words, counts = _text(options.words), _text(options.counts)
    X, y = (None, None) if source is None else _rows(source, reading)
    n_classes = sum(bool(line.strip()) for line in counts.splitlines())
    labels = None if y is None else np.unique(y)
    if labels is not None and len(labels) != n_classes:
        if labels.dtype.kind not in "iu":
            raise ValueError(
                f"{options.counts}: Has {n_classes} classes, but {source} has {len(labels)} labels. Give "
                "rows with a label of every class, or labels that are numbers from 0 on."
            )
        labels = None  # the classes are 0, 1, ..., and not all of them are there
    try:
        model = read_text(
            words,
            counts,
            n_booleans=None if X is None else X.shape[1],
            classes=labels,
            lenient=options.lenient,
        )
    except CodeError as error:
        raise ValueError(f"{options.words} with {options.counts}: {error}") from error
    return WordsOnRows(model, X, y)


def _text(path: Path | None) -> str:
    """Return the text of a file, which may not be larger than what a board could hold."""
    from ethereal.model.codes.redress import BOARD_WORDS

    assert path is not None
    try:
        size = path.stat().st_size
        if size > _LINE * BOARD_WORDS:
            raise ValueError(
                f"{path}: Has {size:,} bytes. A board holds {BOARD_WORDS:,} words, so that a file of them "
                f"has at most {_LINE * BOARD_WORDS:,}. Name the file of a model."
            )
        return path.read_text(encoding="ascii")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: Is not a text of numbers. Give a decimal number per line.") from None
    except OSError as error:
        raise ValueError(f"{path}: Cannot be read ({error.strerror}). Name a file of numbers.") from None


def _rows(source: str, reading: TableOptions) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return rows of Booleans and their labels. Sets of the study are Booleanized as the study did."""
    from ethereal.datasets.files import read_table
    from ethereal.features.packing import is_boolean
    from ethereal.runs.paper import papers
    from ethereal.train.paper import PAPER

    for one in papers():
        if (rows := one.test_rows(source)) is not None:
            return rows
    found = read_table(source, reading)
    X, y = (found.X, found.y) if found.test is None else (found.X[found.test], found.y[found.test])
    if not is_boolean(X):
        raise ValueError(
            f"{source}: Has features that are not 0 or 1. Words number Booleans, so give rows of Booleans, "
            f"or the name of a set of the study ({', '.join(PAPER)})."
        )
    return X.astype(bool), y
