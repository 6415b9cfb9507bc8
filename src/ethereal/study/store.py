"""Finished cells on disk: a killed study goes on where it was, a repeated one is instant."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ethereal.atomic import write_text

Protocol = Literal["paper", "honest"]

# Raised when what a cell computes changes: results of an older kind are computed again.
_KIND = 1


@dataclass(frozen=True)
class Cell:
    """One model of the study: a method on a data set, under a protocol, from a seed."""

    dataset: str
    method: str
    protocol: Protocol
    seed: int
    epochs: int | None = None  # None: as many as the study took

    @property
    def key(self) -> str:
        """Name of the cell's files.

        >>> Cell("har", "ethereal", "honest", 0).key
        'har-ethereal-honest-0'
        """
        epochs = "" if self.epochs is None else f"-{self.epochs}epochs"
        return f"{self.dataset}-{self.method}-{self.protocol}-{self.seed}{epochs}"


class Store:
    """Results of cells in a folder, one JSON file each, beside it the model where there is one."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def model_path(self, cell: Cell) -> Path:
        """Where the cell's model is kept."""
        return self.folder / f"{cell.key}.etm"

    def get(self, cell: Cell) -> dict[str, Any] | None:
        """The result of a finished cell, None when there is none that can be used."""
        try:
            found = json.loads(self._path(cell).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(found, dict) or found.get("kind") != _KIND or found.get("cell") != asdict(cell):
            return None
        result = found.get("result")
        return result if isinstance(result, dict) else None

    def put(self, cell: Cell, result: dict[str, Any]) -> None:
        """Keep a result: written to a temporary name and renamed, so that it is there whole or not at all."""
        text = json.dumps({"kind": _KIND, "cell": asdict(cell), "result": result}, indent=1)
        write_text(self._path(cell), text)

    def _path(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.json"
