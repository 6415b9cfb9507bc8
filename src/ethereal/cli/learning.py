"""Options of the commands that learn, and what they make of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from ethereal.train.classifier import EtherealClassifier

Data = Annotated[str, typer.Argument(help="A data set's name, or a .csv, .parquet or .npz file.")]
Label = Annotated[str | None, typer.Option(help="Column with the labels, for CSV and Parquet.")]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be given several times.")]
Header = Annotated[
    bool,
    typer.Option("--header/--no-header", help="Whether a CSV begins with names; else they are 1, 2, ..."),
]
Charset = Annotated[str | None, typer.Option(help="Of a CSV that is not UTF-8: latin-1, utf-16, ...")]
Decimal = Annotated[str, typer.Option(help="Sign before the decimals of a CSV: . or a comma.")]
Group = Annotated[
    str | None,
    typer.Option(help="Column that says which rows belong together, such as the person; no feature."),
]
Clauses = Annotated[int, typer.Option(help="Clauses per class, both polarities; even.")]
Margin = Annotated[
    int | None,
    typer.Option("--T", help="Vote margin that training aims at; default: the root of half the clauses."),
]
Specificity = Annotated[float, typer.Option("--s", help="Specificity: larger gives longer clauses.")]
Epochs = Annotated[int, typer.Option(help="Passes over the training rows.")]
ExcludeEvery = Annotated[int, typer.Option(help="Epochs between two exclusions.")]
Budget = Annotated[int | None, typer.Option(help="Most literals a clause may include.")]
Bins = Annotated[int, typer.Option(help="Bins per feature; 0: the data is Boolean.")]
Encoding = Annotated[str, typer.Option(help="thermometer or onehot.")]
Validation = Annotated[float, typer.Option(help="Share of the training rows that chooses the epoch.")]
Tolerance = Annotated[
    float, typer.Option(help="Accuracy given away for a smaller model, 0.005: half a point.")
]
Shorten = Annotated[
    bool, typer.Option("--shorten", help="Drop the literals that decide nothing on the training rows.")
]
TestShare = Annotated[
    float, typer.Option("--test", help="Share of rows kept for the test, where the data has no split.")
]
Balanced = Annotated[bool, typer.Option("--balanced", help="Visit rare classes as often as frequent ones.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same model.")]
Jobs = Annotated[int, typer.Option(help="Threads; -1: one per core.")]
Dask = Annotated[
    str | None, typer.Option(help="Work on the Dask cluster with this scheduler, tcp://HOST:PORT.")
]
Workers = Annotated[int | None, typer.Option(help="Work on a local Dask cluster of so many processes.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text.")]


def classifier(
    *,
    clauses: int,
    T: int | None,
    s: float,
    epochs: int,
    exclude_every: int | None,
    literal_budget: int | None = None,
    bins: int,
    encoding: str,
    validation: float,
    tolerance: float = 0.0,
    shorten: bool = False,
    balanced: bool = False,
    seed: int,
    jobs: int,
    verbose: int,
) -> EtherealClassifier:
    """The estimator that the options ask for."""
    from ethereal.features.booleanizer import Booleanizer
    from ethereal.train.classifier import EtherealClassifier

    kind: Literal["thermometer", "onehot"] = "onehot" if encoding == "onehot" else "thermometer"
    if encoding not in ("thermometer", "onehot"):
        raise ValueError(f"--encoding is {encoding!r}; it must be thermometer or onehot")
    return EtherealClassifier(
        clauses,
        max(1, round(math.sqrt(clauses / 2))) if T is None else T,
        s,
        epochs=epochs,
        exclude_every=exclude_every,
        literal_budget=literal_budget,
        booleanizer=None if bins == 0 else Booleanizer(n_bins=bins, encoding=kind),
        validation_fraction=validation,
        accuracy_tolerance=tolerance,
        shorten=shorten,
        class_weight="balanced" if balanced else None,
        n_jobs=jobs,
        random_state=seed,
        verbose=verbose,
    )
