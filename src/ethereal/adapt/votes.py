"""`Votes`: what a board learns, on the host, with the board's bits."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.adapt.learn_options import DEFAULT_ROWS
from ethereal.adapt.learning import SIXTEENTHS, Learning, State
from ethereal.model import Model
from ethereal.model.clauses import Clauses


class Votes:
    """A model that learns one person's rows. The clauses stay, and the votes learn.

    `learn` keeps a row as the bits of the clauses that fire on it. `adapt` makes the votes anew from all
    kept rows. The same calls on a board give the same bytes and the same answers.

    Parameters
    ----------
    model
        The general model.
    rows
        How many rows are kept. When they are full, the oldest of the most frequent class goes.
    learn, guard, classes, anchors, margin
        As in `ethereal.adapt.LearnOptions`.

    Examples
    --------
    >>> model = Model([0, 1], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["sit", "lie"])
    >>> votes = Votes(model, margin=1)
    >>> votes.predict([[True, True]])
    array(['sit'], dtype='<U3')
    >>> for _ in range(2):
    ...     kept = votes.learn([True, True], "lie")
    >>> votes.adapt(), votes.predict([[True, True]])
    (0, array(['lie'], dtype='<U3'))
    """

    def __init__(
        self,
        model: Model,
        rows: int = DEFAULT_ROWS,
        *,
        learn: str = "votes",
        guard: bool = True,
        classes: int | Sequence[Any] = 0,
        anchors: tuple[ArrayLike, ArrayLike] | None = None,
        margin: float | None = None,
    ) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"model is {model!r}. It must be a Model (a classifier's is clf.model_).")
        self.learning = Learning.of(
            model, learn, rows, guard=guard, classes=classes, anchors=anchors, margin=margin
        )
        self.classes = np.array(self.learning.labels)
        self._state = State(self.learning)

    def __len__(self) -> int:
        return len(self._state.rows)

    def __repr__(self) -> str:
        learning = self.learning
        size = f"{learning.n_clauses} clauses, {learning.n_classes} classes"
        return f"<Votes: {len(self)} of {learning.n_rows} rows, {size}>"

    @property
    def votes(self) -> NDArray[np.int8]:
        """Learned votes in sixteenths, clauses x classes, or one row of them for `learn="bias"`."""
        return self._state.votes.astype(np.int8)

    @property
    def is_personal(self) -> bool:
        """Whether the last `adapt` kept something."""
        return self._state.is_personal

    def learn(self, x: ArrayLike, y: Any) -> int:
        """Keep one row or window with its label. Answers change at the next `adapt`.

        Returns 1, or 2 when an older row had to go, which a warning says too.
        """
        labels = self.learning.labels
        label = y.item() if isinstance(y, np.generic) else y
        if label not in labels:
            known = ", ".join(map(repr, labels))
            raise ValueError(f"y is {label!r}, which is not a class of the model. Its classes are {known}.")
        (bits,) = self.learning.bits(_one(x, takes_windows=self.learning.general.front_end is not None))
        kept = self._state.keep(labels.index(label), bits)
        if kept == 2:
            warnings.warn(
                f"There is room for {self.learning.n_rows} rows, so the oldest of the most frequent class "
                "went. Give more rows= to keep it.",
                UserWarning,
                stacklevel=2,
            )
        return kept

    def adapt(self) -> int | None:
        """Make the votes anew from all kept rows.

        Returns how many rows moved votes in the last pass. 0 means that every right class is a margin ahead.
        None means that the guard kept nothing, because the rows that check were not answered better.
        """
        if not self._state.rows:
            raise ValueError("No row was learned yet. Call learn(x, y) first.")
        return self._state.adapt()

    def adapt_step(self) -> bool:
        """Do one row of `adapt`, and return whether there is more to do."""
        return self._state.step()

    def unlearn(self, i: int) -> None:
        """Drop row `i`, counted from the oldest that is kept. Answers change at the next `adapt`."""
        if not self._state.drop(i):
            raise IndexError(f"There is no row {i}. {len(self)} rows are kept.")

    def forget(self) -> None:
        """Drop all rows and votes. The general model answers again."""
        self._state.forget()

    def save(self) -> bytes:
        """Return the kept rows as bytes, which the board's `NAME_restore` takes too."""
        return self._state.save()

    def restore(self, data: bytes) -> None:
        """Take the rows of `save` or of the board's `NAME_save`, and adapt to them.

        A state that is damaged, cut, or of another model is refused, and nothing changes.
        """
        self._state.restore(bytes(data))

    def entry(self, i: int) -> bytes:
        """Return row `i` with a checksum, as an entry of a log in flash."""
        if not 0 <= i < len(self):
            raise IndexError(f"There is no row {i}. {len(self)} rows are kept.")
        return self._state.entry(i)

    def learn_entry(self, entry: bytes) -> int:
        """Keep the row of a log entry. Return 0 if the entry is damaged, cut or of another model."""
        return self._state.keep_entry(bytes(entry))

    def class_sums(self, X: ArrayLike) -> NDArray[np.int32]:
        """Return votes per class in sixteenths. A new class that nobody taught has a very low sum."""
        sums = [self._state.sums(bits) for bits in self.learning.bits(X)]
        return np.array(sums, dtype=np.int32).reshape(-1, self.learning.n_classes)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label of each row or window."""
        return np.asarray(self.classes[self.class_sums(X).argmax(axis=1)])

    def model(self) -> Model:
        """Return an ordinary model that answers as this one does now, with its votes in sixteenths."""
        learning, state = self.learning, self._state
        general = learning.general
        kept = [*range(general.n_classes), *sorted(state.taught)]
        weights, clauses = learning.weights.copy(), general.clauses
        if learning.form == "votes":
            weights += state.votes
        elif state.votes.any():  # x or NOT x is always true
            n, none = clauses.n_booleans, np.zeros((2, general.n_classes), int)
            both = Clauses([0, n], [0, 1, 2], none, n)
            clauses = Clauses.concatenate([clauses, both])
            weights = np.vstack([weights, state.votes, state.votes])
        return Model(
            clauses.literals,
            clauses.offsets,
            weights[:, kept],
            n_booleans=general.n_booleans,
            classes=self.classes[kept],
            booleanizer=general.fitted,
            front_end=general.front_end,
            feature_names=general.feature_names,
            boolean_rates=general.boolean_rates,
            typical_rows=general.typical_rows,
            temperature=SIXTEENTHS * general.temperature,
            provenance={**general.provenance, "learned_rows": len(self)},
        )


def _one(x: Any, *, takes_windows: bool) -> Any:
    """Return one row or window as rows."""
    if hasattr(x, "iloc"):  # a row of a frame
        return x.to_frame().T if getattr(x, "ndim", 2) == 1 else x
    array = np.asarray(x)
    if array.ndim != 1 and not (takes_windows and array.ndim == 2):
        what = "row or window" if takes_windows else "row"
        raise ValueError(f"x has shape {array.shape}. Give one {what} at a time, such as X[0].")
    return array[None]
