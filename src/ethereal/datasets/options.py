"""How a table is read and how its test rows are chosen: for the functions and for the commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ethereal.base.options import option


@dataclass(frozen=True)
class TableOptions:
    """How a CSV or Parquet file is read. Data sets and npz files know all this themselves.

    Parameters
    ----------
    label
        Column with the labels.
    drop
        Columns to leave out.
    group
        Column with what rows have in common, such as the person. It is not a feature.
    recording
        Column that tells recordings apart, where a row is a sample. None is a column of that name.
    header
        Whether a CSV begins with the names of its columns. If not, columns are called 1, 2, 3, ...
    encoding, decimal
        Character set of a CSV (None is UTF-8, or UTF-16 with its mark), and the sign before its decimals.
        "auto" takes commas where no comma separates columns and no number has a point.
    large
        Whether the content may take more memory than twice the file, or 105 MB for a small file.
    task
        What labels are: "class", "number", or "auto" for what they look like.
    """

    label: str | None = option(None, "Column with the labels, for CSV and Parquet.")
    drop: Sequence[str] | None = option(None, "Column to leave out, several times.", kind=list[str] | None)
    header: bool = option(True, "Whether a CSV begins with names, else 1, 2, ...", "--header/--no-header")
    encoding: str | None = option(None, "Of a CSV that is not UTF-8: latin-1, utf-16, ...")
    decimal: str = option("auto", "Sign before decimals of a CSV: . or a comma. Default: auto.")
    recording: str | None = option(None, "Column that tells recordings apart. Default: `recording`.")
    large: bool = option(False, "Read a file whose content is far larger than the file.", "--large")
    group: str | None = None
    task: str = "class"


@dataclass(frozen=True)
class GroupedTableOptions(TableOptions):
    """`TableOptions` of a command that keeps the rows of a group together."""

    group: str | None = option(None, "Column whose equal values keep rows together, such as the person.")


@dataclass(frozen=True)
class SourceOptions(GroupedTableOptions):
    """Options of a command that learns from rows or from recordings.

    Parameters
    ----------
    window
        Samples of a window. It makes rows of a table samples of recordings.
    hop
        Samples from one window to the next. None is a whole window.
    rate
        Samples per second. None takes the rate of wav files. For tables the rate is then unknown.
    scale
        Counts per unit, "1000", or one per axis, "1000,1000,10". Samples with fractions need it.
    units
        Unit of the samples, for rules.
    kernels
        Names of kernels, separated by commas. See `WindowFeatures`.
    task
        "class" or "number". "auto" takes labels with many different values for numbers.
    """

    window: int | None = option(None, "Recordings: samples of a window.")
    hop: int | None = option(None, "Recordings: samples from a window to the next. Default: a window.")
    rate: float | None = option(None, "Recordings: samples per second. Wav files know it.")
    scale: str | None = option(None, "Recordings: counts per unit, one or one per axis: 1000,1000,10.")
    units: str | None = option(None, "Recordings: unit of the samples, for rules: g.")
    kernels: str | None = option(None, "Recordings: kernels, separated by commas: stats,haar,bands.")
    task: str = option("auto", "What the label is: class, number, or auto: what it looks like.")

    @classmethod
    def of(cls, options: TableOptions) -> SourceOptions:
        """Return these options, with the defaults of recordings where they have none."""
        return options if isinstance(options, cls) else cls(**vars(options))


@dataclass(frozen=True)
class RowsOptions(TableOptions):
    """`TableOptions` of a command that needs rows without labels."""

    label: str | None = option(None, "Label column of the rows, to leave it out.")


@dataclass(frozen=True)
class AnsweredOptions(TableOptions):
    """`TableOptions` of a command that answers rows, and knows labels only beside that."""

    label: str | None = option(None, "Column with true labels: not read by the model, but compared.")


@dataclass(frozen=True)
class SplitOptions:
    """Which rows become test rows."""

    test: float = option(0.2, "Share of rows kept for the test, where the data has no split.")
