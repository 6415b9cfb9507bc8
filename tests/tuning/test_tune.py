"""Budgets, the search and the command `ethereal tune`."""

import json
import math
import re

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import ethereal
from ethereal import Model, cluster
from ethereal.base.checks import parse_bytes, parse_count, parse_seconds
from ethereal.cli import app
from ethereal.tuning import Budget, BudgetNotMet, Footprint, Search, Setup, Space, Trial, front_of, on_device
from ethereal.tuning.search import Outcome, _task, evaluate, finish
from ethereal.tuning.storage import Storage
from thinned import few

X, Y = load_iris(return_X_y=True)
QUICK = {"folds": 1, "epochs": 4, "max_clauses": 12, "learner": "machine"}


# --- budgets


@pytest.mark.parametrize(
    "parse, text, value",
    [
        (parse_bytes, "8k", 8192),
        (parse_bytes, " 1.5 KiB ", 1536),
        (parse_bytes, "1M", 1 << 20),
        (parse_bytes, "900b", 900),
        (parse_bytes, np.int64(7), 7),
        (parse_count, "20k", 20_000),
        (parse_count, ".5m", 500_000),
        (parse_seconds, "10m", 600),
        (parse_seconds, "1.5 h", 5400),
        (parse_seconds, 3, 3),
    ],
)
def test_quantities(parse, text, value):
    assert parse("x", text) == value


@pytest.mark.parametrize("text", ["8q", "8kk", "k", "", "-8k", "8,5k", "0", "0k", "1e3k", "8k flash", "nan"])
@pytest.mark.parametrize("parse", [parse_bytes, parse_count, parse_seconds])
def test_quantities_misspelt(parse, text):
    with pytest.raises(ValueError, match=r"limit is .*It must be .* such as"):
        parse("limit", text)


@pytest.mark.parametrize("value", [-1, 0, math.nan, math.inf])
def test_quantities_out_of_range(value):
    with pytest.raises(ValueError, match="limit is"):
        parse_bytes("limit", value)


def test_budget_of_the_chip():
    budget = Budget(target="m0plus", flash="16k").on_chip()
    assert (budget.flash, budget.ram, budget.instructions) == (16384, 36 << 10, math.inf)
    with pytest.raises(ValueError, match=r"flash.*\b1048576\b.*cortex-m0plus \(STM32G071RB\).*\b131072\b"):
        Budget(target="m0plus", flash="1M").on_chip()
    with pytest.raises(ValueError, match="unknown target 'm9'"):
        Budget(target="m9").on_chip()


# --- the space


def test_groups():
    rows = np.column_stack([np.arange(40) / 7, np.arange(40) % 3, np.arange(40) * 2.0])
    assert Space.of(rows, None, 20).feature_groups == (0, 1, 0)
    assert Space.of(rows, [2, 0, 2], 20).feature_groups == (0, 1, 0)
    assert Space.of(rows > 3, None, 20).feature_groups == ()
    with pytest.raises(ValueError, match=r"feature_groups.*\b2\b.*X.*\b3\b"):
        Space.of(rows, [0, 1], 20)
    space = Space.of(rows, None, 20)
    setup = Setup((8, 3), ("thermometer", "onehot"), 20, 5, 3.0, None, None, 1, "votes", 0.0)
    feature_map = space.booleanizer(setup).fit(rows).feature_map_
    assert np.diff(feature_map.threshold_offsets).tolist() == [7, 2, 7]


@pytest.mark.parametrize("rows", [np.arange(60.0).reshape(20, 3), np.ones((5, 3), bool)])
def test_start_points_can_be_asked_for(rows):
    space = Space.of(rows, None, 50)
    study = optuna.create_study(directions=["maximize", "minimize", "minimize"])
    for start in space.starts():
        study.enqueue_trial(start)
        trial = study.ask()
        setup = space.ask(trial)
        assert trial.params == start  # within all ranges: Optuna would have drawn others
        assert setup.n_clauses <= 50
        assert setup.n_clauses % 2 == 0
        assert 0.9 <= setup.T / math.sqrt(setup.n_clauses / 2) <= 2.2


# --- the search


def plain(study):
    return [(t.setup, t.accuracy, t.footprint) for t in study.trials]


@pytest.fixture(scope="module")
def whole():
    """Four trials at a stretch."""
    return ethereal.tune(X, Y, flash="2k", instructions="2k", trials=4, test=(X, Y), **QUICK)


def test_the_budget_is_kept(whole):
    forms = {(f.layout, f.clause_bytes): f for f in on_device(X)(whole.model)}
    took = forms[whole.footprint.layout, whole.footprint.clause_bytes]
    assert took.bytes == whole.footprint.bytes <= 2048
    assert took.instructions <= 2000
    assert whole.accuracy == max(t.accuracy for t in whole.trials if t.fits) > 0.85
    assert whole.test_accuracy == (whole.model.predict(X) == Y).mean()
    assert len(whole.trials) == 4


def test_resumed_and_spread_searches_find_the_same(whole, tmp_path):
    options = {"flash": "2k", "instructions": "2k", "storage": tmp_path / "a.db", **QUICK}
    ethereal.tune(X, Y, trials=2, **options)
    study = optuna.load_study(study_name="tune", storage=f"sqlite:///{tmp_path}/a.db")
    study.enqueue_trial({"s": 3.0})
    study.ask()  # what a killed search leaves behind: one under way and one waiting
    study.enqueue_trial({"s": 4.0})
    with cluster.processes(2) as workers:
        again = ethereal.tune(X, Y, trials=4, workers=workers, **options)
    assert plain(again) == plain(whole)
    assert again.model == whole.model
    other = ethereal.tune(X, Y, trials=1, random_state=1, flash="2k", instructions="2k", **QUICK)
    assert plain(other)[0][1:] != plain(whole)[0][1:]


def made_up(task, setup, floor=None):
    """An outcome that depends on all that a search hands over, and takes no time."""
    shade = (
        (setup.n_clauses * 31 + setup.T * 7 + round(1e6 * setup.s) + round(1e6 * (floor or 0))) % 997 / 997
    )
    footprint = Footprint(1000 + round(2000 * shade), 100 + round(900 * (1 - shade)))
    return Outcome(shade, shade / 2, footprint if shade > 0.3 else None, footprint.bytes / 2048)


class Broken(BaseException):
    pass


@pytest.mark.slow
@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("where, method, calls", few([(optuna.Study, "tell", 13), (Storage, "_sampler", 14)]))
def test_a_search_broken_off_within_a_batch_goes_on_the_same(where, method, calls, tmp_path, monkeypatch):
    """Beyond the 12 trials that are drawn without looking at those before."""
    monkeypatch.setattr("ethereal.tuning.search.evaluate", made_up)
    options = {"flash": "2k", "trials": 15, **QUICK}
    whole = ethereal.tune(X, Y, **options)
    assert any(t.footprint is None for t in whole.trials)
    stored = {**options, "storage": tmp_path / "a.db"}
    with monkeypatch.context() as patch:
        real, countdown = getattr(where, method), iter(range(calls))

        def breaks(*args, **options):
            if next(countdown, None) is None:
                raise Broken
            return real(*args, **options)

        patch.setattr(where, method, breaks)
        with pytest.raises(Broken):
            ethereal.tune(X, Y, **stored)
    finished = []
    again = ethereal.tune(X, Y, **stored, progress=lambda trials: finished.append(len(trials)))
    assert plain(again) == plain(whole)
    assert finished == [n for n in (4, 8, 12, 15) if n > calls]


def test_a_storage_that_cannot_be_written(tmp_path, monkeypatch):
    def tell(*args, **options):
        full = optuna.exceptions.StorageInternalError("An exception is raised during the commit.")
        raise full from OSError("database or disk is full\nand more")

    monkeypatch.setattr("ethereal.tuning.search.evaluate", made_up)
    monkeypatch.setattr(optuna.Study, "tell", tell)
    with pytest.raises(OSError, match=r"a\.db"):
        ethereal.tune(X, Y, flash="2k", trials=1, storage=tmp_path / "a.db", **QUICK)
    monkeypatch.setattr(optuna.Study, "tell", lambda *args, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ethereal.tune(X, Y, flash="2k", trials=1, **QUICK)


def test_test_rows_choose_nothing(whole):
    rng = np.random.default_rng(0)
    tuned = ethereal.tune(
        X, Y, flash="2k", instructions="2k", trials=2, test=(rng.permutation(X), Y), **QUICK
    )
    assert plain(tuned) == plain(whole)[:2]
    assert tuned.test_accuracy < 0.6


def test_a_budget_that_nothing_can_keep():
    with pytest.raises(
        BudgetNotMet, match=r"None of 2 trials kept 20 bytes.*nearest takes \d+ bytes"
    ) as caught:
        ethereal.tune(X, Y, flash=20, trials=2, **QUICK)
    assert caught.value.nearest.footprint.bytes > 20
    assert len(caught.value.trials) == 2


def test_hopeless_trials_are_stopped():
    task = _task(X, Y, None, None, Budget(flash="2k").on_chip(), Search(folds=1, epochs=8, max_clauses=12))
    setup = Setup((4,), ("thermometer",), 10, 3, 3.0, 1, None, 2, "votes", 0.0)
    stopped = evaluate(task, setup, floor=1.01)
    assert stopped.footprint is None
    assert not stopped.fits
    assert stopped.accuracy == stopped.early
    assert evaluate(task, setup, floor=0.0) == evaluate(task, setup)


@pytest.mark.slow
def test_the_model_for_use_learns_from_all_rows():
    task = _task(X, Y, None, None, Budget(flash="2k").on_chip(), Search(folds=1, epochs=8, max_clauses=12))
    setup = Setup((4,), ("thermometer",), 10, 3, 3.0, 1, None, 2, "votes", 0.0)
    tried, last = evaluate(task, setup), finish(task, setup)
    assert last.model != tried.model
    assert last.fits
    # Of one fold: the same price has the same accuracy, but no more than on the rows that were learned.
    assert tried.accuracy >= last.accuracy > 0.9
    for model, is_of_all in ((tried.model, False), (last.model, True)):
        rates = model.feature_map.booleans(X, model.input_names).mean(axis=0)
        assert np.allclose(rates, model.boolean_rates, atol=1e-6) == is_of_all
    tight = _task(X, Y, None, None, Budget(flash=1).on_chip(), Search(folds=1, epochs=8, max_clauses=12))
    assert not finish(tight, setup).fits


@pytest.mark.slow
def test_cross_validation_is_the_mean_of_its_folds():
    one, three = (
        ethereal.tune(X, Y, flash="2k", trials=1, folds=folds, epochs=2, max_clauses=6) for folds in (1, 3)
    )
    assert (3 * 50 * three.accuracy) == pytest.approx(round(3 * 50 * three.accuracy))
    assert one.model != three.model


@pytest.mark.slow
def test_storage_of_another_study(tmp_path):
    quick = {"flash": "2k", "trials": 1, "storage": tmp_path / "a.db", **QUICK, "max_clauses": 6}
    ethereal.tune(X, Y, **quick)
    with pytest.raises(ValueError, match="'tune'"):
        ethereal.tune(X + 1, Y, **quick)
    with pytest.raises(ValueError, match="with other budget and settings"):
        ethereal.tune(X, Y, **{**quick, "flash": "3k", "epochs": 5})
    ethereal.tune(X + 1, Y, **quick, study="second")

    url = f"sqlite:///{tmp_path}/b.db"
    optuna.create_study(storage=url, study_name="tune")
    with pytest.raises(ValueError, match="by another program"):
        ethereal.tune(X, Y, **{**quick, "storage": url})
    (tmp_path / "c.db").write_text("no data base at all, but text")
    with pytest.raises(ValueError, match=r"c\.db"):
        ethereal.tune(X, Y, **{**quick, "storage": tmp_path / "c.db"})
    with pytest.raises(ValueError, match="nosuch://x"):
        ethereal.tune(X, Y, **{**quick, "storage": "nosuch://x"})


@pytest.mark.parametrize(
    "change, message",
    [
        ({"trials": 0}, "trials is 0"),
        ({"seconds": "10 days"}, "seconds is '10 days'"),
        ({"folds": 60}, r"\b50\b.*\b60\b"),
        ({"max_clauses": 2}, "max_clauses is 2"),
        ({"y": Y[:-1]}, r"y has shape \(149,\)"),
        ({"y": np.zeros(150)}, "one class only"),
        ({"X": X[:, 0]}, r"shape \(150,\)"),
        ({"random_state": -1}, "random_state is -1"),
    ],
)
def test_bad_arguments(change, message):
    arguments = {"X": X, "y": Y, "trials": 1, **QUICK, **change}
    with pytest.raises(ValueError, match=message):
        ethereal.tune(arguments.pop("X"), arguments.pop("y"), **arguments)


some_trials = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.5, 1.0, 1.5]))
)


@given(some_trials)
def test_front_has_what_nothing_beats(points):
    setup = Setup((), (), 4, 1, 2.0, None, None, 1, "votes", 0.0)
    trials = [
        Trial(a / 3, 0.5, Footprint(b, float(c)), excess, 1, 1, number=i, setup=setup)
        for i, (a, b, c, excess) in enumerate(points)
    ]
    front = front_of(trials)

    def key(t):
        return (-t.accuracy, t.footprint.bytes, t.footprint.instructions)

    inside = [t for t in trials if t.excess <= 1]
    assert {key(t) for t in front} == {
        key(t)
        for t in inside
        if not any(key(o) != key(t) and all(np.less_equal(key(o), key(t))) for o in inside)
    }
    assert len({key(t) for t in front}) == len(front)
    assert [t.accuracy for t in front] == sorted((t.accuracy for t in front), reverse=True)


# --- the command


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "iris.csv"
    lines = ["a,b,c,d,kind", *(",".join(map(str, row)) + f",kind {y}" for row, y in zip(X, Y, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["tune", *map(str, arguments)])


def test_command(table, tmp_path, monkeypatch):
    out = tmp_path / "best.etm"
    quick = (
        table, "--label", "kind", "--out", out, "--folds", 1, "--epochs", 3, "--max-clauses", 8,
        "--instructions", "20k",  # else every model that may be quicker is compiled
    )  # fmt: skip
    done = run(*quick, "--flash", "2k", "--ram", "1k", "--trials", 1, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["trials"] == 1
    assert told["footprint"]["bytes"] <= 2048
    assert told["footprint"]["ram"] <= 1024
    assert told["test_rows"] == 30
    model = Model.load(out)
    assert model.feature_names == ("a", "b", "c", "d")
    page = (tmp_path / "best.html").read_text()
    assert 'id="data"' in page  # the live model
    assert "2,048 bytes of flash" in page
    assert (tmp_path / "best.front.svg").read_text().lstrip().startswith("<?xml")
    monkeypatch.setattr("ethereal.tuning.page.figure_svg", lambda *_: "")  # once is enough

    quick += ("--from", "machine")
    done = run(*quick, "--flash", "2k", "--ram", "1k", "--trials", 1)
    assert done.exit_code == 0, done.output
    again = run(*quick, "--flash", "2k", "--ram", "1k", "--trials", 2)  # goes on
    assert again.exit_code == 0, again.output
    assert "trials         2 in" in again.stdout
    assert f"ethereal export {out}" in again.stdout
    assert "2 trials:" in again.stderr

    other = run(*quick, "--flash", "3k", "--trials", 1)  # another budget: a study of its own
    assert other.exit_code == 0, other.output
    assert "study tune-2 (searches with other options are kept there, too)" in other.stdout
    first = run(*quick, "--flash", "2k", "--ram", "1k", "--trials", 2, "--json")  # the first is still there
    assert json.loads(first.stdout)["study"] == "tune"
    assert json.loads(first.stdout)["trials"] == 2
    named = run(*quick, "--flash", "3k", "--trials", 1, "--study", "tune")
    assert named.exit_code == 1
    assert "written by another study, with other budget" in named.stderr


def test_command_when_nothing_fits(table, tmp_path):
    out = tmp_path / "best.etm"
    quick = ("--label", "kind", "--folds", 1, "--epochs", 2, "--max-clauses", 8, "--trials", 1)
    done = run(table, "--out", out, "--flash", "20", *quick)
    assert done.exit_code == 3
    assert "None of 1 trials kept 20 bytes of flash" in done.stderr
    assert "The nearest takes" in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    "options, message",
    [
        (("--flash", "8q"), "flash.*'8q'"),
        (("--time", "10x"), "--time is '10x'"),
        (("--target", "cortex-m9"), "unknown target"),
        (("--dask", "nowhere"), "It must be an address such as"),
        (("--dask", "tcp://127.0.0.1:1", "--workers", 2), "both given"),
        (("--out", "no/such/folder/m.etm"), "folder no/such/folder"),
    ],
)
def test_command_with_bad_options(table, tmp_path, options, message):
    done = run(table, "--label", "kind", "--out", tmp_path / "m.etm", "--trials", 1, *options)
    assert done.exit_code == 1
    assert re.search(message, done.stderr)


def test_one_search_at_a_time_has_a_study(tmp_path):
    where = tmp_path / "t.db"
    first = Storage(where, None, {"data": "a"}, 0)
    with pytest.raises(ValueError, match=r"another.*'tune'"):
        Storage(where, None, {"data": "a"}, 0)
    other = Storage(where, None, {"data": "b"}, 0)
    assert (first.name, other.name) == ("tune", "tune-2")
    first.close()
    again = Storage(where, None, {"data": "a"}, 0)
    again.close()
    other.close()
    assert [path.name for path in tmp_path.iterdir()] == ["t.db"]
