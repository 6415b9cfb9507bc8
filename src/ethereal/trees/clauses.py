"""Trees to a Model: a clause per leaf, with its votes for all classes.

A leaf is the AND of the tests on its path. Of several tests of a feature only the narrowest are literals. A
missing value makes every comparison false, which is the left side. Where a tree sends it to the right, the
leaves below are written twice, once for "above the threshold" and once for "is missing".

A feature with categories has a Boolean for each code and one for all codes below and above. So "is in the
set" and "is not in the set" are both an AND of negations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ethereal.base.checks import check_integer
from ethereal.features.feature_map import Encoding, FeatureMap
from ethereal.features.packing import evenly
from ethereal.features.rounding import round_down, to_float32
from ethereal.model import Model
from ethereal.model.checks import Fitted
from ethereal.model.clauses import Clauses
from ethereal.model.output import MOST_SUM, Number
from ethereal.trees.plain import Ensemble, Tree

WIDE_VOTE, WIDEST_VOTE = 8191, 32767  # the latter is the most that layouts of the C take
MOST_CLAUSES = 100_000
MOST_CODES = 1000  # of a feature with categories
_MOST_VOTES = 2**31 - 1  # of a class over all clauses
_TYPICAL_ROWS, _TYPICAL_BYTES = 256, 1 << 16
_LARGEST = float(np.finfo(np.float32).max)

_TOO_LARGE = (
    f"A Model is made of fewer than {MOST_CLAUSES:,}. Train with fewer trees, or limit the leaves, such as "
    "by max_leaf_nodes=64 or min_samples_leaf=20."
)

Missing = Literal["auto"] | bool
_Never, _Maybe, _Surely = 0, 1, 2  # whether a value on a path is missing


class _Seen(NamedTuple):
    """What a path says about a feature: places of thresholds, a bit per bin, and whether it is missing."""

    low: int = -1  # the highest threshold that the value is above
    high: int = -1  # the lowest that it is not above
    bins: int = -1  # in which the value may be, of a feature with categories
    missing: int = _Never


def model_of(
    ensemble: Ensemble,
    X: NDArray[Any] | None = None,
    *,
    missing: Missing = "auto",
    votes: int = WIDE_VOTE,
) -> Model:
    """Return the trees as a Model, with a clause for each leaf that a row can reach.

    Parameters
    ----------
    ensemble
        The trees.
    X
        Rows of features, of which some become the model's typical rows. Exports place tests by them.
    missing
        Whether a row may have missing values. "auto" takes them in the features that lack them in X.
    votes
        The largest vote of a clause. Values of leaves are rounded to such whole numbers.

    Examples
    --------
    >>> tree = Tree([1, -1, -1], [2, -1, -1], [0, 0, 0], [0.5, 0, 0], [[0, 0], [1, 0], [0, 1]])
    >>> print(model_of(Ensemble([tree], np.array(["no", "yes"]), 1), votes=1).describe())
    class 'no': 0 clauses, 0 includes
    class 'yes': 2 clauses, 2 includes
      +1 IF x0 > 0.5
      -1 IF x0 <= 0.5
    """
    votes = check_integer("votes", votes, 1, WIDEST_VOTE)
    grown = [tree for tree in ensemble.trees if tree.left[0] >= 0]
    stumps = [tree.values[0] for tree in ensemble.trees if tree.left[0] < 0]
    constant = np.zeros(ensemble.n_columns) if ensemble.base is None else np.array(ensemble.base, float)
    constant = constant + np.sum(stumps, axis=0) if stumps else constant
    takes = _takes_missing(ensemble, X, missing)
    columns = Columns(ensemble, grown, takes)
    paths = list(_all_leaves(grown, columns))
    literals = [columns.literals(path) for _, _, path in paths]
    for (i, node, _), of_leaf in zip(paths, literals, strict=True):
        if not of_leaf:  # every row comes to this leaf, and none to another one of its tree
            constant = constant + grown[i].values[node]
    asked = [j for j, of_leaf in enumerate(literals) if of_leaf]
    number = [paths[j][0] for j in asked]  # of the tree of each clause
    if asked:
        literals = [literals[j] for j in asked]
        values = np.array([grown[i].values[node] for i, node, _ in (paths[j] for j in asked)])
    else:
        literals, number, values = columns.constant(), [0, 0], np.zeros((2, len(constant)))
    whole, answer, about = _answer(ensemble, values, constant, np.array(number), votes)
    rates, typical = (None, None) if X is None else _typical(columns.map, X)
    return Model.of(
        clauses_of(literals, whole, columns.map.n_booleans),
        **answer,
        booleanizer=Fitted(columns.map, ensemble.feature_names),
        feature_names=ensemble.feature_names,
        boolean_rates=rates,
        typical_rows=typical,
        provenance={
            "kind": "tree ensemble",
            "source": ensemble.source,
            "trees": len(ensemble.trees),
            "leaves": ensemble.n_leaves,
            **about,
        },
    )


def clauses_of(literals: Sequence[Sequence[int]], votes: NDArray[Any], n_booleans: int) -> Clauses:
    """Return leaves, each with the literals on its path, as clauses with whole votes."""
    offsets = np.cumsum([0, *map(len, literals)])
    flat = np.fromiter((one for of_leaf in literals for one in of_leaf), np.int32, int(offsets[-1]))
    return Clauses(flat, offsets, votes.astype(np.int32), n_booleans)


def decisive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values of leaves or rows, ... x classes, of which one decides where there are two classes.

    >>> decisive(np.array([[1.0, 3.0]]))
    array([[0., 2.]])
    """
    if values.shape[-1] != 2:
        return values
    return np.asarray(np.array([0.0, 1.0]) * (values[..., 1:] - values[..., :1]))


_Answer = tuple[NDArray[np.int64], dict[str, Any], dict[str, float]]  # votes, of the Model, of its provenance


def _answer(ensemble: Ensemble, values: NDArray[np.float64], constant: NDArray[np.float64],
            tree: NDArray[np.int64], votes: int) -> _Answer:  # fmt: skip
    """Return the votes of leaves, what the Model answers with them, and what is known of the rounding.

    `tree` has the number of each leaf's tree, and `constant` what every row has.
    """
    if ensemble.classes is None:
        try:
            whole, number, error = _whole_number(values[:, 0], float(constant[0]), tree, votes)
        except ValueError:
            largest = max(abs(constant[0]), np.abs(values).max())
            raise ValueError(
                f"the numbers of {ensemble.source}, such as {largest:.3g}, are too large or too small for "
                "float32. Train on labels in another unit."
            ) from None
        known = {"votes_per_unit": 1 / number.scale, "rounding": error}
        return whole[:, None], {"output": number}, known
    whole, scale = _whole_votes(decisive(values), decisive(constant), tree, votes, ensemble.whole)
    if ensemble.tie_last:
        whole[tree == tree[0], -1] += 1  # every row comes to one leaf of that tree
    temperature = float(f"{min(max(scale if ensemble.logits else scale / 2, 1e-6), 1e9):.6g}")
    return whole, {"classes": ensemble.classes, "temperature": temperature}, {"votes_per_unit": scale}


def _whole_votes(values: NDArray[np.float64], constant: NDArray[np.float64], tree: NDArray[np.int64],
                 votes: int, keep_whole: bool) -> tuple[NDArray[np.int64], float]:  # fmt: skip
    """Return values of leaves as whole votes, leaves x classes, and the votes of 1.

    What each row has of a class is added, in whole votes, to the trees that vote for it.
    """
    trees = [np.unique(tree[values[:, c] != 0]) for c in range(len(constant))]
    trees = [several if len(several) else tree[:1] for several in trees]
    shares = [abs(amount) / len(several) for amount, several in zip(constant.tolist(), trees, strict=True)]
    largest = float((np.abs(values) + np.array(shares)).max())
    scale = min(votes, _MOST_VOTES // len(values)) / largest if largest > 0 else 1.0
    scale = float(np.floor(scale)) if keep_whole and scale >= 1 else scale
    whole = np.rint(values * scale).astype(np.int64)
    for c, several in enumerate(trees):
        each, rest = divmod(int(np.rint(constant[c] * scale)), len(several))
        whole[np.isin(tree, several), c] += each
        whole[tree == several[0], c] += rest
    return whole, scale


def _whole_number(values: NDArray[np.float64], constant: float, tree: NDArray[np.int64],
                  votes: int) -> tuple[NDArray[np.int64], Number, float]:  # fmt: skip
    """Return values of leaves as whole votes, the Number that they add up to, and the most that is rounded.

    The middle value of each tree goes to the offset, so that most votes are small. All votes of one sign may
    not add up to more than float32 holds.
    """
    values, trees = values.copy(), [tree == i for i in np.unique(tree)]
    for of_tree in trees:
        middle = float(np.median(values[of_tree]))
        values[of_tree] -= middle
        constant += middle
    largest = float(np.abs(values).max())
    one_sign = max(float(np.maximum(values, 0).sum()), float(np.maximum(-values, 0).sum()))
    # Each vote is rounded by half at most.
    step = max(largest / votes, one_sign / (MOST_SUM - len(values)))
    scale = 2 * Number.scale_of(step) if step > 0 else 1.0
    whole = np.rint(values / scale).astype(np.int64)
    number = Number(scale=scale, offset=constant)
    rounded = np.abs(whole * scale - values)
    error = abs(number.offset - constant) + sum(float(rounded[of_tree].max()) for of_tree in trees)
    return whole, number, error


def _takes_missing(ensemble: Ensemble, X: NDArray[Any] | None, missing: Missing) -> NDArray[np.bool_]:
    """Return which features may be missing."""
    if isinstance(missing, bool):
        return np.full(ensemble.n_features, missing)
    if missing != "auto":
        raise ValueError(f'missing is {missing!r}. It must be "auto", True or False.')
    if X is None:
        return np.zeros(ensemble.n_features, dtype=bool)
    return np.asarray(np.isnan(X).any(axis=0))


class Columns:
    """The Booleans of an ensemble, and what a path becomes in them."""

    def __init__(self, ensemble: Ensemble, trees: Sequence[Tree], takes_missing: NDArray[np.bool_]) -> None:
        n = ensemble.n_features
        self._is_float64 = ensemble.float64_rows
        numbers: list[set[float]] = [set() for _ in range(n)]
        codes: dict[int, int] = {}
        for tree in trees:
            listed = np.zeros(len(tree.left), dtype=bool)
            for node, test in tree.listed.items():
                f = int(tree.feature[node])
                codes[f] = max(codes.get(f, 0), *test.codes, 0)
                listed[node] = True
            inner = ~tree.is_leaf & ~listed
            if np.isnan(tree.threshold[inner]).any():
                raise ValueError(f"a threshold of {ensemble.source} is not a number. Is the file whole?")
            cuts = self.rounded(tree.threshold[inner])
            for f, t in zip(tree.feature[inner].tolist(), cuts, strict=True):
                numbers[f].add(t)
        for f in sorted(codes):
            if numbers[f]:
                raise ValueError(f"feature {f} is tested as a number and as a category, which cannot be both")
            if codes[f] >= MOST_CODES:
                raise ValueError(
                    f"feature {f} has the category {codes[f]}. A Model of trees takes categories that are "
                    f"whole numbers from 0 to {MOST_CODES - 1}. Number them anew before you train."
                )
        self.codes = codes  # the highest of each feature with categories
        cuts_of = [sorted(t for t in of_feature if abs(t) <= _LARGEST) for of_feature in numbers]
        for f, highest in codes.items():
            cuts_of[f] = [code - 0.5 for code in range(highest + 2)]
        encoding: list[Encoding] = ["onehot" if f in codes else "thermometer" for f in range(n)]
        ends = np.cumsum([0, *map(len, cuts_of)])
        flat = np.array([t for of_feature in cuts_of for t in of_feature])
        self.map = FeatureMap(flat, ends, takes_missing, encoding)
        self.places = [{t: i for i, t in enumerate(of_feature)} for of_feature in cuts_of]
        self.first = self.map.boolean_offsets.tolist()
        self.takes = takes_missing.tolist()

    def rounded(self, thresholds: NDArray[np.float64]) -> list[float]:
        """Return thresholds for float32 values.

        Rows that are float32 in the library are compared exactly. Rows in float64 are rounded like their
        thresholds, so that a value on a threshold stays there.
        """
        if self._is_float64:
            return [float(t) for t in to_float32(thresholds)]
        down = round_down(thresholds)
        return [float(t) for t in np.where(np.isfinite(thresholds), down, thresholds)]

    def place(self, feature: int, cut: float) -> int:
        """Return the place of a threshold among those of its feature, -1 for none."""
        return self.places[feature].get(cut, -1)

    def start(self, feature: int) -> _Seen:
        """Return what is known of a feature before any test."""
        bins = (1 << (self.codes[feature] + 3)) - 1 if feature in self.codes else -1
        return _Seen(bins=bins, missing=_Maybe if self.takes[feature] else _Never)

    def literals(self, path: dict[int, _Seen]) -> list[int]:
        """Return the literals of what a path says, ascending."""
        n, literals = self.map.n_booleans, []
        for f, seen in path.items():
            first, last = self.first[f], self.first[f + 1] - 1
            if seen.missing == _Surely:
                literals.append(last)
                continue
            if seen.low >= 0:
                literals.append(first + seen.low)
            if seen.high >= 0:
                literals.append(n + first + seen.high)
            if seen.bins >= 0:
                if seen.bins.bit_count() == 1 and seen.missing == _Never:
                    literals.append(first + seen.bins.bit_length() - 1)
                    continue
                every = self.codes[f] + 3
                literals += [n + first + i for i in range(every) if not seen.bins >> i & 1]
            if seen.low < 0 and self.takes[f] and seen.missing == _Never:
                literals.append(n + last)
        return sorted(literals)

    def constant(self) -> list[list[int]]:
        """Return the literals of two clauses of which one fires, for an ensemble without a test."""
        self.map = self.map.replace(
            thresholds=[0.0], threshold_offsets=[0, *[1] * self.map.n_features], encoding="thermometer"
        )
        self.first = self.map.boolean_offsets.tolist()
        return [[self.map.n_booleans], [0]]


class Counted(Columns):
    """The Booleans of a map that is there. Trees ask its columns how many thresholds are exceeded."""

    def __init__(self, feature_map: FeatureMap, starts: NDArray[np.intp]) -> None:
        self.map, self.codes, self.takes = feature_map, {}, [False] * len(starts)
        self.first = [*starts.tolist(), feature_map.n_booleans]

    def rounded(self, thresholds: NDArray[np.float64]) -> list[float]:
        """Return the last count that does not exceed each threshold."""
        return [float(count) for count in np.floor(thresholds)]

    def place(self, feature: int, cut: float) -> int:
        """Return the threshold that is exceeded with one more than a count."""
        return int(cut)


def _all_leaves(trees: Sequence[Tree], columns: Columns) -> Iterator[tuple[int, int, dict[int, _Seen]]]:
    n_leaves = sum(tree.n_leaves for tree in trees)
    if n_leaves >= MOST_CLAUSES:
        raise ValueError(f"The trees have {n_leaves:,} leaves. {_TOO_LARGE}")
    every = (leaf for i, tree in enumerate(trees) for leaf in leaves_of(tree, i, columns))
    for n, leaf in enumerate(every):
        if n >= MOST_CLAUSES:
            raise ValueError(
                f"The trees have {n_leaves:,} leaves, and those that ask for missing values take several "
                f"clauses. {_TOO_LARGE} Or give missing=False."
            )
        yield leaf


def leaves_of(tree: Tree, number: int, columns: Columns) -> Iterator[tuple[int, int, dict[int, _Seen]]]:
    """Yield the number of the tree, a leaf that a row can reach, and what its path says. Left comes first."""
    left, right, feature = tree.left.tolist(), tree.right.tolist(), tree.feature.tolist()
    cuts, sends_right = columns.rounded(tree.threshold), tree.missing_right.tolist()
    open_nodes: list[tuple[int, dict[int, _Seen]]] = [(0, {})]
    while open_nodes:
        node, path = open_nodes.pop()
        if left[node] < 0:
            yield number, node, path
            continue
        f = feature[node]
        seen = path.get(f) or columns.start(f)
        sides = _sides(seen, columns, f, cuts[node], tree, node, sends_right[node])
        for child, after in zip((right[node], left[node]), reversed(sides), strict=True):
            open_nodes += [(child, {**path, f: one}) for one in after]


def _sides(
    seen: _Seen, columns: Columns, f: int, cut: float, tree: Tree, node: int, sends_right: bool
) -> tuple[list[_Seen], list[_Seen]]:
    """Return what is known of a feature on the left and on the right of a test, in parts that exclude."""
    if seen.missing == _Surely:
        return ([], [seen]) if sends_right else ([seen], [])
    stays_left = seen.missing if not sends_right else _Never
    lefts: list[_Seen] = []
    rights: list[_Seen] = []
    if node in tree.listed:
        test = tree.listed[node]
        listed = sum(1 << (code + 1) for code in test.codes)
        goes = listed if test.go_right else ~listed
        for bins, stays, side in (
            (seen.bins & ~goes, seen.missing if not sends_right else _Never, lefts),
            (seen.bins & goes, seen.missing if sends_right else _Never, rights),
        ):
            if bins:
                side.append(_Seen(bins=bins, missing=stays))
            elif stays:
                side.append(_Seen(missing=_Surely))
        return lefts, rights
    # Above all thresholds or below all, where a value never comes, there is no threshold to ask for.
    place = columns.place(f, cut)
    if abs(cut) <= _LARGEST:
        high = place if seen.high < 0 else min(seen.high, place)
        if seen.low < high:
            lefts.append(seen._replace(high=high, missing=stays_left))
        low = max(seen.low, place)
        if seen.high < 0 or low < seen.high:
            rights.append(_Seen(low, seen.high))
    elif cut > 0:
        lefts.append(seen._replace(missing=stays_left))
    else:
        rights.append(seen._replace(missing=_Never))
    if not lefts and seen.missing and not sends_right:
        lefts.append(_Seen(missing=_Surely))
    if seen.missing and sends_right:
        rights.append(_Seen(missing=_Surely))
    return lefts, rights


def _typical(feature_map: FeatureMap, X: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return the share of rows in which each Boolean is true, and some rows as bits."""
    names = [f"x{f}" for f in range(feature_map.n_features)]
    counts = np.zeros(feature_map.n_booleans)
    step = max(1, (1 << 24) // max(1, feature_map.n_booleans))
    for start in range(0, len(X), step):
        counts += feature_map.booleans(X[start : start + step], names).sum(axis=0)
    n_bytes = (feature_map.n_booleans + 7) // 8
    n_rows = min(_TYPICAL_ROWS, max(1, _TYPICAL_BYTES // max(n_bytes, 1)))
    some = feature_map.booleans(X[evenly(len(X), n_rows)], names)
    return counts / max(len(X), 1), np.packbits(some, axis=1, bitorder="little")
