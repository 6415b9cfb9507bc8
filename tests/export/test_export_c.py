"""The C export on this computer: the class sums of the model, under sanitizers, for every kind of model."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from c_on_host import WARNINGS, assert_exact, compiler
from ethereal import Booleanizer, EtherealClassifier, Model, datasets, export
from ethereal.export.c99.device_rows import Slots
from ethereal.export.c99.layouts import LAYOUTS, fast
from ethereal.export.c99.layouts.fast import make_masks
from ethereal.export.c99.program import make_program
from ethereal.export.projects.writer import project_files
from kept_builds import build
from random_models import random_model
from thinned import examples, thinned


# Every example is compiled: no shrinking, which would take minutes.
@examples(
    30,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    seed=st.integers(0, 10_000),
    encoding=st.sampled_from([None, "thermometer", "onehot", "mixed"]),
    n_features=st.integers(1, 40),
    n_bins=st.integers(2, 12),
    n_classes=st.integers(1, 20),
    n_clauses=st.integers(1, 150),
    longest=st.integers(1, 60),
    heaviest=st.sampled_from([1, 3, 300]),
    missing=st.sampled_from(["no", "some", "ignore"]),
    layout=st.sampled_from(LAYOUTS),
    single_header=st.booleans(),
)
def test_random_models(
    tmp_path_factory: pytest.TempPathFactory, layout: Any, single_header: bool, **shape: Any
) -> None:
    model, X = random_model(**shape)
    if model.simplify().n_clauses == 0:
        with pytest.raises(ValueError, match="no clause that can vote"):
            make_program(model, layout)
        return
    program = make_program(model, layout, name="m", single_header=single_header)
    assert_exact(program, X, tmp_path_factory.mktemp("c"))


SHAPES: dict[str, dict[str, Any]] = {
    "plain": {"encoding": None, "n_features": 24, "n_clauses": 200, "longest": 7},
    "wide": {"encoding": None, "n_features": 300, "n_clauses": 60, "longest": 100},
    # More votes than a node has room for, and clauses that have no literal to end with.
    "short": {"encoding": None, "n_features": 600, "n_clauses": 1300, "longest": 3},
    "levels": {"n_features": 9, "n_bins": 14, "n_clauses": 150, "missing": "some"},
    "bins": {"encoding": "onehot", "n_features": 8, "n_bins": 7, "n_clauses": 150, "missing": "some"},
    "mixed": {"encoding": "mixed", "n_features": 8, "n_bins": 7, "n_clauses": 150, "missing": "ignore"},
}


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(name, marks=pytest.mark.slow if name in ("short", "wide", "mixed") else ())
        for name in SHAPES
    ],
)
def test_every_form_of_fast(shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = random_model(5, heaviest=4, n_classes=5, **SHAPES[shape])
    forms = set()
    for i in range(20):

        def choose(slots: Any, rows: Any, max_bytes: Any, i: int = i) -> fast.FastTables:
            return fast._candidates(slots, rows)[i]

        monkeypatch.setattr(fast, "fast_tables", choose)
        monkeypatch.setattr(fast, "make_cells", lambda *_, **__: None)
        try:
            program = make_program(model, "fast", name="m")
        except IndexError:
            break
        form = tuple(
            f"#define ET_{x} 0\n" in program.files["m.c"] for x in ("MASK_BLOCKS", "LIST_GROUPS", "NODES")
        )
        if form not in forms or i < 3:
            folder = tmp_path / str(i)
            folder.mkdir()
            assert_exact(program, X, folder)
        forms.add(form)
    masks, lists, tree = (False, True, True), (True, False, True), {(True, True, False), (True, False, False)}
    assert {masks, lists} <= forms
    assert shape in ("bins", "mixed") or forms & tree


# Every number of words in both forms, and in each form twice every kind of order that floats are compared in.
# Every day it is each number of words in one form, and in each form once every kind of order.
@pytest.mark.parametrize(
    "form, missing, lowest, n_words",
    [
        pytest.param(
            *(form, ["raise", "ignore"][n_words % 2]),
            *([0.0, -2.5][(n_words // 2 + (form == "lanes")) % 2], n_words),
            marks=() if (form == "lanes") == (3 <= n_words <= 6) else pytest.mark.slow,
        )
        for form in ("votes", "lanes")
        for n_words in range(1, 9)
    ],
)
def test_features_straight_to_masks(
    form: str, missing: Any, lowest: float, n_words: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One block of masks: no Booleanized row is made. Every kind of float meets every threshold."""
    rng = np.random.default_rng(n_words)
    values = np.array([0.0, -0.0, 1e-45, -1e-45, 1.0, -2.5, 3.4e38, np.inf, -np.inf], dtype=np.float32)
    if missing == "ignore":
        values = np.concatenate([values, np.array([0x7FC00000, 0xFFC00000], np.uint32).view(np.float32)])
    rows = rng.choice(values, (300, 8))
    thresholds = [[lowest, 1.0], [lowest], [lowest, 1.0], [1.0]] * 2
    booleanizer = Booleanizer(thresholds=thresholds, missing=missing).fit(np.nan_to_num(rows))
    feature = booleanizer.feature_map_.feature
    n = len(feature)
    pairs = [(a, b) for a in range(2 * n) for b in range(a, 2 * n) if feature[a % n] != feature[b % n]]
    clauses = [[b] for b in range(n)] + [list(pairs[i]) for i in rng.permutation(len(pairs))]
    clauses = clauses[: 32 * n_words - 10]
    n_classes = min(8, n_words + 1)
    weights = rng.integers(1, 100, (len(clauses), n_classes)) * rng.choice([-1, 1], (len(clauses), n_classes))
    if form == "votes":  # one bit each
        weights *= np.eye(n_classes, dtype=np.int32)[rng.integers(0, n_classes, len(clauses))]
    model = Model(
        np.concatenate(clauses),
        np.cumsum([0, *map(len, clauses)]),
        weights,
        n_booleans=n,
        classes=np.arange(n_classes),
        booleanizer=booleanizer,
    )
    monkeypatch.setattr(
        "ethereal.export.c99.layouts.fast.fast_tables", lambda slots, rows, _: chosen(slots, rows)
    )
    monkeypatch.setattr(fast, "make_cells", lambda *_, **__: None)

    def chosen(slots: Any, rows: Any) -> fast.FastTables:
        return fast._candidates(slots, rows)[form == "lanes"]

    program = make_program(model, "fast", name="m")
    n_lanes = (n_classes + 1) // 2 if form == "lanes" else 0
    expected = ("FUSED 1", f"SIGNED_ORDER {int(lowest < 0)}", f"MASK_WORDS {n_words}u", "SINGLES 4u")
    for line in (*expected, f"LANES {n_lanes}u"):
        assert f"#define ET_{line}\n" in program.files["m.c"]
    assert_exact(program, rows, tmp_path)


@pytest.mark.parametrize(
    "weight, n_classes, has_lanes", [(16383, 8, True), (16384, 8, False), (1, 9, False), (1, 1, True)]
)
def test_lanes_are_for_few_classes_and_sums_of_16_bits(weight: int, n_classes: int, has_lanes: bool) -> None:
    """Two clauses for the first class: their votes add up to 2**15 - 2 or to 2**15."""
    weights = np.zeros((2, n_classes), dtype=np.int32)
    weights[:, 0] = weight
    model = Model([0, 1], [0, 1, 2], weights, n_booleans=2, classes=np.arange(n_classes))
    slots = Slots(model)
    made = make_masks(slots, slots.clauses, np.zeros((1, 2), dtype=bool))
    assert [bool(masks.lanes.size) for masks in made] == [False, True][: 1 + has_lanes]


@pytest.mark.parametrize(
    "layout, number_type", thinned(LAYOUTS, ["int16", "uint16", "int8", "uint8"], one_in=4)
)
def test_whole_numbers(layout: Any, number_type: Any, tmp_path: Path) -> None:
    encoding = "onehot" if number_type == "int8" else "thermometer"
    model, X = random_model(3, encoding=encoding, missing="some", n_features=9)
    X = np.floor(X)
    if number_type.startswith("u"):  # shift thresholds and rows above zero
        thresholds = [(model.feature_map.thresholds_of(f) + 50).tolist() for f in range(9)]
        X = X + 50
        booleanizer = Booleanizer(thresholds=thresholds).fit(X)
        model = Model(
            model.literals, model.offsets, model.weights, n_booleans=model.n_booleans, classes=model.classes,
            booleanizer=booleanizer,
        )  # fmt: skip
    assert_exact(make_program(model, layout, name="m", input=number_type), X, tmp_path)


def fitted(name: str) -> tuple[Model, NDArray[Any], NDArray[Any]]:
    """A small model of a data set with its training and test rows."""
    if name != "digits" and not os.environ.get("ETHEREAL_DATA"):
        pytest.skip("the data set is not there (ETHEREAL_DATA)")
    from ethereal_study.settings import SETTINGS

    data = datasets.load(name)
    booleanizer = SETTINGS[name].booleanizer() if name in SETTINGS else "auto"
    machine = EtherealClassifier.paper(
        n_clauses=6, T=4, s=3.0, epochs=4, booleanizer=booleanizer, random_state=1
    )
    machine.fit(data.X[~data.test], data.y[~data.test])
    return machine.model_, data.X[~data.test], data.X[data.test].astype(np.float32)


@pytest.mark.parametrize("name", ["digits", "statlog", "mammography"])
def test_all_test_rows_of_real_data(name: str, tmp_path: Path) -> None:
    model, train, test = fitted(name)
    for layout in LAYOUTS:
        folder = tmp_path / layout
        folder.mkdir()
        assert_exact(make_program(model, layout, rows=train), test, folder)


@pytest.mark.parametrize("tool, layout, single_header", thinned(["gcc", "clang"], LAYOUTS, [False, True]))
def test_compilers_have_nothing_to_say(tool: str, layout: Any, single_header: bool, tmp_path: Path) -> None:
    model, _ = random_model(7, missing="some", n_features=8, n_bins=9, n_clauses=60)
    folder = export.c(
        model, tmp_path / "out", name="mine", layout=layout, single_header=single_header, with_names=True
    )
    source = "mine_test.c" if single_header else "mine.c"
    as_c = [[compiler(tool), "-std=c99", *WARNINGS, "-Os", "-c", source, "-o", "a.o"]]
    if tool == "gcc" and not single_header:  # one header is the same code
        as_c.append([compiler(tool), "-std=c99", *WARNINGS, "-fanalyzer", "-c", source, "-o", "b.o"])
    as_cpp = [compiler(tool), "-x", "c++", "-std=c++11", *WARNINGS, "-O1", "-c", source, "-o", "c.o"]
    for command in [*as_c, as_cpp]:
        done = build(command, folder, command[-1])
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""


def test_folder_builds_and_tests_itself(tmp_path: Path) -> None:
    model, X = random_model(2, missing="some")
    folder = export.c(model, tmp_path / "out", name="gate", rows=X, layout="fast")
    done = subprocess.run(
        ["make", f"CC={compiler('gcc')}"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "gate: 16 golden rows, 0 failures" in done.stdout
    text = (folder / "README.md").read_text()
    assert "`class 2`" in text
    assert "gate_predict(features)" in text
    # The golden rows can fail: a changed table is noticed.
    source = (folder / "gate.c").read_text()
    place = source.index("{", source.index("et_thresholds["))
    (folder / "gate.c").write_text(source[: place + 1] + " 1 +" + source[place + 1 :])
    done = subprocess.run(["make"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode != 0


def test_two_single_headers_in_one_program(tmp_path: Path) -> None:
    parts = []
    for name, layout, seed in (("one", "fast", 1), ("two", "compact", 2)):
        model, _ = random_model(seed)
        files = project_files("c", make_program(model, layout, name=name, single_header=True))  # type: ignore[arg-type]
        (tmp_path / f"{name}.h").write_text(files[f"{name}.h"])
        parts.append(f'#include "{name}.h"')
    (tmp_path / "both.c").write_text(
        "\n".join(parts) + "\nint main(void) { return !(one_check() && two_check()); }\n"
    )
    command = [compiler("gcc"), "-std=c99", *WARNINGS, "both.c", "-o", "both"]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
    assert subprocess.run(["./both"], cwd=tmp_path, check=False).returncode == 0


def test_names_are_text_not_code(tmp_path: Path) -> None:
    nasty = ['*/ "quoted" \\', "??/ trigraph", "Größe <µm>", "new\nline", "@name@"]
    model, _ = random_model(1, n_features=5, n_classes=5)
    model = Model(
        model.literals, model.offsets, model.weights, n_booleans=model.n_booleans, classes=nasty,
        booleanizer=model.booleanizer, feature_names=[f"{x} f" for x in nasty],
    )  # fmt: skip
    program = make_program(model, "fast", name="m", with_names=True)
    for name, text in program.files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "m.h"\nint main(void)\n{\n    unsigned i;\n'
        '    for (i = 0; i < M_CLASSES; i++)\n        printf("%s|%s|", m_class_name(i), m_feature_name(i));\n'
        "    return 0;\n}\n"
    )
    command = [compiler("gcc"), "-std=c99", *WARNINGS, "m.c", "main.c", "-o", "main"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    printed = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, check=True).stdout.decode()
    assert printed.split("|")[:-1] == [x for name in nasty for x in (name, f"{name} f")]


def test_bad_input_is_refused(tmp_path: Path) -> None:
    model, _ = random_model(1)
    with pytest.raises(ValueError, match=r"name.*'2-fast'.*How.*'model_2_fast'"):
        make_program(model, "fast", name="2-fast")
    with pytest.raises(ValueError, match="name is 'while'"):
        export.c(model, tmp_path / "x", name="while")
    with pytest.raises(
        ValueError,
        match=rf"layout is 'quick'\. It must be one of {', '.join(LAYOUTS)} or auto",
    ):
        export.c(model, tmp_path / "x", layout="quick")  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"input is 'double'\. It must be one of float, int16, uint16, int8, uint8"
    ):
        export.c(model, tmp_path / "x", input="double")  # type: ignore[arg-type]
    close = Booleanizer(thresholds=[1.0, 1.001, 1e6]).fit(np.zeros((1, 6)))
    wide = Model(
        [0, 1, 2],
        [0, 1, 2, 3],
        [[1, 0], [0, 1], [1, 0]],
        n_booleans=18,
        classes=["a", "b"],
        booleanizer=close,
    )
    with pytest.raises(ValueError, match=r"Feature 'x0'.*\b1\b.*1e\+06.*int16"):
        export.c(wide, tmp_path / "x", input="int16")
    with pytest.raises(ValueError, match=r"no clause that can vote"):
        make_program(model.with_clauses([], [0], np.zeros((0, 3), int)), "fast")
    heavy = model.with_clauses([0], [0, 1], [[40_000, 0, 0]])
    with pytest.raises(ValueError, match=r"layout fast.*\b32767\b.*\b40000\b"):
        make_program(heavy, "fast")
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    model, _ = random_model(1)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("keep")
    with pytest.raises(FileExistsError, match=r"exists and holds files \(notes.txt"):
        export.c(model, folder)
    assert [p.name for p in folder.iterdir()] == ["notes.txt"]
    export.c(model, folder, force=True)
    assert (folder / "notes.txt").read_text() == "keep"
    assert (folder / "model.c").exists()
    with pytest.raises(FileExistsError, match="is a file"):
        export.c(model, folder / "notes.txt")
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]
