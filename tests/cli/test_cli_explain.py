"""`explain`, `inspect --rules` for a class, `--version`, rows that `predict` marks, names of exports."""

import csv
import json
from importlib.metadata import version

import numpy as np
import pytest

from ethereal import Booleanizer, Model
from says import says

NAMES = ["width", "rate [/s]"]
ROWS = np.array([[1.0, 2.0], [3.0, 0.5], [0.5, 3.5], [2.0, 1.0]])


@pytest.fixture
def model(call, tmp_path):
    """Votes for a when the width is small, for b when it is large, and a little by the rate."""
    booleanizer = Booleanizer(thresholds=[1.5]).fit(ROWS)
    made = Model(
        [2, 0, 1, 3], [0, 1, 2, 3, 4], [[3, -1], [-1, 3], [1, 0], [0, 1]],
        n_booleans=2, classes=["a", "b"], booleanizer=booleanizer, feature_names=NAMES,
    )  # fmt: skip
    made.save("m.etm")
    return made


@pytest.fixture
def table(tmp_path):
    """A CSV with the label first, and a value missing in its third row."""
    lines = ["kind,width,rate [/s]", *(f"a,{x},{y}" for x, y in ROWS.tolist())]
    lines[3] = "a,0.5,"
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    return "t.csv"


def test_version(call):
    assert call("--version").stdout.split() == ["ethereal", version("ethereal-tm")]


def test_a_row_is_explained(call, model, table):
    said = call("explain", "m.etm", table, "--label", "kind", "--row", 2).stdout
    assert said.startswith("t.csv, row 2 (line 3): the answer is b. The file says a.\n")
    expected = ["  b  +4", "  a  -1", "for b:\n  +3 IF width > 1.5", "against a:\n  -1 IF width > 1.5"]
    assert all(text in said for text in expected)
    assert said.endswith("The answer would be a with:\n  width <= 1.5 instead of 3\n")


def test_explain_gives_json(call, model, table):
    facts = json.loads(call("explain", "m.etm", table, "--label", "kind", "--row", 1, "--json").stdout)
    why = model.explain(ROWS[0])
    assert (facts["row"], facts["place"], facts["label"], facts["prediction"]) == (1, "line 2", "a", "a")
    assert facts["votes"] == why.votes
    assert {"votes": {"a": 3, "b": -1}, "rule": "width <= 1.5"} in facts["rules"]
    assert facts["changes"] == [{"feature": "width", "value": 1.0, "condition": "width > 1.5"}]


@pytest.mark.parametrize(
    ("row", "message"),
    [(3, "t.csv, line 4: column 'rate [/s]' is missing"), (5, "--row is 5, but there are 4 rows of data")],
)
def test_explain_refuses(call, model, table, row, message):
    assert message in call("explain", "m.etm", table, "--label", "kind", "--row", row, code=1).stderr


def test_explain_shows_the_heaviest_rules(call, model, table):
    said = call("explain", "m.etm", table, "--label", "kind", "--top", 1).stdout
    assert "... and 1 more (--top 2)" in said


def test_inspect_shows_the_rules_of_a_class(call, model):
    said = call("inspect", "m.etm", "--rules", "--class", "b", "--top", 1).stdout
    assert said == "class 'b': 3 clauses, 3 includes\n  +3 IF width > 1.5\n  ... and 2 more\n"
    facts = json.loads(call("inspect", "m.etm", "--rules", "--class", "b", "--top", 1, "--json").stdout)
    assert [rule["rule"] for rule in facts["rules"]] == ["width > 1.5"]
    says(call(
        "inspect", "m.etm", "--rules", "--class", "c", code=1
    ).stderr, "class 'c'")  # fmt: skip
    assert "Add --rules" in call("inspect", "m.etm", "--top", 3, code=1).stderr


def test_rows_that_the_model_refuses_can_be_marked(call, model, table):
    refused = call("predict", "m.etm", table, "--label", "kind", code=1).stderr
    assert "line 4: column 'rate [/s]' is missing" in refused
    assert "--missing mark" in refused
    done = call("predict", "m.etm", table, "--label", "kind", "--missing", "mark", "--sums")
    head, *rows = csv.reader(done.stdout.splitlines())
    assert head == ["prediction", "sum:a", "sum:b", "missing"]
    assert rows[2] == ["", "", "", "rate [/s]"]
    assert [row[0] for row in rows] == ["a", "b", "", "b"]
    says(done.stderr, "1", "4", "label")
    assert "accuracy 33.33 %" in done.stderr
    records = call("predict", "m.etm", table, "--label", "kind", "--missing", "mark", "--json").stdout
    assert json.loads(records.splitlines()[2]) == {"prediction": None, "missing": "rate [/s]"}
    wrong = call("predict", "m.etm", table, "--missing", "guess", code=1).stderr
    says(wrong, "--missing", "'guess'")


def test_a_file_in_which_every_row_is_marked(call, model, tmp_path):
    (tmp_path / "t.csv").write_text("width,rate [/s]\n,1\n,2\n")
    done = call("predict", "m.etm", "t.csv", "--missing", "mark", "--out", "o.csv", "--proba")
    says(done.stderr, "2", "2", "label")
    assert (tmp_path / "o.csv").read_text().splitlines()[1:] == [",,,width"] * 2


@pytest.mark.parametrize(
    ("stem", "prefix"), [("int", "model_int"), ("1 x", "model_1_x"), ("ünicode", "unicode")]
)
def test_a_file_name_that_is_not_a_name_in_c_is_changed_with_a_note(call, model, tmp_path, stem, prefix):
    model.save(tmp_path / f"{stem}.etm")
    done = call("export", f"{stem}.etm", "--out", "c", "--flash", "100k")
    assert (tmp_path / "c" / f"{prefix}.h").exists()
    assert f"cannot begin names in C, so it is {prefix!r}. Choose another with --name NAME" in done.stderr
    assert "note:" not in call("export", f"{stem}.etm", "--out", "d", "--name", "mine").stderr


@pytest.mark.parametrize(
    ("form", "name", "why", "better"),
    [
        ("c", "int", "begin names in C", "model_int"),
        ("c", "1 x", "begin names in C", "model_1_x"),
        ("micropython", "lambda", "be the name of a module", "model_lambda"),
        ("micropython", "my model", "be the name of a module", "my_model"),
        ("micropython", "ethereal_tm", "be the name of a module", "tm"),
    ],
)
def test_a_name_that_cannot_be_has_a_remedy_to_type(call, model, tmp_path, form, name, why, better):
    """Fault N19."""
    said = call("export", "m.etm", "--to", form, "--name", name, "--out", "folder", code=1).stderr
    assert f"--name is {name!r}, which cannot {why}. Say --name {better}" in said
    assert not (tmp_path / "folder").exists()
    call("export", "m.etm", "--to", form, "--name", better, "--out", "folder")
    model.save(tmp_path / f"{name}.etm")
    said = call("export", f"{name}.etm", "--to", form, "--out", "other").stderr
    assert f"cannot {why}, so it is {better!r}" in said


def test_an_option_that_a_project_has_anyway_is_taken(call, model, tmp_path):
    call("export", "m.etm", "--to", "arduino", "--names", "--out", "sketch")
    assert (tmp_path / "sketch" / "library.properties").exists()
