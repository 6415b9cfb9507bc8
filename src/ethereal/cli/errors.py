"""A mistake of the user is told in one line. Only our own mistakes show a traceback."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from ethereal.base.messages import say


@contextmanager
def columns_named(names: Sequence[str] | None) -> Iterator[None]:
    """Call the features of arrays, x0 and so on, by the names of their columns in errors and warnings.

    Warnings that differ in their figures only, as those of several parts of the rows do, are shown once.
    """
    told = set()

    def named(text: object) -> str:
        def column(found: re.Match[str]) -> str:
            f = int(found[1])
            return f"column {names[f]!r}" if names is not None and f < len(names) else found[0]

        return re.sub(r"\bfeature x(\d+)\b", column, str(text))

    def show_once(message: object, *rest: Any, **more: Any) -> None:
        text = named(message)
        alike = "".join(re.findall(r"'[^']*'|\bx\d+|\D", text))  # without figures, but with all names
        if alike not in told:
            told.add(alike)
            show(text, *rest, **more)

    show: Callable[..., None] = warnings.showwarning
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_once
            yield
    except ValueError as error:
        if names is None or named(error) == str(error):
            raise
        raise ValueError(named(error)) from error


@contextmanager
def reported() -> Iterator[None]:
    """Turn errors about arguments, data, files and extras not installed into a message and exit code 1.

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
            from ethereal.datasets.sets.errors import DatasetError  # loads what takes a second

            if not isinstance(error, DatasetError):
                raise
        say(f"error: {error}", err=True)
        raise typer.Exit(1) from error
