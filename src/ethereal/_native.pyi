from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

def isa() -> str: ...
def set_isa(name: str) -> None: ...
def available_isas() -> list[str]: ...
def pack_literals(booleans: NDArray[np.bool_]) -> NDArray[np.uint64]: ...

class Engine:
    @overload
    def __init__(
        self,
        literals: NDArray[np.int32],
        offsets: NDArray[np.int64],
        weights: NDArray[np.int32],
        n_booleans: int,
    ) -> None: ...
    @overload
    def __init__(
        self,
        literals: NDArray[np.int32],
        offsets: NDArray[np.int64],
        weights: NDArray[np.int32],
        n_booleans: int,
        thresholds: NDArray[np.float64],
        thresholds_float32: NDArray[np.float32],
        threshold_offsets: NDArray[np.int64],
        boolean_offsets: NDArray[np.int64],
        missing: NDArray[np.bool_],
        binned: NDArray[np.bool_],
        takes_missing: NDArray[np.bool_],
    ) -> None: ...
    # `out` says what is wanted: int64 (rows) for winners, int32 (rows, classes) for sums, bool (rows,
    # clauses) for outputs. False: X has a value that is not allowed.
    def run_bools(self, X: NDArray[Any], out: NDArray[Any], n_threads: int = 1) -> bool: ...
    def run_packed(self, X: NDArray[Any], out: NDArray[Any], n_threads: int = 1) -> bool: ...
    def run_raw(self, X: NDArray[Any], out: NDArray[Any], n_threads: int = 1) -> bool: ...
    def run_columns(self, columns: list[NDArray[Any]], out: NDArray[Any], n_threads: int = 1) -> bool: ...

class PatchEngine:
    def __init__(
        self,
        literals: NDArray[np.int32],
        offsets: NDArray[np.int64],
        weights: NDArray[np.int32],
        n_booleans: int,
        # Height and width of a row and of the patch, Booleans of a cell, whether there are places.
        patch: tuple[int, int, int, int, int, bool],
    ) -> None: ...
    # `out` as for `Engine`.
    def run_packed(self, rows: NDArray[np.uint64], out: NDArray[Any], n_threads: int = 1) -> bool: ...

class Trainer:
    def __init__(
        self,
        *,
        n_classes: int,
        n_clauses: int,
        n_booleans: int,
        T: int,
        s: float,
        boost_true_positive: bool,
        literal_budget: int,
        seed: int,
        only: tuple[int, int] | None = None,  # classes held, first and end
        random_start: bool = False,  # just below or just above the middle, else all just below
        patch: tuple[int, int, int, int, int, bool] | None = None,  # as in PatchEngine
        # Weighted, shared, with negated literals, focused, and shares of dropped clauses and literals.
        variant: tuple[bool, bool, bool, bool, float, float] | None = None,
    ) -> None: ...
    epochs_done: int
    states: NDArray[np.uint8]
    votes: NDArray[np.int32]  # as they learn, classes x clauses, without rows where they do not
    @property
    def n_includes(self) -> int: ...
    def epoch(
        self,
        rows: NDArray[np.uint64],
        classes: NDArray[np.int32],
        weights: NDArray[np.float64] | None,
        n_threads: int,
    ) -> None: ...
    def exclude(self) -> int: ...
    def undo_exclusion(self) -> None: ...
    def clauses(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...

def shorten(
    booleans: NDArray[np.bool_], literals: NDArray[np.int32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...

class Pruner:
    def __init__(
        self,
        booleans: NDArray[np.bool_],
        features: NDArray[np.int32],  # the raw feature of each Boolean
        targets: NDArray[np.float32],
        literals: NDArray[np.int32],
        offsets: NDArray[np.int64],
        votes: NDArray[np.int32],
        scale: float,
        seed: int,
        patch: tuple[int, int, int, int, int, bool] | None = None,  # as in PatchEngine
    ) -> None: ...
    # size: cost of a clause, a literal, a Boolean in use, a vote, a doubling of a vote
    def sweep(self, price: float, size: tuple[float, float, float, float, float]) -> int: ...
    @property
    def loss(self) -> float: ...
    # literals, offsets, votes flattened
    def clauses(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]: ...

class SquarePruner(Pruner):
    def __init__(
        self,
        booleans: NDArray[np.bool_],
        features: NDArray[np.int32],
        targets: NDArray[np.float64],  # a number for each row
        literals: NDArray[np.int32],
        offsets: NDArray[np.int64],
        votes: NDArray[np.int32],  # clauses x 1
        scale: float,
        seed: int,
        signs: NDArray[np.int8],  # that votes of each literal's clauses must have, 0 for any, or none
    ) -> None: ...

class Ridge:
    def __init__(
        self, outputs: NDArray[np.bool_] | NDArray[np.float64], weights: NDArray[np.float64]
    ) -> None: ...
    def aim(self, targets: NDArray[np.float64]) -> None: ...
    # the sum of squared residuals, and degrees of freedom
    def fit(self, strength: float) -> tuple[float, float]: ...
    # votes with these signs, 0 for any, and the offset
    def votes(self, strength: float, signs: NDArray[np.int8]) -> tuple[NDArray[np.float64], float]: ...

class VoteFitting:
    def __init__(
        self,
        outputs: NDArray[np.bool_],
        labels: NDArray[np.int32],
        weights: NDArray[np.float64],
        n_classes: int,
    ) -> None: ...
    def fit(self, strength: float, iterations: int) -> None: ...
    # flattened from clauses x classes
    def votes(self) -> NDArray[np.float32]: ...

class BlockCounter:
    def __init__(self, isa: str, base: int, code: bytes) -> None: ...
    @property
    def total(self) -> int: ...
    def mix(self) -> list[int]: ...
    def enter(self, most: int, stop: int) -> None: ...  # instructions, and the address of uc_emu_stop or 0
    def by_block(self) -> list[int]: ...
    @property
    def callback(self) -> int: ...
    @property
    def user_data(self) -> int: ...

def window_features(
    windows: NDArray[np.int16],  # windows x samples x axes
    plan: NDArray[np.uint8],  # steps x 4
    sine: NDArray[np.int16],
    ends: NDArray[np.uint16],  # the last bin of each band: 8 of bands, 8 of spectrum, 16 of mel
    out: NDArray[np.int16],  # windows x features
    n_threads: int = 1,
) -> None: ...
