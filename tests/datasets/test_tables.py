"""Files of rows: what is read from them, and what is said about those that cannot be read."""

import decimal
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ethereal import datasets
from ethereal.datasets import csv_table, tables
from ethereal.datasets.files import labels_from, read_table
from ethereal.datasets.options import TableOptions
from ethereal.datasets.tables import TableError, open_table


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(path, columns=None, **keywords):
    table = open_table(path, **keywords)
    chunks = list(table.chunks(range(table.n_columns) if columns is None else columns))
    return np.concatenate([chunk.X for chunk in chunks])


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n1,2.5,\n-3,1e3,inf\n",
        "a,b,c\r\n1,2.5,NA\r\n-3,1e3,inf\r\n",
        "a;b;c\n1;2.5;?\n\n-3;1000;inf",
        '\ufeff"a"\tb\tc\n 1 \t"2.5"\tnan\n-3\t1000\tInfinity\n',
    ],
)
def test_csv_in_its_dialects(tmp_path, text):
    path = write(tmp_path / "t.csv", text)
    assert open_table(path).names == ("a", "b", "c")
    np.testing.assert_array_equal(read(path), [[1, 2.5, np.nan], [-3, 1000, np.inf]])
    np.testing.assert_array_equal(read(path, [2, 0]), [[np.nan, 1], [np.inf, -3]])


def test_csv_of_truth_values(tmp_path):
    path = write(tmp_path / "t.csv", "a,b\ntrue,False\nTrue,false\n")
    assert read(path).dtype == bool
    assert read(path).tolist() == [[True, False], [True, False]]
    path = write(tmp_path / "t.csv", "a,b\ntrue,1\n,2\n")
    np.testing.assert_array_equal(read(path), [[1, 1], [np.nan, 2]])


def test_csv_without_header_and_with_nothing_else(tmp_path):
    path = write(tmp_path / "t.csv", "1,2\n3,4\n")
    with pytest.raises(TableError, match=r"'1,2'.*columns.*header=False"):
        open_table(path)
    assert open_table(path, header=False).names is None
    np.testing.assert_array_equal(read(path, header=False), [[1, 2], [3, 4]])
    assert list(open_table(write(tmp_path / "t.csv", "a,b\n")).chunks([0, 1])) == []
    assert list(open_table(write(tmp_path / "t.csv", "a,b")).chunks([0, 1])) == []
    np.testing.assert_array_equal(read(write(tmp_path / "t.csv", '"a\nb",c\n1,2\n')), [[1, 2]])


def test_csv_in_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_table, "_BLOCK_BYTES", 2000)
    lines = [f"{i},{i % 7}.5,k{i % 3}" for i in range(2000)]
    table = open_table(write(tmp_path / "t.csv", "\n".join(["a,b,kind", *lines, ""])))
    chunks = list(table.chunks([1, 0], 2))
    assert len(chunks) > 5
    assert [c.first_row for c in chunks] == np.cumsum([0, *[len(c.X) for c in chunks[:-1]]]).tolist()
    assert chunks[-1].share_read == 1.0
    X = np.concatenate([c.X for c in chunks])
    np.testing.assert_array_equal(X, [[i % 7 + 0.5, i] for i in range(2000)])
    assert np.concatenate([c.label for c in chunks]).tolist() == [f"k{i % 3}" for i in range(2000)]
    assert table.place(1234) == "line 1236"


@pytest.mark.parametrize(
    "text, message",
    [
        ("a,b\n1,2\n3\n4,5\n", r"line 3: 1\b.*\b2\. Mend"),
        ("a,b\n1,2\n3,4,5\n", r"line 3: 3\b.*\b2\. Mend"),
        ("a,b\n1,2\n3", r"line 3: 1\b.*\b2\b"),
        ("a,b\n1,2\n3,spam\n", "line 3: column 'b'.*'spam'"),
        (
            'a,b\n1,2\n\n"\n",2\nx,4\n',
            "line 5: column 'a' has '', which is not a number|line 6: column 'a' has 'x'",
        ),
        ('a,b\n1,2\n3,"4\n', r"line 3\b.*quote.*closed"),
        ("a,b\n1,2020-01-01\n", "line 2: column 'b' has '2020-01-01'"),
        ("a,b\n1,0x10\n", "line 2: column 'b' has '0x10'"),
        ("", "the file is empty"),
        ("\n1,2\n", "the first line is empty"),
    ],
)
def test_csv_that_cannot_be_read(tmp_path, text, message):
    with pytest.raises(TableError, match=message):
        read(write(tmp_path / "t.csv", text))


def test_no_table(tmp_path):
    with pytest.raises(TableError, match="no such file"):
        open_table(tmp_path / "t.csv")
    with pytest.raises(TableError, match=r"'.xlsx'"):
        open_table(write(tmp_path / "t.xlsx", ""))
    with pytest.raises(TableError, match="is not a Parquet file, or is damaged"):
        open_table(write(tmp_path / "t.parquet", "PAR1"))
    with pytest.raises(TableError, match=r"is not a .npy file of numbers, or is cut off"):
        open_table(write(tmp_path / "t.npy", "spam"))


def test_pyarrow_is_only_needed_where_it_is_used(tmp_path, monkeypatch):
    np.save(tmp_path / "t.npy", np.ones((2, 2)))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert read(tmp_path / "t.npy").tolist() == [[1, 1], [1, 1]]
    for name in ("t.csv", "t.parquet"):
        with pytest.raises(TableError, match=r"needs pyarrow\. Run: pip install pyarrow"):
            open_table(write(tmp_path / name, "a\n1\n"))


def test_parquet(tmp_path):
    frame = pd.DataFrame(
        {
            "int": pd.array([1, None, 3], dtype="Int16"),
            "float": np.array([0.5, np.nan, 2.5], np.float32),
            "bool": [True, False, True],
            "decimal": [decimal.Decimal("1.25"), decimal.Decimal("2.50"), None],
            "category": pd.Categorical([7, 8, 7]),
            "text": ["a", "b", "c"],
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    expected = [[1, 0.5, 1, 1.25, 7], [np.nan, np.nan, 0, 2.5, 8], [3, 2.5, 1, np.nan, 7]]
    np.testing.assert_array_equal(read(tmp_path / "t.parquet", range(5)), expected)
    assert read(tmp_path / "t.parquet", [2]).dtype == bool
    with pytest.raises(TableError, match=r"column 'text'.*\w*string"):
        read(tmp_path / "t.parquet")
    rows = read_table(str(tmp_path / "t.parquet"), TableOptions("text", drop=["int"]))
    assert rows.y.tolist() == ["a", "b", "c"]
    assert rows.feature_names == ("float", "bool", "decimal", "category")


def test_parquet_in_chunks_and_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_CHUNK_VALUES", 1 << 8)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.arange(1000.0), "b": np.ones(1000)}), path, row_group_size=100)
    chunks = list(open_table(path).chunks([0]))
    assert len(chunks) > 3
    assert np.concatenate([c.X for c in chunks])[:, 0].tolist() == list(range(1000))
    taken = [pa.total_allocated_bytes() for _ in open_table(path).chunks([0, 1])]
    assert max(taken) - taken[0] < 4e4  # no row group is kept
    data = bytearray(path.read_bytes())
    data[100:2000] = bytes(1900)
    with pytest.raises(TableError, match="damaged after row 0"):
        read(write(path, bytes(data)))


@pytest.mark.parametrize("order", "CF")
def test_npy_in_either_order(tmp_path, monkeypatch, order):
    monkeypatch.setattr(tables, "_CHUNK_VALUES", 1 << 8)
    matrix = np.asarray(np.arange(3000, dtype=np.int16).reshape(1000, 3), order=order)
    np.save(tmp_path / "t.npy", matrix)
    np.testing.assert_array_equal(read(tmp_path / "t.npy"), matrix)
    np.testing.assert_array_equal(read(tmp_path / "t.npy", [2, 0]), matrix[:, [2, 0]])
    assert next(open_table(tmp_path / "t.npy").chunks([0, 1], 2)).label.tolist()[:3] == [2, 5, 8]
    data = (tmp_path / "t.npy").read_bytes()
    with pytest.raises(TableError, match="cut off"):
        open_table(write(tmp_path / "cut.npy", data[:-1]))
    for wrong in (np.ones(3), np.array([["a"]])):
        np.save(tmp_path / "t.npy", wrong)
        with pytest.raises(TableError, match="must be a matrix of numbers"):
            open_table(tmp_path / "t.npy")


@pytest.mark.parametrize(
    "values, expected",
    [
        (["1", "2", "-3"], [1, 2, -3]),
        (["1", "2.5"], [1.0, 2.5]),
        (["1", "01"], ["1", "01"]),
        (["a", "1"], ["a", "1"]),
        ([True, False], [True, False]),
        (np.array(["x", "y"], dtype=object), ["x", "y"]),
        (["9" * 30, "1"], [float("9" * 30), 1.0]),
    ],
)
def test_labels(values, expected):
    assert labels_from(values).tolist() == expected
    assert labels_from(values).dtype.kind in "iufbU"


def test_read_table_from_csv(tmp_path):
    path = write(tmp_path / "birds.csv", "id,wing,kind,beak\n1,2.5,owl,\n2,3.5,tit,4\n3,1,owl,5\n")
    rows = read_table(str(path), TableOptions("kind", drop=["id"]))
    assert rows.name == "birds"
    assert rows.y.tolist() == ["owl", "tit", "owl"]
    assert rows.feature_names == ("wing", "beak")
    np.testing.assert_array_equal(rows.X, [[2.5, np.nan], [3.5, 4], [1, 5]])
    for label, drop, message in [
        (None, [], "with label=COLUMN. The columns are 'id', 'wing', 'kind', 'beak'"),
        ("kin", [], "label is 'kin', but there is no such column. Did you mean 'kind'?"),
        ("kind", ["ident"], "drop is 'ident', but there is no such column"),
        ("kind", ["id", "wing", "beak"], "no column is left to learn from"),
    ]:
        with pytest.raises(TableError, match=message.replace("?", r"\?")):
            read_table(str(path), TableOptions(label, drop=drop))
    with pytest.raises(TableError, match="has no rows"):
        read_table(str(write(tmp_path / "t.csv", "a,b\n")), TableOptions("b"))
    rows = read_table(str(write(tmp_path / "t.csv", "1,2,7\n3,4,8\n")), TableOptions("3", header=False))
    assert (rows.y.tolist(), rows.X.tolist(), rows.feature_names) == ([7, 8], [[1, 2], [3, 4]], ("1", "2"))
    with pytest.raises(TableError, match=r"give.*\b1\b.*\b3\b"):
        read_table(str(tmp_path / "t.csv"), TableOptions("kind", header=False))


def test_a_last_line_without_end_is_pointed_out(tmp_path, capsys):
    path = write(tmp_path / "t.csv", "a,b\n1,2\n3,4")
    assert read_table(str(path), TableOptions("b")).y.tolist() == [2, 4]
    assert "the last line has no end" in capsys.readouterr().err


def test_read_table_from_npz(tmp_path):
    X, y, path = np.arange(6).reshape(3, 2), np.array([0, 1, 0]), tmp_path / "t.npz"
    np.savez(path, X=X, y=y, class_names=["no", "yes"], feature_names=["a", "b"], test=[True, False, False])
    rows = read_table(str(path))
    assert rows.y.tolist() == ["no", "yes", "no"]
    assert rows.feature_names == ("a", "b")
    assert rows.test.tolist() == [True, False, False]
    for arrays, message in [
        ({"X": X}, "has the arrays X. It must have X and y"),
        ({"X": X[0], "y": y[:2]}, "X has dtype int64, shape"),
        ({"X": X, "y": y[:2]}, r"y has shape \(2,\)"),
        ({"X": X, "y": y, "test": y}, "test has dtype int64"),
        ({"X": X, "y": y, "feature_names": ["a"]}, "It must have 2 names"),
        ({"X": X, "y": y, "class_names": ["a"]}, "indices into the 1 class_names"),
    ]:
        np.savez(path, **arrays)
        with pytest.raises(TableError, match=message):
            read_table(str(path))
    with pytest.raises(TableError, match="labels in the array y"):
        read_table(str(path), TableOptions("label"))
    with pytest.raises(TableError, match="cannot be read as an npz file"):
        read_table(str(write(path, "spam")))


def test_read_table_by_name(tmp_path, monkeypatch):
    rows = read_table("digits")
    digits = datasets.load("digits")
    assert rows.y.tolist() == digits.y.tolist()  # class names are numbers
    np.testing.assert_array_equal(rows.test, digits.test)
    assert rows.image_shape == (8, 8)
    with pytest.raises(TableError, match=r"'digitts'.*mean 'digits'"):
        read_table("digitts")
    with pytest.raises(TableError, match=r"label=, drop=.*group="):
        read_table("digits", TableOptions("y"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TableError, match="no such file"):
        read_table("my.csv", TableOptions("y"))
