"""Labels that are numbers: what is taken for one, how such rows are split, and what is refused."""

import numpy as np
import pytest

from ethereal.datasets.files import are_numbers
from ethereal.datasets.options import SourceOptions, TableOptions
from ethereal.datasets.reading import read
from ethereal.datasets.rows import Rows, split

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("labels", "is_number"),
    [
        (RNG.normal(size=300), True),
        (RNG.integers(0, 3, 300), False),
        (RNG.integers(0, 3, 300) / 2, False),
        (np.arange(300) % 21, False),  # 21 classes, each as often
        (np.arange(300) % 21 + 1, False),
        (np.arange(300) % 21 + 2, True),
        (RNG.poisson(15, 3000), True),  # its ends are rare
        (RNG.integers(-10, 40, 3000), True),
        (np.array(["a", "b"] * 50), False),
    ],
)
def test_what_is_a_number(labels, is_number):
    assert are_numbers(labels, "auto", "y") == is_number
    assert not are_numbers(labels, "class", "y")


def table_of(tmp_path, labels):
    path = tmp_path / "readings.csv"
    rows = "".join(f"{i % 7},{i % 5},{label}\n" for i, label in enumerate(labels))
    path.write_text("a,b,temperature\n" + rows)
    return str(path)


def test_a_table_knows_that_its_label_is_a_number(tmp_path):
    path = table_of(tmp_path, np.round(np.arange(200) / 7, 2))
    rows = read(path, SourceOptions(label="temperature"))
    assert rows.is_number
    assert rows.label == "temperature"
    assert rows.y.dtype == np.float64
    with pytest.raises(ValueError, match=r"seems to be a measurement.*task=number"):
        read(path, SourceOptions(label="temperature", task="class"))
    with pytest.raises(ValueError, match="seems to be a measurement"):
        read(path, TableOptions(label="temperature"))
    whole = table_of(tmp_path, np.arange(200) % 3)
    assert not read(whole, SourceOptions(label="temperature")).is_number
    assert read(whole, SourceOptions(label="temperature", task="number")).y[2] == 2.0


@pytest.mark.parametrize(
    ("labels", "task", "message"),
    [
        (["warm", "cold"] * 20, "number", "has the label 'warm', which is not a number"),
        ([3] * 40, "number", "is 3 in every row"),
        ([1, 2] * 20, "numbers", "task is 'numbers'. It must be auto, class or number"),
    ],
)
def test_labels_that_do_not_fit_the_task(tmp_path, labels, task, message):
    with pytest.raises(ValueError, match=message):
        read(table_of(tmp_path, labels), SourceOptions(label="temperature", task=task))


def test_numbers_are_split_over_their_whole_range():
    y = np.sort(RNG.normal(size=400)) ** 3
    rows = split(Rows(np.zeros((400, 1)), y, is_number=True), 0.2, 0)
    assert len(rows.y_test) == 80
    for share in (0.1, 0.5, 0.9):
        assert abs((rows.y_test <= np.quantile(y, share)).mean() - share) < 0.06
    groups = np.arange(400) // 20 % 10
    grouped = split(Rows(np.zeros((400, 1)), y, groups=groups, is_number=True), 0.2, 0)
    assert not np.isin(grouped.groups_test, grouped.groups_train).any()


def test_arrays_and_data_sets_and_recordings(tmp_path):
    np.savez(tmp_path / "rows.npz", X=np.zeros((60, 2)), y=np.arange(60) / 7)
    assert read(str(tmp_path / "rows.npz"), SourceOptions()).is_number
    assert not read("digits", SourceOptions()).is_number
    with pytest.raises(ValueError, match="task=number is for files"):
        read("digits", SourceOptions(task="number"))
    with pytest.raises(ValueError, match="recordings have classes"):
        read(table_of(tmp_path, range(60)), SourceOptions(label="temperature", window=4, task="number"))
