"""A run for an FPGA chooses by lookup tables, writes Verilog, and says what gates take."""

import numpy as np
import pytest

import ethereal
from ethereal.export.hdl.estimate import luts_of
from ethereal.runs import gates
from ethereal.tuning import Budget, frontier
from ethereal.tuning.machines import Setup


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, (240, 3))
    return X, np.where(X[:, 0] + X[:, 1] > 100, "high", "low")


FAST = {"quick": True, "n_clauses": 6, "epochs": 2, "forest": False}


def test_a_run_for_an_fpga(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(gates, "missing_builders", lambda target: "yosys is missing.")
    made = ethereal.run(rows, out=tmp_path, target="ice40-up5k", luts=90, **FAST)
    measured = made.board.gates
    assert measured.estimated_luts == luts_of(made.model) <= 90
    assert measured.luts is None
    assert max(luts for luts, _ in measured.curve) > measured.estimated_luts / 2
    assert (made.folder / "verilog" / "model.v").exists()
    assert not (made.folder / "c").exists()
    assert made.board.left_out == {"synthesis, place and route": "yosys is missing."}
    table = dict(row[:2] for row in made.table.rows)
    assert table["LUTs"] == f"about {measured.estimated_luts}"
    page = made.report.read_text(encoding="utf-8")
    assert '"sizes_are":"lookup tables"' in page
    assert "Verilog, in an FPGA" in page
    again = ethereal.run(rows, out=tmp_path, luts=90, **FAST)  # the smallest FPGA that has so many
    assert again.folder == made.folder


@pytest.mark.parametrize(
    "options, message",
    [
        ({"unknown": True}, r"target is 'ice40-up5k', but unknown="),
        ({"flash": "4k"}, r"target='ice40-up5k' and flash=4096 are both given"),
        ({"luts": 9000}, "luts is 9000, but ice40-up5k has 5280"),
    ],
)
def test_what_gates_do_not_answer_for_is_refused_first(options, message, rows, tmp_path):
    with pytest.raises(ValueError, match=message):
        ethereal.run(rows, out=tmp_path / "runs", target="ice40-up5k", **FAST, **options)
    assert not list((tmp_path / "runs").glob("*/machine.etm"))


def test_a_number_is_refused(rows, tmp_path):
    numbers = rows[0], rows[0].sum(axis=1) + 0.5
    with pytest.raises(ValueError, match="the label is a number, and gates answer with classes"):
        ethereal.run(numbers, out=tmp_path, target="ice40-up5k", **FAST)


def test_a_frontier_of_lookup_tables(rows):
    setup = Setup((4,), ("thermometer",), 8, 3, 3.0, None, None, 1, "votes", 0.0)
    budgets = [Budget(luts=60), Budget(luts=400)]
    made = frontier(*rows, setup, budgets, epochs=2, teachers=("votes",), learner="machine")
    small, large = made.points
    assert small.footprint.luts <= 60
    assert small.accuracy <= large.accuracy + 1e-9
    assert small.model.deployment is None
    with pytest.raises(ValueError, match="models for boards or for FPGAs"):
        made.choose(Budget(flash="4k"))
