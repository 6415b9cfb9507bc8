"""Work in threads beside the caller. It suits native code, which lets other threads run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

Result = TypeVar("Result")


class Beside:
    """Runs functions in threads, or at once if there is to be one thread only.

    >>> with Beside(2) as beside:
    ...     results = [beside.run(pow, 2, n) for n in range(4)]
    ...     [result() for result in results]
    [1, 2, 4, 8]
    """

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
