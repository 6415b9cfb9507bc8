"""Options of several commands."""

from __future__ import annotations

from typing import Annotated

import typer

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
Epochs = Annotated[int, typer.Option(help="Passes over the training rows.")]
TestShare = Annotated[
    float, typer.Option("--test", help="Share of rows kept for the test, where the data has no split.")
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same model.")]
Dask = Annotated[
    str | None, typer.Option(help="Work on the Dask cluster with this scheduler, tcp://HOST:PORT.")
]
Workers = Annotated[int | None, typer.Option(help="Work on a local Dask cluster of so many processes.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text.")]
