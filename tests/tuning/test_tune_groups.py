"""Rows of one person, recording or batch validate together: `groups=` and `--group`."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import ethereal
from ethereal.base.splits import folds
from ethereal.cli import app
from ethereal.datasets.files import TableError, read_table
from ethereal.datasets.options import TableOptions
from ethereal.datasets.rows import split


@given(st.integers(1, 4), st.integers(4, 12), st.integers(0, 2**31 - 1), st.integers(1, 30))
def test_folds_keep_groups_whole(n_folds, n_groups, seed, rows_per_group):
    groups = np.repeat(np.arange(n_groups), 2 * rows_per_group)
    y = np.tile([0, 1], n_groups * rows_per_group)
    parts = folds(y, n_folds, 0.2, seed, groups)
    assert len(parts) == n_folds
    for held_out in parts:
        rest = np.delete(np.arange(len(y)), held_out)
        assert 0 < len(held_out) < len(y)
        assert not np.isin(groups[held_out], groups[rest]).any()
        assert set(y[rest]) == {0, 1}
    if n_folds > 1:
        assert sorted(np.concatenate(parts)) == list(range(len(y)))


@pytest.fixture(scope="module")
def people():
    """Ten people whose baselines differ: the first feature names the person, only the second the class."""
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(10), 40)
    y = rng.integers(0, 2, size=400)
    own_class = rng.integers(0, 2, size=10)  # what most rows of a person are
    y = np.where(rng.random(400) < 0.8, own_class[person], y)
    X = np.column_stack([person + rng.normal(0, 0.1, 400), y + rng.normal(0, 0.7, 400)])
    return X, y, person


@pytest.mark.slow
def test_accuracy_on_unseen_groups_is_lower(people):
    """Random folds know every person; whole groups do not, and tell what a stranger would get."""
    X, y, person = people
    quick = {"trials": 2, "folds": 2, "epochs": 10, "max_clauses": 40, "flash": "4k"}
    known = ethereal.tune(X, y, **quick)
    strangers = ethereal.tune(X, y, groups=person, **quick)
    assert strangers.accuracy < known.accuracy - 0.05


@pytest.mark.parametrize(
    "groups, folds, message",
    [
        (np.zeros(400), 2, r"groups.*\b1 different.*\b2\b"),
        (np.arange(400) % 3, 4, r"\b3 different.*\b4\b.*\(folds=4\)"),
        (np.zeros(399), 2, r"groups has shape \(399,\)"),
    ],
)
def test_bad_groups(people, groups, folds, message):
    X, y, _ = people
    with pytest.raises(ValueError, match=message):
        ethereal.tune(X, y, groups=groups, folds=folds, trials=1)


def test_a_label_of_one_group_only():
    with pytest.raises(ValueError, match=r"label 1\b"):
        folds(np.repeat([0, 0, 1], 10), 3, 0.2, 0, np.repeat([0, 1, 2], 10))


# --- the command


@pytest.fixture
def table(people, tmp_path):
    X, y, person = people
    lines = [f"{a:.3f},p{p},{b:.3f},{c}" for (a, b), c, p in zip(X, y, person, strict=True)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["base,person,signal,state", *lines]) + "\n")
    return path


def test_a_column_of_groups_is_no_feature_and_parts_the_rows(table, people):
    rows = read_table(str(table), TableOptions("state", group="person"))
    assert rows.feature_names == ("base", "signal")
    assert rows.groups.tolist() == [f"p{p}" for p in people[2]]
    parts = split(rows, 0.2, 0)
    assert len(parts.groups_train) == len(parts.y_train)
    tested = ~np.isin(rows.X[:, 0], parts.X_train[:, 0])
    assert np.array_equal(rows.X[tested], parts.X_test)
    assert not np.isin(rows.groups[tested], parts.groups_train).any()
    assert 0.1 <= tested.mean() <= 0.3
    assert split(rows, 0.0, 0).groups_train.tolist() == rows.groups.tolist()


def test_groups_of_npz_files_count_where_test_rows_are_of_others(people, tmp_path):
    X, y, person = people
    for test, expected in ((person > 7, person[person <= 7].tolist()), (np.arange(400) % 5 == 0, None)):
        np.savez(tmp_path / "people.npz", X=X, y=y, test=test, group=person)
        table = split(read_table(str(tmp_path / "people.npz")), 0.2, 0).groups_train
        assert (None if table is None else table.tolist()) == expected
    np.savez(tmp_path / "people.npz", X=X, y=y, group=person[:-1])
    with pytest.raises(TableError, match=r"group has shape \(399,\)"):
        read_table(str(tmp_path / "people.npz"))
    with pytest.raises(TableError, match="group="):
        read_table(str(tmp_path / "people.npz"), TableOptions(group="person"))


def run(*arguments):
    return CliRunner().invoke(app, ["tune", *map(str, arguments)])


@pytest.mark.slow
def test_command(table, tmp_path):
    quick = ("--label", "state", "--folds", 2, "--epochs", 4, "--max-clauses", 12, "--trials", 1, "--json")
    done = run(table, *quick, "--group", "person", "--out", tmp_path / "m.etm")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["split"] == "other groups, seed 0"
    assert told["test_rows"] == 80


@pytest.mark.parametrize(
    "options, message",
    [
        (("--group", "persn"), "--group.*'persn'.*mean 'person'?"),
        (("--group", "state"), "--group.*--label.*'state'"),
    ],
)
def test_command_with_bad_groups(table, tmp_path, options, message):
    done = run(table, "--label", "state", "--out", tmp_path / "m.etm", "--trials", 1, *options)
    assert done.exit_code == 1
    assert re.search(message, done.stderr)


def test_a_column_of_one_group(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("a,who,kind\n" + "".join(f"{i},me,{i % 2}\n" for i in range(20)))
    with pytest.raises(ValueError, match=r"group=.*one"):
        split(read_table(str(path), TableOptions("kind", group="who")), 0.2, 0)
    path.write_text("a,who,kind\n1,me,0\n2,,1\n")
    with pytest.raises(TableError, match="line 3: column 'who' is empty"):
        read_table(str(path), TableOptions("kind", group="who"))
    with pytest.raises(TableError, match=r"label=, drop=.*group="):
        read_table("digits", TableOptions(group="who"))


def test_groups_are_those_of_rows_and_features_have_their_own():
    X, y = np.random.default_rng(1).normal(size=(60, 7)), np.arange(60) % 2
    with pytest.raises(ValueError, match=r"entry.*\b7 features.*feature_groups"):
        ethereal.tune(X, y, groups=[0] * 7, trials=1)
    with pytest.raises(ValueError, match=r"groups.*\b1 different"):
        ethereal.tune(X, y, groups=np.zeros(60), folds=2, trials=1)
    with pytest.raises(ValueError, match="feature"):
        ethereal.tune(X, y, feature_groups=[0] * 6, trials=1)
