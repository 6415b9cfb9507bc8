"""The C of models that read raw windows: features, answers and streams are those of the host."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import kept_builds
from ethereal import export
from ethereal.cli import app
from ethereal.device import TARGETS, Elf, EmulatedBoard, EmulatedCore, compile_elf, measure
from ethereal.export.c99.choose import choose
from ethereal.export.c99.parts.windows import code_bytes
from ethereal.features.front_end import KERNELS, OF_SOUND
from ethereal.features.window_features import WindowFeatures
from thinned import few, thinned
from windows import RAW, everything, hard_windows, model_of

CORES = [name for name, target in TARGETS.items() if target.isa != "avr"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
PEDANTIC = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wcast-qual", "-Werror"]
MAIN = """
#include <stdio.h>
#include "model.h"

int main(void)
{
    static int16_t samples[MODEL_WINDOW * MODEL_AXES];
    int answer;

#ifdef WHOLE
    while (fread(samples, sizeof samples, 1, stdin) == 1) {
        answer = (int)model_window(samples);
        fwrite(&answer, sizeof answer, 1, stdout);
        fwrite(model_features(), sizeof(int16_t), MODEL_FEATURES, stdout);
    }
#else
    while (fread(samples, sizeof(int16_t), MODEL_AXES, stdin) == MODEL_AXES) {
        answer = model_push(samples);
        fwrite(&answer, sizeof answer, 1, stdout);
    }
#endif
    return 0;
}
"""


def build(folder, model, *flags, compiler="cc", **options):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    export.c(model, folder, **options)
    (folder / "main.c").write_text(MAIN)
    sources = ["main.c"] if options.get("single_header") else ["main.c", "model.c"]
    done = kept_builds.build([compiler, *PEDANTIC, *flags, *sources, "-o", "main"], folder, "main")
    assert done.returncode == 0, done.stderr
    return lambda samples: subprocess.run([folder / "main"], input=np.ascontiguousarray(samples).tobytes(),
                                          capture_output=True, check=True).stdout  # fmt: skip


def same_on_host(run, model, windows):
    """Compare features and classes of all windows."""
    narrow = model.drop_unused_kernels().front_end
    data = run(windows)
    rows = np.frombuffer(data, np.dtype([("answer", "<i4"), ("features", "<i2", len(narrow.names))]))
    assert np.array_equal(rows["features"], narrow.transform(windows))
    assert np.array_equal(rows["answer"], model.output.codes(model.class_sums(windows)))


@pytest.mark.parametrize("n, target", thinned([64, 100, 128], CORES, one_in=3))
def test_every_core_gives_the_features_of_the_host(n, target):
    chip, windows = TARGETS[target], hard_windows(n, 6, 3)
    extractor = everything().fit(windows)
    same_on_core(model_of(extractor, windows), windows, chip, "straight" if n == 100 else "fast")


@pytest.mark.parametrize("target", CORES)
def test_every_core_gives_the_mel_bands_of_the_host(target):
    windows = hard_windows(1024, 1, 2)
    windows[-1, :500] //= 4000
    extractor = WindowFeatures(["mel"], rate=8000).fit(windows)
    same_on_core(model_of(extractor, windows), windows, TARGETS[target])


@pytest.mark.parametrize("name, target", thinned(["har", "watch", "gesture", "fsdd"], CORES, one_in=4))
def test_every_core_gives_the_features_of_real_windows(name, target):
    if not (RAW / f"{name}.npz").exists():
        pytest.skip(f"{name} is not there")
    with np.load(RAW / f"{name}.npz", allow_pickle=False) as data:
        windows = data["X"][:: len(data["X"]) // (3 if name == "fsdd" else 12)]
    extractor = WindowFeatures(["mel"], rate=8000) if name == "fsdd" else everything(windows.shape[2])
    extractor.fit(windows)
    same_on_core(model_of(extractor, windows), windows, TARGETS[target])


def same_on_core(model, windows, chip, layout="fast"):
    """Compare features and classes of all windows on an emulated core."""
    program = choose(model, layout, target=chip.name)
    roots = ["model_window", "model_push", "model_check", "model_features"]
    elf = compile_elf(program.files, chip, roots, optimize="-Os")
    core = EmulatedCore(elf, chip)
    wanted = program.model.front_end.transform(windows)
    classes = model.output.codes(model.class_sums(windows))
    address = core.buffer(np.zeros(windows[0].size, dtype=np.int16))
    for window, features, answer in zip(windows, wanted, classes, strict=True):
        core.write(address, np.ascontiguousarray(window))
        assert core.call("model_window", address) == answer
        on_core = np.frombuffer(core.read(core.call("model_features"), 2 * len(features)), "<i2")
        assert np.array_equal(on_core, features)
    assert core.call("model_check") == 1


@pytest.mark.parametrize("n, compiler", thinned([64, 100], ["cc", "clang"]))
def test_sanitizers_find_nothing_and_features_are_the_same(n, compiler, tmp_path):
    windows = hard_windows(n, 6, 60)
    model = model_of(everything().fit(windows), windows)
    flags = SANITIZERS if compiler == "cc" else []
    same_on_host(build(tmp_path / "c", model, "-DWHOLE", "-O1", *flags, compiler=compiler), model, windows)


def test_sound_under_sanitizers(tmp_path):
    windows = hard_windows(2000, 1, 8)
    model = model_of(WindowFeatures(["mel", "std"], rate=8000).fit(windows), windows)
    same_on_host(build(tmp_path / "c", model, "-DWHOLE", "-O1", *SANITIZERS), model, windows)


@pytest.mark.parametrize(
    "kernel, single_header", thinned([name for name in KERNELS if name not in OF_SOUND], [False, True])
)
def test_each_kernel_alone_compiles_without_a_warning(kernel, single_header, tmp_path):
    windows = hard_windows(64, 3, 10)
    sources = ["ax*az"] if KERNELS[kernel].of == "pair" else ["ay", "|a|"]
    model = model_of(WindowFeatures({kernel: sources}).fit(windows), windows)
    run = build(tmp_path / "c", model, "-DWHOLE", "-O2", single_header=single_header)
    same_on_host(run, model, windows)


def recording(n, n_axes=3, seed=0):
    rng = np.random.default_rng(seed)
    loud = np.repeat(rng.choice([3, 300, 3000, 30000], n // 50 + 1), 50)[:n, None]
    return np.clip(
        np.cumsum(rng.normal(0, 0.2, (n, n_axes)), axis=0) % 3 * loud - loud, -32768, 32767
    ).astype("i2")


def majority_of(answers, k):
    """The most frequent of the last k answers, the newest of them on a tie."""
    collected = []
    for i in range(len(answers)):
        last = answers[max(0, i + 1 - k) : i + 1][::-1].tolist()
        collected.append(max(last, key=lambda a: (last.count(a), -last.index(a))))
    return collected


@pytest.mark.parametrize(("hop", "majority"), few([(64, 1), (16, 3), (1, 1), (63, 5), (20, 2)], 3))
def test_a_stream_gets_the_answers_of_its_windows(hop, majority, tmp_path):
    stream = recording(2000)
    extractor = WindowFeatures(["stats", "haar", "bands"], hop=hop)
    extractor.fit(stream[:1984].reshape(31, 64, 3))
    model = model_of(extractor, stream[:1984].reshape(31, 64, 3))
    run = build(tmp_path / "c", model, "-O1", *SANITIZERS, majority=majority)
    answers = np.frombuffer(run(stream), "<i4")
    when = np.arange(63, 2000, hop)
    assert len(answers) == 2000
    assert np.array_equal(np.flatnonzero(answers >= 0), when)
    wanted = model.output.codes(model.class_sums(model.front_end.windows(stream)))
    assert len(np.unique(wanted)) > 1
    assert answers[when].tolist() == majority_of(wanted, majority)


@pytest.mark.parametrize(("hop", "majority"), few([(1024, 1), (256, 3), (768, 1)], 2))
def test_a_stream_of_sound_keeps_a_frame_only(hop, majority, tmp_path):
    stream = recording(20_000, 1)
    extractor = WindowFeatures(["mel"], hop=hop, rate=8000).fit(stream[:19456].reshape(19, 1024, 1))
    model = model_of(extractor, stream[:19456].reshape(19, 1024, 1))
    run = build(tmp_path / "c", model, "-O1", *SANITIZERS, majority=majority)
    answers = np.frombuffer(run(stream), "<i4")
    wanted = model.output.codes(model.class_sums(model.front_end.windows(stream)))
    assert np.array_equal(np.flatnonzero(answers >= 0), np.arange(1023, 20_000, hop))
    assert answers[answers >= 0].tolist() == majority_of(wanted, majority)
    chip = TARGETS["cortex-m0plus"]
    files = choose(model, "fast").files
    assert compile_elf(files, chip, ["model_push"], optimize="-Os").ram_bytes < 2300
    core = EmulatedCore(compile_elf(files, chip, ["model_push"], optimize="-Os"), chip)
    address = core.buffer(np.zeros(1, dtype=np.int16))
    collected = []
    for sample in stream[:2048]:
        core.write(address, sample)
        collected.append(core.call("model_push", address))
    assert [a for a in collected if a < 2**31 and a != -1] == wanted[: len(range(1023, 2048, hop))].tolist()


def test_an_hour_at_100_hz_misses_no_window(tmp_path):
    stream = recording(360_000, 6, 4)
    extractor = WindowFeatures(["stats", "haar", "bands", "cov"], hop=64)
    extractor.fit(stream[: 128 * 500].reshape(500, 128, 6))
    model = model_of(extractor, stream[: 128 * 500].reshape(500, 128, 6))
    answers = np.frombuffer(build(tmp_path / "c", model, "-O2")(stream), "<i4")
    wanted = model.output.codes(model.class_sums(model.front_end.windows(stream)))
    assert np.array_equal(answers[answers >= 0], wanted)
    assert len(wanted) == (360_000 - 128) // 64 + 1


@pytest.mark.parametrize("target", ["cortex-m0plus", "riscv32"])
def test_push_on_a_core(target):
    stream, chip = recording(400), TARGETS[target]
    extractor = WindowFeatures({"std": ["axes"], "haar": ["|a|"]}, hop=24).fit(stream[:384].reshape(6, 64, 3))
    model = model_of(extractor, stream[:384].reshape(6, 64, 3))
    elf = compile_elf(choose(model, "fast").files, chip, ["model_push", "model_reset"], optimize="-Os")
    core = EmulatedCore(elf, chip)
    address = core.buffer(np.zeros(3, dtype=np.int16))
    wanted = model.output.codes(model.class_sums(model.front_end.windows(stream))).tolist()
    for _ in range(2):
        collected = []
        for sample in stream:
            core.write(address, sample)
            collected.append(core.call("model_push", address))
        assert [a for a in collected if a != 2**32 - 1 and a != -1] == wanted
        core.call("model_reset")


def test_a_kernel_that_no_clause_uses_is_not_there(tmp_path):
    windows = hard_windows(64, 6)
    model = model_of(everything().fit(windows), windows)
    front_end, f = model.front_end, model.front_end.names.index("gy.haar2")
    boolean = int(np.flatnonzero(model.feature_map.feature == f)[0])
    small = model.with_clauses([boolean], [0, 1], [[1, 0, 0, 0]])
    text = choose(small).files["model.c"]
    assert "#define ET_KERNELS 0x0100" in text
    assert "et_sine" not in text
    assert "haar of gy" in text
    whole = measure(model, windows[:4], "cortex-m7", "fast")
    few = measure(small, windows[:4], "cortex-m7", "fast")
    assert few.agreement == whole.agreement == 1.0
    assert few.total_instructions < whole.total_instructions / 20
    assert few.flash_bytes < 1300
    assert len(front_end.groups) > 60


@pytest.mark.parametrize(
    "kernel, target",
    thinned([*(name for name in KERNELS if name != "sound"), "everything"], ["cortex-m0plus", "cortex-m7"]),
)
def test_the_bound_on_the_code_holds(kernel, target):
    n_axes = 1 if kernel == "mel" else 3
    windows = hard_windows(256, n_axes, 10)
    sources = {"cov": ["ax*az"], "corr": ["ay*az"], "mel": ["x"]}.get(kernel, ["ay", "|a|"])
    extractor = everything(3) if kernel == "everything" else WindowFeatures({kernel: sources}, rate=8000)
    program = choose(model_of(extractor.fit(windows), windows), "compact", target=target)
    elf = compile_elf(program.files, TARGETS[target], program.entry_points, optimize="-Os")
    alone = compile_elf(program.files, TARGETS[target], ["model_predict", "model_check"], optimize="-Os")
    assert elf.code_bytes + elf.table_bytes <= program.flash_bytes
    assert elf.code_bytes - alone.code_bytes <= code_bytes(program.model.front_end)


def test_other_number_types_and_majorities_are_refused():
    windows = hard_windows(64, 3)
    model = model_of(everything(3).fit(windows), windows)
    with pytest.raises(ValueError, match=r"features.*int16"):
        choose(model, input="int8")
    with pytest.raises(ValueError, match="majority is 0"):
        choose(model, majority=0)


@pytest.mark.parametrize("project", ["c", "arduino", "zephyr", "stm32f746g_disco"])
def test_projects_take_windows(project, tmp_path):
    windows = hard_windows(64, 3)
    extractor = everything(3, rate=50, scale=1000, units="g").fit(windows)
    export.project(model_of(extractor, windows), tmp_path / "p", project, rows=windows)
    texts = "".join(p.read_text() for p in (tmp_path / "p").rglob("*") if p.is_file())
    assert "model_push" in texts
    assert "1000 counts per g" in texts
    assert "_convert(" not in texts
    assert "@name@" not in texts.lower()
    if project == "c":
        subprocess.run(["make", "CFLAGS=-O1"], cwd=tmp_path / "p", check=True, capture_output=True)


def test_the_papers_board_takes_a_stream(tmp_path):
    windows = hard_windows(64, 3)
    model = model_of(everything(3, hop=16).fit(windows), windows)
    folder = export.stm32f746g_disco(model, tmp_path / "board", name="moves", rows=windows)
    caches = {f"ZIG_{kind}_CACHE_DIR": str(tmp_path / "zig") for kind in ("GLOBAL", "LOCAL")}
    zig = f"{sys.executable} -m ziglang cc -target thumb-freestanding-eabi -mcpu=cortex_m7 -fno-sanitize=all"
    built = subprocess.run(["make", "zig", f"ZIG={zig}"], cwd=folder, env=os.environ | caches,
                           capture_output=True, text=True, check=False)  # fmt: skip
    assert built.returncode == 0, built.stderr
    run = EmulatedBoard(Elf((folder / "moves.elf").read_bytes()), TARGETS["cortex-m7"]).run()
    assert run.succeeded
    assert run.text.endswith("4 of 4 golden windows right\n")


def test_real_streams_get_the_answers_of_their_windows(tmp_path):
    for name in ("watch", "gesture"):
        if not (RAW / f"{name}.npz").exists():
            pytest.skip(f"{name} is not there")
        with np.load(RAW / f"{name}.npz", allow_pickle=False) as data:
            windows = data["X"][:400]
        model = model_of(everything(windows.shape[2], hop=32).fit(windows), windows)
        stream = windows.reshape(-1, windows.shape[2])
        answers = np.frombuffer(build(tmp_path / name, model, "-O2")(stream), "<i4")
        wanted = model.output.codes(model.class_sums(model.front_end.windows(stream)))
        assert np.array_equal(answers[answers >= 0], wanted)


def test_the_command_exports_a_model_of_windows(tmp_path):
    windows = hard_windows(64, 3)
    model_of(everything(3, hop=32).fit(windows), windows).save(tmp_path / "m.etm")
    command = [
        "export",
        str(tmp_path / "m.etm"),
        "--to",
        "c",
        "--out",
        str(tmp_path / "c"),
        "--majority",
        "3",
    ]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    text = (tmp_path / "c" / "m.h").read_text()
    assert "#define M_MAJORITY 3u" in text
    assert "#define M_HOP 32u" in text
    command = ["export", str(tmp_path / "m.etm"), "--to", "micropython", "--out", str(tmp_path / "upy")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output


def test_an_avr_gives_the_answers_of_the_host():
    for tool in ("avr-gcc", "simavr"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    windows = hard_windows(64, 3, 3)
    model = model_of(everything(3).fit(windows), windows, n_clauses=10)
    assert measure(model, windows, "atmega2560", "fast").agreement == 1.0


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4"])
def test_gcc_needs_no_routine_of_its_own(target):
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    windows = hard_windows(100, 3, 3)
    model = model_of(everything(3).fit(windows), windows, n_clauses=10)
    assert measure(model, windows, target, "fast", compiler="gcc").agreement == 1.0


@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_one_header_is_c_plus_plus_too(standard, tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    windows = hard_windows(64, 3, 3)
    export.c(model_of(everything(3).fit(windows), windows), tmp_path / "c", single_header=True)
    text = '#include "model.h"\nint main() { int16_t s[3] = {0, 0, 0}; return model_push(s) + 1; }\n'
    (tmp_path / "c" / "a.cpp").write_text(text)
    command = ["g++", f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", "a.cpp", "-o", "a"]
    subprocess.run(command, cwd=tmp_path / "c", check=True)
    assert subprocess.run([tmp_path / "c" / "a"], check=False).returncode == 0
