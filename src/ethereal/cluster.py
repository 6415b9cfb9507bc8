"""Where tasks run: in this process, in processes of this machine, or on the workers of a Dask cluster.

One interface for all three, so that study, tune and training do not know where they run::

    from ethereal import cluster

    with cluster.choose(dask="tcp://10.0.0.1:8786") as workers:      # or workers=2, or jobs=4
        rows = workers.share(X)                                      # sent to every worker once
        with workers.flow() as flow:
            for seed in range(20):
                flow.submit(seed, train, rows, seed)                 # train(X, seed), on some worker
            for seed, result in flow:                                # as they are done
                ...                                                  # may submit more

A function that is submitted must be one that a module defines, and give the same result when it is run twice:
a worker that dies takes its tasks with it, and they are run again elsewhere. A task's result is handed out
once. `submit` alone gives a `concurrent.futures.Future`, for `concurrent.futures.wait` and `as_completed`.

While a Dask cluster is open, or a `distributed.Client` of your own is the default one,
`EtherealClassifier.fit` trains the classes on its workers (`cluster_training.py`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

_CONNECT_SECONDS = 10
_WORKER_SECONDS = 30  # until one is there at first
_NO_WORKER_SECONDS = 60  # without any later
_LOST_SECONDS, _FETCH_SECONDS = 3, 120  # until a result that was there counts as lost
_MOST_RUNS = 5  # of one task whose worker dies or whose data is lost
_TIMEOUTS = (futures.TimeoutError, asyncio.TimeoutError, TimeoutError)  # one and the same from Python 3.11 on
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ws|wss)://)?(?:\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{1,5})")


class ClusterError(ValueError):
    """A cluster that cannot be reached or cannot be used; the message says what to do."""


def choose(dask: str | None = None, workers: int | None = None, jobs: int = 1) -> Cluster:
    """What the options `--dask ADDRESS`, `--workers N` and `--jobs N` ask for; the first given counts.

    >>> with choose(jobs=1) as here:
    ...     here.submit(divmod, 7, 2).result()
    (3, 1)
    """
    if dask is not None and workers is not None:
        raise ClusterError("dask and workers are both given; choose a running cluster or one of your own")
    if dask is not None:
        return connect(dask)
    return processes(jobs) if workers is None else start(workers)


def processes(jobs: int) -> Cluster:
    """So many processes on this machine, without Dask; 1: this process itself, -1: one per core.

    >>> processes(0)
    Traceback (most recent call last):
        ...
    ethereal.cluster.ClusterError: jobs is 0; it must be 1 or more, or -1 for one per core
    """
    if jobs == 0:
        raise ClusterError("jobs is 0; it must be 1 or more, or -1 for one per core")
    return _Processes((os.cpu_count() or 1) if jobs == -1 else _count("jobs", jobs))


def start(workers: int) -> Cluster:
    """A Dask cluster of so many worker processes on this machine, which ends with it."""
    return _Dask(_local_client(_count("workers", workers)), ours=True)


def connect(address: str) -> Cluster:
    """The Dask cluster whose scheduler is at an address such as tcp://10.0.0.1:8786.

    >>> connect("tcp://10.0.0.1")
    Traceback (most recent call last):
        ...
    ethereal.cluster.ClusterError: dask is 'tcp://10.0.0.1'; it must be an address such as tcp://10.0.0.1:8786
    """
    found = _ADDRESS.fullmatch(address) if isinstance(address, str) else None
    if found is None or not 0 < int(found[1]) < 65536:
        raise ClusterError(f"dask is {address!r}; it must be an address such as tcp://10.0.0.1:8786")
    return _Dask(_connected(address if "://" in address else f"tcp://{address}"), ours=True)


def active() -> Cluster | None:
    """The Dask cluster in use: that of the default client; None without one, and inside a task.

    A client made with `set_as_default=False` is not used, nor is an asynchronous one.
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        distributed.get_worker()
        return None  # a task that waits for tasks could wait for itself
    except ValueError:
        pass
    try:
        client = distributed.default_client()
    except ValueError:
        return None
    return None if client.asynchronous else _Dask(client, ours=False)


class Cluster:
    """Somewhere to run tasks; a context manager that closes it."""

    name: str  # for messages
    remote = False  # whether workers may be on other machines, with other disks

    @property
    def slots(self) -> int:
        """Tasks that run at the same time."""
        raise NotImplementedError

    @property
    def ahead(self) -> int:
        """Tasks to hand over at a time: one waits at each worker while another runs."""
        return max(1, 2 * self.slots)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> futures.Future[Any]:
        """Run `function(*arguments)`; an argument may be what `share` gave."""
        raise NotImplementedError

    def share(self, value: Any) -> Shared:
        """A value that many tasks take as an argument: it goes to each worker once."""
        return Shared(value)

    def flow(self) -> Flow:
        """Tasks whose results are wanted as they are done."""
        return Flow(self)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of `function(*arguments)`, run there; again, when its worker dies."""
        with self.flow() as flow:
            flow.submit(None, function, *arguments)
            return next(iter(flow))[1]

    def renew(self) -> None:
        """Put things right after tasks were lost, before they are submitted again."""

    def check(self) -> None:
        """Raise a ClusterError when waiting is in vain."""

    def close(self) -> None:
        """End what was started here."""

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Lost(Exception):
    """A task's worker died, or all that had its data."""


@dataclass(eq=False)
class Shared:
    """A value on the workers; kept here too, in case that they all die."""

    value: Any
    remote: Any = None


@dataclass(eq=False)
class _Task:
    key: Any
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    runs: int = 0


class Flow:
    """Tasks in flight: submit some, iterate over (key, result) as they are done, submit more meanwhile.

    No more than twice the slots are handed to the workers at a time, in the order of submission. An exception
    in a task is raised where the loop is; leaving the block drops what is not done.

    >>> with processes(1).flow() as flow:
    ...     flow.submit("a", pow, 2, 3)
    ...     for key, result in flow:
    ...         print(key, result)
    ...         if result < 100:
    ...             flow.submit("b", pow, result, 3)
    a 8
    b 512
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._waiting: deque[_Task] = deque()
        self._running: dict[futures.Future[Any], _Task] = {}

    def submit(self, key: Any, function: Callable[..., Any], *arguments: Any) -> None:
        """Run `function(*arguments)`; `key` comes back with the result."""
        self._waiting.append(_Task(key, function, arguments))

    def __len__(self) -> int:
        """Tasks that are not done."""
        return len(self._waiting) + len(self._running)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        while self._waiting or self._running:
            self._fill()
            done, _ = futures.wait(self._running, timeout=5, return_when=futures.FIRST_COMPLETED)
            if not done:
                self._cluster.check()
                continue
            future = next(iter(done))
            task = self._running.pop(future)
            try:
                result = future.result()
            except _Lost as error:
                self._again([task], error)
            except futures.BrokenExecutor as error:  # with it all that it had
                self._again([task, *self._unfinished()], error)
            else:
                yield task.key, result

    def _fill(self) -> None:
        while self._waiting and len(self._running) < self._cluster.ahead:
            task = self._waiting.popleft()
            task.runs += 1
            self._running[self._cluster.submit(task.function, *task.arguments)] = task

    def _again(self, tasks: list[_Task], error: BaseException) -> None:
        """Run tasks once more whose worker, or whose data, is gone."""
        self._cluster.check()
        if tasks[0].runs >= _MOST_RUNS:
            raise ClusterError(
                f"{self._cluster.name}: a task was lost {tasks[0].runs} times; do workers run out of memory?"
            ) from error
        self._cluster.renew()
        self._waiting.extendleft(reversed(tasks))

    def _unfinished(self) -> list[_Task]:
        """The running tasks that have no result, taken out."""
        lost = [f for f in self._running if not f.done() or f.exception() is not None]
        return [self._running.pop(future) for future in lost]

    def __enter__(self) -> Flow:
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting.clear()
        for future in self._running:
            future.cancel()
        self._running.clear()


class _Processes(Cluster):
    """This process, or a pool of others; a pool that lost a process is replaced."""

    def __init__(self, jobs: int) -> None:
        self.name = f"{jobs} processes"
        self._jobs = jobs
        self._pool: Any = None

    @property
    def slots(self) -> int:
        return self._jobs

    @property
    def ahead(self) -> int:
        return 1 if self._jobs == 1 else super().ahead

    def submit(self, function: Callable[..., Any], *arguments: Any) -> futures.Future[Any]:
        plain = [a.value if isinstance(a, Shared) else a for a in arguments]
        if self._jobs > 1:
            if self._pool is None:
                from joblib.externals.loky import ProcessPoolExecutor  # needs no guard in the user's script

                self._pool = ProcessPoolExecutor(self._jobs)
            future: futures.Future[Any] = self._pool.submit(function, *plain)
            return future
        here: futures.Future[Any] = futures.Future()
        try:
            here.set_result(function(*plain))
        except Exception as error:
            here.set_exception(error)
        return here

    def renew(self) -> None:
        self.close()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None


class _Dask(Cluster):
    """The workers of a Dask client's cluster."""

    remote = True

    def __init__(self, client: Any, *, ours: bool) -> None:
        self._client, self._ours = client, ours
        self.name = f"the Dask cluster at {client.scheduler.address}"
        self._workerless_since: float | None = None
        self._slots, self._counted = 0, 0.0
        self._version = version("ethereal-tm")
        try:
            self._check_versions()
        except BaseException:
            self.close()
            raise

    @property
    def slots(self) -> int:
        if time.monotonic() - self._counted > 1:  # workers come and go
            self._slots = sum(self._client.nthreads().values())
            self._counted = time.monotonic()
        return self._slots

    def submit(self, function: Callable[..., Any], *arguments: Any) -> futures.Future[Any]:
        remote = [self._remote(a) if isinstance(a, Shared) else a for a in arguments]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # what is sent once need not be shared
            there = self._client.submit(_call, self._version, function, *remote, pure=False)
        here: futures.Future[Any] = futures.Future()
        here.add_done_callback(lambda done: there.cancel() if done.cancelled() else None)
        there.add_done_callback(lambda done: _settle(here, done))
        return here

    def _remote(self, shared: Shared) -> Any:
        while shared.remote is None or shared.remote.status in ("cancelled", "lost", "error"):
            try:
                # in a list of its own, or a list would be scattered item by item
                (shared.remote,) = self._client.scatter([shared.value], broadcast=True, hash=False)
            except (OSError, *_TIMEOUTS):  # a worker died meanwhile, or none is there
                self.check()
                time.sleep(0.2)
        return shared.remote

    def check(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise ClusterError(f"{self.name} is gone: its scheduler does not answer any more")
        now = time.monotonic()
        if self._client.status == "running" and self._client.nthreads():
            self._workerless_since = None
        elif self._workerless_since is None:
            self._workerless_since = now
        elif now - self._workerless_since > _NO_WORKER_SECONDS:
            raise ClusterError(
                f"{self.name} has had no worker for {_NO_WORKER_SECONDS} s; start some with `dask worker`"
            )

    def _check_versions(self) -> None:
        """Everybody must have our versions of Dask and of this package, or bits may differ."""
        own = {"dask": version("dask"), "distributed": version("distributed"), "ethereal": self._version}
        packages = self._client.get_versions()["scheduler"]["packages"]
        found = {"its scheduler": {name: packages.get(name) for name in ("dask", "distributed")}}
        for worker, answer in self._client.run(_versions, on_error="return").items():
            if isinstance(answer, OSError):
                continue  # died meanwhile
            if isinstance(answer, BaseException):
                raise ClusterError(
                    f"{self.name}: worker {worker} cannot use ethereal ({answer}); install it there: "
                    f"pip install 'ethereal-tm[tune]=={self._version}'"
                )
            found[f"worker {worker}"] = answer
        for who, versions in found.items():
            for name, there in versions.items():
                if there != own[name]:
                    raise ClusterError(
                        f"{self.name}: {who} has {name} {there}, this process has {own[name]}; "
                        "install the same version everywhere"
                    )

    def close(self) -> None:
        if self._ours:
            self._client.close()
            if self._client.cluster is not None:
                self._client.cluster.close()


def _settle(here: futures.Future[Any], there: Any) -> None:
    """Hand over the outcome of a Dask future.

    When a worker dies between the end of a task and the fetching of its result, Dask may forget the task and
    leave us waiting for ever: whoever waits long for a result that was there runs the task again.
    """
    result: Any = None
    error: BaseException | None = None
    try:
        try:
            result = there.result(timeout=_LOST_SECONDS)
        except _TIMEOUTS:
            if there.status != "finished":
                raise
            result = there.result(timeout=_FETCH_SECONDS)  # large, or the network is slow
    except _distributed().scheduler.KilledWorker as death:
        error = _Lost(str(death))
    except (futures.CancelledError, asyncio.CancelledError, *_TIMEOUTS) as loss:
        error = _Lost(str(loss)) if there.status != "error" else loss
    except BaseException as raised:
        error = raised
    if here.set_running_or_notify_cancel():
        if error is None:
            here.set_result(result)
        else:
            here.set_exception(error)


def _call(wanted: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a worker runs; one that joined late may have another version."""
    if version("ethereal-tm") != wanted:
        raise ClusterError(
            f"a worker has ethereal {version('ethereal-tm')}, the client {wanted}; install the same"
        )
    return function(*arguments)


def _versions() -> dict[str, str]:
    names = {"dask": "dask", "distributed": "distributed", "ethereal": "ethereal-tm"}
    return {name: version(package) for name, package in names.items()}


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ClusterError(
            f"Dask is not installed ({error}); install it with: pip install 'ethereal-tm[tune]'"
        ) from error
    return distributed


def _connected(address: str) -> Any:
    distributed = _distributed()
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL)  # what is wrong is said below, once
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
            client = distributed.Client(address, timeout=_CONNECT_SECONDS, name="ethereal")
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address} within {_CONNECT_SECONDS} s; start one with `dask "
            f"scheduler`, workers with `dask worker {address}`"
        ) from error
    finally:
        log.setLevel(level)
    try:
        client.wait_for_workers(1, timeout=_WORKER_SECONDS)
    except (OSError, *_TIMEOUTS) as error:
        client.close()
        raise ClusterError(
            f"the Dask scheduler at {address} has no workers; start some with `dask worker {address}`"
        ) from error
    return client


def _local_client(workers: int) -> Any:
    distributed = _distributed()
    import dask

    # A task is not blamed soon for the death of its worker: who kills workers here does it from outside.
    with dask.config.set({"distributed.scheduler.allowed-failures": 10 * _MOST_RUNS}):
        local = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    return distributed.Client(local, name="ethereal")


def _count(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ClusterError(f"{name} is {value!r}; it must be 1 or more")
    return value
