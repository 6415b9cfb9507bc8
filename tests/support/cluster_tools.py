"""A Dask scheduler and two workers on loopback, and tasks for them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ethereal import EtherealClassifier

# Workers of tests do not watch themselves: profile and monitor took more of the processor than the tasks.
QUIET = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "20s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__GIL__ENABLED": "False",
}


def total(values, i, seconds=0.0):
    time.sleep(seconds)
    return int(values.sum()) + i, os.getpid()


def fail(text):
    raise ArithmeticError(text)


def make_classifier(epochs=6, **parameters):
    defaults = {"n_clauses": 20, "T": 8, "s": 3.0, "random_state": 5}
    return EtherealClassifier.paper(epochs=epochs, **defaults | parameters)


def fit_here(X, y):
    return make_classifier(2).fit(X, y).model_


@contextmanager
def running(*words, **environment):
    """A process that is ended with the block."""
    tests = str(Path(__file__).parent)
    process = subprocess.Popen(
        [sys.executable, "-m", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": tests} | QUIET | environment,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def scheduler(folder):
    """Address of a new scheduler."""
    file = Path(folder) / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    with running("distributed.cli.dask_scheduler", *options):
        deadline = time.monotonic() + 60
        while not (text := file.read_text() if file.exists() else "").rstrip().endswith("}"):  # not yet whole
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield json.loads(text)["address"]


@contextmanager
def workers(address, n=2, **environment):
    """So many worker processes, each with a nanny that replaces it when it dies."""
    options = ["--nworkers", str(n), "--nthreads", "1", "--no-dashboard"]
    with running("distributed.cli.dask_worker", address, *options, **environment) as process:
        yield process


class Dask:
    """A scheduler that is started when it is needed.

    Its workers are started again where tests killed them beyond their nanny's help.
    """

    def __init__(self, folder, **environment):
        self.folder, self.environment = folder, environment
        self.parts, self.helpers = ExitStack(), ExitStack()
        self.address, self.has_workers = None, False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.helpers.close()
        self.parts.close()
        self.address, self.has_workers = None, False

    def ensure_workers(self, n):
        """The address of the scheduler, when so many workers are there."""
        from distributed import Client

        if self.address is None:
            folder = Path(tempfile.mkdtemp(dir=self.folder))
            self.address = self.parts.enter_context(scheduler(folder))
        with Client(self.address, timeout=60, set_as_default=False) as client:
            for attempt in range(3):
                if attempt or not self.has_workers:
                    self.helpers.close()
                    self.helpers.enter_context(workers(self.address, n, **self.environment))
                    self.has_workers = True
                try:
                    client.wait_for_workers(n, timeout=30)
                    return self.address
                except TimeoutError:
                    continue
        raise AssertionError(f"{n} workers did not come to {self.address}")


def kill_workers(cluster, n=1):
    """SIGKILL to so many workers of a cluster."""
    for pid in list(cluster._client.run(os.getpid, on_error="ignore").values())[:n]:
        os.kill(pid, signal.SIGKILL)
