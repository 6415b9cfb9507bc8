"""Tables as other programs write them: read right, or refused with the line and the remedy."""

import subprocess
import sys

import numpy as np
import pytest

from ethereal.datasets.charset import likely
from ethereal.datasets.files import read_table
from ethereal.datasets.options import SourceOptions, TableOptions
from ethereal.datasets.recordings import read_recordings
from ethereal.datasets.tables import TableError, listed
from says import says

ROWS = "".join(f"{i % 7},{i % 5},{'xy'[i % 2]}\n" for i in range(60))
BASE = "a,b,label\n" + ROWS


@pytest.fixture
def read(tmp_path):
    def reader(content, written_in="utf-8", **options):
        path = tmp_path / "t.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode(written_in))
        return read_table(str(path), TableOptions(**({"label": "label"} | options)))

    return reader


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ('1,2,"x', "line 62: a quote opens here and is never closed"),
        ('1,2,"x\n', "line 62: a quote opens here and is never closed"),
        ('1,2,"x\n3,4,y\n5,6,x\n', "line 62: a quote opens here and is never closed"),
        ('"1,2,x\n3,4,y\n', "line 62: a quote opens here and is never closed"),
        ('1,2,"x\n3,4,y\n5,6,x"\n', "line 62: a quote opens here and is closed in line 64, with whole rows"),
        ('1,2,"x\n3,4,y\n5,6,"x"\n', "line 62: a quote opens here and is closed in line 64"),
    ],
)
def test_a_quote_that_swallows_rows(read, end, told):
    with pytest.raises(TableError, match=told):
        read(BASE + end)


def test_a_quote_in_the_names(read):
    with pytest.raises(TableError, match=r"line 1\b.*quote.*closed"):
        read('"a,b,label\n' + ROWS)


def test_cells_of_several_lines_and_inches_are_no_fault(read):
    rows = read(
        'a,note,label\n1,"two\nlines",x\n2,"one, line",y\n3,5" pipe,x\n' * 1 + '4,"two\nlines",y\n' * 9
    )
    assert rows.categories == {1: ('5" pipe', "one, line", "two\nlines")}
    assert len(rows.y) == 12


@pytest.mark.parametrize(
    "text",
    [
        "# a logger, of 2024\n# second line\n" + BASE,
        "# a,b,label\n" + ROWS,
        "sep=;\n" + BASE.replace(",", ";"),
        "\ufeffsep=;\r\n" + BASE.replace(",", ";").replace("\n", "\r\n"),
        BASE.replace("\n", "\r"),
        " a , b , label \n" + ROWS,
    ],
)
def test_what_stands_before_the_names(read, text):
    rows = read(text)
    assert rows.feature_names == ("a", "b")
    assert rows.X.shape == (60, 2)
    assert rows.X[1].tolist() == [1, 1]


def test_lines_are_counted_with_those_before_the_names(read):
    with pytest.raises(TableError, match="line 64: column 'b' has 'low'"):
        read("# one\n# two\n" + BASE + "1,low,x\n")
    with pytest.raises(TableError, match="no rows below 2 lines of comments"):
        read("# one\n# two\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_marked_character_sets(read, encoding):
    assert read(BASE, encoding).X.shape == (60, 2)


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("1_000", "column 'a' has '1_000', which is not a number. If signs in it separate thousands"),
        ("\u0661\u0662", "column 'a' has '\u0661\u0662', which is not a number"),
        ("1e400", "column 'a' has '1e400', which is beyond the range"),
    ],
)
def test_cells_that_only_python_takes_for_numbers(read, cell, told):
    with pytest.raises(TableError, match=f"line 62: {told}"):
        read(BASE + f"{cell},2,x\n")
    with pytest.raises(TableError, match=f"line 2: {told}"):
        read("a,b,label\n" + f"{cell},2,x\n{cell},3,y\n" * 20)


def test_names_that_several_columns_have(read):
    text = "a,a,b,label\n" + "1,2,3,x\n4,5,6,y\n" * 20
    with pytest.raises(TableError, match=r"'a'.*once.*drop=\['a'\]"):
        read(text)
    rows = read(text, drop=["a"])
    assert rows.feature_names == ("b",)
    with pytest.raises(TableError, match="several columns are called that way"):
        read(text, label="a", drop=["b"])


def test_the_last_column_is_always_named(read):
    names = [f"c{i}" for i in range(30)]
    with pytest.raises(TableError, match=r"'c0', .*, \.\.\., 'label'\."):
        read(",".join([*names, "label"]) + "\n" + ",".join(["1"] * 30) + ",x\n", label="quality")
    assert listed(names).endswith("..., 'c29'")


@pytest.mark.parametrize("empty", ["", "NA"])
def test_an_empty_column_is_not_an_input(read, capsys, empty):
    rows = read("a,e,b,label\n" + f"1,{empty},2,x\n2,{empty},3,y\n" * 20)
    assert rows.feature_names == ("a", "b")
    assert rows.X.tolist()[:2] == [[1, 2], [2, 3]]
    says(capsys.readouterr().err, "column 'e'", "empty")
    with pytest.raises(TableError, match="no column to learn from has a value"):
        read("e,label\n" + f"{empty},x\n{empty},y\n" * 20)


def test_categories_beside_an_empty_column(read):
    rows = read("e,c,label\n" + ",red,x\n,blue,y\n" * 20)
    assert rows.feature_names == ("c",)
    assert list(rows.categories) == [0]


@pytest.mark.parametrize(
    ("value", "is_told"),
    [
        (lambda i: (i * 7919) % 100003, True),  # an id in no order
        (lambda i: f"{i * 0.02:.2f}", True),  # a clock with fractions
        (lambda i: (i * 7919) % 37, False),  # counts
        (lambda i: f"{np.sin(i):.6f}", False),  # a measurement, different in every row
    ],
)
def test_ids_and_clocks_are_told(read, capsys, value, is_told):
    read("z,b,label\n" + "".join(f"{value(i)},{i % 9},{'xy'[i % 2]}\n" for i in range(100)))
    assert ("drop=['z']" in capsys.readouterr().err) == is_told


WORDS = {
    "latin-1": "größe,länge",
    "cp1252": "weiß,“groß”,€",
    "cp1251": "масса,длина тела",
    "koi8-r": "масса,длина тела",
    "cp932": "温度,ラベル",
    "gb18030": "名称,重量,标签",
}


@pytest.mark.parametrize(("encoding", "words"), WORDS.items())
def test_the_likely_character_set(read, encoding, words):
    assert likely(words.encode(encoding)) == encoding
    names = words.replace("“", "").replace("”", "")
    with pytest.raises(TableError, match=f"encoding={encoding!r}"):
        read(f"{names},label\n".encode(encoding) + b"1,2,x\n")


def test_bytes_that_do_not_tell_their_character_set(read):
    with pytest.raises(TableError, match=r"cp1250.*cp1251.*gb18030") as error:
        read("žluťoučký,kůň,label\n1,2,x\n".encode("cp1250"))
    assert "seems to be" not in str(error.value)


def test_other_character_sets_are_read(read):
    assert read(BASE.replace("a", "масса"), "cp1251", label="lмассаbel", encoding="cp1251").X.shape == (60, 2)
    with pytest.raises(TableError, match=r"ascii.*Give.*encoding="):
        read((BASE + "1,2,ä\n").encode("latin-1"), encoding="ascii")


def recorded(tmp_path, names, clock):
    lines = [",".join([*names, "label"])]
    for recording in range(4):
        for i in range(70):
            values = [clock(i) if name in ("t_ms", "when") else (i * 7 + recording) % 11 for name in names]
            lines.append(",".join(map(str, [*values, "ab"[recording % 2]])))
    path = tmp_path / "r.csv"
    path.write_text("\n".join(lines) + "\n")
    return read_recordings(str(path), SourceOptions(label="label", window=32, kernels="stats"))


def test_a_clock_that_begins_anew_loses_no_samples(tmp_path, capsys):
    rows = recorded(tmp_path, ["t_ms", "ax"], lambda i: 20 * i)
    told = capsys.readouterr().err
    assert "lost" not in told
    assert rows.front_end.front_end_.axes == ("ax",)
    assert len(np.unique(rows.groups)) == 4


def test_an_axis_that_only_rises_is_told(tmp_path, capsys):
    rows = recorded(tmp_path, ["when", "ax"], lambda i: 20 * i)
    told = capsys.readouterr().err
    assert "drop=['when']" in told
    assert "drop=['ax']" not in told
    assert rows.front_end.front_end_.axes == ("when", "ax")


@pytest.mark.parametrize(
    ("rate", "length", "axes", "is_mel"),
    [(8000.0, 512, 1, True), (50.0, 512, 1, False), (None, 4096, 1, False), (8000.0, 512, 3, False)],
)
def test_sound_in_an_npz_gets_mel_bands(tmp_path, capsys, rate, length, axes, is_mel):
    X = np.random.default_rng(0).integers(-99, 99, (8, length, axes), dtype=np.int16)
    more = {} if rate is None else {"rate": rate}
    np.savez(tmp_path / "w.npz", X=X, y=np.arange(8) % 2, test=np.arange(8) > 5, **more)
    rows = read_recordings(str(tmp_path / "w.npz"), SourceOptions())
    assert ("rate=" in capsys.readouterr().err) == (rate is None)
    kernels = {kernel for kernel, _ in rows.front_end.front_end_.groups}
    assert (kernels == {"mel"}) == is_mel


@pytest.mark.slow
def test_an_error_while_arrow_reads_ahead_ends_the_process_well(tmp_path):
    """A thread that needed the interpreter at its end aborted it in one of six tries."""
    (tmp_path / "m.py").write_text(
        "import sys\nfrom ethereal.datasets.tables import open_table\n"
        "table = open_table('t.csv')\n"
        "for chunk in table.chunks([0, 1]):\n    print('error')\n    sys.exit(1)\n"
    )
    (tmp_path / "t.csv").write_text("a;b\n" + "12345;67890\n" * 2_000_000)
    for _ in range(3):
        done = subprocess.run([sys.executable, "m.py"], cwd=tmp_path, capture_output=True)
        assert done.returncode == 1, done.stderr
