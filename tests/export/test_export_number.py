"""Exports of models whose answer is a number: the same sums, and the same bits of numbers, as on the host."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from ethereal import EtherealRegressor, Model, device, export
from ethereal.device.emulator import EmulatedBoard
from ethereal.export import LAYOUTS, make_program
from ethereal.export.projects import PROJECTS
from ethereal.export.projects.writer import project_files, project_program
from ethereal.model import Number
from ethereal.model.needs import NotSupported
from random_models import number_model, random_clauses
from thinned import few, thinned
from windows import number_of_windows

STRICT = ["-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wcast-qual", "-Wundef",
          "-Wdouble-promotion", "-Wfloat-conversion", "-Werror"]  # fmt: skip
TAKING = [layout for layout in LAYOUTS if layout != "sliced"]
MODELS = {
    "raw": {"seed": 21},
    "Booleans": {"seed": 22, "encoding": None, "n_features": 20},
    "few rows": {"seed": 23, "n_features": 2, "n_bins": 3},  # classes of such a model would be in a table
    "missing": {"seed": 24, "missing": "some", "encoding": "mixed"},
    "one clause": {"seed": 25, "n_clauses": 1, "longest": 1, "shortest": 1},
    "heavy": {"seed": 26, "heaviest": 30_000, "n_clauses": 120},
}


@pytest.mark.parametrize("name, layout", thinned(list(MODELS), TAKING))
def test_the_self_test_of_an_export_passes(name, layout, tmp_path):
    if (name, layout) == ("heavy", "redress"):  # which repeats a clause for every vote
        layout = "straight"
    model, X = number_model(**MODELS[name])
    kind = "int16" if model.fitted is not None and name != "heavy" else "float"
    is_single = list(MODELS).index(name) % 2 == 0
    folder = export.c(
        model, tmp_path / "c", layout=layout, rows=X, input=kind, name="gauge", single_header=is_single
    )
    made = subprocess.run(["make", "-s", "-C", folder], capture_output=True, text=True, check=False)
    assert "gauge: 16 golden rows, 0 failures" in made.stdout, made.stderr
    damaged = (
        (folder / "gauge_test.c")
        .read_text()
        .replace("expected_bits[N_ROWS] = {\n    0x", "expected_bits[N_ROWS] = {\n    1 + 0x")
    )
    (folder / "gauge_test.c").write_text(damaged)
    made = subprocess.run(["make", "-s", "-C", folder], capture_output=True, text=True, check=False)
    assert "1 failures" in made.stdout


@pytest.mark.parametrize("language, layout", few(
    [("-std=c99", "straight"), ("-std=c99", "fast"), ("-xc++ -std=c++98", "compact"),
     ("-xc++ -std=c++20", "straight"), ("-xc++ -std=c++20", "fast")], 3))  # fmt: skip
def test_strict_compilers_have_nothing_to_say(language, layout, tmp_path):
    model, _ = number_model(21)
    files = make_program(model, layout, with_names=True, input="int16").files
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    flags = [flag for flag in STRICT if "++98" not in language or flag != "-pedantic"]
    command = ["gcc", *language.split(), *flags, "-Os", "-c", "model.c", "-o", "model.o"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr


def test_a_program_that_asks_for_the_sum_alone_has_no_floating_point(tmp_path):
    model, _ = number_model(21)
    for layout in ("straight", "fast"):
        program = make_program(model, layout)
        elf = device.program.compiled(program.files, device.TARGETS["cortex-m0plus"], ["model_sum"])
        assert not [name for name in elf.symbols if re.search("float|_f|value", name)]
        with pytest.raises(RuntimeError, match="undefined symbol: __aeabi_f"):
            device.program.compiled(program.files, device.TARGETS["cortex-m0plus"], ["model_value"])


@pytest.mark.parametrize("target, layout", thinned(
    ["cortex-m7", "cortex-m0plus", "cortex-m4", "cortex-m33", "riscv32", "atmega328p"], TAKING))  # fmt: skip
def test_emulated_cores_give_the_sums_and_the_bits(target, layout):
    model, X = number_model(21)
    measured = device.measure(model, X[:20], target, layout, worst=target != "atmega328p")
    assert measured.agreement == 1.0
    if measured.worst_instructions:
        assert (
            measured.total_instructions_max
            <= measured.worst_instructions
            <= 1.6 * measured.total_instructions_max + 30
        )


def test_a_linear_part_is_that_of_the_host_and_has_a_worst_case(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1, 100, 1e-3]
    reg = EtherealRegressor(n_clauses=5, epochs=2, linear=True, random_state=0)
    model = reg.fit(X, X @ [1, 0.02, 500] + (X[:, 0] > 0)).model_.ignoring_missing()
    hard = [0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-38, 3e38, -3e38, np.nan, 1.0]
    rows = np.concatenate([X[:40], rng.choice(hard, (60, 3))])
    folder = export.c(model, tmp_path / "c", rows=rows, name="gauge")
    made = subprocess.run(["make", "-s", "-C", folder], capture_output=True, text=True, check=False)
    assert "0 failures" in made.stdout, made.stderr
    measured = device.measure(model, rows, "cortex-m0plus", worst=True)
    assert measured.agreement == 1.0
    most = measured.total_instructions_max
    assert most <= measured.worst_instructions <= 1.5 * most
    with pytest.raises(ValueError, match="the linear part of the model reads floats"):
        make_program(model, "straight", input="int16")


def test_a_program_whose_numbers_differ_is_found(monkeypatch):
    model, X = number_model(21)
    program = device.program.on_rows(make_program(model, "straight"), X[:8])
    assert device.measure_program(program).agreement == 1.0
    header = program.files["model.h"]
    for before, after in (("MODEL_SCALE 0.125f", "MODEL_SCALE 0.25f"), ("(-20.2999992f)", "(-20.2999973f)")):
        assert before in header
        files = program.files | {"model.h": header.replace(before, after)}
        wrong = device.program.replace(
            program, files=files, beside_counts=device.program.replace(program.beside_counts, files=files)
        )
        assert device.measure_program(wrong).agreement < 0.5


@pytest.mark.parametrize("sound", [False, True])
def test_windows_and_streams_give_sums(sound, tmp_path):
    model, windows = number_of_windows(sound)
    folder = export.c(model, tmp_path / "c", rows=windows, name="gauge")
    made = subprocess.run(["make", "-s", "-C", folder], capture_output=True, text=True, check=False)
    assert "0 failures" in made.stdout, made.stderr
    header = (folder / "gauge.h").read_text()
    assert "int32_t gauge_window(const int16_t *samples);" in header
    assert "int32_t gauge_pushed(void);" in header
    assert "class" not in re.sub(r"class sums", "", header).lower()
    if not sound:
        assert device.measure(model, windows[:6]).agreement == 1.0
        assert device.measure(model, model.front_end.transform(windows[:6])).agreement == 1.0
    with pytest.raises(ValueError, match="majority is 3, but the answers of this model are numbers"):
        export.c(model, tmp_path / "d", majority=3)


@pytest.mark.parametrize("name", PROJECTS)
@pytest.mark.parametrize("of_windows", [False, True])
def test_no_project_of_a_number_speaks_of_classes(name, of_windows):
    model, X = number_of_windows() if of_windows else number_model(21)
    files = project_files(name, project_program(model, name, rows=X, name="gauge"))
    del files["gauge.json"]  # whose keys are the same for every kind of answer
    runtime = re.compile(r"(.*/)?ethereal[^/]*\.(h|pack)")
    texts = {path: text for path, text in files.items() if not runtime.fullmatch(path)}
    for path, text in texts.items():
        assert "@" not in path
        assert not re.search(r"gauge_predict|gauge_class|GAUGE_CLASS|@\w+@", text), path
        spoken = re.search(r"\bclass(es)?\b(?! sums)", text)
        assert spoken is None, (path, text[max(0, spoken.start() - 80) : spoken.end() + 40])
    everything = "\n".join(map(str, texts.values()))
    assert "GAUGE_HALF_WIDTH 1.5f" in everything
    assert "degC" in everything


def test_what_cannot_be_a_number_is_refused_by_name(tmp_path):
    model, X = number_model(21)
    for layout, keywords, why in (
        ("sliced", {}, "layout sliced does not take output of the kind 'number'.* Or use the layout compact"),
        (
            None,
            {"learn": "votes", "margin": 3},
            "learning on the board does not take output of the kind 'number'",
        ),
        (None, {"early": 0.01, "rows": X}, "A number has no early answers"),
    ):
        with pytest.raises((NotSupported, ValueError), match=why):
            export.c(model, tmp_path / "c", **keywords, **({"layout": layout} if layout else {}))
    assert list(tmp_path.iterdir()) == []


def test_texts_of_the_user_do_no_harm(tmp_path):
    number = Number(scale=2.0**-100, offset=-(2.0**125), unit='*/ "??/ %s \\', name="/* größer")
    model, X = number_model(21, number)
    folder = export.c(model, tmp_path / "c", rows=X)
    made = subprocess.run(["make", "-s", "-C", folder], capture_output=True, text=True, check=False)
    assert "0 failures" in made.stdout, made.stderr
    assert "HALF_WIDTH" not in (folder / "model.h").read_text()


def test_votes_that_use_all_of_float32(tmp_path):
    """At the ends of what a sum may be, one rounding is left, and gcc gives the host's whatever its flags."""
    rng = np.random.default_rng(0)
    literals, offsets, _ = random_clauses(rng, 20, 1, 200, shortest=4, longest=6)
    votes, number = rng.integers(-30_000, 30_000, (200, 1)), Number(scale=2.0**-3, offset=0.3)
    model = Model(literals, offsets, votes, n_booleans=20, output=number)
    X = rng.random((40, 20)) < 0.5
    assert np.abs(model.class_sums(X)).max() > 50_000
    for flags in (["-O2"], ["-O3", "-ffast-math", "-march=native"]):
        folder = export.c(model, tmp_path / flags[0], rows=X, name="gauge", layout="fast")
        command = ["make", "-s", "-C", folder, f"CFLAGS={' '.join(flags)}"]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "0 failures" in made.stdout, made.stderr


def test_one_class_is_exported_with_a_warning(tmp_path):
    """It answers every row alike, in C as here, so its votes may be meant as a number."""
    model = Model([0, 3], [0, 1, 2], [[5], [-2]], n_booleans=2, classes=["y"])
    with pytest.warns(UserWarning, match=r"one class, 'y'.* output=Number"):
        export.c(model, tmp_path / "c")
    with pytest.warns(UserWarning, match=r"one class, 'y'.* output=Number"):
        export.micropython(model, tmp_path / "mpy")


@pytest.mark.parametrize("of_windows", few([False, True]))
def test_the_papers_board_prints_sums(of_windows, tmp_path):
    model, X = number_of_windows() if of_windows else number_model(21)
    folder = export.stm32f746g_disco(model, tmp_path / "board", name="gauge", rows=X)
    caches = {f"ZIG_{kind}_CACHE_DIR": str(tmp_path / "zig") for kind in ("GLOBAL", "LOCAL")}
    zig = f"{sys.executable} -m ziglang cc -target thumb-freestanding-eabi -mcpu=cortex_m7 -fno-sanitize=all"
    built = subprocess.run(["make", "zig", f"ZIG={zig}"], cwd=folder, env=os.environ | caches,
                           capture_output=True, text=True, check=False)  # fmt: skip
    assert built.returncode == 0, built.stderr
    assert "warning" not in built.stderr
    run = EmulatedBoard(device.Elf((folder / "gauge.elf").read_bytes()), device.TARGETS["cortex-m7"]).run()
    assert run.succeeded
    n = 4 if of_windows else 16
    assert run.text.endswith(f"{n} of {n} golden {'windows' if of_windows else 'rows'} right\n")
    assert ": sum -" in run.text or ": sum " in run.text
