"""Examples of the helpers of `ethereal/cluster`, as doctests."""

# ruff: noqa: F401

from ethereal.cluster import Beside, choose, processes

__test__ = {
    "choose": """
    >>> with choose(jobs=1) as here:
    ...     here.submit(divmod, 7, 2).result()
    (3, 1)
    """,
    "processes": """
    >>> processes(0)
    Traceback (most recent call last):
        ...
    ethereal.cluster.ClusterError: jobs is 0. It must be 1 or more, or -1 for one per core.
    """,
    "Beside": """
    >>> with Beside(2) as beside:
    ...     results = [beside.run(pow, 2, n) for n in range(4)]
    ...     [result() for result in results]
    [1, 2, 4, 8]
    """,
}
