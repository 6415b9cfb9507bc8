"""Files that cannot be learned from are refused with the value, the place and the remedy."""

import gzip
import zipfile

import pytest

from ethereal.datasets.files import read_table
from ethereal.datasets.options import TableOptions
from ethereal.datasets.tables import TableError


def numbers(form="{},{},{}\n", head="a,b,y\n", n=60):
    return head + "".join(form.format(i * 7 % 11, i % 17 + 0.5, "no" if i % 3 else "yes") for i in range(n))


def many(cell, n=100):
    return "a,b,y\n" + "".join(
        f"{cell.format(i + 100)},{i % 7},{'no' if i % 3 else 'yes'}\n" for i in range(n)
    )


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "the file is empty"),
        ("\n\n", "the first line is empty.*Take it out"),
        ("a,b,y\n", "has no rows below the names of the columns"),
        (numbers("{} {} {}\n", "a b y\n"), "'a b y'"),
        (numbers(head="a,a,y\n"), "'a' occurs more than once. Rename one of them"),
        (numbers(head="a,b,Y\n"), "label.*'y'.*mean 'Y'"),
        (numbers("{},{},{},\n"), r"line 2: 4\b.*\b3\. Mend"),
        (numbers("{},{},p\n"), "column 'y'.*one label.*'p'.*Name"),
        ("a,b,y\n" + "".join(f"{i % 9},{i % 7},{i}\n" for i in range(60)), r"\b60 different.*\b60\b"),
        (many('"{},000"'), "line 2: column 'a'.*'100,000', which.*If signs"),
        (many("{}.5 kg"), "numbers.*signs.*units.*'100.5 kg'.*into.*column's"),
        (many("${}.5"), r"numbers.*signs.*units.*'\$100.5'"),
        (many('"Jan 3, 2{}"'), r"column 'a'.*dates.*'Jan 3, 2100'.*drop=\['a'\]"),
        (many("3-Feb-2{}"), "column 'a'.*dates"),
        (many("3. März 2{}"), "column 'a'.*dates"),
        ('[{"a": 1, "y": "p"}]\n', "text.*JSON"),
        ("a,b,y\n1,2,p\n1\0,3,q\n", r"byte 14\b.*\b0\b.*text"),
        (b"\xff\xce\x12\0\x80\0\0\0a,b,y\n".decode("latin-1"), "which no text has"),
    ],
)
def test_texts(tmp_path, text, said):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="latin-1" if "\xff" in text else "utf-8")
    with pytest.raises(TableError, match=f"(?s)t.csv.*{said}"):
        read_table(str(path), TableOptions("y"))


def test_german_thousands(tmp_path):
    lines = [f"{i % 9 + 1}.{i + 100},50;{i % 2}" for i in range(99)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a;y", *lines, ""]), encoding="utf-8")
    with pytest.raises(TableError, match=r"line 2: column 'a'.*'1.100,50'.*separate"):
        read_table(str(path), TableOptions("y", decimal=","))


def test_other_kinds_of_files(tmp_path):
    plain = tmp_path / "plain.csv"
    plain.write_text(numbers(), encoding="utf-8")
    sheet, packed = tmp_path / "t.xlsx", tmp_path / "t.csv.gz"
    with zipfile.ZipFile(sheet, "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    (tmp_path / "folder.csv").mkdir()
    for path, said in (
        (sheet, "not a text file but an Excel or zip file. Open it in its program, and save it as CSV"),
        (packed, "not a text file but one compressed by gzip. Unpack it first"),
        (tmp_path / "folder.csv", "is a folder. Name a file in it"),
        (tmp_path / "absent.csv", "there is no such file. Look at the name"),
        (tmp_path / "t.json", "no table ends in '.json'. Tables end in .csv"),
    ):
        with pytest.raises(TableError, match=said):
            read_table(str(path), TableOptions("y"))
        if path.is_file():  # the same under a wrong name
            wrong = tmp_path / "wrong.csv"
            wrong.write_bytes(path.read_bytes())
            with pytest.raises(TableError, match=said):
                read_table(str(wrong), TableOptions("y"))
    with pytest.raises(TableError, match=r"plain.csv.*utf-32.*Give.*encoding="):
        read_table(str(plain), TableOptions("y", encoding="utf-32"))


def test_columns_without_a_name_get_one(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(numbers(head=",,y\n"), encoding="utf-8")
    assert read_table(str(path), TableOptions("y")).feature_names == ("column 1", "column 2")
    assert read_table(str(path), TableOptions("y", drop=["column 1"])).feature_names == ("column 2",)


def test_a_bar_separates_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(numbers("{}|{}|{}\n", "a|b|y\n"), encoding="utf-8")
    assert read_table(str(path), TableOptions("y")).feature_names == ("a", "b")


def test_a_tab_file_of_orange_is_read_without_its_two_lines(tmp_path):
    path = tmp_path / "t.tab"
    rows = numbers("{}\t{}\t{}\n", "")
    path.write_text(f"a\tb\ty\ncontinuous\tcontinuous\td\n\t\tclass\n{rows}", encoding="utf-8")
    with pytest.raises(TableError, match=r"lines 2\b.*\b3\b"):
        read_table(str(path), TableOptions("y"))
    path.write_text(f"a\tb\ty\n{rows}", encoding="utf-8")
    assert read_table(str(path), TableOptions("y")).feature_names == ("a", "b")
