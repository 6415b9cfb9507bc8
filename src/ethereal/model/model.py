"""The trained machine that every layer after training sees.

A `Model` is a list of clauses, each an AND of literals with one small integer weight per class, and the
Booleanizer that makes the Boolean features. In a plain Tsetlin machine every clause has one weight, +1 or -1.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.features.feature_map import FeatureMap
from ethereal.features.front_end import FrontEnd
from ethereal.model import checks as checks
from ethereal.model.calibration import softmax
from ethereal.model.checks import Fitted
from ethereal.model.clauses import Clause as Clause
from ethereal.model.clauses import Clauses, plain_votes
from ethereal.model.deployment import Deployment
from ethereal.model.engine import SUPPORTS, Engine, input_matrix
from ethereal.model.needs import ANSWERS, FRAMED, PATCHES, Needs, NotSupported, Supports
from ethereal.model.output import Check, Classes, Number, checks_of
from ethereal.model.patch import Patch as Patch
from ethereal.model.patch import cell_map, clause_map, clause_names
from ethereal.model.seen import Drift, Seen
from ethereal.normal import Normal, NormalOptions

if TYPE_CHECKING:
    from ethereal.features.booleanizer import Booleanizer
    from ethereal.model.explain import ExplainedNumber, Explanation
    from ethereal.model.normal import NormalExplanation
    from ethereal.model.rules import Rule
    from ethereal.model.statistics import ClauseStatistics

DEFAULT_TEMPERATURE = 5.0  # of models that do not say theirs
_SHARES = replace(SUPPORTS, consumer="predict_proba", outputs=ANSWERS)
_UNKNOWN = Supports("with_unknown", front_ends=FRAMED, outputs=ANSWERS, patches=PATCHES, early=True)


class Model:
    """Immutable clauses with their Booleanizer, labels and provenance.

    Two models are equal when their clauses in order, labels, Booleanizer, feature names and what they know of
    normal rows are equal.
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
        Number of Boolean features. Literals run over `2 * n_booleans`. With a patch it is `patch.n_booleans`.
    classes
        Labels in the order of the class axis: texts, integers, floats or Booleans.
    output
        A `Number` in place of classes. The votes then have one column, and `predict` gives numbers.
    booleanizer
        Turns raw rows into Boolean rows. None when the input is Boolean already. The model keeps a copy.
    feature_names
        Names of the raw features (of the Booleans when there is no Booleanizer). With a patch, of the numbers
        of a cell.
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
    patch
        A `Patch`, when clauses are over a part of a row and fire if it matches anywhere.

    Examples
    --------
    The first clause is "a AND NOT b" and votes +1 for "yes". The second is "b" and votes -1 for "yes" and +2
    for "no".

    >>> clauses = {"literals": [0, 3, 1], "offsets": [0, 2, 3], "weights": [[0, 1], [2, -1]]}
    >>> model = Model(**clauses, n_booleans=2, classes=["no", "yes"], feature_names=["a", "b"])
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

    clauses: Clauses
    output: Classes | Number
    fitted: Fitted | None  # thresholds and names of the Booleanizer
    front_end: FrontEnd | None  # makes the features of raw windows
    feature_names: tuple[str, ...] | None
    boolean_rates: NDArray[np.float32] | None
    typical_rows: NDArray[np.uint8] | None
    temperature: float
    provenance: Mapping[str, Any]
    seen: Seen | None  # ranges and rates of the training rows
    normal: Normal | None  # centres of normal rows, and how far from them is still normal
    early: tuple[Check, ...]  # where a row may be answered without the clauses that follow
    deployment: Deployment | None  # bounds, chip and layout that it was pruned for

    def __init__(
        self,
        literals: ArrayLike,
        offsets: ArrayLike,
        weights: ArrayLike,
        *,
        n_booleans: int,
        classes: ArrayLike | None = None,
        output: Number | None = None,
        booleanizer: Booleanizer | Fitted | None = None,
        front_end: FrontEnd | None = None,
        feature_names: Sequence[str] | None = None,
        boolean_rates: ArrayLike | None = None,
        typical_rows: ArrayLike | None = None,
        temperature: float = DEFAULT_TEMPERATURE,
        provenance: Mapping[str, Any] | None = None,
        early: Iterable[Iterable[int]] = (),
        patch: Patch | None = None,
    ) -> None:
        if front_end is not None and feature_names is None:
            feature_names = front_end.names
        fitted = None if booleanizer is None else checks.fitted(booleanizer, feature_names)
        if fitted is not None:
            feature_names = fitted.names or feature_names
        if patch is not None and not isinstance(patch, Patch):
            raise TypeError(f"patch is {patch!r}. It must be an ethereal.model.Patch or None.")
        clauses = Clauses(literals, offsets, weights, n_booleans, patch=patch)
        vars(self).update(
            clauses=clauses,
            output=checks.output(classes, output),
            fitted=fitted,
            front_end=front_end,
            feature_names=None if feature_names is None else checks.names(feature_names),
            boolean_rates=None if boolean_rates is None else checks.rates(boolean_rates),
            typical_rows=(
                None if typical_rows is None else checks.bit_rows(typical_rows, clauses.n_row_booleans)
            ),
            temperature=checks.temperature(temperature),
            provenance=checks.provenance(provenance or {}),
            seen=None,
            normal=None,
            early=checks_of(early, len(clauses)),
            deployment=None,
        )
        self._check_sizes()
        if patch is not None:
            cell_map(patch, self.feature_map)

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
    def of(clauses: Clauses, **keywords: Any) -> Model:
        """Return the model of clauses that were made before, which are neither copied nor checked again.

        The keywords are those of `Model`, `classes` or `output` among them.

        >>> Model.of(Clauses([0], [0, 1], [[1]], n_booleans=1), classes=["x"]).n_clauses
        1
        """
        none = np.zeros((0, clauses.n_classes), dtype=np.int32)
        model = Model([], [0], none, n_booleans=clauses.n_booleans, patch=clauses.patch, **keywords)
        return model._with(clauses=clauses)

    @property
    def classes(self) -> NDArray[Any]:
        """Labels in the order of the class axis. A model whose answer is a number refuses."""
        return self.output.labels

    @property
    def is_number(self) -> bool:
        """Whether the answer is a number and not a class."""
        return isinstance(self.output, Number)

    @property
    def literals(self) -> NDArray[np.int32]:
        """Literals of all clauses, one clause after the other."""
        return self.clauses.literals

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where the literals of each clause begin, and the end of the last."""
        return self.clauses.offsets

    @property
    def weights(self) -> NDArray[np.int32]:
        """Votes, clauses x classes."""
        return self.clauses.weights

    @property
    def n_booleans(self) -> int:
        """Number of Boolean features that literals are about, of a patch where there is one."""
        return self.clauses.n_booleans

    @property
    def patch(self) -> Patch | None:
        """The part of a row that clauses look for anywhere. None where they look at whole rows."""
        return self.clauses.patch

    @property
    def n_clauses(self) -> int:
        """Clauses of all classes together, empty ones included."""
        return len(self.clauses)

    @property
    def n_classes(self) -> int:
        """Number of classes, which is that of columns of votes. It is 1 where the answer is a number."""
        return self.clauses.n_classes

    @property
    def is_constant(self) -> bool:
        """Whether every row gets the same answer, because nothing votes."""
        return self.n_clauses == 0 and self.output.kind not in ("normal", "linear number")

    @property
    def n_includes(self) -> int:
        """Included literals over all clauses."""
        return len(self.literals)

    @property
    def n_features(self) -> int:
        """Columns of the input, raw features or Booleans when there is no Booleanizer."""
        return self.clauses.n_row_booleans if self.fitted is None else self.fitted.feature_map.n_features

    @property
    def kind(self) -> str:
        """What the clauses come from, for texts: "Tsetlin machine", or "tree ensemble" after `from_trees`.

        >>> Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"]).kind
        'Tsetlin machine'
        """
        return "tree ensemble" if self.provenance.get("kind") == "tree ensemble" else "Tsetlin machine"

    @cached_property
    def booleanizer(self) -> Booleanizer | None:
        """Booleanizer that turns raw rows into Boolean rows. None when the input is Boolean already."""
        from ethereal.features.booleanizer import Booleanizer  # imports scikit-learn

        return None if self.fitted is None else Booleanizer.from_feature_map(*self.fitted)

    @cached_property
    def feature_map(self) -> FeatureMap:
        """What each Boolean says. Without a Booleanizer each is a feature of its own."""
        if self.fitted is not None:
            return self.fitted.feature_map
        return FeatureMap.of_booleans(self.clauses.n_row_booleans)

    @cached_property
    def clause_map(self) -> FeatureMap:
        """What each Boolean of a clause says, which is `feature_map` where there is no patch."""
        return self.feature_map if self.patch is None else clause_map(self.patch, self.feature_map)

    @cached_property
    def clause_names(self) -> tuple[str, ...]:
        """Names of the features of `clause_map`, such as `loud[3]` for the fourth frame of a patch."""
        return self.input_names if self.patch is None else clause_names(self.patch, self.channel_names)

    @property
    def channel_names(self) -> tuple[str, ...]:
        """Names of the numbers of a cell, those of the columns where there is no patch."""
        n_cells = 1 if self.patch is None else self.patch.n_cells
        return self.feature_names or tuple(f"x{f}" for f in range(self.n_features // n_cells))

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Names of the columns of the input, `feature_names` or x0, x1, ... when there are none."""
        if self.patch is None:
            return self.channel_names
        return tuple(f"{name}[{i}]" for i in range(self.patch.n_cells) for name in self.channel_names)

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """Names of the values 0, 1, ... of those features that are categories, by the feature's name.

        >>> Model([], [0], np.zeros((0, 1), int), n_booleans=2, classes=[0]).categories
        {}
        """
        return {self.input_names[f]: names for f, names in self.feature_map.categories.items()}

    @property
    def boolean_names(self) -> tuple[str, ...]:
        """Readable names of the Booleans, such as `age>54.5`, or the feature itself when it is Boolean."""
        if self.fitted is None and self.patch is None:
            return self.input_names
        return tuple(self.clause_map.boolean_names(self.clause_names))

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
        kind = self.n_booleans, self.clauses.meaning, self.patch
        return self._with(clauses=Clauses(literals, offsets, weights, *kind))

    def with_feature_names(self, feature_names: Sequence[str] | None) -> Model:
        """Return the model with other names of the raw features.

        >>> model = Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"])
        >>> model.with_feature_names(["height"]).boolean_names
        ('height',)
        """
        names = None if feature_names is None else checks.names(feature_names)
        fitted = None if self.fitted is None else self.fitted._replace(names=None)
        return self._with(feature_names=names, fitted=fitted)

    def with_typical_rows(self, typical_rows: ArrayLike | None) -> Model:
        """Return the model with other typical rows, packed as bits, or none."""
        n = self.clauses.n_row_booleans
        rows = None if typical_rows is None else checks.bit_rows(typical_rows, n)
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
        """Return the model with another scale of `predict_proba`."""
        return self._with(temperature=checks.temperature(temperature))

    def with_unknown(self, margin: int | None, label: Any = None) -> Model:
        """Return the model that does not answer rows whose first class leads by fewer votes than `margin`.

        `predict` then gives `label`, by default "unknown", -1 or NaN. None takes the margin off.
        """
        _UNKNOWN.check(self.needs)
        return self._with(output=checks.answering(self.classes, margin, label, bool(self.early)))

    def with_number(self, **parts: Any) -> Model:
        """Return the model with other parts of its `Number`, such as `half_width`.

        >>> model = Model([0], [0, 1], [[3]], n_booleans=1, output=Number(scale=0.5))
        >>> model.with_number(half_width=2, unit="kg").output
        Number(scale=0.5, offset=0.0, half_width=2.0, unit='kg', name='')
        """
        if not isinstance(self.output, Number):
            raise NotSupported("The answer of this model is a class, so it has no parts of a number.")
        return self._with(output=replace(self.output, **parts))

    def with_deployment(self, deployment: Deployment | None) -> Model:
        """Return the model with another record of what it was pruned for, or none.

        `prune`, `tune` and `run` write the record. `ethereal.export` and `ethereal.device.measure` keep its
        chip, its layout and its bound on flash unless they are given others.

        >>> from ethereal.model.deployment import Deployment
        >>> model = Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"])
        >>> model.with_deployment(Deployment(layout="compact", flash=4096)).deployment.layout
        'compact'
        """
        return self._with(deployment=deployment)

    def with_normal(
        self,
        X: Any,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        false_alarms: float = 0.01,
        n_centres: int | Literal["auto"] = "auto",
        n_features: int = 40,
        random_state: int = 0,
    ) -> Model:
        """Return the model that knows what is normal, or that does not with X=None.

        "Unknown" says that the clauses do not agree. "Not normal" says that a row is far from all training
        rows, whatever the clauses say. `novelty` then is the distance, and `normal.limit` the largest one
        that is normal. The record also has the rates of the answers, for `drift`.

        Parameters
        ----------
        X, y, groups
            Training rows, their labels, and the person or machine of each. Groups that are left out in turn
            give the limit. Without groups, parts of the rows do. Without labels, the model's answers count.
        false_alarms
            Share of normal rows that may be called not normal.
        n_centres, n_features, random_state
            See `EtherealDetector`. The features are those that clauses ask for, or all if these tell classes
            better that are left out in turn.

        Examples
        --------
        >>> from ethereal import EtherealClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = EtherealClassifier(epochs=5, random_state=0).fit(X, y).model_.with_normal(X, y)
        >>> bool(model.novelty([[9.0, 9.0, 0.1, 9.0]])[0] > model.normal.limit)
        True
        """
        if X is None:
            return self._with(normal=None, seen=None)
        from ethereal.model.normal import with_normal

        return with_normal(
            self, X, y, groups, NormalOptions(false_alarms, n_centres, n_features, random_state)
        )

    def ignoring_missing(self) -> Model:
        """Return the model that also answers rows with missing values where training had none.

        Every comparison with a missing value is false. `EtherealClassifier.predict` answers such rows in this
        way. An export of this model does it too, which takes some instructions more per row.

        >>> from ethereal import Booleanizer, Model
        >>> booleanizer = Booleanizer(thresholds=[1.0]).fit([[0.0]])
        >>> votes = {"n_booleans": 1, "classes": ["small", "large"], "booleanizer": booleanizer}
        >>> model = Model([0, 1], [0, 1, 2], [[0, 1], [1, 0]], **votes)
        >>> model.ignoring_missing().predict([[2.0], [float("nan")]])
        array(['large', 'small'], dtype='<U5')
        """
        if self.fitted is None:
            return self
        tolerant = self.feature_map.with_missing(self.feature_map.missing, "ignore")
        return self._with(fitted=self.fitted._replace(feature_map=tolerant))

    def predict(self, X: ArrayLike, *, packed: bool = False, n_jobs: int | None = None) -> NDArray[Any]:
        """Return the label of the class with the most votes for each row, the first of them on a tie.

        A model whose answer is a number gives numbers in float32, and its class sums have one column.

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

    def explain(self, x: ArrayLike, max_rules: int | None = 10) -> Explanation | ExplainedNumber:
        """Explain why the model decides as it does on one row, and what would have to change.

        Of a number it tells what pushed the answer up and down, in the unit of the number.

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

    def explain_normal(self, x: ArrayLike, most: int = 5) -> NormalExplanation:
        """Explain why one row or window is normal or not, by the features that are far from their usual.

        `x` is one row of features, or one window. At most so many features are listed. The model is one of an
        `EtherealDetector`, or has `with_normal`.
        """
        from ethereal.model.normal import explain_normal

        return explain_normal(self, x, most)

    def rules(self) -> list[Rule]:
        """Return the clauses in the user's terms, with intervals of raw features."""
        from ethereal.model.rules import rules

        return rules(self)

    def describe(self, max_rules: int | None = None, label: Any = None) -> str:
        """Return readable rules of all classes or of `label`, at most `max_rules` of each, or all.

        The rules whose votes differ most on the typical rows come first. Without such rows, the heaviest do.
        """
        from ethereal.model.rules import describe

        return describe(self, max_rules, label)

    def clause_statistics(self, X: ArrayLike, y: ArrayLike) -> ClauseStatistics:
        """Return how often each clause fires on labelled rows, and how often it is right.

        >>> model = Model([0, 1], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=1, classes=["a", "b"])
        >>> model.clause_statistics([[1], [1], [0], [0]], ["a", "b", "b", "b"]).precision
        array([[0.5, nan],
               [nan, 1. ]])
        """
        from ethereal.model.statistics import clause_statistics

        return clause_statistics(self, X, y)

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
        0 when no vote can move. With a patch there is a share for each number of a cell. A clause then counts
        by its votes, and the more, the more even its chances of firing are.

        >>> model = Model(
        ...     [0, 0, 1], [0, 1, 3], [[3, 0], [0, 1]], n_booleans=2, classes=["a", "b"],
        ...     typical_rows=[[0], [1], [2], [3]])
        >>> model.feature_importances().round(3)
        array([0.875, 0.125])
        """
        from ethereal.model.rules import feature_importances

        return feature_importances(self)

    def _repr_html_(self) -> str:
        """Return the model as notebooks show it."""
        from ethereal.model.rules import to_html

        return to_html(self)

    def novelty(self, X: Any) -> NDArray[np.int64]:
        """Return how far each row is from what is normal. A row beyond `normal.limit` is not normal.

        Of a model from an older file that knows ranges alone, it is the number of features outside of their
        range, and a row with more than `seen.limit` is novel.
        """
        if self.normal is not None:
            from ethereal.model.normal import rows_of

            return self.normal.score(rows_of(self, X))
        return self._known_rows().outside(input_matrix(self, X))

    def drift(self) -> Drift:
        """Return a counter of the answers of a stream, which compares them with the rates of training."""
        return Drift(self._known_rows().rates)

    def _known_rows(self) -> Seen:
        if self.seen is None:
            raise ValueError(
                "the model does not know its training rows. Give them: model.with_normal(X, y, groups)."
            )
        return self.seen

    def drop_unused_kernels(self) -> Model:
        """Return the model without the features of windows that no clause asks for, with the same votes.

        Kernels go in whole groups, such as all `haar` features of `az`. A model without a front end is
        returned as it is.
        """
        from ethereal.model.simplify import drop_unused_kernels

        return drop_unused_kernels(self)[0]

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
        """Write the model to a file, usually with the ending `.etm`. The file is whole or not there."""
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

    def __iter__(self) -> Iterator[Clause]:
        return iter(self.clauses)

    def __repr__(self) -> str:
        what = "a number" if isinstance(self.output, Number) else f"{self.n_classes} classes"
        return (
            f"<Model: {what}, {self.n_clauses} clauses, {self.n_includes} includes, "
            f"{self.n_booleans} Booleans{'' if self.patch is None else f', a patch over {self.patch.over}'}>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        names = "clauses", "early", "output", "feature_names", "front_end", "normal"
        maps = [None if model.fitted is None else model.feature_map for model in (self, other)]
        return maps[0] == maps[1] and all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return hash(self.clauses)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{name} cannot be set, because a Model is immutable. Use with_clauses() or a new Model."
        )

    def _check_sizes(self) -> None:
        if isinstance(self.output, Number):
            checks.votes_of_number(self.clauses, self.output, bool(self.early))
            checks.line(self.output.line, self.fitted, self.front_end)
        else:
            self.clauses._check_shape(len(self.output.labels))
        n_booleans = self.clauses.n_row_booleans
        if self.fitted is not None and self.feature_map.n_booleans != n_booleans:
            n, what = self.feature_map.n_booleans, "n_booleans is" if self.patch is None else "rows have"
            raise ValueError(f"booleanizer gives {n} Booleans but {what} {n_booleans}")
        n_named = self.n_features // (1 if self.patch is None else self.patch.n_cells)
        if self.feature_names is not None and len(self.feature_names) != n_named:
            raise ValueError(f"{len(self.feature_names)} feature_names for {n_named} features")
        if self.front_end is not None:
            checks.front_end(self.front_end, self.fitted, self.patch)
        if self.seen is not None and self.is_number:
            raise NotSupported("A model whose answer is a number does not keep what training saw.")
        if self.seen is not None and len(self.seen.low) != self.n_features:
            raise ValueError(f"{len(self.seen.low)} ranges for {self.n_features} features")
        if self.normal is not None and self.normal.features[-1] >= self.n_features:
            raise ValueError(f"what is normal has feature {self.normal.features[-1]} of {self.n_features}")
        if self.output.kind == "normal" and (self.normal is None or self.n_classes != 2):
            raise ValueError("a model that answers whether a row is normal must know what is, and two labels")
        if self.boolean_rates is not None and len(self.boolean_rates) != n_booleans:
            raise ValueError(f"{len(self.boolean_rates)} boolean_rates for {n_booleans} Booleans")

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles go through the constructor, so that their arrays are read-only too.
        names = "front_end", "feature_names", "boolean_rates", "typical_rows", "temperature"
        kept = {name: getattr(self, name) for name in names}
        kept.update(booleanizer=self.fitted, provenance=dict(self.provenance))
        kept.update({"output": self.output} if isinstance(self.output, Number) else {"classes": self.classes})
        parts = {name: getattr(self, name) for name in ("output", "seen", "normal", "early", "deployment")}
        return _copied, (self.clauses, parts, kept)

    def _with(self, **parts: Any) -> Model:
        """This model with other parts, each of them checked before."""
        model = Model.__new__(Model)
        vars(model).update({name: getattr(self, name) for name in Model.__annotations__})
        if "clauses" in parts:  # neither early answers nor bounds hold for others
            vars(model).update(early=(), deployment=None)
        vars(model).update(parts)
        model._check_sizes()
        return model

    def _votes(self, booleans: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Votes per class of Boolean rows."""
        return self._engine.class_sums_of_booleans(booleans)

    @cached_property
    def _engine(self) -> Engine:
        return Engine(self)  # compiled at the first prediction, in less than a millisecond, and kept


def _copied(clauses: Clauses, parts: dict[str, Any], kept: dict[str, Any]) -> Model:
    if not isinstance(parts["output"], Number):
        parts["output"].labels.setflags(write=False)
    return Model.of(clauses, **kept)._with(**parts)
