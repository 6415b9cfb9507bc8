"""A mistake of the user takes one line. Only our own mistakes show a traceback."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ethereal.base.messages import say


@contextmanager
def reported() -> Iterator[None]:
    """Turn errors about arguments, data, files and missing extras into a message and exit code 1.

    Warnings take one line each, without the place in the code.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}", err=True)
            yield
    except BrokenPipeError:
        raise
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        say(f"error: {place}{error.strerror or error}", err=True)
        raise typer.Exit(1) from error
    except MemoryError as error:
        say(f"error: there is not enough memory ({str(error) or 'none is left'})", err=True)
        raise typer.Exit(1) from error
    except (ImportError, ValueError, TypeError, RuntimeError) as error:  # the first says what to install
        if isinstance(error, RuntimeError):
            from ethereal.datasets.catalogue import DatasetError  # loads what takes a second

            if not isinstance(error, DatasetError):
                raise
        say(f"error: {error}", err=True)
        raise typer.Exit(1) from error


INTERRUPTED = 130  # exit code of a command that Ctrl-C ended


@contextmanager
def continued_later() -> Iterator[None]:
    """Say that nothing is lost when Ctrl-C ends the work."""
    try:
        yield
    except KeyboardInterrupt:
        say("\ninterrupted: type the same command again, and it continues where it stopped.", err=True)
        raise typer.Exit(INTERRUPTED) from None
