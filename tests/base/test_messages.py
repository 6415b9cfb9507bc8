"""What is said fits the terminal, and what goes to a file or a pipe keeps its lines."""

import pytest

from ethereal.base.messages import fitted, say

LONG = "error: readings.csv, line 2: column 'a' has '20,38', which is not a number. Say --decimal ,"


@pytest.mark.parametrize("err", [False, True])
def test_columns_are_kept(capsys, monkeypatch, err):
    monkeypatch.setenv("COLUMNS", "80")
    say(LONG, err=err)
    shown = capsys.readouterr()
    lines = (shown.err if err else shown.out).splitlines()
    assert len(lines) == 2
    assert max(map(len, lines)) <= 80
    assert " ".join(line.strip() for line in lines) == LONG


@pytest.mark.parametrize("columns", [None, "", "0", "many"])
def test_a_pipe_has_no_width(capsys, monkeypatch, columns):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    say(LONG)
    assert capsys.readouterr().out == LONG + "\n"


def test_words_stay_whole_and_columns_of_text_keep_their_gaps():
    path = "/".join(["folder"] * 20)
    assert fitted(f"written {path}", 40) == f"written\n  {path}"
    assert fitted("a    b", 40) == "a    b"
