"""A mistake of the user is told in one line. Only our own mistakes show a traceback."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def reported() -> Iterator[None]:
    """Turn errors about arguments, data, files and extras not installed into a message and exit code 1.

    Warnings take one line each, without the place in the code.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: typer.echo(f"warning: {message}", err=True)
            yield
    except BrokenPipeError:
        raise
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        typer.echo(f"error: {place}{error.strerror or error}", err=True)
        raise typer.Exit(1) from error
    except (ImportError, ValueError, TypeError, RuntimeError) as error:  # the first says what to install
        from ethereal.datasets.sets.errors import DatasetError  # loads scikit-learn

        if isinstance(error, RuntimeError) and not isinstance(error, DatasetError):
            raise
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
