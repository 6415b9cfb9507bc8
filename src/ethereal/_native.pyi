import numpy as np
from numpy.typing import NDArray

def isa() -> str: ...
def set_isa(name: str) -> None: ...
def available_isas() -> list[str]: ...
def pack_literals(booleans: NDArray[np.bool_]) -> NDArray[np.uint64]: ...

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
    ) -> None: ...
    epochs_done: int
    states: NDArray[np.uint8]
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
    def clauses(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...
