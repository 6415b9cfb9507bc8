"""Where tasks run: in this process, in processes of this machine, or on the workers of a Dask cluster."""

from ethereal.cluster.tasks import (
    Cluster,
    ClusterError,
    Flow,
    Shared,
    active,
    choose,
    connect,
    processes,
    start,
)

__all__ = ["Cluster", "ClusterError", "Flow", "Shared", "active", "choose", "connect", "processes", "start"]
