"""Packages whose names are loaded when they are first used, so that `ethereal --help` stays quick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def loader(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package.

    `names` says for each module of the package which names it defines, separated by spaces.

    >>> load = loader("ethereal.base", {"lazy": "loader", "quantities": "parse_bytes parse_count"})
    >>> load("parse_bytes")("flash", "8k")
    8192
    """
    homes = {name: module for module, own in names.items() for name in own.split()}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return load
