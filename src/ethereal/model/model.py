"""The trained machine that every layer after training sees.

A `Model` is a list of clauses, each an AND of literals with one small integer weight per class, and the
Booleanizer that makes the Boolean features. In a plain Tsetlin machine every clause has one weight, +1 or -1.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.calibration import softmax
from ethereal.model import checks as checks
from ethereal.model.clauses import Clause as Clause
from ethereal.model.clauses import Clauses, plain_votes
from ethereal.model.data import ModelData
from ethereal.model.deployment import KnowsBoard
from ethereal.model.engine import SUPPORTS, Engine
from ethereal.model.needs import ANSWERS, Needs
from ethereal.model.seen import KnowsTraining

if TYPE_CHECKING:
    from ethereal.model.explain import Explanation
    from ethereal.model.rules import Rule

_SHARES = replace(SUPPORTS, consumer="predict_proba", outputs=ANSWERS)


class Model(KnowsTraining, KnowsBoard, ModelData):
    """Immutable clauses with their Booleanizer, labels and provenance.

    Two models are equal when their clauses in order, labels, Booleanizer and feature names are equal.
    `boolean_rates`, `typical_rows`, `provenance`, `temperature` and `deployment` do not count.

    Parameters
    ----------
    literals
        The literals of all clauses, one clause after the other, ascending within a clause.
    offsets
        `literals[offsets[j]:offsets[j + 1]]` are the literals of clause `j`. An empty clause never votes.
    weights
        Votes, clauses x classes.
    n_booleans
        Number of Boolean features. Literals run over `2 * n_booleans`.
    classes
        Labels in the order of the class axis: texts, integers, floats or Booleans.
    booleanizer
        Turns raw rows into Boolean rows. None when the input is Boolean already. The model keeps a copy.
    feature_names
        Names of the raw features (of the Booleans when there is no Booleanizer).
    front_end
        Makes features of windows, `WindowFeatures(...).fit(windows).front_end_`. Rows are then windows x
        samples x axes, or rows of such features.
    boolean_rates
        Share of training rows in which each Boolean was true. Exporters order tests by it.
    typical_rows
        Some training rows as bits, `numpy.packbits(booleans, axis=1, bitorder="little")`. Exporters prefer
        them to the rates, because they show which Booleans go together. A model file holds them. Drop them
        with `with_typical_rows(None)` where training rows must stay private.
    temperature
        Votes that make a class e times as likely in `predict_proba`. Training fits it on held-out rows. Model
        files keep it, the codes of `to_bytes` do not.
    provenance
        How the model was made, such as parameters, seed and package version, as far as JSON can hold it.
    early
        Pairs of clauses and votes: where `predict` may answer early, see `ethereal.export.answering_early`.

    Examples
    --------
    The first clause is "a AND NOT b" and votes +1 for "yes". The second is "b" and votes -1 for "yes" and +2
    for "no".

    >>> model = Model(
    ...     literals=[0, 3, 1],
    ...     offsets=[0, 2, 3],
    ...     weights=[[0, 1], [2, -1]],
    ...     n_booleans=2,
    ...     classes=["no", "yes"],
    ...     feature_names=["a", "b"],
    ... )
    >>> model
    <Model: 2 classes, 2 clauses, 3 includes, 2 Booleans>
    >>> model.predict([[True, False], [True, True]])
    array(['yes', 'no'], dtype='<U3')
    >>> model.class_sums([[True, False], [True, True]])
    array([[ 0,  1],
           [ 2, -1]], dtype=int32)
    >>> print(model.describe())
    class 'no': 1 clause, 1 include
      +2 IF b
    class 'yes': 2 clauses, 3 includes
      +1 IF a AND NOT b
      -1 IF b
    """

    @classmethod
    def from_includes(cls, includes: NDArray[np.bool_], *, classes: ArrayLike, **keywords: Any) -> Model:
        """Return the model of a plain machine from its include masks, classes x clauses x literals.

        The first half of each class's clauses votes +1 for it, the second half -1. Of an odd number one more
        votes +1. Empty clauses stay. The keywords are those of `Model`.

        >>> includes = np.zeros((2, 2, 4), dtype=bool)
        >>> includes[0, 0, [1, 2]] = True  # class 0, positive clause: Boolean 1 AND NOT Boolean 0
        >>> includes[1, 1, 0] = True       # class 1, negative clause: Boolean 0
        >>> list(Model.from_includes(includes, classes=[7, 8]))[0]
        Clause(literals=(1, 2), weights={0: 1})
        """
        includes = checks.includes(includes)
        n_classes, n_clauses, n_literals = includes.shape
        flat = includes.reshape(n_classes * n_clauses, n_literals)
        offsets = np.concatenate([[0], np.cumsum(np.count_nonzero(flat, axis=1))])
        votes = plain_votes(n_classes, n_clauses)
        return cls(
            np.nonzero(flat)[1], offsets, votes, n_booleans=n_literals // 2, classes=classes, **keywords
        )

    @staticmethod
    def of(clauses: Clauses, *, classes: ArrayLike, **keywords: Any) -> Model:
        """Return the model of clauses that were made before, which are neither copied nor checked again.

        The keywords are those of `Model`.

        >>> Model.of(Clauses([0], [0, 1], [[1]], n_booleans=1), classes=["x"]).n_clauses
        1
        """
        none = np.zeros((0, np.size(classes)), dtype=np.int32)
        model = Model([], [0], none, n_booleans=clauses.n_booleans, classes=classes, **keywords)
        return model._with(clauses=clauses)

    @cached_property
    def needs(self) -> Needs:
        """Facts that a consumer checks before it takes this model."""
        return Needs.of(self)

    def with_clauses(self, literals: ArrayLike, offsets: ArrayLike, weights: ArrayLike) -> Model:
        """Return the model with other clauses.

        >>> model = Model([0, 1], [0, 1, 2], [[1], [2]], n_booleans=1, classes=["x"])
        >>> model.with_clauses([0], [0, 1], [[5]]).n_clauses
        1
        """
        return self._with(clauses=Clauses(literals, offsets, weights, self.n_booleans, self.clauses.meaning))

    def with_feature_names(self, feature_names: Sequence[str] | None) -> Model:
        """Return the model with other names of the raw features.

        >>> model = Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"])
        >>> print(model.with_feature_names(["height"]).describe())
        class 'x': 1 clause, 1 include
          +1 IF height
        """
        names = None if feature_names is None else checks.names(feature_names)
        fitted = None if self.fitted is None else self.fitted._replace(names=None)
        return self._with(feature_names=names, fitted=fitted)

    def with_typical_rows(self, typical_rows: ArrayLike | None) -> Model:
        """Return the model with other typical rows, packed as bits, or none.

        >>> model = Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"], typical_rows=[[1], [0]])
        >>> model.with_typical_rows(None).typical_rows is None
        True
        """
        rows = None if typical_rows is None else checks.bit_rows(typical_rows, self.n_booleans)
        return self._with(typical_rows=rows)

    def in_float32(self) -> Model:
        """Return the model that compares in float32, for files written when models compared in float64.

        A value that lies within the rounding of a threshold may be answered differently afterwards, so look
        at the accuracy again. A model that compares in float32 already is returned as it is.
        """
        if self.fitted is None or self.feature_map.precision == "float32":
            return self
        return self._with(fitted=self.fitted._replace(feature_map=self.feature_map.in_float32()))

    def with_temperature(self, temperature: float) -> Model:
        """Return the model with another scale of `predict_proba`.

        >>> model = Model([0, 1], [0, 1, 2], [[5, 0], [0, 5]], n_booleans=1, classes=["yes", "no"])
        >>> model.with_temperature(2.5).predict_proba([[True]]).round(2)
        array([[0.88, 0.12]])
        """
        return self._with(temperature=checks.temperature(temperature))

    def with_unknown(self, margin: int | None, label: Any = None) -> Model:
        """Return the model that does not answer rows whose first class leads by fewer votes than `margin`.

        `predict` then gives `label`, by default "unknown", -1 or NaN. None takes the margin off.
        """
        return self._with(output=checks.output(self.classes, margin, label, bool(self.early)))

    def predict(self, X: ArrayLike, *, packed: bool = False, n_jobs: int | None = None) -> NDArray[Any]:
        """Return the label of the class with the most votes for each row, the first of them on a tie.

        Parameters
        ----------
        X
            Rows x features. Frames, and matrices of any number type and memory order, are read in place.
        packed
            X holds Boolean rows as bits, `numpy.packbits(booleans, axis=1, bitorder="little")` or the same as
            wider unsigned integers.
        n_jobs
            Threads that share large batches. None is one, -1 is one per core.
        """
        if self.output.kind == "classes":  # the engine finds the largest sum without writing the others
            return np.asarray(self.classes[self._engine.winners(X, n_jobs, packed=packed)])
        return self.output.answers(self.class_sums(X, packed=packed, n_jobs=n_jobs))

    def predict_proba(
        self, X: ArrayLike, *, packed: bool = False, n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """Return votes as shares of 1, rows x classes, in the order of the class sums.

        A softmax in which `temperature` votes more make a class e times as likely. A classifier fits this one
        number on its validation rows. Without such rows it is T/3, and the shares are a rough guide.

        >>> model = Model([0, 1], [0, 1, 2], [[5, 0], [0, 5]], n_booleans=1, classes=["yes", "no"])
        >>> model.predict_proba([[True]]).round(2)
        array([[0.73, 0.27]])
        """
        _SHARES.check(self.needs)
        return softmax(self.class_sums(X, packed=packed, n_jobs=n_jobs) / self.temperature)

    def class_sums(
        self, X: ArrayLike, *, packed: bool = False, n_jobs: int | None = None
    ) -> NDArray[np.int32]:
        """Return the votes per class, rows x classes. X and the keywords are those of `predict`."""
        return self._engine.class_sums(X, n_jobs, packed=packed)

    def clause_outputs(
        self, X: ArrayLike, *, packed: bool = False, n_jobs: int | None = None
    ) -> NDArray[np.bool_]:
        """Return which clauses fire on which rows, rows x clauses. Empty clauses never do.

        >>> model = Model([0, 1], [0, 1, 2, 2], [[1], [2], [3]], n_booleans=1, classes=["x"])
        >>> model.clause_outputs([[True], [False]])
        array([[ True, False, False],
               [False,  True, False]])
        """
        return self._engine.clause_outputs(X, n_jobs, packed=packed)

    def explain(self, x: ArrayLike, max_rules: int | None = 10) -> Explanation:
        """Explain why the model decides as it does on one row, and what would have to change.

        Parameters
        ----------
        x
            One row of features, or one window.
        max_rules
            How many rules of each class the text has, the heaviest first. None means all.

        Examples
        --------
        >>> model = Model([0, 1], [0, 1, 2], [[2, 0], [0, 1]], n_booleans=2, classes=["no", "yes"])
        >>> print(model.explain([True, True]))
        'no' has 2 votes, 'yes' has 1
        for 'no':
          +2 IF x0
        for 'yes':
          +1 IF x1
        'yes' would win with these changes:
          NOT x0
        """
        from ethereal.model.explain import explain

        return explain(self, x, max_rules)

    def rules(self) -> list[Rule]:
        """Return the clauses in the user's terms, with intervals of raw features."""
        from ethereal.model.rules import rules

        return rules(self)

    def describe(self, max_rules: int | None = None, label: Any = None) -> str:
        """Return readable rules per class, at most `max_rules` of each.

        Those come first whose votes differ most on the typical rows, or the heaviest where there are no rows.

        Parameters
        ----------
        max_rules
            Rules of each class at most. None means all.
        label
            The class whose rules are returned. None means all classes.
        """
        from ethereal.model.rules import describe

        return describe(self, max_rules, label)

    def literal_counts(self, *, weighted: bool = False) -> NDArray[np.int64]:
        """Return how many clauses include each literal, classes x polarity (positive, negative) x literals.

        A clause that votes on several classes is counted at each of them. With `weighted`, a clause of weight
        3 counts three times, like the three equal clauses that it stands for.

        >>> model = Model([0, 1], [0, 1, 2], [[3, 0], [0, -1]], n_booleans=1, classes=["a", "b"])
        >>> model.literal_counts().tolist()
        [[[1, 0], [0, 0]], [[0, 0], [0, 1]]]
        >>> model.literal_counts(weighted=True)[0].tolist()
        [[3, 0], [0, 0]]
        """
        return self.clauses.literal_counts(weighted=weighted)

    def feature_importances(self) -> NDArray[np.float64]:
        """Return how much each column of the input decides, as shares of 1 in the order of the columns.

        A column counts by the votes between classes that move when it takes its value from another of the
        typical rows. Without typical rows every clause that has a column counts, by its votes. The shares are
        0 when no vote can move.

        >>> model = Model(
        ...     [0, 0, 1], [0, 1, 3], [[3, 0], [0, 1]], n_booleans=2, classes=["a", "b"],
        ...     typical_rows=[[0], [1], [2], [3]])
        >>> model.feature_importances().round(3)
        array([0.875, 0.125])
        """
        from ethereal.model.importance import feature_importances

        return feature_importances(self)

    def _repr_html_(self) -> str:
        """Return the model as notebooks show it."""
        from ethereal.model.html import to_html

        return to_html(self)

    def narrow(self) -> Model:
        """Return the model without the features of windows that no clause asks for, with the same votes.

        Kernels go in whole groups, such as all `haar` features of `az`. A model without a front end is
        returned as it is.
        """
        from ethereal.model.narrowing import narrow

        return narrow(self)[0]

    def simplify(self) -> Model:
        """Return a smaller model with the same class sums on every input that the Booleanizer can produce.

        >>> from ethereal import Booleanizer
        >>> booleanizer = Booleanizer(thresholds=[1.0, 2.0]).fit([[0.0]])
        >>> model = Model([0, 1], [0, 2], [[1]], n_booleans=2, classes=["x"], booleanizer=booleanizer)
        >>> model.simplify().n_includes  # 1 and 2 are thresholds of one feature
        1
        """
        from ethereal.model.simplify import simplify

        return simplify(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file (by custom `.etm`), all or nothing."""
        from ethereal.model.file import save

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Model:
        """Read a model written by `save`. Raise `ModelFileError` when it is damaged, foreign or too new.

        >>> import os, tempfile
        >>> model = Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(os.path.join(folder, "m.etm"))
        ...     Model.load(os.path.join(folder, "m.etm")) == model
        True
        """
        from ethereal.model.file import load

        return load(path)

    def to_bytes(self, code: Literal["redress", "compact"] = "compact") -> bytes:
        """Encode the clauses for a device: "redress" words or the dense "compact" code."""
        from ethereal.model import codes

        return codes.to_bytes(self, code)

    @staticmethod
    def from_bytes(data: bytes) -> Model:
        """Decode what `to_bytes` wrote, in either code."""
        from ethereal.model import codes

        return codes.from_bytes(data)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles go through the constructor, so that their arrays are read-only too.
        names = "classes", "front_end", "feature_names", "boolean_rates", "typical_rows", "temperature"
        kept = {name: getattr(self, name) for name in names}
        kept.update(booleanizer=self.fitted, provenance=dict(self.provenance))
        parts = {name: getattr(self, name) for name in ("output", "seen", "early", "deployment")}
        return _copied, (self.clauses, parts, kept)

    def _with(self, **parts: Any) -> Model:
        """This model with other parts, each of them checked before."""
        model = Model.__new__(Model)
        own = {name: getattr(self, name) for name in ModelData.__annotations__}
        vars(model).update(own | ({"early": (), "deployment": None} if "clauses" in parts else {}) | parts)
        model._check_sizes()
        return model

    def _votes(self, booleans: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Votes per class of Boolean rows."""
        return self._engine.class_sums_of_booleans(booleans)

    @cached_property
    def _engine(self) -> Engine:
        return Engine(self)  # compiled at the first prediction, in less than a millisecond, and kept


def _copied(clauses: Clauses, parts: dict[str, Any], kept: dict[str, Any]) -> Model:
    parts["output"].labels.setflags(write=False)
    return Model.of(clauses, **kept)._with(**parts)
