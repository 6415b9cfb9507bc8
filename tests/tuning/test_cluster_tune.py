"""Tuning on a real Dask cluster: the same trials and choice, also when a worker is killed meanwhile."""

from __future__ import annotations

import sys
import threading

import pytest
from sklearn.datasets import load_iris

import cluster_tools
import ethereal
from ethereal import cluster

X, Y = load_iris(return_X_y=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_killed_worker_changes_nothing(dask_address, tmp_path, monkeypatch):
    monkeypatch.setenv("ETHEREAL_CACHE", str(tmp_path))
    options = {"flash": "2k", "trials": 5, "folds": 1, "epochs": 4, "max_clauses": 12}
    alone = ethereal.tune(X, Y, **options)
    with cluster.connect(dask_address) as workers:
        killer = threading.Timer(0.5, cluster_tools.kill_workers, [workers])
        killer.start()
        together = ethereal.tune(X, Y, workers=workers, **options)
        killer.join()
    assert together.model == alone.model
    assert [(t.setup, t.accuracy, t.footprint) for t in together.trials] == [
        (t.setup, t.accuracy, t.footprint) for t in alone.trials
    ]
