"""The study on a real Dask cluster: the same results and files, also when a worker is killed."""

from __future__ import annotations

import json
import sys

import pytest
from typer.testing import CliRunner

import cluster_tools
from ethereal import cluster
from ethereal.cli import app
from ethereal.cluster import ClusterError
from ethereal_study.cells import MACHINES
from ethereal_study.run import grid, run
from ethereal_study.sets.npz import write_npz
from ethereal_study.store import Store
from says import says
from small_sets import small_set

TIMES = {"seconds", "cpu_seconds", "rows_per_second", "exclusion_share"}


@pytest.fixture
def data(dask_data, monkeypatch):
    """Small sets in the folder that the workers see."""
    monkeypatch.setenv("ETHEREAL_DATA", str(dask_data))
    write_npz(dask_data / "statlog.npz", small_set("statlog"))
    return dask_data


def without_times(results):
    return {cell: {k: v for k, v in result.items() if k not in TIMES} for cell, result in results.items()}


class KillingStore(Store):
    """Kills a worker when the second result comes."""

    workers = None
    taken = 0

    def take(self, files):
        self.taken += 1
        if self.taken == 2:
            cluster_tools.kill_workers(self.workers)
        super().take(files)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_killed_worker_changes_nothing(data, dask_address, tmp_path):
    cells = grid(["statlog"], MACHINES, "honest", 4, 20)
    alone = run(cells, Store(tmp_path / "alone"), quiet=True)
    store = KillingStore(tmp_path / "together")
    with cluster.connect(dask_address) as store.workers:
        together = run(cells, store, workers=store.workers, quiet=True)
        assert store.taken == len(cells)
        again = run(cells, store, workers=store.workers, quiet=True)
    assert store.taken == len(cells)  # nothing was computed twice
    assert again == together
    assert without_times(alone) == without_times(together)
    for cell in cells:
        files = [Store(tmp_path / name).model_path(cell).read_bytes() for name in ("alone", "together")]
        assert files[0] == files[1]


def test_command(data, dask_address, tmp_path):
    words = ["study", "table2", "--sets", "statlog", "--epochs", "2", "--seeds", "1", "--baseline-seeds", "0"]

    def table(*more):
        done = CliRunner().invoke(app, [*words, "--json", *more])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)["table2-honest"]["rows"]

    alone = table("--jobs", "1", "--out", str(tmp_path / "alone"))
    assert table("--dask", dask_address, "--out", str(tmp_path / "dask")) == alone
    wrong = CliRunner().invoke(app, [*words, "--dask", "nowhere"])
    assert wrong.exit_code == 1
    says(wrong.stderr, "dask", "'nowhere'")
    both = CliRunner().invoke(app, [*words, "--dask", dask_address, "--workers", "2"])
    assert "dask and workers are both given" in both.stderr


def test_workers_with_other_data_are_told(data, dask_address, tmp_path, monkeypatch):
    other_data = tmp_path / "own"
    write_npz(other_data / "statlog.npz", small_set("statlog", seed=7))
    monkeypatch.setenv("ETHEREAL_DATA", str(other_data))
    (cell,) = grid(["statlog"], ["ethereal"], "honest", 1, 2)
    store = Store(tmp_path / "cells")
    with (
        cluster.connect(dask_address) as workers,
        pytest.raises(ClusterError, match="a worker has other data of statlog"),
    ):
        run([cell], store, workers=workers, quiet=True)
    assert not list(store.folder.iterdir())
