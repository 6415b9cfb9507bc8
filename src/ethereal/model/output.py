"""What comes out of a model, the one place where class sums become an answer.

A new kind of answer, such as a number or "unknown", is another class with these methods. Each consumer says
in its `Supports` which kinds it can give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ethereal.base.calibration import softmax

_LEAST_SHARE = 1e-9  # of a class, so that one row that is wrong and sure of it does not decide alone


class Output(Protocol):
    """How sums of votes are read."""

    kind: ClassVar[str]
    labels: NDArray[Any]  # one per column of the sums

    def indices(self, sums: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of each row's answer, as devices return it."""
        ...

    def answers(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return each row's answer, as `Model.predict` returns it."""
        ...

    def loss(self, sums: NDArray[Any], wanted: NDArray[Any], scale: float) -> NDArray[np.float32]:
        """Return each row's loss, which pruning minimises."""
        ...


@dataclass(frozen=True, eq=False)
class Classes:
    """The label of the largest sum, and of the first of them on a tie.

    >>> Classes(np.array(["no", "yes"])).answers(np.array([[1, 2], [3, 3]]))
    array(['yes', 'no'], dtype='<U3')
    """

    labels: NDArray[Any]
    kind: ClassVar[str] = "classes"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Classes)
            and self.labels.dtype.kind == other.labels.dtype.kind
            and np.array_equal(self.labels, other.labels)
        )

    def __hash__(self) -> int:
        return hash(tuple(self.labels.tolist()))

    def indices(self, sums: NDArray[Any]) -> NDArray[np.int64]:
        """Return the index of each row's class."""
        return np.asarray(sums.argmax(axis=1), dtype=np.int64)

    def answers(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return each row's label."""
        return np.asarray(self.labels[self.indices(sums)])

    def loss(self, sums: NDArray[Any], wanted: NDArray[Any], scale: float) -> NDArray[np.float32]:
        """Return minus the logarithm of the share of the wanted class, with `scale` logits per vote."""
        own = softmax(scale * sums)[np.arange(len(wanted)), wanted]
        return np.asarray(-np.log(np.maximum(own, _LEAST_SHARE)), dtype=np.float32)
