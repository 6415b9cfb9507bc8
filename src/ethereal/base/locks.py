"""Locks on files and folders that end with the process, so that a killed one holds none."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

NO_LOCKS = -1  # in place of a lock, where a system or a disk has none


def lock(path: Path, *, create: bool = False, wait: bool = False) -> int | None:
    """Lock a file or a folder, and return what `unlock` takes. None when another has it, or it is gone.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = lock(Path(folder))
    ...     second = lock(Path(folder))
    ...     unlock(first)
    >>> second is None or second == NO_LOCKS
    True
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return NO_LOCKS
    how = fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT if create else os.O_RDONLY, 0o666)
        except FileNotFoundError:
            return None
        except OSError:
            return NO_LOCKS
        try:
            fcntl.flock(descriptor, how)
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except BlockingIOError:
            wait = create = False
        except FileNotFoundError:  # removed by whoever had it
            pass
        except OSError:
            os.close(descriptor)
            return NO_LOCKS
        os.close(descriptor)
        if not create:
            return None


def unlock(lock: int | None, path: Path | None = None) -> None:
    """End a lock. `path` is a file that was made for it and is removed."""
    if lock is None or lock == NO_LOCKS:
        return
    with suppress(OSError):
        if path is not None:
            path.unlink()
    with suppress(OSError):
        os.close(lock)
