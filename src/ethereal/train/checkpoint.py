"""A file with the automata, history and choice so far, from which training continues.

It is written under a temporary name and renamed, at most every few seconds and after the last epoch. A
training with other rows or parameters neither continues from it nor replaces it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from ethereal.base.atomic import open_atomically
from ethereal.features.packing import PackedRows
from ethereal.model.clauses import Clauses
from ethereal.train.automata import Snapshot
from ethereal.train.rules import fingerprint

if TYPE_CHECKING:
    from ethereal.train.classifier import EtherealClassifier

_NAME = "checkpoint.safetensors"
_VERSION = 2
_SECONDS_BETWEEN = 3.0
# The rows show the first two. The others change no automaton up to the checkpoint.
_MAY_CHANGE = (
    *("booleanizer", "front_end", "epochs", "epoch_rows"),
    *("noise_clauses", "refit_votes", "n_jobs", "verbose"),
)


class CheckpointError(ValueError):
    """A checkpoint from which this training cannot continue."""


@dataclass(frozen=True)
class Progress:
    """Where a training stands."""

    states: NDArray[np.uint8]
    epochs_done: int
    history: list[dict[str, Any]]
    candidates: list[Snapshot]  # when loaded, without votes, unless these learn
    votes: NDArray[np.int32] | None = None  # where they learn


class Checkpoint:
    """A folder's checkpoint of one training."""

    def __init__(self, folder: str | os.PathLike[str], identity: str) -> None:
        self.path = Path(folder) / _NAME
        self.identity = identity
        self._last_save = time.monotonic()
        self._epochs_found = 0  # in the checkpoint when it was loaded

    def is_due(self) -> bool:
        """Whether the last save is some seconds ago."""
        return time.monotonic() - self._last_save >= _SECONDS_BETWEEN

    def save(self, progress: Progress) -> None:
        """Replace the checkpoint, unless the same training has got further there."""
        if progress.epochs_done < self._epochs_found:
            return
        tensors: dict[str, NDArray[Any]] = {"states": progress.states}
        if progress.votes is not None:
            tensors["votes"] = progress.votes
        for i, snapshot in enumerate(progress.candidates):
            tensors[f"literals{i}"] = snapshot.clauses.literals
            tensors[f"offsets{i}"] = snapshot.clauses.offsets
            if progress.votes is not None:
                tensors[f"votes{i}"] = snapshot.clauses.weights
            if snapshot.states is not None:
                tensors[f"states{i}"] = snapshot.states
        candidates = progress.candidates
        about = {"version": _VERSION, "identity": self.identity, "epochs_done": progress.epochs_done}
        about |= {"history": progress.history, "accuracies": [one.accuracy for one in candidates]}
        about |= {"epochs": [one.epoch for one in candidates]}
        body = safetensors.save(tensors, metadata={"ethereal": json.dumps(about)})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open_atomically(self.path) as file:  # in two parts, because the automata may be large
            file.write(body)
            file.write(hashlib.sha256(body).digest())
        self._last_save = time.monotonic()

    def load(self) -> Progress | None:
        """Return where the training stood, or None without a checkpoint."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        body, digest = data[:-32], data[-32:]
        if hashlib.sha256(body).digest() != digest:
            raise CheckpointError(f"{self.path} is damaged. Remove it and train from the start.")
        try:
            tensors = safetensors.load(body)
            header = int.from_bytes(body[:8], "little")
            about = json.loads(json.loads(body[8 : 8 + header])["__metadata__"]["ethereal"])
            version, identity = about["version"], about["identity"]
        except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise CheckpointError(f"{self.path} is not a checkpoint ({error}). Remove it.") from error
        if version != _VERSION:
            raise CheckpointError(f"{self.path} was written by another version of this package. Remove it.")
        if identity != self.identity:
            raise CheckpointError(
                f"{self.path.parent} holds the checkpoint of a training with other rows or parameters, which "
                "would be lost. Give another folder, or delete this one. To resume that training, give its "
                "rows and parameters with resume=True."
            )
        try:
            n_classes, n_clauses, n_literals = tensors["states"].shape
            no_votes = np.zeros((n_classes * n_clauses, 0), dtype=np.int32)  # the training has them
            candidates = []
            for i, (accuracy, epoch) in enumerate(zip(about["accuracies"], about["epochs"], strict=True)):
                arrays = tensors[f"literals{i}"], tensors[f"offsets{i}"], tensors.get(f"votes{i}", no_votes)
                clauses = Clauses(*arrays, n_literals // 2)
                candidates.append(Snapshot(clauses, float(accuracy), int(epoch), tensors.get(f"states{i}")))
            position = tensors["states"], about["epochs_done"], about["history"], candidates
            progress = Progress(*position, tensors.get("votes"))
            if progress.states.dtype != np.uint8 or not isinstance(progress.epochs_done, int):
                raise TypeError(f"states of {progress.states.dtype} after {progress.epochs_done!r} epochs")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CheckpointError(f"{self.path} is not whole ({error}). Remove it.") from error
        self._epochs_found = progress.epochs_done
        return progress


@contextmanager
def until_done(folder: str | Path) -> Iterator[Path]:
    """Yield a checkpoint folder that is removed when the block ends without an error."""
    path = Path(folder)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def fit_or_go_on(clf: EtherealClassifier, X: Any, y: Any, folder: str | Path, **sets: Any) -> None:
    """Fit from the checkpoint of an interrupted fit in the folder, if there is one, else from the start.

    The folder belongs to this training. A checkpoint from which it cannot continue is removed.
    """
    try:
        clf.fit(X, y, checkpoint=folder, resume=True, **sets)
    except CheckpointError:  # of other rows or parameters, of more epochs, or damaged
        (Path(folder) / _NAME).unlink()
        clf.fit(X, y, checkpoint=folder, **sets)


def identifying(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return those parameters of an estimator that identify its checkpoint, beside the rows."""
    seed = parameters["random_state"]
    if not isinstance(seed, (int, np.integer)):
        raise ValueError(f"random_state is {seed!r}. A checkpoint needs a whole number.")
    kept = {name: value for name, value in parameters.items() if name not in _MAY_CHANGE}
    if kept.get("patch") is None:  # as before there were patches
        kept = {name: value for name, value in kept.items() if name not in ("patch", "places")}
    if kept.get("machine") is None:
        kept.pop("machine", None)
    return kept | {name: fingerprint(kept[name]) for name in ("exclude", "init")}


def identity(parameters: dict[str, Any], *rows: PackedRows | NDArray[Any] | None) -> str:
    """Return the fingerprint of a training, from its parameters and the rows it learns from."""
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True, default=repr).encode())
    for part in rows:
        arrays = (part.words, part.classes) if isinstance(part, PackedRows) else (part,)
        for array in arrays:
            digest.update(b"none" if array is None else repr((array.shape, array.dtype.str)).encode())
            if array is not None:
                digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
