"""Tasks in this process, in processes, and on a real Dask scheduler with workers on loopback."""

from __future__ import annotations

import os
import signal
import sys
from concurrent import futures

import numpy as np
import pytest

import cluster_tools
from ethereal import cluster
from ethereal.cluster import ClusterError
from ethereal.cluster import dask as cluster_dask


def opened(kind, address):
    return {
        "here": lambda: cluster.choose(jobs=1),
        "processes": lambda: cluster.choose(jobs=2),
        "dask": lambda: cluster.choose(dask=address),
    }[kind]()


KINDS = ["here", "processes", "dask"]


@pytest.mark.parametrize("kind", KINDS)
def test_results_come_once(kind, dask_address):
    with opened(kind, dask_address) as workers, workers.flow() as flow:
        assert (cluster.active() is not None) == (kind == "dask")
        shared = workers.share(np.arange(1000))
        for i in range(10):
            flow.submit(i, cluster_tools.total, shared, i)
        got = []
        for key, (result, _) in flow:
            got.append((key, result))
            if key == 5:
                flow.submit("more", cluster_tools.total, shared, 7)
        assert len(flow) == 0
        assert sorted(got, key=str) == sorted(
            [*((i, 499500 + i) for i in range(10)), ("more", 499507)], key=str
        )
        future = workers.submit(pow, 2, 5)
        assert futures.wait([future]).done.pop().result() == 32
    assert cluster.active() is None


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind == "processes" else ()) for kind in KINDS]
)
def test_exceptions_come_through(kind, dask_address):
    with opened(kind, dask_address) as workers, workers.flow() as flow:
        flow.submit("a", cluster_tools.fail, "no luck")
        with pytest.raises(ArithmeticError, match="no luck"):
            list(flow)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
@pytest.mark.parametrize("kind", [pytest.param("processes", marks=pytest.mark.slow), "dask"])
def test_killed_workers_change_nothing(kind, dask_address):
    """Workers of Dask are killed once each, with the only copies of the shared rows among them."""
    n_killed = 1 if kind == "processes" else 2  # all processes are started again
    with opened(kind, dask_address) as workers, workers.flow() as flow:
        shared = workers.share(np.ones(1000))
        for i in range(8):
            flow.submit(i, cluster_tools.total, shared, i, 0.1)
        got, killed = {}, set()
        for key, (result, pid) in flow:
            assert key not in got
            got[key] = result
            if pid not in killed and len(killed) < n_killed:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        assert got == {i: 1000 + i for i in range(8)}
        assert killed


@pytest.mark.slow
def test_all_copies_of_the_data_lost(dask_address):
    """Both workers die at once: shared rows are sent again."""
    with cluster.connect(dask_address) as workers, workers.flow() as flow:
        shared = workers.share(np.ones(1000))
        for i in range(6):
            flow.submit(i, cluster_tools.total, shared, i, 0.1)
        got = {}
        for key, (result, _) in flow:
            if not got:
                for pid in workers._client.run(os.getpid).values():
                    os.kill(pid, signal.SIGKILL)
            got[key] = result
        assert got == {i: 1000 + i for i in range(6)}


@pytest.mark.parametrize("package", ["dask", "distributed", "ethereal-tm"])
def test_other_versions_are_refused(dask_address, monkeypatch, package):
    true = cluster_dask.version
    monkeypatch.setattr(cluster_dask, "version", lambda name: "0.0.1" if name == package else true(name))
    name = "ethereal" if package == "ethereal-tm" else package
    with pytest.raises(ClusterError, match=rf"has {name} .*, this process has 0\.0\.1"):
        cluster.connect(dask_address)


def test_wrong_addresses(monkeypatch):
    for text in ("", "10.0.0.1", "tcp://10.0.0.1", "http://a:1", "a:99999", "a:0", "tcp://a b:1", 8786):
        with pytest.raises(ClusterError, match="must be an address such as"):
            cluster.connect(text)
    monkeypatch.setattr(cluster_dask, "_CONNECT_SECONDS", 0.5)
    with pytest.raises(ClusterError, match=r"Dask.*tcp://127.0.0.1:1"):
        cluster.connect("127.0.0.1:1")
    for wrong in (0, -2, True, 1.5):
        with pytest.raises(ClusterError, match=r"workers.*\b1\b"):
            cluster.choose(workers=wrong)
    with pytest.raises(ClusterError, match="both given"):
        cluster.choose(dask="a:1", workers=2)


@pytest.mark.slow
def test_scheduler_without_workers_or_with_foreign_ones(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'ethereal':\n"
        "            raise ModuleNotFoundError(\"No module named 'ethereal'\", name='ethereal')\n"
        "sys.meta_path.insert(0, Missing())\n"
    )
    with cluster_tools.scheduler(tmp_path) as address:
        with monkeypatch.context() as quick:
            quick.setattr(cluster_dask, "_WORKER_SECONDS", 1)
            with pytest.raises(ClusterError, match=r"has no workers. Start some with `dask worker tcp://"):
                cluster.connect(address)
        worker = ("distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
        with (
            cluster_tools.running(*worker, PYTHONPATH=str(tmp_path)),
            pytest.raises(ClusterError, match=r"cannot use ethereal"),
        ):
            cluster.connect(address)


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install 'ethereal-tm\[tune\]'"):
        cluster.choose(workers=2)
    assert cluster.active() is None
