"""Exports that learn: the host's bytes and sums after every call, the self-test, and what is refused."""

import subprocess

import numpy as np
import pytest

from c_on_host import SANITIZERS, WARNINGS, answers_of, compiler
from ethereal import Model, WindowFeatures, export
from ethereal.adapt import Votes
from ethereal.adapt.learning import RefusedState, State
from ethereal.chips.targets import TARGETS
from ethereal.export import choose
from ethereal.export.c99.choose import programs
from ethereal.export.options import ExportOptions
from learning_calls import c_answers, draw_calls, emulated_answers, host_answers
from random_models import random_model
from thinned import few, thinned
from windows import hard_windows, model_of

KINDS = {
    "votes": {},
    "no guard": {"guard": False},
    "bias": {"learn": "bias", "guard": False},
    "new classes": {"classes": 2, "anchors": 12, "guard": False},
    "guarded new class": {"classes": 1, "anchors": 12},
    "integers": {"input": "int16", "seed": 11, "n_classes": 9, "guard": False},
    "Booleans": {"encoding": None, "n_features": 25, "guard": False, "seed": 4},
    "mixed": {"encoding": "mixed", "missing": "some", "guard": False, "seed": 5},
    "heavy": {"heaviest": 900, "n_clauses": 70, "guard": False},
    "one row": {"learn_rows": 1, "guard": False},
}
MODEL = ("seed", "n_classes", "encoding", "n_features", "missing", "heaviest", "n_clauses")


def learning(kind, layout="branches", **more):
    """A program that learns in one of the two layouts, and rows as it reads them."""
    given = {"seed": 2, "n_clauses": 45, **KINDS[kind]}
    model, X = random_model(given.pop("seed"), **{key: given.pop(key) for key in MODEL if key in given})
    if n := given.get("anchors"):
        given["anchors"] = X[-n:], model.predict(X[-n:])
    options = {"learn": "votes", "learn_rows": 14, "margin": 3, "name": "m", **given, **more}
    every = [program for program, _ in programs(model, ExportOptions.of("test", options))]
    assert [program.layout for program in every] == ["branches", "lists"]
    program = every[layout == "lists"]
    return program, program.features(X[:40])


def rightly(program, rows, calls):
    """Calls that mostly teach one other class per row, so that the guard finds something better."""
    answers = program.device_sums(rows).argmax(axis=1)
    shown = (answers[calls[:, 1]] + 1) % program.learning.n_classes
    calls[:, 2] = np.where(calls[:, 3] % 4 > 0, shown, calls[:, 2])
    return calls


@pytest.mark.parametrize("kind, layout", thinned(list(KINDS), ["branches", "lists"]))
def test_c_has_the_bytes_and_sums_of_the_host_after_every_call(kind, layout, tmp_path):
    program, rows = learning(kind, layout)
    n_calls = 2_000 if (kind, layout) == ("votes", "branches") else 500
    calls = rightly(program, rows, draw_calls(1, n_calls, len(rows), program.learning.n_classes))
    wanted = host_answers(program, rows, calls)
    np.testing.assert_array_equal(c_answers(program, rows, calls, tmp_path), wanted)
    if kind not in ("guarded new class",):
        assert len(np.unique(wanted[:, 2:], axis=0)) > 2 * len(rows)  # votes did move


@pytest.mark.parametrize(
    "target, layout",
    [(name, "branches") for name, core in TARGETS.items() if core.isa != "avr"]
    + [("cortex-m0plus", "lists")],
)
def test_emulated_cores_have_the_bytes_and_sums_of_the_host(target, layout):
    pytest.importorskip("unicorn")
    program, rows = learning("votes", layout)
    calls = rightly(program, rows, draw_calls(2, 150, len(rows), program.learning.n_classes))
    wanted = host_answers(program, rows, calls)
    np.testing.assert_array_equal(emulated_answers(program, rows, calls, target), wanted)


@pytest.mark.parametrize(
    "kind, single_header",
    few([("votes", False), ("votes", True), ("new classes", False), ("bias", True), ("one row", False)], 3),
)
def test_the_exported_self_test_has_golden_calls(kind, single_header, tmp_path):
    compiler("make")
    program, _ = learning(kind)
    given = {key: getattr(program.options, key) for key in vars(program.options) if key != "rows"}
    scaled = program.model
    model = scaled._with(clauses=scaled.clauses.voting((scaled.weights // 16).astype(np.int32)))
    folder = export.c(model, tmp_path / "out", **{**given, "single_header": single_header})
    done = subprocess.run(["make", "CC=gcc"], cwd=folder, capture_output=True, text=True, check=False)
    assert "0 failures" in done.stdout, done.stdout + done.stderr
    test = folder / "m_test.c"
    head = "learned[2 * N_ROWS * M_CLASSES] = {\n"
    assert head in test.read_text()
    test.write_text(test.read_text().replace(head, head + "1 +"))  # another sum is a failure
    done = subprocess.run(["make", "CC=gcc"], cwd=folder, capture_output=True, text=True, check=False)
    assert "1 failures" in done.stdout, done.stdout + done.stderr


def test_learning_takes_quick_code_where_it_fits_and_lists_where_flash_is_tight():
    model, _ = random_model(2, n_clauses=300)
    given = {"learn": "votes", "learn_rows": 14, "margin": 3}
    quick = choose(model, **given)
    small = choose(model, **given, flash=quick.flash_bytes * 2 // 3)
    assert (quick.layout, small.layout) == ("branches", "lists")
    assert quick.costs.instructions < small.costs.instructions


def test_the_host_and_the_export_agree_on_the_model_that_a_state_belongs_to():
    model, _ = random_model(2, n_clauses=45)
    program = choose(model, learn="votes", rows=20, margin=3)
    assert program.learning.identity == Votes(model, 20, margin=3).learning.identity
    assert program.learning.n_rows == 20
    assert program.options.rows is None
    assert program.learning.identity != Votes(model, 20, margin=4).learning.identity
    assert (
        choose(model, learn="votes", rows=9, margin=3, input="int16").learning.identity
        == program.learning.identity
    )


@pytest.mark.parametrize("layout", ["branches", "lists"])
def test_an_avr_compiler_takes_the_code(layout, tmp_path):
    program, _ = learning("guarded new class", layout)
    for name, text in program.files.items():
        (tmp_path / name).write_text(text)
    command = [compiler("avr-gcc"), "-mmcu=atmega328p", "-Os", "-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*command, "-c", "m.c"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("layout", ["branches", "lists"])
def test_bits_of_clauses_that_are_not_there_are_refused(layout, tmp_path):
    program, _ = learning("votes", layout)
    state = State(program.learning)
    assert program.learning.n_clauses % 8
    size = program.learning.row_bytes
    state.rows = [bytes(size), bytes(size - 1) + b"\x80"]
    spare = state.save()
    with pytest.raises(RefusedState):
        State(program.learning).restore(spare)
    state.rows.pop()
    (tmp_path / "driver.c").write_text(RESTORES)
    assert answers_of(program, spare, tmp_path) == b"0"
    assert answers_of(program, state.save(), tmp_path) == b"1"
    assert answers_of(program, state.save()[: size - 1], tmp_path) == b"0"  # and nothing is read behind it


RESTORES = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "m.h"

int main(void)
{
    static uint8_t state[M_STATE_BYTES];
    const size_t size = fread(state, 1, sizeof state, stdin);
    uint8_t *const exact = malloc(size);

    memcpy(exact, state, size);
    putchar(m_restore(exact, size) ? '1' : '0');
    free(exact);
    return 0;
}
"""


def test_nan_is_not_taught(tmp_path):
    program, rows = learning("votes")
    rows = rows.copy()
    rows[0, 0] = np.nan
    calls = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 99, 0]], dtype=np.int32)
    assert c_answers(program, rows, calls, tmp_path)[:, 0].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"learn": "automata"}, "learn is 'automata'"),
        ({"layout": "fast"}, "layout of its own"),
        ({"learn_rows": 0}, "learn_rows"),
        ({"classes": 1}, "New classes need general rows"),
        ({"learn_rows": 9999, "target": "cortex-m0plus"}, "bytes of RAM"),
        ({"margin": None}, "no typical rows"),
        ({"early": 0.1}, r"early.*\b0.1\b.*learns"),
        ({"learn": None}, r"margin.*\b3\b.*learns"),
    ],
)
def test_what_cannot_learn_is_refused(options, message):
    model, _ = random_model(2, n_clauses=45)
    with pytest.raises(ValueError, match=message):
        choose(model, **{"learn": "votes", "margin": 3, **options})


def test_a_model_of_one_class_is_refused():
    model = Model([0], [0, 1], [[1]], n_booleans=1, classes=["x"])
    with pytest.raises(ValueError, match="nothing to tell apart"):
        choose(model, learn="votes", margin=1)


def test_windows_are_taught_after_they_were_pushed(tmp_path):
    windows = hard_windows(64, 3)
    extractor = WindowFeatures({"stats": ["axes"], "haar": ["axes"]}, hop=64).fit(windows)
    model = model_of(extractor, windows)
    program = choose(model, learn="votes", learn_rows=20, margin=3, guard=False, name="m")
    votes = Votes(model, 20, margin=3, guard=False)
    assert program.learning.identity == votes.learning.identity
    pushed = []
    for i in range(12):
        votes.learn(windows[i], "abcd"[i % 4])
        pushed.append(f"push({i}, {i % 4}u);")
    votes.adapt()
    for name, text in program.files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "driver.c").write_text(PUSHES.replace("@", " ".join(pushed)))
    command = [compiler("gcc"), "-std=c99", *WARNINGS, *SANITIZERS, "m.c", "driver.c", "-o", "driver"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(
        ["./driver"], cwd=tmp_path, input=windows.tobytes(), capture_output=True, check=True
    )
    size = len(votes.save())
    assert done.stdout[:size] == votes.save()
    sums = np.frombuffer(done.stdout[size:], dtype=np.int32).reshape(12, 4)
    np.testing.assert_array_equal(sums, votes.class_sums(windows[:12]))


PUSHES = """
#include <stdio.h>
#include "m.h"

static int16_t windows[12][M_WINDOW * M_AXES];

static void push(unsigned w, unsigned class_)
{
    unsigned i;

    m_reset();
    for (i = 0; i < M_WINDOW; i++)
        m_push(windows[w] + i * M_AXES);
    if (m_learn_last(class_) != 1)
        putchar('x');
}

int main(void)
{
    static uint8_t state[M_STATE_BYTES];
    int32_t sums[M_CLASSES];
    unsigned w;

    if (m_learn_last(0) != 0 || fread(windows, sizeof windows, 1, stdin) != 1)
        return 1;
    @
    m_adapt();
    fwrite(state, 1, m_save(state), stdout);
    for (w = 0; w < 12; w++) {
        m_window(windows[w]);
        m_class_sums(m_features(), sums);
        fwrite(sums, sizeof sums, 1, stdout);
    }
    return 0;
}
"""


@pytest.mark.parametrize("kind", ["rows", "windows"])
def test_only_an_export_that_learns_has_a_sketch_with_two_buttons(kind, tmp_path):
    model, _ = random_model(2, n_clauses=45)
    if kind == "windows":
        windows = hard_windows(64, 3)
        model = model_of(WindowFeatures({"stats": ["axes"]}).fit(windows), windows)
    plain = export.arduino(model, tmp_path / "plain")
    assert not (plain / "examples" / "Teach").exists()
    assert "Teach it" not in (plain / "README.md").read_text()
    folder = export.arduino(model, tmp_path / "own", learn="votes", margin=2)
    sketch = (folder / "examples" / "Teach" / "Teach.ino").read_text()
    assert "model_learn_last(chosen)" in sketch
    assert "@" not in sketch
    assert "model_unlearn" in (folder / "README.md").read_text()
