"""The workers of a Dask cluster behind the interface of `ethereal.cluster`."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import time
import warnings
from collections.abc import Callable
from concurrent import futures
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ethereal.base.package import install, lacks
from ethereal.cluster import MOST_RUNS, Cluster, ClusterError, Lost, Shared, Tls

_CONNECT_SECONDS = 10
_WORKER_SECONDS = 30  # until one is there at first
_NO_WORKER_SECONDS = 60  # without any later
_LOST_SECONDS, _FETCH_SECONDS = 3, 120  # until a result that was there counts as lost
_TIMEOUTS = (futures.TimeoutError, asyncio.TimeoutError, TimeoutError)  # one and the same from Python 3.11 on


class DaskCluster(Cluster):
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
        """Threads of all workers."""
        if time.monotonic() - self._counted > 1:  # workers come and go
            self._slots = sum(self._client.nthreads().values())
            self._counted = time.monotonic()
        return self._slots

    def submit(self, function: Callable[..., Any], *arguments: Any) -> futures.Future[Any]:
        """Run `function(*arguments)` on some worker."""
        remote = [self._remote(a) if isinstance(a, Shared) else a for a in arguments]
        there = self._send(_call, self._version, function, *remote)
        here: futures.Future[Any] = futures.Future()
        here.add_done_callback(lambda done: there.cancel() if done.cancelled() else None)
        there.add_done_callback(lambda done: _settle(here, done))
        return here

    def _remote(self, shared: Shared) -> Any:
        if shared.remote is None or shared.remote.status in ("cancelled", "lost", "error"):
            # It is a task and not scattered, because the scheduler can make a task again when all workers
            # that have it die. A broadcast waits for ever for a worker that dies meanwhile.
            shared.remote = self._send(_itself, [shared.value])
        return shared.remote

    def _send(self, *task: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # what is sent once need not be shared
            return self._client.submit(*task, pure=False)

    def check(self) -> None:
        """Raise a ClusterError when the scheduler is gone, or the workers have been for long."""
        if self._client.status not in ("running", "connecting"):
            raise ClusterError(f"{self.name} is gone: its scheduler does not answer any more")
        now = time.monotonic()
        if self._client.status == "running" and self._client.nthreads():
            self._workerless_since = None
        elif self._workerless_since is None:
            self._workerless_since = now
        elif now - self._workerless_since > _NO_WORKER_SECONDS:
            raise ClusterError(
                f"{self.name} has had no worker for {_NO_WORKER_SECONDS} s. Run `dask worker`."
            )

    def _check_versions(self) -> None:
        """Refuse other versions of Dask and of this package, because bits may differ."""
        here = {"dask": version("dask"), "distributed": version("distributed"), "ethereal": self._version}
        packages = self._client.get_versions()["scheduler"]["packages"]
        versions_of = {"its scheduler": {name: packages.get(name) for name in ("dask", "distributed")}}
        for worker, answer in self._client.run(_versions, on_error="return").items():
            if isinstance(answer, OSError):
                continue  # died meanwhile
            if isinstance(answer, BaseException):
                raise ClusterError(
                    f"{self.name}: worker {worker} cannot use ethereal ({answer}). Install it there, "
                    f"version {self._version}, with {install('tune')}."
                )
            versions_of[f"worker {worker}"] = answer
        for who, versions in versions_of.items():
            for name, there in versions.items():
                if there != here[name]:
                    raise ClusterError(
                        f"{self.name}: {who} has {name} {there}, this process has {here[name]}. "
                        "Install the same version everywhere."
                    )

    def close(self) -> None:
        """End the connection, and the cluster where it was started here."""
        if self._ours:
            self._client.close()
            if self._client.cluster is not None:
                self._client.cluster.close()


def _settle(here: futures.Future[Any], there: Any) -> None:
    """Hand over the outcome of a Dask future.

    When a worker dies between the end of a task and the fetching of its result, Dask may forget the task and
    leave us waiting for ever. So a task whose result was there and does not come is run again.
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
        error = Lost(str(death))
    except (futures.CancelledError, asyncio.CancelledError, *_TIMEOUTS) as loss:
        error = Lost(str(loss)) if there.status != "error" else loss
    except BaseException as raised:
        error = raised
    if here.set_running_or_notify_cancel():
        if error is None:
            here.set_result(result)
        else:
            here.set_exception(error)


def _itself(values: list[Any]) -> Any:
    (value,) = values
    return value


def _call(wanted: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task on a worker. A worker that joined late may have another version."""
    if (installed := version("ethereal-tm")) != wanted:
        raise ClusterError(f"a worker has ethereal {installed}, the client {wanted}. Install the same.")
    return function(*arguments)


def _versions() -> dict[str, str]:
    names = {"dask": "dask", "distributed": "distributed", "ethereal": "ethereal-tm"}
    return {name: version(package) for name, package in names.items()}


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ClusterError(lacks("A cluster", f"Dask ({error})", "tune")) from error
    return distributed


def _security(tls: Tls) -> Any:
    """Return what a client needs to speak TLS. The files are read here, so that a wrong one is named."""
    for option, file in (("ca", tls.ca), ("cert", tls.cert), ("key", tls.key)):
        if not Path(file).is_file():
            raise ClusterError(f"tls_{option} is {os.fspath(file)!r}, and there is no such file.")
    security = _distributed().Security(
        require_encryption=True,
        tls_ca_file=os.fspath(tls.ca),
        tls_client_cert=os.fspath(tls.cert),
        tls_client_key=os.fspath(tls.key),
    )
    try:
        security.get_connection_args("client")
    except OSError as error:  # ssl's errors are such
        raise ClusterError(
            f"the certificates cannot be used: {error}. They must be PEM files, and tls_key the key of "
            "tls_cert."
        ) from error
    return security


def _refusal(error: BaseException) -> str:
    """Return what the other side had against our certificate, or we against its."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLError):
            return f" ({seen.reason or seen}). Both sides need certificates that tls_ca has signed"
        seen = seen.__cause__ or seen.__context__
    return ""


def connected_client(address: str, tls: Tls | None = None) -> Any:
    """Return a client of the scheduler at an address, which has a worker at least."""
    distributed = _distributed()
    security = None if tls is None else _security(tls)
    log = logging.getLogger("distributed")
    level = log.level
    log.setLevel(logging.CRITICAL)  # what is wrong is said below, once
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
            client = distributed.Client(address, timeout=_CONNECT_SECONDS, name="ethereal", security=security)
    except (OSError, ValueError, TypeError) as error:
        if tls is None and address.startswith("tls://") and isinstance(error, TypeError):
            raise ClusterError(f"{address} needs certificates: tls_ca=, tls_cert= and tls_key=.") from error
        raise ClusterError(
            f"no Dask scheduler answers at {address} within {_CONNECT_SECONDS} s{_refusal(error)}. "
            f"Start one with `dask scheduler`, and workers with `dask worker {address}`."
        ) from error
    finally:
        log.setLevel(level)
    try:
        client.wait_for_workers(1, timeout=_WORKER_SECONDS)
    except (OSError, *_TIMEOUTS) as error:
        client.close()
        raise ClusterError(
            f"the Dask scheduler at {address} has no workers. Start some with `dask worker {address}`."
        ) from error
    return client


def local_client(workers: int) -> Any:
    """Return a client of a new cluster of so many processes on this machine."""
    distributed = _distributed()
    import dask

    # Workers here are stopped by the operator, so do not blame the task.
    with dask.config.set({"distributed.scheduler.allowed-failures": 10 * MOST_RUNS}):
        local = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    return distributed.Client(local, name="ethereal")
