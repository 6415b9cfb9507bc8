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

A function that is submitted must be one that a module defines. It must give the same result when it is run
twice, because the tasks of a worker that dies are run again elsewhere. A task's result is handed out once.
`submit` alone gives a `concurrent.futures.Future`, for `concurrent.futures.wait` and `as_completed`.

While a Dask cluster is open, or a `distributed.Client` of your own is the default one,
`EtherealClassifier.fit` trains the classes on its workers (`train/fitting.py`).
"""

from __future__ import annotations

import os
import re
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from ethereal.base.options import option

MOST_RUNS = 5  # of one task whose worker dies or whose data is lost
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ws|wss)://)?(?:\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{1,5})")
Result = TypeVar("Result")


class ClusterError(ValueError):
    """A cluster cannot be reached or cannot be used. The message says what to do."""


def choose(
    dask: str | None = None, workers: int | None = None, jobs: int = 1, *, tls: Tls | None = None
) -> Cluster:
    """Return what `dask`, `workers` or `jobs` asks for. The first given counts."""
    if dask is not None and workers is not None:
        raise ClusterError("dask and workers are both given. Choose a running cluster or one of your own.")
    if dask is not None:
        return connect(dask, tls)
    if tls is not None:
        raise ClusterError("Certificates are given, but no cluster. Give its address, dask=tls://HOST:PORT.")
    return processes(jobs) if workers is None else start(workers)


def processes(jobs: int) -> Cluster:
    """Return so many processes on this machine, without Dask. 1 is this process itself, -1 one per core."""
    if jobs == 0:
        raise ClusterError("jobs is 0. It must be 1 or more, or -1 for one per core.")
    return _Processes((os.cpu_count() or 1) if jobs == -1 else _count("jobs", jobs))


def start(workers: int) -> Cluster:
    """Start a Dask cluster of so many worker processes on this machine."""
    from ethereal.cluster.dask import DaskCluster, local_client

    return DaskCluster(local_client(_count("workers", workers)), ours=True)


def connect(address: str, tls: Tls | None = None) -> Cluster:
    """Return the Dask cluster whose scheduler is at an address such as tcp://10.0.0.1:8786.

    With the files of certificates, `tls`, the address begins with tls:// and both sides show a certificate.
    Without them, certificates of a tls:// address are those of Dask's own configuration.

    >>> connect("tcp://10.0.0.1")
    Traceback (most recent call last):
        ...
    ethereal.cluster.ClusterError: dask is 'tcp://10.0.0.1'. It must be an address such as tcp://10.0.0.1:8786.
    """
    match = _ADDRESS.fullmatch(address) if isinstance(address, str) else None
    if match is None or not 0 < int(match[1]) < 65536:
        raise ClusterError(f"dask is {address!r}. It must be an address such as tcp://10.0.0.1:8786.")
    from ethereal.cluster.dask import DaskCluster, connected_client

    if "://" not in address:
        address = f"{'tcp' if tls is None else 'tls'}://{address}"
    if tls is not None and not address.startswith("tls://"):
        raise ClusterError(
            f"certificates are given, but {address} is not encrypted. Write tls:// before the host, and "
            "start scheduler and workers with certificates."
        )
    return DaskCluster(connected_client(address, tls), ours=True)


def active() -> Cluster | None:
    """Return the Dask cluster of the default client. None without such a client, and inside a task.

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
    from ethereal.cluster.dask import DaskCluster

    return None if client.asynchronous else DaskCluster(client, ours=False)


@dataclass(frozen=True)
class Tls:
    """Files of a cluster's certificates, in PEM: who may sign them, and one of our own with its key."""

    ca: str | os.PathLike[str]
    cert: str | os.PathLike[str]
    key: str | os.PathLike[str]

    @classmethod
    def of(cls, ca: Any, cert: Any, key: Any) -> Tls | None:
        """Return None without files. A part of the files is refused.

        >>> Tls.of("ca.pem", None, None)
        Traceback (most recent call last):
            ...
        ethereal.cluster.ClusterError: tls_cert= and tls_key= are missing. Give all three files.
        """
        names = {"tls_ca=": ca, "tls_cert=": cert, "tls_key=": key}
        missing = [name for name, file in names.items() if file is None]
        if len(missing) == len(names):
            return None
        if missing:
            is_or_are = "is" if len(missing) == 1 else "are"
            raise ClusterError(f"{' and '.join(missing)} {is_or_are} missing. Give all three files.")
        return cls(ca, cert, key)


@dataclass(frozen=True)
class ClusterOptions:
    """Options of commands that may work on a cluster."""

    dask: str | None = option(
        None, "Work on the Dask cluster of this scheduler, tcp://HOST:PORT or tls://HOST:PORT."
    )
    workers: int | None = option(None, "Work on a local Dask cluster of so many processes.")
    tls_ca: str | None = option(None, "PEM file of the authority that signed the cluster's certificates.")
    tls_cert: str | None = option(None, "PEM file of our own certificate for the cluster.")
    tls_key: str | None = option(None, "PEM file of the key of our own certificate.")

    @property
    def tls(self) -> Tls | None:
        """The files of the certificates."""
        return Tls.of(self.tls_ca, self.tls_cert, self.tls_key)

    @property
    def is_asked(self) -> bool:
        """Whether a cluster is wanted."""
        return self.dask is not None or self.workers is not None or self.tls is not None

    def open(self) -> Cluster:
        """Return the cluster, or this process."""
        return choose(self.dask, self.workers, tls=self.tls)


class Cluster(ABC):
    """Somewhere to run tasks. It is a context manager that closes itself."""

    name: str  # for messages
    remote = False  # whether workers may be on other machines, with other disks

    @property
    @abstractmethod
    def slots(self) -> int:
        """Tasks that run at the same time."""

    @property
    def ahead(self) -> int:
        """Tasks to hand over at a time: one waits at each worker while another runs."""
        return max(1, 2 * self.slots)

    @abstractmethod
    def submit(self, function: Callable[..., Any], *arguments: Any) -> futures.Future[Any]:
        """Run `function(*arguments)`. An argument may be what `share` gave."""

    def share(self, value: Any) -> Shared:
        """Return a value that many tasks take as an argument, and that goes to each worker once."""
        return Shared(value)

    def flow(self) -> Flow:
        """Tasks whose results are wanted as they are done."""
        return Flow(self)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of `function(*arguments)`. It is run again when its worker dies."""
        with self.flow() as flow:
            flow.submit(None, function, *arguments)
            return next(iter(flow))[1]

    def renew(self) -> None:  # noqa: B027
        """Put things right after tasks were lost, before they are submitted again."""

    def check(self) -> None:  # noqa: B027
        """Raise a ClusterError when waiting is in vain."""

    @abstractmethod
    def close(self) -> None:
        """End what was started here."""

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Lost(Exception):
    """A task's worker died, or all that had its data."""


@dataclass(eq=False)
class Shared:
    """A value on the workers. It is kept here, too, in case they all die."""

    value: Any
    remote: Any = None


@dataclass(eq=False)
class _Task:
    key: Any
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    runs: int = 0


class Flow:
    """Tasks in flight. Submit some, iterate over (key, result) as they are done, submit more meanwhile.

    No more than twice the slots are handed to the workers at a time, in the order of submission. An exception
    in a task is raised where the loop is. Leaving the block drops what is not done.

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
        """Run `function(*arguments)`. `key` comes back with the result."""
        self._waiting.append(_Task(key, function, arguments))

    def __len__(self) -> int:
        """Tasks that are not done."""
        return len(self._waiting) + len(self._running)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        while self._waiting or self._running:
            while self._waiting and len(self._running) < self._cluster.ahead:
                task = self._waiting.popleft()
                task.runs += 1
                self._running[self._cluster.submit(task.function, *task.arguments)] = task
            done, _ = futures.wait(self._running, timeout=5, return_when=futures.FIRST_COMPLETED)
            if not done:
                self._cluster.check()
                continue
            future = next(iter(done))
            task = self._running.pop(future)
            try:
                result = future.result()
            except Lost as error:
                self._again([task], error)
            except futures.BrokenExecutor as error:  # with it all that it had
                lost = [f for f in self._running if not f.done() or f.exception() is not None]
                self._again([task, *(self._running.pop(other) for other in lost)], error)
            else:
                yield task.key, result

    def _again(self, tasks: list[_Task], error: BaseException) -> None:
        """Run tasks once more whose worker, or whose data, is gone."""
        self._cluster.check()
        if tasks[0].runs >= MOST_RUNS:
            raise ClusterError(
                f"{self._cluster.name}: a task was lost {tasks[0].runs} times. Do workers run out of memory?"
            ) from error
        self._cluster.renew()
        for shared in (a for task in tasks for a in task.arguments if isinstance(a, Shared)):
            shared.remote = None  # This may be what was lost, so it is sent again.
        self._waiting.extendleft(reversed(tasks))

    def __enter__(self) -> Flow:
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting.clear()
        for future in self._running:
            future.cancel()
        self._running.clear()


class _Processes(Cluster):
    """This process, or a pool of others. A pool that lost a process is replaced."""

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


def _count(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ClusterError(f"{name} is {value!r}. It must be 1 or more.")
    return value


class Beside:
    """Runs functions in threads, or at once if there is to be one thread only."""

    def __init__(self, n_threads: int) -> None:
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
        self._left = False

    def run(self, function: Callable[..., Result], *arguments: Any) -> Callable[[], Result]:
        """Start a function. What is returned waits for its result, or raises what it raised."""
        if self._pool is not None:
            return self._pool.submit(function, *arguments).result
        result = function(*arguments)
        return lambda: result

    def while_wanted(self, function: Callable[[Any], Result]) -> Callable[[Any], Result]:
        """Return the function, which raises once nobody waits for results any more.

        Work that calls it from time to time ends soon after the user pressed Ctrl-C.
        """

        def called(argument: Any) -> Result:
            if self._left:
                raise InterruptedError("The work was given up.")
            return function(argument)

        return called

    def __enter__(self) -> Beside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._left = kind is not None
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
