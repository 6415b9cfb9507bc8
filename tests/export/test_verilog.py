"""Gates: the exported Verilog answers as the host does, in simulation, with stalls at random."""

import itertools
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from ethereal import Booleanizer, Model, export
from ethereal.base.checks import DoesNotFit
from ethereal.chips import fpgas
from ethereal.device.gates import differences, measure_gates
from ethereal.export.hdl.core import Core
from ethereal.export.hdl.design import Design
from ethereal.export.hdl.estimate import luts_of
from ethereal.export.hdl.tapeout import gates_of
from ethereal.model.needs import NotSupported
from odd_models import as_number
from random_models import random_clauses, random_model
from thinned import few

PLAIN = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
INPUTS = ("int16", "int8", "uint8", "uint16")


def needs(*tools):
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{' and '.join(missing)} not installed")


simulated = needs("iverilog")


def run(command, folder):
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def strange(seed):
    """A random model with rows, and options of its export."""
    encoding = [None, "thermometer", "onehot", "mixed"][seed % 4]
    rng = np.random.default_rng(seed)
    model, rows = random_model(
        seed,
        encoding=encoding,
        missing="no" if encoding is None else ["no", "some", "ignore"][seed % 3],
        n_classes=int(rng.integers(1, 6)),
        n_features=int(rng.integers(1, 20)),
        n_clauses=int(rng.integers(2, 30)),
        heaviest=[1, 3, 40][seed % 3],
    )
    options = {
        "input": None if encoding is None else INPUTS[seed // 4 % 4],
        "pipeline": int(rng.integers(0, 4)),
        "features": ["used", "all"][seed // 2 % 2],
        "lut": [4, 6][seed % 2],
        "bus": int(rng.integers(1, 5)),
    }
    return model, rows, options


def small(seed):
    """A model of few Booleans, with all rows that there are."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(1, 9)), int(rng.integers(2, 6))
    clauses = random_clauses(rng, n, n_classes, int(rng.integers(2, 25)), shortest=1, longest=4)
    model = Model(*clauses, n_booleans=n, classes=list(range(n_classes)))
    return model, np.array(list(itertools.product((False, True), repeat=n)))


@simulated
@pytest.mark.parametrize("seed", few(range(200), 12))
def test_small_models_answer_like_the_host_on_every_row(seed):
    model, rows = small(seed)
    design = Design.of(model, pipeline=seed % 4, lut=[4, 6][seed // 4 % 2])
    assert differences(design, rows) == (len(rows), 0, 0)


@simulated
@pytest.mark.parametrize("seed", few(range(100), 16))
def test_every_kind_of_boolean_answers_like_the_host(seed):
    model, rows, options = strange(seed)
    if not model.simplify().n_clauses:
        pytest.skip("no clause votes")
    design = Design.of(model, **options)
    # As the C in the same number type: thresholds of a quarter have no room in 8 bits beside all others.
    program = design.program
    same = (program.device_sums(program.features(rows)) == model.class_sums(rows)).all(axis=1)
    n, wrong, sums = differences(design, rows[same])
    assert n > 50
    assert (wrong, sums) == (0, 0)


@simulated
@pytest.mark.parametrize("seed", few(range(40), 3))
def test_a_number_is_the_sum_of_votes(seed):
    model, rows, options = strange(seed)
    number = as_number(model, np.random.default_rng(seed))
    number = number._with(output=number.output.without_line()).simplify()
    if not number.n_clauses:
        pytest.skip("no clause votes")
    design = Design.of(number, **options)
    program = design.program
    same = (program.device_sums(program.features(rows)) == number.class_sums(rows)).all(axis=1)
    assert differences(design, rows[same]) == (same.sum(), 0, 0)


@simulated
def test_a_wrong_vote_is_found(monkeypatch):
    model, rows = small(3)
    other = model.with_clauses(model.literals, model.offsets, np.roll(model.weights, 1, axis=0))
    right, wrong = Design.of(model), Design.of(other)
    assert (model.class_sums(rows) != other.class_sums(rows)).any()
    assert right.values["all_sum_bits"] == wrong.values["all_sum_bits"]
    files = wrong.files()
    monkeypatch.setattr(Design, "files", lambda self: files)
    assert differences(right, rows)[2] > 0


@simulated
@needs("verilator", "make")
@pytest.mark.parametrize("seed", few(range(40), 3))
def test_golden_rows_and_both_linters(seed, tmp_path):
    model, rows, options = strange(seed)
    folder = export.verilog(model, tmp_path / "v", name="tiny", rows=rows, **options)
    assert run("make sim", folder)[0] == 0
    code, said = run("make lint", folder)
    assert code == 0
    assert "arning" not in said
    # Below another make, the folders that it enters are told too.
    assert all(line.startswith(("verilator", "iverilog", "make[")) for line in said.splitlines())


@simulated
@needs("verilator", "make")
@pytest.mark.parametrize("seed", few(range(24), 2))
def test_the_pins_of_tiny_tapeout_answer_like_the_host(seed, tmp_path):
    model, rows, options = strange(seed)
    if not model.simplify().n_clauses:
        pytest.skip("no clause votes")
    kept = {key: options[key] for key in ("input", "features")}
    folder = export.tinytapeout(model, tmp_path / "t", name="tiny", rows=rows, **kept)
    code, said = run("make sim lint", folder)
    assert code == 0, said
    assert "arning" not in said
    info = (folder / "info.yaml").read_text(encoding="ascii")
    assert 'top_module: "tt_um_tiny"' in info
    assert all((folder / "src" / file).exists() for file in re.findall(r'- "(\w+\.v)"', info))
    assert len(re.findall(r'^  u(?:i|o|io)\[\d\]: "', info, re.MULTILINE)) == 24


def test_what_four_tiles_do_not_hold_is_refused_with_its_size(tmp_path):
    model, _ = random_model(3, n_features=30, n_clauses=400, n_classes=6, shortest=3)
    with pytest.raises(DoesNotFit, match=r"gates and .* flip-flops, which is .* tiles.*luts=\d+"):
        export.tinytapeout(model, tmp_path / "t")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("yosys") is None, reason="yosys is not installed")
def test_the_gates_of_a_tile_are_near_what_yosys_counts(tmp_path):
    model, _ = random_model(2, n_features=12, n_clauses=60, n_classes=4, encoding=None, shortest=1)
    folder = export.tinytapeout(model, tmp_path / "t")
    code, said = run("make gates", folder)
    assert code == 0
    counted = sum(int(n) for n in re.findall(r"\$_(?:NAND|NOR|NOT)_ +(\d+)", said))
    assert abs(gates_of(Design.of(model, pipeline=0)) / counted - 1) < 0.4


def test_several_features_in_a_transfer():
    model, _ = random_model(2, n_features=7, n_clauses=30, encoding="thermometer")
    one, three = Design.of(model).stream, Design.of(model, bus=3).stream
    assert three.n_beats == -(-one.n_beats // 3)
    assert (one.data_bits, three.data_bits) == (16, 48)
    with pytest.raises(ValueError, match=r"bus is 5\. It must be .* 4"):
        Design.of(model, bus=5)


def test_gates_are_described_as_json(tmp_path):
    model, _ = random_model(1, n_features=6, encoding="thermometer")
    folder = export.verilog(model, tmp_path / "v", name="gate", bus=2)
    record = json.loads((folder / "gate.json").read_text(encoding="utf-8"))
    assert (record["form"], record["code"]["features_per_transfer"]) == ("verilog", 2)
    assert record["code"]["transfer_bits"] == 32
    assert len(record["code"]["features"]) <= 2 * record["code"]["transfers"]


@simulated
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("yosys") is None, reason="yosys is not installed")
@pytest.mark.parametrize("seed", range(10))
def test_yosys_proves_that_two_pipelines_are_equal(seed, tmp_path):
    """The tables and adders of one form against the other's, in logic without registers."""
    model, _ = small(seed)
    for lut in (4, 6):
        files = Design.of(model, pipeline=0, lut=lut, name=f"m{lut}").files()
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
    script = (
        "read_verilog m4_core.v m6_core.v; proc; opt; flatten; "
        "miter -equiv -make_outputs -flatten m4_core m6_core miter; hierarchy -top miter; "
        "sat -verify -prove trigger 0 -seq 2 -tempinduct -set-init-undef -set-def-inputs miter"
    )
    code, said = run(f'yosys -q -p "{script}"', tmp_path)
    assert code == 0, said[-500:]


def test_what_the_files_say(tmp_path):
    booleanizer = Booleanizer(thresholds=[[1.5, 2.5], [0.5]]).fit([[0.0, 0.0]])
    model = Model([0, 1, 2], [0, 2, 3], [[1, 0], [0, 2]], n_booleans=3, classes=["a\nb", "z"],
                  booleanizer=booleanizer, feature_names=["speed*/", "on"])  # fmt: skip
    folder = export.verilog(model, tmp_path / "v", name="tiny")
    core = (folder / "tiny_core.v").read_text(encoding="ascii")
    assert "// answer 0: a b" in core
    assert "+2 z IF on>0.5" in core
    stream = (folder / "tiny.v").read_text(encoding="ascii")
    assert "0: speed* / (feature 0), ceil(value * 2)" in stream
    assert f"{model.n_classes}" in (folder / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^module (\w+)", core + stream, re.MULTILINE) == ["tiny_core", "tiny"]


def test_only_used_features_come_in():
    model = Model([0, 8], [0, 1, 2], [[1, 0], [0, 2]], n_booleans=20, classes=["a", "b"])
    used, every = Design.of(model), Design.of(model, features="all")
    assert (used.stream.features, used.stream.n_beats) == ([0, 8], 1)
    assert (len(every.stream.features), every.stream.n_beats) == (20, 3)


@simulated
def test_a_row_takes_as_many_clocks_as_it_says_when_nobody_waits(tmp_path):
    model, rows = random_model(2, n_features=6, n_clauses=20)
    design = Design.of(model)
    program, n = design.program, len(rows)
    files = {**design.files(), **design.golden(program.features(rows), model.class_sums(rows))}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    line = fpgas.simulate(tmp_path, "model", n, quick=False, stalls=False)
    clocks, latency = int(line.split(", ")[-1].split()[0]), int(line.split("latency ")[1].split(",")[0])
    assert latency == design.latency
    assert n * len(design.stream.steps) < clocks < n * len(design.stream.steps) + 20


def test_registers_make_the_answer_later():
    model, _ = random_model(1, n_clauses=30, n_classes=5)
    latencies = [Design.of(model, pipeline=n).core.latency for n in (0, 4, 2, 1)]
    assert latencies[0] == 1
    assert sorted(set(latencies)) == latencies


def test_ties_go_to_the_first_class():
    model = Model([0, 0], [0, 1, 2], [[1, 1, 0], [0, 0, 1]], n_booleans=1, classes=["a", "b", "c"])
    text = Core(Design.of(model).core.clauses, ["", ""], 1, 3, pipeline=0).levels[-1][0].text
    assert ">" in text
    assert ">=" not in text


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"input": "float"}, "input is 'float'. It must be one of int16"),
        ({"input": "int16"}, "the model reads Booleans. Give 'bool'"),
        ({"features": "some"}, "features is 'some'"),
        ({"lut": 5}, "lut is 5. It must be 4 or 6"),
        ({"pipeline": -1}, "pipeline is -1"),
        ({"name": "wire"}, "word of Verilog. How about 'model_wire'"),
    ],
)
def test_what_is_refused(keywords, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        export.verilog(PLAIN, tmp_path / "v", **keywords)
    assert list(tmp_path.iterdir()) == []


def test_models_that_gates_do_not_answer_for(tmp_path):
    with pytest.raises(NotSupported, match=r"Verilog does not take output of the kind 'unknown'. Take"):
        export.verilog(PLAIN.with_unknown(1), tmp_path / "v")
    early = Model([0, 1], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=[0, 1], early=[(1, 0)])
    with pytest.raises(NotSupported, match=r"Verilog does not take early answers"):
        export.verilog(early, tmp_path / "v")


@simulated
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("yosys") is None, reason="yosys is not installed")
@pytest.mark.parametrize("seed", [5, 13])
def test_the_estimate_is_near_what_yosys_takes(seed):
    if shutil.which("nextpnr-ice40") is None:
        pytest.skip("nextpnr-ice40 is not installed")
    model, rows = random_model(seed, n_features=20, n_clauses=150, n_classes=5, shortest=2)
    measured = measure_gates(model, rows, "ice40-up5k")
    assert measured.n_different == 0
    assert abs(measured.luts / luts_of(model) - 1) < 0.15
    assert measured.mhz is not None
