"""Labelled rows for the commands that learn: a data set's name, or a file with a label column."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.messages import say
from ethereal.base.npz import NpzError, read_arrays, unpacked_bytes
from ethereal.datasets import catalogue
from ethereal.datasets.csv_table import CsvTable, unnamed
from ethereal.datasets.options import TableOptions
from ethereal.datasets.rows import Rows
from ethereal.datasets.tables import (
    NO_CATEGORIES,
    NULLS,
    Categories,
    Chunk,
    Room,
    Table,
    TableError,
    all_columns,
    all_rows,
    check_different,
    column_index,
    columns_named,
    is_missing,
    is_number,
    joined,
    open_table,
)

_DEFAULT = TableOptions()
# Different labels with fractions. Beyond it, and the root of the rows, they are measurements.
_MOST_FRACTIONS = _MOST_CLASSES_OF_NUMBERS = 20
_RAREST = 10  # times that the most frequent of such classes is more frequent than the rarest, at most
_FEWEST_OF_A_COUNT = 4  # different labels, more than which may be a count
_LONGEST_LABEL = 1000  # characters
_BLOCK = 1 << 16  # rows
_FEW = 20  # rows in which nothing odd is noticed in a column
_MOST_DIFFERENT = 0.9  # whole numbers that are measured repeat more often than this share
_STAMP = 1e8  # seconds since 1970, and milliseconds all the more, are above
_GROUP = re.compile(
    r"(^|[\W_])(person|subject|patient|user|participant|animal|session|recording|file|batch|lot)s?"
    r"([\W_]?(id|no|nr|num|number|name))?$",
    re.IGNORECASE,
)


def read_table(source: str, options: TableOptions = _DEFAULT) -> Rows:
    """Read a data set by name, or a CSV, Parquet or npz file.

    Parameters
    ----------
    source
        A path, or one of `ethereal.datasets.names()`. An npz file has arrays `X` and `y`, and perhaps `test`,
        `group`, `feature_names` and `class_names`.
    options
        How a CSV or Parquet file is read. It needs a column with labels.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "flowers.csv")
    ...     _ = path.write_text("width,kind,height\\n1.5,rose,3\\n0.5,tulip,4\\n")
    ...     rows = read_table(str(path), TableOptions("kind"))
    >>> rows.X, rows.y, rows.feature_names
    (array([[1.5, 3. ],
           [0.5, 4. ]]), array(['rose', 'tulip'], dtype='<U5'), ('width', 'height'))
    """
    path = Path(source)
    if not path.exists() and source in catalogue.names():
        return _data_set(source, options)
    if path.suffix.lower() == ".npz":
        return _npz(path, options)
    if not path.suffix and not path.exists():
        known = catalogue.names()
        near = difflib.get_close_matches(source, known, 1)
        others = f"Data sets are {', '.join(known)}.{catalogue.missing_sets()}"
        hint = f"Did you mean {near[0]!r}?" if near else others
        raise TableError(f"{source!r} is neither a file nor a data set. {hint}")
    table = open_table(path, header=options.header, encoding=options.encoding, decimal=options.decimal)
    return _read_rows(table, source, *_choose_columns(table, source, options), options)


def _choose_columns(table: Table, source: str, options: TableOptions) -> tuple[list[int], int, int | None]:
    """Columns of the features, of the label and of the groups."""
    if options.label is None:
        what = "say which column holds the labels with label=COLUMN"
        raise TableError(f"{source}: {what}. {all_columns(table)}")
    target = column_index(table, options.label, "label")
    grouped = None if options.group is None else column_index(table, options.group, "group")
    if grouped == target:
        raise TableError(f"{source}: group= and label= are both {options.label!r}. Name two columns.")
    left_out = {target, grouped, *columns_named(table, options.drop or ())}
    features = [i for i in range(table.n_columns) if i not in left_out]
    if not features:
        raise TableError(f"{source}: no column is left to learn from. {all_columns(table)}")
    check_different(table, features)
    return features, target, grouped


def _read_rows(
    table: Table,
    source: str,
    features: Sequence[int],
    target: int,
    grouped: int | None,
    options: TableOptions,
) -> Rows:
    """Rows of a file that have a label."""
    categories = table.categories(features)
    X, labels = all_rows(table, features, target, categories, large=options.large)
    assert labels is not None
    if isinstance(table, CsvTable):
        warn_of_unfinished_line(table)
    labelled = ~is_missing(labels)
    if not labelled.any():
        raise TableError(f"{source}: {table.column(target)} is empty in every row. It must hold the labels.")
    if not labelled.all():
        left = len(labels) - int(labelled.sum())
        say(f"note: {source}: {left} rows without a label are left out", err=True)
    labels = labels if labelled.all() else labels[labelled]
    if isinstance(table, CsvTable):
        _check_first_line(table, features, target, labels, categories)
    groups = None if grouped is None else _column(table, grouped)[labelled]
    y = labels_from(labels)
    del labels
    if is_number := are_numbers(y, options.task, f"{source}: {table.column(target)}"):
        y = y.astype(np.float64)
    else:
        _check_classes(f"{source}: {table.column(target)}", y)
        if options.task == "auto" and _may_be_a_count(y):
            what = f"{table.column(target)} may be a count. Give task=number to learn it as a number"
            say(f"note: {Path(source).name}: {what}, or task=class.", err=True)
        if _has_fractions(y):  # a classifier takes them for measurements
            y = y.astype(str)
    names = table.names
    if isinstance(table, CsvTable) and names is None:
        names = tuple(str(i + 1) for i in range(table.n_columns))
    features, X = _filled(table, features, X)
    rows = Rows(
        X if labelled.all() else X[labelled],
        y,
        groups=groups,
        feature_names=None if names is None else tuple(names[i] for i in features),
        categories={features.index(i): texts for i, texts in categories.items()},
        name=table.path.stem,
        is_number=is_number,
        label="" if table.names is None else table.names[target],
    )
    for remark in remarks(rows.X, y, rows.feature_names or (), rows.categories):
        if grouped is None or "group=" not in remark:
            say(f"note: {Path(source).name}: {remark}", err=True)
    return rows


def _filled(table: Table, features: Sequence[int], X: NDArray[Any]) -> tuple[list[int], NDArray[Any]]:
    """Leave out columns without a value, which would be inputs of the model that nothing is known of."""
    kept = [k for k in range(len(features)) if X.dtype.kind != "f" or not np.isnan(X[:, k]).all()]
    if len(kept) == len(features):
        return list(features), X
    empty = [table.column(features[k]) for k in range(len(features)) if k not in kept]
    if not kept:
        raise TableError(f"{table.path}: no column to learn from has a value. {all_columns(table)}")
    shown = f"{', '.join(empty[:3])}{f' and {len(empty) - 3} more' if len(empty) > 3 else ''}"
    are, them = ("is", "it") if len(empty) == 1 else ("are", "them")
    what = f"{shown} {are} empty in every row and left out. The model does not read {them}."
    say(f"note: {table.path.name}: {what}", err=True)
    return [features[k] for k in kept], X[:, kept]


def _check_first_line(
    table: CsvTable, features: Sequence[int], target: int, labels: NDArray[Any], categories: Categories
) -> None:
    """Refuse a first line that was taken for names and is a row.

    A row has a number where its column has numbers, and a category where it has categories. Names can be
    numbers, too, such as wavelengths. Those ascend, and the label's name is not a label.
    """
    if table.names is None:
        return
    named = [i for i in features if table.names[i] not in (*NULLS, unnamed(i))]
    heads = [table.names[i] for i in named if i not in categories]
    if not all(map(is_number, heads)):
        return
    numbers = [float(head) for head in heads]
    is_label = bool(heads or categories) and table.names[target] in set(labels.tolist())
    is_category = any(table.names[i] in names for i, names in categories.items())
    if is_label or is_category or any(a >= b for a, b in itertools.pairwise(numbers)):
        what = f"a row, not the names of the columns ({', '.join(table.names[:6])[:60]})"
        remedy = f"Give header=False and label={target + 1}, or add names."
        raise TableError(f"{table.path}: the first line seems to be {what}. {remedy}")


def are_numbers(y: NDArray[Any], task: str, where: str) -> bool:
    """Return whether labels are numbers to learn, rather than classes.

    "auto" takes these for numbers: more than 20 different values with fractions, and more than 20 whole ones.
    Whole ones that count up from 0 or 1, each of them about as often, are classes.

    >>> y = np.arange(300)
    >>> are_numbers(y / 7, "auto", "y"), are_numbers(y % 2, "auto", "y"), are_numbers(y % 30, "auto", "y")
    (True, False, False)
    >>> are_numbers(15 + y % 30, "auto", "y"), are_numbers(y % 2, "number", "y")
    (True, True)
    """
    if task not in ("auto", "class", "number"):
        raise ValueError(f"task is {task!r}. It must be auto, class or number.")
    are_numeric = y.dtype.kind in "iuf"
    if task == "number":
        if not are_numeric:
            text = next(label for label in y.tolist() if not isinstance(label, (int, float)))
            unit = _unit_of(y)
            remedy = "Give task=class" if unit is None else f"Leave out {unit!r} behind the numbers"
            raise TableError(f"{where} has the label {text!r}, which is not a number. {remedy}.")
        _check_numbers(where, y)
        return True
    if task == "class" or not are_numeric:
        return False
    values, counts = np.unique(y, return_counts=True)
    if len(values) <= _MOST_CLASSES_OF_NUMBERS:
        return False
    counts_up = values[0] in (0, 1) and values[-1] - values[0] == len(values) - 1 and not _has_fractions(y)
    is_number = not (counts_up and _RAREST * counts.min() >= counts.max())
    if is_number:
        _check_numbers(where, y)
    return is_number


def _may_be_a_count(y: NDArray[Any]) -> bool:
    """Whether labels are whole numbers from 0 or 1 up, the largest of which are rare.

    >>> _may_be_a_count(np.repeat(np.arange(6), [30, 60, 40, 20, 5, 1])), _may_be_a_count(np.arange(60) % 6)
    (True, False)
    """
    if y.dtype.kind not in "iu":
        return False
    values, counts = np.unique(y, return_counts=True)
    counts_up = values[0] in (0, 1) and len(values) > _FEWEST_OF_A_COUNT
    return bool(
        counts_up and counts[-1] * _RAREST < counts.max() and counts[-2:].sum() < counts[:2].sum() / 2
    )


def _unit_of(y: NDArray[Any]) -> str | None:
    """Return the unit that stands behind every label, None if there is none.

    >>> _unit_of(np.array(["24,8 kg", "3 kg"])), _unit_of(np.array(["no. 3", "4 kg"]))
    ('kg', None)
    """
    if y.dtype.kind not in "UO":
        return None
    matches = [re.fullmatch(r"[-+]?[\d.,]+\s*([^\d\s]\S*)", str(label)) for label in different(y)]
    units = {None if match is None else match[1] for match in matches}
    return units.pop() if len(units) == 1 else None


def _check_numbers(where: str, y: NDArray[Any]) -> None:
    if not np.isfinite(y).all():
        raise TableError(f"{where} has a number that is not finite. Mend it, or leave its row out.")
    if len(different(y)) == 1:
        raise TableError(f"{where} is {y[0]:g} in every row. There is nothing to learn.")


def _has_fractions(y: NDArray[Any]) -> bool:
    return y.dtype.kind == "f" and bool((y != np.round(y)).any())


def _check_classes(where: str, y: NDArray[Any]) -> None:
    """Refuse one label only, and labels that are measurements, because this is a classifier."""
    n = len(different(y))
    if n == 1:
        what = f"holds one label only, {y[0].item()!r}. A classifier needs at least two"
        raise TableError(f"{where} {what}. Name another column with label=, or add rows of another class.")
    if n > _MOST_FRACTIONS and _has_fractions(y):
        raise TableError(
            f"{where} has {n} different numbers with fractions, such as {y[y != np.round(y)][0]:g}. "
            "It seems to be a measurement, but a classifier needs classes. "
            "Give task=number to learn it as a number, or name another column."
        )
    if 2 * n > len(y) > _MOST_FRACTIONS:
        what = f"has {n} different values in {len(y)} rows. It seems to be a measurement or an id"
        needs = "but a classifier needs classes with several rows each"
        if (unit := _unit_of(y)) is not None:
            raise TableError(f"{where} has numbers with {unit!r} behind them. Leave that out in the file.")
        raise TableError(f"{where} {what}, {needs}. Give task=number, or name another column with label=.")


class TableOfRows(Table):
    """Rows or whole windows in memory as a table to predict, or the test rows where there is a split."""

    def __init__(self, rows: Rows, source: str) -> None:
        chosen = slice(None) if rows.test is None else rows.test
        self.path, self.names, self.n_columns = Path(source), rows.feature_names, rows.X.shape[-1]
        self._X, self._y = rows.X[chosen], rows.y[chosen] if len(rows.y) else None
        self.places = {name: values[chosen].tolist() for name, values in rows.places.items()}

    def chunks(
        self, columns: Sequence[int], label: int | None = None, categories: Categories = NO_CATEGORIES
    ) -> Iterator[Chunk]:
        """All rows at once."""
        if len(self._X):
            yield Chunk(self._X[:, list(columns)] if self._X.ndim == 2 else self._X, self._y, 0, 1.0)

    def place(self, row: int) -> str:
        """Which row or window it is."""
        return f"{'row' if self._X.ndim == 2 else 'window'} {row + 1}"


def labels_from(values: ArrayLike) -> NDArray[Any]:
    """Return labels as integers, else floats, else texts, whichever all of them are.

    >>> labels_from(["1", "2", "1"]), labels_from(["a", "2"])
    (array([1, 2, 1]), array(['a', '2'], dtype='<U1'))
    """
    array = np.asarray(values)
    if array.dtype.kind in "iub" or (array.dtype.kind == "f" and array.dtype.itemsize <= 8):
        return array
    is_object = array.dtype == object
    unique, codes = _numbered_texts(array) if is_object else np.unique(array.astype(str), return_inverse=True)
    for number in (np.int64, np.float64):
        try:
            numbers = unique.astype(number)
        except (ValueError, OverflowError):
            continue
        if not np.isfinite(numbers).all():  # "nan" is the name of a label
            continue
        if len(np.unique(numbers)) == len(unique):  # "1" and "01" are two labels
            return np.asarray(numbers[codes])
    return np.asarray(unique[codes])


def numbers_from(values: ArrayLike) -> NDArray[np.float64]:
    """Return labels as numbers, also those that a table holds as texts.

    >>> numbers_from(["1", "1.0", "20"])
    array([ 1.,  1., 20.])
    """
    array = np.asarray(values)
    try:
        return array.astype(np.float64)
    except (ValueError, TypeError):
        for i, value in enumerate(array.tolist()):
            try:
                float(value)
            except (ValueError, TypeError):
                raise TableError(
                    f"label {i + 1} is {value!r}, but the answer of the model is a number. Give the "
                    "column that holds the numbers as label=."
                ) from None
        raise


def _numbered_texts(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the different texts of objects, ascending, and the number of each object's text.

    An array of texts has room for the longest text in every row, so a long one is refused among many rows.
    """
    numbers = dict[str, int]()
    order = (numbers.setdefault(str(value), len(numbers)) for value in values)
    codes = np.fromiter(order, dtype=np.int32, count=len(values))
    longest = max(numbers, key=len, default="")
    if len(longest) > _LONGEST_LABEL:
        raise TableError(
            f"a label has {len(longest):,} characters ({longest[:20]!r}...). At most {_LONGEST_LABEL:,} are "
            "taken. Name the column of the labels with label=, or mend the quotes of the file."
        )
    unique = np.array(sorted(numbers), dtype=str)
    rank = np.empty(len(numbers), dtype=np.int32)
    rank[[numbers[text] for text in unique.tolist()]] = np.arange(len(numbers))
    return unique, rank[codes]


def warn_of_unfinished_line(table: CsvTable) -> None:
    """Say on stderr that the last line has no end, so that its last value may not be whole."""
    if table.ends_within_a_line():
        why = "the last line has no end. If it was cut off, its last value is wrong."
        say(f"warning: {table.path}: {why}", err=True)


def texts_of(table: Table, index: int, memory: Room | None = None) -> NDArray[Any]:
    """A column as it is written, None where a value is missing."""
    parts = []
    for chunk in table.chunks([], index):
        assert chunk.label is not None
        parts.append(chunk.label)
        if memory is not None:
            memory.take(parts[-1].nbytes)
    return joined(parts) if parts else np.empty(0, dtype=object)


def _column(table: Table, index: int) -> NDArray[Any]:
    """A column as it is written, every value there."""
    values = texts_of(table, index)
    if (missing := is_missing(values)).any():
        place = table.place(int(np.argmax(missing)))
        raise TableError(f"{table.path}, {place}: {table.column(index)} is empty. Every row needs a value.")
    return values


def _data_set(name: str, options: TableOptions) -> Rows:
    if options.label is not None or options.drop or options.group is not None:
        raise TableError(f"{name!r} is a data set with labels. label=, drop= and group= are for files.")
    if options.task == "number":
        raise TableError(f"{name!r} is a data set with classes. task=number is for files.")
    data = catalogue.load(name)
    y = labels_from(np.array(data.class_names)[data.y])
    return Rows(
        data.X, y, data.test, data.groups, data.feature_names, image_shape=data.image_shape, name=name
    )


def labelled_arrays(path: Path, options: TableOptions) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file, of which `y`, `test` and `groups` have an entry for each row of `X`.

    Groups may be called `group`, and labels may be numbers of `class_names`.
    """
    if options.label is not None or options.drop or options.group is not None:
        where = "an npz file has its labels in the array y and groups in groups"
        raise TableError(f"{path}: {where}. label=, drop= and group= are for tables and folders.")
    try:
        Room(path, options.large).take(unpacked_bytes(path))
        arrays = read_arrays(path)
    except NpzError as error:
        raise TableError(f"{path}: cannot be read as an npz file ({error})") from error
    if "X" not in arrays:
        raise TableError(f"{path}: has the arrays {', '.join(arrays) or '(none)'}. It must have X and y.")
    rows = arrays["X"].shape[:1]
    for name in ("y", "test", "group", "groups"):
        if name in arrays and arrays[name].shape != rows:
            what = f"{name} has shape {arrays[name].shape}"
            raise TableError(f"{path}: {what}. It must have an entry for each of {rows[0]} rows.")
    if "test" in arrays and arrays["test"].dtype != bool:
        raise TableError(f"{path}: test has dtype {arrays['test'].dtype}. Give a Boolean per row.")
    y, classes = arrays.get("y"), arrays.get("class_names")
    if y is not None and classes is not None:
        if y.dtype.kind not in "iu" or (len(y) and not 0 <= y.min() <= y.max() < len(classes)):
            raise TableError(f"{path}: y must hold indices into the {len(classes)} class_names")
        y = classes[y]
    if y is not None:
        arrays["y"] = labels_from(y)
    return {"groups": arrays.pop("group"), **arrays} if "group" in arrays else arrays


def _npz(path: Path, options: TableOptions) -> Rows:
    arrays = labelled_arrays(path, options)
    X, names = arrays["X"], arrays.get("feature_names")
    if "y" not in arrays:
        raise TableError(f"{path}: has the arrays {', '.join(arrays)}. It must have X and y.")
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise TableError(f"{path}: X has dtype {X.dtype}, shape {X.shape}. It must be a matrix of numbers.")
    if names is not None and names.shape != X.shape[1:]:
        raise TableError(f"{path}: feature_names has shape {names.shape}. It must have {X.shape[1]} names.")
    texts, y = None if names is None else tuple(map(str, names)), arrays["y"]
    is_number = are_numbers(y, options.task, f"{path}: y")
    y = y.astype(np.float64) if is_number else y
    groups = arrays.get("groups")
    return Rows(X, y, arrays.get("test"), groups, texts, name=path.stem, is_number=is_number)


def remarks(X: NDArray[Any], y: NDArray[Any], names: Sequence[str], categories: Categories) -> Iterator[str]:
    """Yield a sentence for each column that should perhaps not be learned from.

    >>> y = np.arange(40) % 2
    >>> list(remarks(np.arange(40.0)[:, None], y, ["row"], {}))
    ["column 'row' counts up, like an id or a time stamp. Give drop=['row'] unless new rows will have it."]
    """
    for f, name in enumerate(names):
        column = np.asarray(X[:, f], dtype=np.float64)
        if len(column) < _FEW or np.isnan(column).any():
            continue
        before, after = column[:-1], column[1:]
        is_clock = f not in categories and bool((before < after).all() or (before > after).all())
        is_whole = bool((column == np.floor(column)).all())
        remedy = f"Give drop=[{name!r}] unless new rows will have it."
        if is_clock and not is_whole:
            yield f"column {name!r} only rises or only falls, like a clock. {remedy}"
        if not is_whole:
            continue
        n_different = len(different(column))
        if is_clock:
            like = "a time stamp" if np.abs(column).min() > _STAMP else "an id or a time stamp"
            yield f"column {name!r} counts up, like {like}. {remedy}"
        elif f not in categories and n_different > _MOST_DIFFERENT * len(column):
            what = f"column {name!r} has {n_different:,} different whole numbers in {len(column):,} rows"
            yield f"{what}, like an id. If it is one, give drop=[{name!r}]."
        elif f in categories and n_different == len(column):
            yield f"column {name!r} is different in every row, like an id. Give drop=[{name!r}]."
        elif _is_group(name, column, y, n_different):
            what = f"column {name!r} looks like a person, file or batch"
            yield f"{what}. If new ones will come, give group={name!r}."


def different(values: NDArray[Any]) -> NDArray[Any]:
    """Return the different values, ascending, as `np.unique` does with several times the memory.

    >>> different(np.array([2, 1, 2]))
    array([1, 2])
    """
    parts = [np.unique(values[i : i + _BLOCK]) for i in range(0, len(values), _BLOCK)]
    return np.unique(np.concatenate(parts)) if parts else values[:0]


def _is_group(name: str, column: NDArray[np.float64], y: NDArray[Any], n_different: int) -> bool:
    """Whether the name says so, or each value is in one run of rows, with several labels within runs."""
    if not 2 < n_different <= len(column) // 2:
        return False
    starts = np.flatnonzero(np.diff(column, prepend=column[0] - 1))
    has_runs = len(starts) == n_different >= 5 and n_different <= len(column) // 5
    changes = np.flatnonzero(y[1:] != y[:-1]) + 1
    return _GROUP.search(name) is not None or (has_runs and bool((~np.isin(changes, starts)).any()))
