"""Tables as people have them: without names, in other character sets, with gaps and rare labels."""

import json
import re

import numpy as np
import pytest

from ethereal import EtherealClassifier, Model
from ethereal.datasets.files import labels_from, read_table
from ethereal.datasets.options import TableOptions
from ethereal.datasets.tables import TableError, open_table
from says import says

QUICK = ("--epochs", 3, "--clauses", 10)


def write(path, lines, encoding="utf-8"):
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return str(path)


def rows(n=60, labels=("no", "yes"), form="{:.1f},{:.1f},{}"):
    return [form.format(i * 7 % 11 + 0.5, i % 17 + 0.1, labels[i % 17 % len(labels)]) for i in range(n)]


def test_a_first_line_that_is_a_row_is_refused(tmp_path, call):
    path = write(tmp_path / "nh.csv", rows())
    for command in ("train", "tune"):
        said = call(command, path, "--label", "no", "-o", "m.etm", code=1).stderr
        assert "the first line seems to be a row" in said
        assert "--no-header and --label 3" in said
    assert not (tmp_path / "m.etm").exists()
    # A label that occurs once only, and numbers that do not ascend.
    with pytest.raises(TableError, match="seems to be a row"):
        read_table(write(tmp_path / "a.csv", ["5.1,3.5,rare", *rows()]), TableOptions("rare"))
    with pytest.raises(TableError, match=r"'1\.4'.*once"):
        read_table(write(tmp_path / "b.csv", ["1.4,1.4,no", *rows()]), TableOptions("no"))


def test_names_that_are_numbers(tmp_path):
    table = read_table(write(tmp_path / "spectra.csv", ["400,410,kind", *rows()]), TableOptions("kind"))
    assert table.feature_names == ("400", "410")
    assert len(table.y) == 60


@pytest.mark.slow
def test_no_header_everywhere(tmp_path, call):
    path = write(tmp_path / "nh.csv", rows())
    told = json.loads(
        call("train", path, "--no-header", "--label", 3, "-o", "m.etm", "--json", *QUICK).stdout
    )
    assert told["train_rows"] + told["test_rows"] == 60
    assert Model.load("m.etm").feature_names == ("1", "2")
    assert len(call("predict", "m.etm", path, "--no-header", "--label", 3).stdout.splitlines()) == 61
    call("measure", "m.etm", path, "--no-header", "--label", 3, "--layout", "compact")
    call("export", "m.etm", "--rows", path, "--no-header", "--label", 3)
    call("run", path, "--no-header", "--label", 3, "--quick", "--no-forest", *QUICK)
    call("report", "runs/nh")
    says(call("train", path, "--no-header", "--label", 4, "-o", "m.etm", code=1).stderr, "give", "1", "3")


def test_labels_called_na_are_labels_and_empty_ones_are_left_out(tmp_path, call):
    lines = ["a,b,kind", *rows(labels=("NA", "None", "nan")), "1,2,", "1,2,?"]
    table = read_table(write(tmp_path / "t.csv", lines), TableOptions("kind"))
    assert set(table.y.tolist()) == {"NA", "None", "nan"}
    assert table.X.shape == (60, 2)
    done = call("train", "t.csv", "--label", "kind", "-o", "m.etm", *QUICK)
    assert [line for line in done.stderr.splitlines() if line.startswith("note")] == [
        "note: t.csv: 2 rows without a label are left out"
    ]
    assert len(call("predict", "m.etm", "t.csv", "--label", "kind").stdout.splitlines()) == 63
    with pytest.raises(TableError, match=r"column 'kind'.*empty"):
        read_table(write(tmp_path / "e.csv", ["a,kind", "1,", "2,"]), TableOptions("kind"))
    assert labels_from(["1", "nan"]).tolist() == ["1", "nan"]


@pytest.mark.parametrize("encoding, charset", [("latin-1", "latin-1"), ("utf-16-le", "utf-16-le")])
def test_other_character_sets(tmp_path, call, encoding, charset):
    path = write(tmp_path / "t.csv", ["größe,b,art", *rows(labels=("früh", "spät"))], encoding)
    assert f"Give --encoding {charset}" in call("train", path, "--label", "art", "-o", "m.etm", code=1).stderr
    call("train", path, "--label", "art", "--encoding", charset, "-o", "m.etm", *QUICK)
    model = Model.load("m.etm")
    assert model.feature_names == ("größe", "b")
    assert model.classes.tolist() == ["früh", "spät"]
    done = call("predict", "m.etm", path, "--label", "art", "--encoding", charset)
    assert len(done.stdout.splitlines()) == 61
    assert "--encoding is 'klingon'" in call("predict", "m.etm", path, "--encoding", "klingon", code=1).stderr


def test_a_late_byte_of_another_character_set(tmp_path):
    """Beyond what is looked at when a file is opened."""
    lines = ["a,art", *["1,spring"] * 200_000, "2,spät"]
    path = write(tmp_path / "t.csv", lines, "latin-1")
    with pytest.raises(TableError, match=r"byte 1800\d\d\d \(0xe4\).*UTF-8.*encoding='latin-1'"):
        read_table(path, TableOptions("art"))


def test_decimal_comma(tmp_path):
    lines = ["a;b;kind", *(line.replace(".", ",") for line in rows(form="{:.1f};{:.1f};{}"))]
    path = write(tmp_path / "t.csv", lines)
    with pytest.raises(TableError, match=r"column 'a'.*'0,5'.*decimal=','"):
        read_table(path, TableOptions("kind", decimal="."))
    plain = write(tmp_path / "u.csv", ["a,b,kind", *rows()])
    for decimal in (",", "auto"):
        table = read_table(path, TableOptions("kind", decimal=decimal))
        assert np.array_equal(table.X, read_table(plain, TableOptions("kind")).X)
    with pytest.raises(TableError, match="decimal is 'x'"):
        open_table(path, decimal="x")


@pytest.mark.parametrize("cells", ["0.5;0,5", "1,234;2", "1,234,567;2"])
def test_commas_that_may_mean_something_else_are_asked_about(tmp_path, cells):
    """A number with a point stands beside them, or they may separate thousands."""
    path = write(tmp_path / "t.csv", ["a;b;kind", *(f"{cells};{'xy'[i % 2]}" for i in range(40))])
    with pytest.raises(TableError, match=r"decimal comma|thousands"):
        read_table(path, TableOptions("kind"))


def test_labels_have_decimal_commas_too(tmp_path):
    lines = [f"{i % 7},5;room {i % 3};{i * 0.37:.2f}".replace(".", ",") for i in range(300)]
    path = write(tmp_path / "t.csv", ["a;room;degrees", *lines])
    table = read_table(path, TableOptions("degrees", task="auto"))
    assert table.is_number
    assert np.allclose(table.y, np.arange(300) * 0.37, atol=0.005)
    labels = [chunk.label for chunk in open_table(path).chunks([0], label=2)]
    assert labels[0][10] == "3.70"


def test_a_measurement_is_not_a_label(tmp_path):
    lines = ["a,b,y", *(f"{i % 7},{i % 5},{i * 0.37:.2f}" for i in range(300))]
    with pytest.raises(TableError, match=r"column 'y'.*\b300 different.*fractions.*classifier"):
        read_table(write(tmp_path / "t.csv", lines), TableOptions("y"))
    halves = ["a,b,y", *(f"{i % 7},{i % 5},{i % 6 / 2}" for i in range(300))]
    y = read_table(write(tmp_path / "h.csv", halves), TableOptions("y")).y
    assert sorted(set(y.tolist())) == ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5"]
    many = ["a,b,y", *(f"{i % 7},{i % 5},{i % 30 / 7:.5f}" for i in range(3000))]
    with pytest.raises(TableError, match=r"\b30 different.*fractions"):
        read_table(write(tmp_path / "m.csv", many), TableOptions("y"))


def test_labels_of_halves_are_classes_in_every_command(tmp_path, call):
    path = write(tmp_path / "t.csv", ["a,b,y", *(f"{i % 7},{i % 5},{i % 2 / 2}" for i in range(70))])
    call("train", path, "--label", "y", "-o", "m.etm", *QUICK)
    shown = call("predict", "m.etm", path, "--label", "y", "--json", "--out", "p.csv").stdout
    assert json.loads(shown)["accuracy"] > 0.4
    call("prune", "m.etm", path, "--label", "y", "-o", "small.etm")


def test_measure_reads_the_columns_of_the_model_only(tmp_path, call):
    path = write(tmp_path / "t.csv", ["colour,a,b,kind", *(f"red,{line}" for line in rows())])
    call("train", path, "--label", "kind", "--drop", "colour", "-o", "m.etm", *QUICK)
    call("measure", "m.etm", path, "--label", "kind", "--layout", "compact")
    call("export", "m.etm", "--rows", path, "--label", "kind")


def test_too_many_labels_for_the_split(tmp_path, call):
    write(tmp_path / "t.csv", ["a,y", *(f"{i},l{i // 2}" for i in range(300))])
    said = call("train", "t.csv", "--label", "y", "-o", "m.etm", code=1).stderr
    says(said, "--test 0.2", "60", "300", "150 labels")
    assert "--test 0.5" in said
    call("train", "t.csv", "--label", "y", "-o", "m.etm", "--test", 0.5, "--epochs", 1, "--clauses", 2)


def test_a_label_with_one_row_is_learned_from(no_board, tmp_path, call):
    write(tmp_path / "t.csv", ["a,b,y", *rows(), "100,3,rare"])
    done = call("run", "t.csv", "--label", "y", "--quick", "--no-forest", *QUICK)
    says(done.stderr, "note: labels", "one", "'rare'")
    assert Model.load("runs/t/machine.etm").classes.tolist() == ["no", "rare", "yes"]


def test_labels_of_several_types():
    y = np.array([1, "a"] * 20, dtype=object)
    with pytest.raises(ValueError, match=r"y\[0\].*\b1\b.*y\[1\].*'a'.*texts"):
        EtherealClassifier.paper(epochs=1).fit(np.random.default_rng(0).random((40, 2)), y)


def with_column(name, values):
    """Lines of a table with one more column in front."""
    return [f"{name},a,b,kind", *(f"{v},{line}" for v, line in zip(values, rows(len(values)), strict=True))]


@pytest.mark.parametrize(
    "name, values, said",
    [
        ("day", [f"2026-01-{1 + i % 28:02}" for i in range(60)], r"dates.*times.*drop=\['day'\]"),
        ("clock", [f"{i % 24}:30" for i in range(60)], r"dates.*times.*drop=\['clock'\]"),
        ("my key", [f"k{i}" for i in range(80)], "80 different texts.*like an id.*drop=\\['my key'\\]"),
        ("c", [1.5] * 59 + ["x"], r"line 61: column 'c'.*'x'.*number.*drop=\['c'\]"),
    ],
)
def test_columns_that_are_refused_by_name(tmp_path, name, values, said):
    with pytest.raises(TableError, match=said):
        read_table(write(tmp_path / "t.csv", with_column(name, values)), TableOptions("kind"))


@pytest.mark.parametrize(
    "name, values, said",
    [
        ("row", range(60), r"'row'.*id.*stamp\. Give drop=\['row'\]"),
        ("ms", range(1_700_000_000, 1_700_000_060), r"'ms'.*stamp\. Give drop=\['ms'\]"),
        ("key", [f"k{i}" for i in range(60)], "'key'.*different.*id"),
        ("who", [i // 6 for i in range(60)], "'who'.*person.*batch.*group='who'"),
        ("subject_id", [i % 6 for i in range(60)], "'subject_id'.*person"),
        ("colour", ["red", "blue"] * 30, None),
        ("level", [i % 7 for i in range(60)], None),
    ],
)
def test_columns_that_are_remarked_on(tmp_path, capsys, name, values, said):
    path = write(tmp_path / "t.csv", with_column(name, list(values)))
    read_table(path, TableOptions("kind"))
    notes = " ".join(capsys.readouterr().err.split())
    assert notes == "" if said is None else re.search(said, notes)
    read_table(path, TableOptions("kind", group=name))
    assert capsys.readouterr().err == ""


def test_the_file_of_training_is_taken_by_every_command(tmp_path, call):
    lines = with_column("colour", ["red", "blue", ""] * 20)
    lines = [f"{line},{'day' if i == 0 else '2026-01-01'}" for i, line in enumerate(lines)]
    write(tmp_path / "t.csv", lines)
    call("train", "t.csv", "--label", "kind", "--drop", "day", "-o", "m.etm", *QUICK)
    assert Model.load("m.etm").categories == {"colour": ("blue", "red")}
    assert len(call("predict", "m.etm", "t.csv").stdout.splitlines()) == 61
    call("measure", "m.etm", "t.csv", "--layout", "compact")
    call("export", "m.etm", "--rows", "t.csv", "--drop", "day")
    write(tmp_path / "new.csv", [*lines[:3], lines[3].replace(",", "pink,", 1)])
    assert len(call("predict", "m.etm", "new.csv").stdout.splitlines()) == 4


@pytest.mark.slow
def test_a_table_with_texts_is_tuned_and_tuned_again_with_another_budget(tmp_path, call):
    rng = np.random.default_rng(0)
    lines = ["person,colour,rate [/s],wide,y"]
    for i in range(120):
        colour, rate = ("red", "blue", "green", "")[rng.integers(4)], round(float(rng.normal()), 2)
        label = "yes" if (colour == "red") ^ (rate > 0.3) else "no"
        lines.append(f"p{i % 8},{colour},{'' if i % 20 == 3 else rate},{('a', 'b')[i % 2]},{label}")
    write(tmp_path / "t.csv", lines)
    search = ("--group", "person", "--trials", 1, "--epochs", 3, "--max-clauses", 6, "--folds", 1)
    for flash in ("2k", "1k"):
        call("tune", "t.csv", "--label", "y", "-o", "t.etm", "--flash", flash, *search)
        model = Model.load("t.etm")
        assert model.categories == {"colour": ("blue", "green", "red"), "wide": ("a", "b")}
        assert model.feature_names == ("colour", "rate [/s]", "wide")
        assert "colour" in (tmp_path / "t.html").read_text("utf-8")
    assert len(call("predict", "t.etm", "t.csv").stdout.splitlines()) == 121


def test_utf16_with_its_mark_is_read(tmp_path):
    path = write(tmp_path / "t.csv", ["größe,b,art", *rows(labels=("früh", "spät"))], "utf-16")
    assert read_table(path, TableOptions("art")).feature_names == ("größe", "b")


def test_a_first_row_with_a_category_is_not_a_header(tmp_path):
    lines = with_column("red", ["red", "blue"] * 30)[1:]
    with pytest.raises(TableError, match="the first line seems to be a row"):
        read_table(write(tmp_path / "t.csv", lines), TableOptions("no"))


def test_too_few_groups_for_the_test_rows(tmp_path, call):
    write(tmp_path / "t.csv", with_column("who", [i // 20 for i in range(60)]))
    said = call("train", "t.csv", "--label", "kind", "--group", "who", "-o", "m.etm", code=1).stderr
    says(said, "--group", "3 different", "--test 0.2", "Give --test 0.33")
    call("train", "t.csv", "--label", "kind", "--group", "who", "--test", 0.34, "-o", "m.etm", *QUICK)


def test_texts_in_parquet(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"c": ["red", None, "blue"] * 20, "k": [0, 1] * 30, "y": ["p", "q"] * 30})
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(str(tmp_path / "t.parquet"), TableOptions("y"))
    assert dict(table.categories) == {0: ("blue", "red")}
    assert table.X[:2, 0].tolist()[0] == 1.0
    assert np.isnan(table.X[1, 0])
    frame.assign(day=pd.Timestamp("2026-01-31")).to_parquet(tmp_path / "d.parquet")
    with pytest.raises(TableError, match=r"column 'day'.*dates.*times.*drop=\['day'\]"):
        read_table(str(tmp_path / "d.parquet"), TableOptions("y"))
