"""Finished cells on disk, so that a killed study continues and a repeated one is instant."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from ethereal.base.atomic import write_bytes, write_text
from ethereal.model import Model
from ethereal.model.file import to_file_bytes

Protocol = Literal["paper", "honest"]

# Raised when what a cell computes changes: results of an older kind are computed again.
_KIND = 3


@dataclass(frozen=True)
class Cell:
    """One model of the study: a method on a data set, under a protocol, from a seed."""

    dataset: str
    method: str
    protocol: Protocol
    seed: int
    epochs: int | None = None  # None: as many as the study took

    @property
    def measured(self) -> str:
        """The method whose model a cell measures on the board or in MicroPython, else its own method.

        >>> Cell("har", "board-ethereal", "honest", 0).measured
        'ethereal'
        """
        return self.method.removeprefix("board-").removeprefix("micropython-")

    @property
    def key(self) -> str:
        """Name of the cell's files.

        >>> Cell("har", "ethereal", "honest", 0).key
        'har-ethereal-honest-0'
        """
        epochs = "" if self.epochs is None else f"-{self.epochs}epochs"
        return f"{self.dataset}-{self.method}-{self.protocol}-{self.seed}{epochs}"


class Store:
    """Results of cells in a folder, one JSON file each, beside it the model where there is one.

    A result counts only with the basis it was computed on (the data's fingerprint, the settings) and with its
    model whole. With other data, other settings or a damaged file the cell is computed again.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def model_path(self, cell: Cell) -> Path:
        """Where the cell's model is kept."""
        return self.folder / f"{cell.key}.etm"

    def get(self, cell: Cell, basis: dict[str, Any]) -> dict[str, Any] | None:
        """The result of a finished cell, None when there is none that can be used."""
        try:
            kept = json.loads(self._path(cell).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        head = _head(cell, basis)
        if not isinstance(kept, dict) or any(kept.get(key) != value for key, value in head.items()):
            return None
        result = kept.get("result")
        digest, path = kept.get("model"), self.model_path(cell)
        is_whole = digest is None or (path.exists() and digest == sha256(path.read_bytes()).hexdigest())
        return result if isinstance(result, dict) and is_whole else None

    def put(self, cell: Cell, basis: dict[str, Any], result: dict[str, Any], model: Model | None) -> None:
        """Keep a result and its model, each written whole, the result last."""
        digest = None
        if model is not None:
            data = to_file_bytes(model)
            digest = sha256(data).hexdigest()
            write_bytes(self.model_path(cell), data)
        content = _head(cell, basis) | {"model": digest, "result": result}
        write_text(self._path(cell), json.dumps(content))

    def files_of(self, *cells: Cell) -> dict[str, bytes]:
        """Content of what is kept of some cells, by file name."""
        paths = {path for cell in cells for path in (self._path(cell), self.model_path(cell))}
        return {path.name: path.read_bytes() for path in paths if path.exists()}

    def take(self, files: dict[str, bytes]) -> None:
        """Keep what another store has, results last."""
        for name in sorted(files, key=lambda name: name.endswith(".json")):
            write_bytes(self.folder / name, files[name])

    def _path(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.json"


def _head(cell: Cell, basis: dict[str, Any]) -> dict[str, Any]:
    return {"kind": _KIND, "cell": asdict(cell), "basis": json.loads(json.dumps(basis))}
