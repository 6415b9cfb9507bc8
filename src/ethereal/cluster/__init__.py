"""Where tasks run: in this process, in processes of this machine, or on the workers of a Dask cluster."""

from ethereal.cluster.tasks import (
    Cluster,
    ClusterError,
    ClusterOptions,
    Flow,
    Shared,
    Tls,
    active,
    choose,
    connect,
    processes,
    start,
)

__all__ = [
    "Cluster",
    "ClusterError",
    "ClusterOptions",
    "Flow",
    "Shared",
    "Tls",
    "active",
    "choose",
    "connect",
    "processes",
    "start",
]
