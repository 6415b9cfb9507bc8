"""Whatever a model may be, every export answers like the host or refuses by name.

`make random-models` draws many more.
"""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from c_on_host import assert_exact
from ethereal import Model, WindowFeatures, export
from ethereal.export.c99.program import make_program
from ethereal.export.mpy.tables import micropython_tables
from ethereal.model.codes import CodeError
from ethereal.model.needs import NotSupported
from ethereal.runs.report import Report, render
from host_and_c import compare, plain_sums
from micropython_shim import load_runtime
from odd_models import odd_model
from thinned import few
from windows import hard_windows, model_of


@pytest.mark.parametrize(
    "first, flag", few([(0, "plain"), (50, "plain"), (100, "fast math"), (150, "fast math")], 2)
)
def test_c_answers_like_the_host(first, flag, tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    comparison = compare(range(first, first + 50), tmp_path, flags=[flag], cover="few")
    assert comparison.differences == []
    assert comparison.n_programs > 60


def test_the_sum_of_a_constant_class_is_its_own(tmp_path):
    """One Boolean. Class b has -2 votes in every row, so a wins in both of them."""
    model = Model([0, 1], [0, 1, 2], [[1, -2], [-1, -2]], n_booleans=1, classes=["a", "b"])
    rows = np.array([[False], [True]])
    assert model.predict(rows).tolist() == ["a", "a"]
    assert_exact(make_program(model, "straight"), rows, tmp_path)


@pytest.mark.parametrize("code", ["compact", "redress"])
def test_codes_keep_the_sums_of_any_model(code):
    n_kept = 0
    for seed in range(60):
        model, rows = odd_model(seed)
        try:
            again = Model.from_bytes(model.with_unknown(None).to_bytes(code))
        except (NotSupported, CodeError):
            continue
        n_kept += 1
        np.testing.assert_array_equal(again.class_sums(rows), plain_sums(model, rows), str(seed))
    assert n_kept > 30


@pytest.mark.parametrize("code", ["plain", "viper"])
def test_micropython_answers_like_the_host(code):
    n_compared = 0
    for seed in range(30):
        model, rows = odd_model(seed)
        try:
            board = load_runtime(code, model=model)["Model"](micropython_tables(model))
        except ValueError:  # a label of 300 bytes
            continue
        raw = [bytes(row) for row in rows.astype(np.uint8)] if model.fitted is None else rows.tolist()
        assert [board.class_sums(row) for row in raw] == plain_sums(model, rows).tolist(), seed
        np.testing.assert_array_equal(board.predict_many(raw, 30), model.predict(rows).tolist(), str(seed))
        n_compared += 1
    assert n_compared > 20


def test_the_page_answers_like_the_host(tmp_path):
    """The JavaScript of the report's page, with the data of a page for each model."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed; `make system` installs it where it may")
    cases, expected = [], []
    for seed in range(30):
        model, rows = odd_model(seed)
        true = np.zeros(len(rows)) if model.is_number else model.classes[np.zeros(len(rows), int)]
        page = render(Report("t", "s", model, rows, true))
        data = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.DOTALL)
        numbers = [
            [None if np.isnan(v) else v if np.isfinite(v) else str(v) for v in row]
            for row in rows.astype(float).tolist()
        ]
        cases.append({"data": json.loads(data[1]), "rows": numbers})
        sums = plain_sums(model, rows)
        answers = model.output.answers(sums) if model.is_number else model.output.codes(sums)
        expected.append([sums.tolist(), answers.tolist()])
    script = re.search(r"^class LiveModel \{.*?^\}", page, re.DOTALL | re.MULTILINE)[0]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    (tmp_path / "run.js").write_text(
        script + "\nconst number = v => v === 'inf' ? Infinity : v === '-inf' ? -Infinity : v;\n"
        "const told = JSON.parse(require('fs').readFileSync('cases.json', 'utf8')).map(({data, rows}) => {\n"
        "  const own = new LiveModel(data.model), all = rows.map(row => row.map(number));\n"
        "  return [all.map(x => own.sums(x)), all.map(x => own.predict(x))];\n"
        "});\nconsole.log(JSON.stringify(told));\n"
    )
    done = subprocess.run(["node", "run.js"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == expected


@pytest.mark.parametrize("layout", ["straight", "fast", "compact"])
def test_windows_with_constant_classes(layout, tmp_path):
    windows = hard_windows(32, n_axes=2, n_random=6)
    extractor = WindowFeatures({"stats": ["axes"]}).fit(windows)
    plain = model_of(extractor, windows, n_clauses=12)
    votes = plain.weights.copy()
    votes[:, 1], votes[:, 2] = -np.abs(votes[:, 1]), 0  # a class below, and one without a clause
    n, literals = plain.n_booleans, plain.literals.tolist()
    model = plain.with_clauses(
        [*literals, 0, n], [*plain.offsets.tolist(), len(literals) + 1, len(literals) + 2],
        [*votes.tolist(), [0, 0, 0, -9], [0, 0, 0, -9]],
    )  # fmt: skip
    program = make_program(model, layout)
    rows = extractor.transform(windows)[:, program.columns]
    assert_exact(program, rows, tmp_path)
    np.testing.assert_array_equal(program.model.class_sums(rows), model.class_sums(windows))


def test_exports_with_very_long_and_hostile_names(tmp_path):
    names = ["x" * 4000, "*/ int x; /*", "??/", "größer\n", "", "\\"]
    model = Model([0, 7], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=6, classes=["a" * 4000, "*/"],
                  feature_names=names)  # fmt: skip
    export.c(model, tmp_path / "c", with_names=True)
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "model.c", "model_test.c"]
    done = subprocess.run(
        [*command, "-o", "t"], cwd=tmp_path / "c", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "c" / "t"], check=False).returncode == 0
    longer = Model([0], [0, 1], [[1, 0]], n_booleans=1, classes=["a" * 4096, "b"])
    export.c(longer, tmp_path / "without")
    with pytest.raises(ValueError, match=r"the name 'a+'\.\.\. has 4096 bytes.*without names"):
        export.c(longer, tmp_path / "with", with_names=True)
