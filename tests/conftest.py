"""Settings of all tests."""

import importlib.util
import inspect
import multiprocessing.process
import os
import subprocess
from functools import partialmethod
from pathlib import Path

# Before numpy is imported: the workers of pytest share the processor already. Threads of BLAS that wait for
# each other on small matrices took more of it than the tests themselves.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from typer.testing import CliRunner

import cluster_tools
from dataset_archives import ARCHIVES, serving, small_source
from ethereal import datasets
from ethereal.chips import toolchain
from ethereal.cli import app
from ethereal_study.micropython import Interpreter, InterpreterMissingError
from ethereal_study.sets import registry

# No deadline: a busy machine must not fail a test. The same examples in every run, and more in `make slow`.
settings.register_profile("ethereal", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("thorough", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=10)
settings.load_profile("ethereal")

if "mix_stderr" in inspect.signature(CliRunner).parameters:  # click before 8.2 mixes the two streams
    CliRunner.__init__ = partialmethod(CliRunner.__init__, mix_stderr=False)  # type: ignore[method-assign]


def pytest_addoption(parser):
    parser.addoption(
        "--quick", action="store_true", help="few examples, and no test that starts a process or a compiler"
    )


def pytest_configure(config):
    if config.getoption("--quick"):
        settings.load_profile("quick")


def pytest_collection_finish(session):
    """With `--quick`, a test that needs more than this process is skipped where it does."""
    if session.config.getoption("--quick"):

        def skip(*_, **__):
            pytest.skip("needs another process; --quick does without")

        subprocess.Popen.__init__ = skip
        multiprocessing.process.BaseProcess.start = skip
        toolchain._driver = skip


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch):
    """Messages keep their lines, as in a pipe. Test runners tell their processes a width of their own."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="session")
def dask_data(tmp_path_factory) -> Path:
    """The data folder of the workers at `dask_address`; empty at first."""
    return tmp_path_factory.mktemp("dask-data")


@pytest.fixture(scope="session")
def dask(tmp_path_factory, dask_data):
    """A Dask scheduler with two worker processes on loopback, started for the first test that asks."""
    with cluster_tools.Dask(tmp_path_factory.mktemp("dask"), ETHEREAL_DATA=str(dask_data)) as cluster:
        yield cluster


@pytest.fixture
def dask_address(dask) -> str:
    """Address of the scheduler; two workers are there, whatever the test before did to them."""
    return dask.ensure_workers(2)


def pytest_collection_modifyitems(items):
    """Tests with Dask come first and so in one process of xdist: an idle cluster takes a tenth of a core."""
    items.sort(key=lambda item: "dask" not in getattr(item, "fixturenames", ()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Stop the cluster as soon as the next test does without."""
    cluster = getattr(item, "funcargs", {}).get("dask")
    yield
    if cluster is not None and "dask" not in getattr(nextitem, "fixturenames", ()):
        cluster.stop()


@pytest.fixture(scope="session")
def micropython() -> Interpreter:
    """The interpreter of MicroPython. Only CI must have it."""
    try:
        return Interpreter()
    except InterpreterMissingError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def study_data() -> Path:
    """The folder with the study's data, where somebody put it."""
    folder = Path(os.environ.get("ETHEREAL_DATA") or "/nonexistent")
    if not (folder / "sports.npz").exists():
        pytest.skip("ETHEREAL_DATA does not point to the study's data")
    return folder


@pytest.fixture
def figures():
    """Asked for by tests in which `call` shall draw the figures of a run, which takes two seconds."""


@pytest.fixture
def no_board(monkeypatch):
    """As in a base install: a run that is asked for something else compiles nothing for a board."""
    find = importlib.util.find_spec
    hidden = {"ziglang", "unicorn"}
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *a: None if name in hidden else find(name, *a)
    )


@pytest.fixture
def call(monkeypatch, tmp_path, request):
    """Types a command in an empty folder; returns a function of its words."""
    monkeypatch.chdir(tmp_path)
    if "figures" not in request.fixturenames:
        monkeypatch.setattr("ethereal.runs.report.figures.of_report", lambda report: {})

    def caller(*words, code=0):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == code, result.output
        return result

    return caller


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Put an archive where a user would put it by hand; returns a function that then loads the set."""

    def put_archive(name, content=None, members=None):
        with serving() as nowhere:
            source = small_source(name, nowhere, members)
        monkeypatch.setitem(registry.SOURCES, name, source)
        path = tmp_path / "archives" / source.files[0].name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(ARCHIVES[name][0]() if content is None else content)
        return lambda: datasets.load(name, data_folder=tmp_path)

    return put_archive
