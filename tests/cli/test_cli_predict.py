"""`ethereal predict`: the same labels as the model's, from every kind of file, and clear errors."""

import csv
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ethereal import Booleanizer, Model, datasets
from ethereal.cli import app
from ethereal.datasets import csv_table, tables
from says import says

NAMES = ["width", "height", "age", "colour"]


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4)).round(3)
    X[rng.random(1000) < 0.1, 2] = np.nan
    return X


def make_model(X, names, classes):
    rng = np.random.default_rng(1)
    booleanizer = Booleanizer(n_bins=4).fit(X)
    n = booleanizer.feature_map_.n_booleans
    literals = np.sort(rng.integers(0, 2 * n, (50, 3)), axis=1)
    literals[:, 1:] += literals[:, 1:] == literals[:, :-1]
    literals = np.sort(np.minimum(literals, 2 * n - 1), axis=1)
    flat = [sorted(set(row)) for row in literals.tolist()]
    offsets = np.cumsum([0, *map(len, flat)])
    weights = rng.integers(-3, 4, (50, len(classes)))
    return Model(
        np.concatenate(flat),
        offsets,
        weights,
        n_booleans=n,
        classes=classes,
        booleanizer=booleanizer,
        feature_names=names,
    )


@pytest.fixture(scope="module")
def model(X):
    return make_model(X, NAMES, ["left", "right, or so", "no"])


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "m.etm")
    return tmp_path / "m.etm"


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["predict", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def records(text):
    return list(csv.reader(io.StringIO(text)))


def save_csv(path, X, names, **columns):
    pd.DataFrame(X, columns=names).assign(**columns).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy", "fortran"])
def test_every_kind_of_file(tmp_path, saved, model, X, kind, monkeypatch):
    monkeypatch.setattr(csv_table, "_BLOCK_BYTES", 1000)
    monkeypatch.setattr(tables, "_CHUNK_VALUES", 1 << 9)
    path = tmp_path / f"x.{'npy' if kind == 'fortran' else kind}"
    if kind == "csv":
        save_csv(path, X[:, ::-1], NAMES[::-1])  # in another order: found by name
    elif kind == "parquet":
        pd.DataFrame(X, columns=NAMES)[NAMES[::-1]].to_parquet(path)
    else:
        np.save(path, np.asfortranarray(X) if kind == "fortran" else X)
    expected = [["prediction"], *[[label] for label in model.predict(X)]]
    assert records(run(saved, path).stdout) == expected
    out = tmp_path / "out.csv"
    result = run(saved, path, "--out", out, "--jobs", 2)
    assert result.stdout == ""
    assert "1000 rows in" in result.stderr
    assert records(out.read_text()) == expected
    assert sorted(os.listdir(tmp_path)) == sorted(["m.etm", path.name, "out.csv"])


def test_sums_and_shares(tmp_path, saved, model, X):
    path = save_csv(tmp_path / "x.csv", X, NAMES)
    lines = records(run(saved, path, "--sums", "--proba").stdout)
    classes = model.classes.tolist()
    assert lines[0] == ["prediction", *[f"sum:{c}" for c in classes], *[f"proba:{c}" for c in classes]]
    assert [line[0] for line in lines[1:]] == model.predict(X).tolist()
    assert [[int(v) for v in line[1:4]] for line in lines[1:]] == model.class_sums(X).tolist()
    shares = np.array([line[4:] for line in lines[1:]], dtype=float)
    np.testing.assert_allclose(shares, model.predict_proba(X), atol=1e-6)


def test_json(tmp_path, saved, model, X):
    path = save_csv(tmp_path / "x.csv", X, NAMES, label=model.predict(X))
    lines = [
        json.loads(line)
        for line in run(saved, path, "--json", "--sums", "--proba", "--label", "label").stdout.splitlines()
    ]
    assert [line["prediction"] for line in lines] == model.predict(X).tolist()
    assert [list(line["sums"].values()) for line in lines] == model.class_sums(X).tolist()
    assert list(lines[0]["proba"]) == model.classes.tolist()
    result = run(saved, path, "--json", "--out", tmp_path / "out.jsonl", "--label", "label")
    summary = json.loads(result.stdout)
    assert summary["rows"] == 1000
    assert summary["accuracy"] == 1.0
    assert summary["out"] == str(tmp_path / "out.jsonl")
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 1000


@pytest.mark.parametrize("classes", [["a", "b"], [3, 7], [0.5, 2.0], [False, True], ["1", "2"]])
def test_labels_are_compared_whatever_their_type(tmp_path, X, classes):
    model = make_model(X, NAMES, classes)
    model.save(tmp_path / "m.etm")
    truth = model.predict(X)
    truth[:250] = [model.classes[1 - model.classes.tolist().index(label)] for label in truth[:250]]
    path = save_csv(tmp_path / "x.csv", X, NAMES, kind=truth)
    assert "accuracy 75.00 %" in run(tmp_path / "m.etm", path, "--label", "kind").stderr
    path = tmp_path / "x.parquet"
    pd.DataFrame(X, columns=NAMES).assign(kind=truth).to_parquet(path)
    assert "accuracy 75.00 %" in run(tmp_path / "m.etm", path, "--label", "kind").stderr


def test_a_model_without_names_takes_columns_in_order(tmp_path, X):
    model = make_model(X, None, [0, 1])
    model.save(tmp_path / "m.etm")
    path = save_csv(tmp_path / "x.csv", X, ["p", "q", "r", "s"])
    expected = ["prediction", *map(str, model.predict(X).tolist())]
    assert run(tmp_path / "m.etm", path).stdout.splitlines() == expected
    path = tmp_path / "bare.csv"
    np.savetxt(path, np.column_stack([X[:, :2], np.zeros(1000), X[:, 2:]]), delimiter=",")
    assert run(tmp_path / "m.etm", path, "--no-header", "--drop", 3).stdout.splitlines() == expected
    says(run(tmp_path / "m.etm", path, "--no-header", code=1).stderr, "5", "4")


def test_boolean_models(tmp_path):
    model = Model(
        [0, 3], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=["a", "b"], feature_names=["p", "q"]
    )
    model.save(tmp_path / "m.etm")
    for text in (
        "p,q\n1,0\n0,1\n1,1\n",
        "p,q\ntrue,false\nfalse,true\ntrue,true\n",
        "p,q\n1.0,0\n0,1.0\n1,1\n",
    ):
        (tmp_path / "x.csv").write_text(text)
        assert run(tmp_path / "m.etm", tmp_path / "x.csv").stdout.split() == ["prediction", "a", "a", "a"]
    (tmp_path / "x.csv").write_text("p,q\n1,0\n2,1\n")
    error = run(tmp_path / "m.etm", tmp_path / "x.csv", code=1).stderr
    says(error, "x.csv, line 3: column 'p'", "2.0", "Booleanizer", "0", "1")


def test_data_sets_and_npz_files_have_labels_of_their_own(tmp_path):
    digits = datasets.load("digits")
    booleanizer = Booleanizer(thresholds=7.5).fit(digits.X)
    rng = np.random.default_rng(0)
    model = Model(
        rng.integers(0, 128, 200),
        np.arange(201),
        rng.integers(-3, 4, (200, 10)),
        n_booleans=64,
        classes=np.arange(10),
        booleanizer=booleanizer,
        feature_names=digits.feature_names,
    )
    model.save(tmp_path / "m.etm")
    result = run(tmp_path / "m.etm", "digits")
    predicted = model.predict(digits.X_test)
    assert result.stdout.split()[1:] == [str(label) for label in predicted]
    assert f"accuracy {100 * (predicted == digits.y_test).mean():.2f} %" in result.stderr
    np.savez(tmp_path / "x.npz", X=digits.X, y=digits.y)
    result = run(tmp_path / "m.etm", tmp_path / "x.npz", "--json", "--out", tmp_path / "o")
    assert json.loads(result.stdout)["rows"] == len(digits.y)


def test_no_rows_are_no_error(tmp_path, saved):
    (tmp_path / "x.csv").write_text(",".join(NAMES) + "\n")
    assert run(saved, tmp_path / "x.csv").stdout == "prediction\n"
    np.save(tmp_path / "x.npy", np.empty((0, 4)))
    assert run(saved, tmp_path / "x.npy").stdout == "prediction\n"
    pd.DataFrame(columns=NAMES, dtype=float).to_parquet(tmp_path / "x.parquet")
    assert run(saved, tmp_path / "x.parquet", "--json").stdout == ""


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "width,height,age\n1,2,3\n",
            "lacks the column 'colour' that the model reads. It has the columns 'width'",
        ),
        ("width,height,age,Colour\n1,2,3,4\n", "lacks the column 'colour'"),
        (
            "width,height,age,colour\n1,2,3,4\n1,2,3,red\n",
            "line 3: column 'colour' has 'red', which is not a number",
        ),
        (
            "width,height,age,colour\n1,2,,4\n1,,3,4\n",
            "line 3: column 'height' is missing, but never was in training",
        ),
        (
            "width,height,age,colour\n1,2,3,4\n1,2",
            "line 3: 2 values where the first line has 4. The file ends there",
        ),
        ("", "the file is empty"),
    ],
)
def test_files_that_do_not_fit_leave_no_output(tmp_path, saved, text, message):
    path, out = tmp_path / "x.csv", tmp_path / "out.csv"
    path.write_text(text)
    result = run(saved, path, "--out", out, code=1)
    assert result.stderr.startswith("error: ")
    assert re.search(message, result.stderr)
    assert sorted(os.listdir(tmp_path)) == ["m.etm", "x.csv"]


def test_missing_values_are_placed_in_later_chunks_too(tmp_path, saved, X, monkeypatch):
    monkeypatch.setattr(csv_table, "_BLOCK_BYTES", 1000)
    monkeypatch.setattr(tables, "_CHUNK_VALUES", 1 << 9)
    wrong = X.copy()
    wrong[777, 3] = np.nan
    error = run(saved, save_csv(tmp_path / "x.csv", wrong, NAMES), code=1).stderr
    assert "x.csv, line 779: column 'colour' is missing" in error
    np.save(tmp_path / "x.npy", wrong)
    assert "x.npy, row 778: column 'colour' is missing" in run(saved, tmp_path / "x.npy", code=1).stderr


def test_other_errors(tmp_path, saved, X):
    path = save_csv(tmp_path / "x.csv", X, NAMES)
    assert "no such file" in run(saved, tmp_path / "nothing.csv", code=1).stderr
    says(run(tmp_path / "nothing.etm", path, code=1).stderr, "nothing.etm")
    assert "x.csv" in run(path, path, code=1).stderr  # no model file
    assert "No such file" in run(saved, path, "--out", tmp_path / "no" / "out.csv", code=1).stderr
    assert "the file that is read" in run(saved, path, "--out", path, code=1).stderr
    says(run(saved, path, "--label", "kind", code=1).stderr, "--label", "'kind'")
    np.save(tmp_path / "x.npy", X[:, :3])
    says(run(saved, tmp_path / "x.npy", code=1).stderr, "3", "4")


def test_an_earlier_result_stays_when_a_run_fails(tmp_path, saved):
    path, out = tmp_path / "x.csv", tmp_path / "out.csv"
    out.write_text("earlier")
    path.write_text("width,height,age,colour\n1,2,3,4\nspam,2,3,4\n")
    run(saved, path, "--out", out, code=1)
    assert out.read_text() == "earlier"


def test_memory_does_not_grow_with_the_file(tmp_path, saved, X):
    np.save(tmp_path / "small.npy", np.tile(X, (80, 1)))  # more than a chunk
    np.save(tmp_path / "large.npy", np.tile(X, (500, 1)))  # 16 MB

    def peak(name):
        code = (
            "import sys, resource; from ethereal.cli import app\n"
            "app(sys.argv[1:], standalone_mode=False)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
        )
        command = [
            sys.executable,
            "-c",
            code,
            "predict",
            saved,
            tmp_path / name,
            "--jobs",
            "1",
            "--out",
            tmp_path / "o",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        unit = 1 if sys.platform == "darwin" else 1024
        return int(done.stderr.split()[-1]) * unit

    assert peak("large.npy") - peak("small.npy") < 8e6
