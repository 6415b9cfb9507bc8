"""Ensembles of XGBoost and LightGBM as plain trees, read by treelite from an estimator or a file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal.base.package import lacks
from ethereal.trees.plain import Ensemble, Listed, Tree, refuse_link, refuse_several

_LEAF, _NUMBER, _CATEGORY = 0, 1, 2  # kinds of nodes of treelite
_BELOW, _NOT_ABOVE = 2, 3  # its comparisons, < and <=
_TASKS = {0: "classes", 1: "a number", 2: "classes", 3: "a rank", 4: "how odd a row is"}
_NO_CATEGORIES: dict[str, list[Any]] = {"enc": [], "feature_segments": [], "sorted_idx": []}


def treelite() -> Any:
    """Return the package, or say how to get it."""
    try:
        import treelite
    except ImportError:
        raise ImportError(lacks("reading trees of XGBoost and LightGBM", "treelite", "trees")) from None
    return treelite


def of_xgboost(booster: Any, source: str) -> Ensemble:
    """Return the trees of an `xgboost.Booster`. After an early stop these are the trees that answer."""
    best = booster.attr("best_iteration")
    used = booster if best is None else booster[: int(best) + 1]
    return of_xgboost_json(bytes(used.save_raw("json")), source)


def of_lightgbm(booster: Any, source: str) -> Ensemble:
    """Return the trees of a `lightgbm.Booster`."""
    names = _checked_text(booster.model_to_string(), source)
    return _plain(_loaded(source, treelite().frontend.from_lightgbm, booster), source, names, float64=True)


def of_file(path: Path) -> Ensemble:
    """Return the trees of a file of XGBoost, JSON or UBJSON, or of a text file of LightGBM."""
    with path.open("rb") as file:
        start = file.read(16)
    frontend = treelite().frontend
    if start.startswith(b"tree"):
        names = _checked_text(path.read_text(encoding="utf-8", errors="replace"), str(path))
        return _plain(
            _loaded(str(path), frontend.load_lightgbm_model, path), "LightGBM, a file", names, float64=True
        )
    if re.match(rb"\s*\{\s*\"", start):
        return of_xgboost_json(path.read_bytes(), "XGBoost, a file", str(path))
    if re.match(rb"\{[LliIU#$]", start) and path.read_bytes().find(b"gradient_booster") > 0:
        model = _loaded(str(path), frontend.load_xgboost_model, path, format_choice="ubjson")
        return _plain(model, "XGBoost, a file", None)
    raise ValueError(f"{path} {_NONE}")


_NONE = (
    "is not a file of trees. It must be what XGBoost saves as .json or .ubj, or what LightGBM saves as text. "
    "Pickles and joblib files are not read, because opening one executes code that is in it. Load yours in "
    "Python and call ethereal.from_trees."
)


def of_xgboost_json(data: bytes, source: str, name: str | None = None) -> Ensemble:
    """Return the trees of a model that XGBoost saved as JSON. `name` is what errors say."""
    name = name or source
    try:
        whole = json.loads(data)
        learner = whole["learner"]
        kind = learner["gradient_booster"]["name"]
        held = learner["gradient_booster"]
        model = held["gbtree"]["model"] if kind == "dart" else held["model"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(f"{name} {_NONE}") from None
    if kind not in ("gbtree", "dart"):
        raise ValueError(f'{name} is an XGBoost model of the booster "{kind}", which has no trees.')
    if isinstance(model, dict) and "cats" in model:  # names of categories, whose codes the trees test
        model["cats"] = _NO_CATEGORIES
    names = learner.get("feature_names") or None
    text = json.dumps(whole)
    read = _loaded(name, treelite().frontend.from_xgboost_json, text)
    return _plain(read, source, None if names is None else tuple(map(str, names)))


def _loaded(name: str, load: Any, *arguments: Any, **keywords: Any) -> Any:
    """Call a reader of treelite, whose errors become ours."""
    try:
        return load(*arguments, **keywords)
    except treelite().TreeliteError as error:
        # Its messages begin with a time and a place in its source.
        why = str(error).splitlines()[0].rpartition("Check failed: ")[2].strip()
        raise ValueError(f"treelite does not read {name}: {why}") from None


def _checked_text(text: str, name: str) -> tuple[str, ...] | None:
    """Return the names of features in a text of LightGBM, after a look at what treelite passes over."""
    if "max_feature_idx=" not in text or "\nend of trees" not in text:
        raise ValueError(f"{name} begins like a file of LightGBM but is not whole. Save it again.")
    if re.search(r"^is_linear=1$", text, re.MULTILINE):
        raise ValueError(f"{name} has linear models in its leaves. Train with linear_tree=False.")
    for line in re.findall(r"^decision_type=(.*)$", text, re.MULTILINE):
        if any(int(number) >> 2 & 3 == 1 for number in line.split()):
            raise ValueError(f"{name} takes zeros for missing values. Train with zero_as_missing=False.")
    match = re.search(r"^feature_names=(.*)$", text, re.MULTILINE)
    names = tuple(match[1].split(" ")) if match else ()
    is_default = all(name == f"Column_{f}" for f, name in enumerate(names))
    return None if is_default else names


def _plain(model: Any, source: str, names: tuple[str, ...] | None, float64: bool = False) -> Ensemble:
    """Return what treelite read as plain trees."""
    header = model.get_header_accessor()

    def field(name: str) -> NDArray[Any]:
        return np.asarray(header.get_field(name))

    task = _TASKS.get(int(field("task_type")[0]), "something else")
    if task not in ("classes", "a number"):
        raise ValueError(f"{source} answers {task}. Classifiers and regressors become a Model. Train one.")
    refuse_several(source, int(field("num_target")[0]), "labels" if task == "classes" else "numbers")
    if task == "a number":
        refuse_link(source, str(header.get_field("postprocessor")))
    width, n_features = int(field("num_class")[0]), int(field("num_feature")[0])
    n_columns = max(2, width) if task == "classes" else 1
    owner = field("class_id").astype(np.int64)
    # One value is for the second of two classes.
    of_tree = owner if width > 1 else np.full_like(owner, n_columns - 1)
    trees = [_tree(model.get_tree_accessor(i), int(of_tree[i]), n_columns) for i in range(model.num_tree)]
    if int(field("average_tree_output")[0]):
        rounds = max(1, len(trees) // max(1, len(set(owner.tolist()))))
        trees = [_scaled(tree, 1.0 / rounds) for tree in trees]
    scores = field("base_scores").astype(np.float64)
    base = np.zeros(n_columns)
    base[n_columns - len(scores) :] = scores
    return Ensemble(
        trees,
        np.arange(n_columns) if task == "classes" else None,
        n_features,
        names if names is not None and len(names) == n_features else None,
        base=base,
        float64_rows=float64,
        float32_sums=not float64,
        source=source,
    )


def _scaled(tree: Tree, factor: float) -> Tree:
    return Tree(
        tree.left,
        tree.right,
        tree.feature,
        tree.threshold,
        tree.values * factor,
        tree.missing_right,
        tree.listed,
    )


def _tree(accessor: Any, owner: int, n_columns: int) -> Tree:
    """Return a tree whose leaves have a value for the column `owner`, or one for each column."""

    def field(name: str) -> NDArray[Any]:
        return np.asarray(accessor.get_field(name))

    kind, left, right = field("node_type"), field("cleft").astype(np.int64), field("cright").astype(np.int64)
    is_leaf, is_number = kind == _LEAF, kind == _NUMBER
    comparison = field("cmp")
    if not np.isin(comparison[is_number], (_BELOW, _NOT_ABOVE)).all():
        raise ValueError("a tree compares with something else than < or <=, which no known library writes")
    threshold = field("threshold").astype(np.float64)
    # Below t in float32 is not above the number before t.
    before = np.nextafter(threshold.astype(np.float32), np.float32(-np.inf)).astype(np.float64)
    threshold = np.where(is_number & (comparison == _BELOW), before, threshold)
    values = np.zeros((len(kind), n_columns))
    begin, end = field("leaf_vector_begin").astype(np.int64), field("leaf_vector_end").astype(np.int64)
    vectors = field("leaf_vector")
    if len(vectors):
        for node in np.flatnonzero(is_leaf & (end > begin)).tolist():
            values[node] = vectors[begin[node] : end[node]]
    else:
        values[:, owner] = np.where(is_leaf, field("leaf_value"), 0.0)
    first, last = field("category_list_begin").astype(np.int64), field("category_list_end").astype(np.int64)
    codes, on_right = field("category_list"), field("category_list_right_child").astype(bool)
    listed = {
        node: Listed(frozenset(codes[first[node] : last[node]].tolist()), bool(on_right[node]))
        for node in np.flatnonzero(kind == _CATEGORY).tolist()
    }
    return Tree(
        np.where(is_leaf, -1, left),
        np.where(is_leaf, -1, right),
        np.where(is_leaf, 0, field("split_index")),
        threshold,
        values,
        ~field("default_left").astype(bool),
        listed,
    )
