"""The one place that writes files. A file is there whole or not at all, and so is a folder of files.

A link stays a link, and the file that it leads to is replaced. A replaced file keeps its rights. What is not
a regular file, such as a pipe or a device, is written through. The name `-` is standard output.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

STANDARD_OUTPUT = "-"
# Names of what the process has open already. Opening such a name anew would cut off what is there.
_OPENED = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_STREAMS = {STANDARD_OUTPUT: 1, "/dev/stdout": 1, "/dev/stderr": 2}
RECORD = ".ethereal-export"  # in the folder: names of the files that the export wrote, with their SHA-256
_OLD = ".old"  # ends the name of an older folder that gives way to a new one, and begins with that one's name
_SECONDS = 60.0  # after which a folder beside it is a leftover, where files cannot be locked
# What renameat2 says where a file system or a kernel cannot swap.
_CANNOT_SWAP = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


@contextmanager
def open_atomically(path: str | os.PathLike[str], *, is_cache: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing. It gets its name when the block ends well, and vanishes otherwise.

    What is not a regular file, and standard output, gets the bytes as they come. A file of a cache, which
    need not outlast a power cut, takes less time.
    """
    target = Path(path)
    mode = _mode(target)
    place: Path | int | None = _opened(target)
    if place is None and mode is not None and not stat.S_ISREG(mode):
        place = target
    if place is not None:
        with _through(target, place) as file:
            yield file
        return
    # Not the name that was given where that is a link, which must stay one.
    real = Path(os.path.realpath(target))
    temporary = real.with_name(f".{real.name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        if mode is not None and not os.access(real, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(target))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        # A file that replaces another is private until it has the rights of the other.
        with os.fdopen(os.open(temporary, flags, 0o666 if mode is None else 0o600), "wb") as file:
            yield file
            file.flush()
            if not is_cache:
                os.fsync(file.fileno())
        if mode is not None:
            _keep_rights(real, temporary)
        os.replace(temporary, real)
        if not is_cache and os.name == "posix":  # or the new name may not outlast a power cut
            folder = os.open(real.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except BaseException as error:
        with suppress(OSError):  # the first error says what is wrong
            temporary.unlink(missing_ok=True)
        name_target(error, target, temporary)
        raise


@contextmanager
def open_text(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a file for text in UTF-8, as `open_atomically` does. Line ends stay as they are written."""
    with open_atomically(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
        try:
            yield text
        except BaseException:
            with suppress(OSError, ValueError):  # the first error says what is wrong
                text.detach()
            raise
        text.detach()  # flushes


@contextmanager
def open_to_append(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing at its end: a log, or a download that goes on."""
    target = Path(path)
    try:
        with open(target, "ab") as file:
            yield file
    except OSError as error:
        name_target(error, target, target)
        raise


@contextmanager
def only_one(lock: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a file, which is made for it and removed at the end.

    Where another process has it, wait, or raise a `BlockingIOError`. A lock ends with its process, so a
    killed one holds none. Yield False without a lock where the folder, or the disk, takes none.
    """
    from filelock import FileLock, Timeout  # takes a while

    held = FileLock(lock, timeout=-1 if wait else 0, thread_local=False)
    try:
        held.acquire()
    except Timeout as error:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), os.fspath(lock)) from error
    except (OSError, NotImplementedError):
        yield False
        return
    try:
        yield True
    finally:
        with suppress(OSError):  # Windows removes it when it is released
            lock.unlink()  # while it is held: who waits for it sees that, and makes it anew
        held.release()


def rename(old: Path, new: str | os.PathLike[str]) -> None:
    """Give a whole file another name, which another file may have had."""
    os.replace(old, new)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a name stands for a stream and not for a file: standard output, a pipe or a device."""
    target = Path(path)
    if _opened(target) is not None:
        return True
    mode = _mode(target)
    return mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def is_standard_output(path: str | os.PathLike[str]) -> bool:
    """Whether a name stands for standard output."""
    return _opened(Path(path)) == 1


def end_standard_output() -> None:
    """Let what standard output still holds go nowhere, or the interpreter tries to write it at its end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _opened(target: Path) -> int | None:
    """Return the descriptor that a name stands for, if it does."""
    name = os.fspath(target)
    descriptor = _OPENED.fullmatch(name)
    return _STREAMS.get(name) if descriptor is None else int(descriptor[1])


def _mode(target: Path) -> int | None:
    """Return the mode of what a name leads to, None where nothing is there yet."""
    try:
        return target.stat().st_mode
    except FileNotFoundError:
        return None


@contextmanager
def _through(target: Path, place: Path | int) -> Iterator[BinaryIO]:
    """Open what is there, a path or a descriptor, and write into it."""
    try:
        if place == 1:
            sys.stdout.flush()  # or what was printed before comes after
            yield sys.stdout.buffer
            sys.stdout.flush()
            return
        with open(os.dup(place) if isinstance(place, int) else place, "wb") as file:
            yield file
    except OSError as error:
        name_target(error, target, target)
        raise


def _keep_rights(old: Path, new: Path) -> None:
    """Give a file the owner and the mode of the one that it will replace."""
    old_rights, new_rights = old.stat(), new.stat()
    if (new_rights.st_uid, new_rights.st_gid) != (old_rights.st_uid, old_rights.st_gid):
        with suppress(OSError):  # only root may give files away
            os.chown(new, old_rights.st_uid, old_rights.st_gid)
    os.chmod(new, stat.S_IMODE(old_rights.st_mode))


def name_target(error: BaseException, target: Path, temporary: Path) -> None:
    """Let an error of the system name the file that was meant, because a full disk names none."""
    if isinstance(error, OSError) and error.errno is not None:
        named = error.filename
        place = Path(os.fsdecode(named)) if isinstance(named, (str, bytes)) else temporary
        if place == temporary or temporary in place.parents:
            error.filename = os.fspath(target)


def write_bytes(path: str | os.PathLike[str], data: bytes, *, is_cache: bool = False) -> None:
    """Write a file under a temporary name and rename it, so that nobody ever sees half of it."""
    with open_atomically(path, is_cache=is_cache) as file:
        file.write(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text in UTF-8 with `write_bytes`."""
    write_bytes(path, text.encode())


def write_scratch(path: Path, data: str | bytes) -> None:
    """Write a file of a temporary folder for another program. It need not outlast a power cut."""
    path.write_bytes(data.encode() if isinstance(data, str) else data)


def write_folder(
    folder: str | os.PathLike[str], files: Mapping[str, str | bytes], *, force: bool = False
) -> Path:
    """Write texts or bytes by their names. A folder that holds something is only touched with `force`.

    With `force`, the files of an earlier export are gone afterwards, those of these names are replaced, and
    everything else in the folder is kept. The folder is the old one or the new one, never half of both, even
    when the process is killed. What a killed process left beside the folder is gone after the next call.
    Only the current folder, which must be empty, gets one file after the other.
    """
    path = check_folder(folder).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    with only_one(path.with_name(f".{path.name}.lock")) as is_alone:
        _recover(path, is_alone)
        is_new = not path.exists() or not any(path.iterdir())
        if not is_new and not force:
            some = ", ".join(sorted(p.name for p in path.iterdir())[:3])
            raise FileExistsError(
                f"the folder {folder} exists and holds files ({some}, ...). Choose another. "
                "Give force=True to replace an earlier export there."
            )
        if not is_new and (path == Path.cwd() or path in Path.cwd().parents):
            raise FileExistsError(
                f"{folder} is the current folder and holds files. Name a folder of its own."
            )
        contents = {n: text.encode() if isinstance(text, str) else text for n, text in files.items()}
        with _folder_beside(path) as temporary:
            _fill(temporary, path, contents, is_new)
            _put(temporary, path)
    return Path(folder)


def _fill(new: Path, path: Path, contents: Mapping[str, bytes], is_new: bool) -> None:
    """Write files and their record into a new folder, beside what stays of the one that it replaces."""
    linked: dict[Path, bytes] = {}  # what is a link stays one, and the file that it leads to is replaced
    record = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    for name, data in {**contents, RECORD: json.dumps(record, indent=0).encode()}.items():
        file, old = new / name, path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if old.is_symlink() and not old.is_dir():
            file.symlink_to(os.readlink(old))
            linked[old] = data
            continue
        with open(file, "xb") as stream:
            if old.is_file():
                file.chmod(stat.S_IMODE(old.stat().st_mode))
            stream.write(data)
            if not is_new:  # or a power cut might leave neither of both
                stream.flush()
                os.fsync(stream.fileno())
    if path.exists():
        new.chmod(path.stat().st_mode)
    for old, data in linked.items():
        write_bytes(old, data)
    if not is_new:
        _keep_others(path, new)


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a folder to write to. Refuse what can only take one stream of bytes."""
    path = Path(folder)
    if is_standard_output(path):
        raise ValueError(
            f"{os.fspath(folder)!r} is standard output, but several files are written. Name a folder."
        )
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file. Name a folder.")
    return path


def written_files(folder: str | os.PathLike[str]) -> list[str]:
    """Return the names of the files that the export wrote into a folder."""
    return sorted(_record(Path(folder)))


def _record(folder: Path) -> dict[str, str]:
    try:
        record = json.loads((folder / RECORD).read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _keep_others(old: Path, new: Path) -> None:
    """Keep what no export wrote, or what was changed since, unless the new folder has such a file."""
    written = _record(old)
    for file in old.rglob("*"):
        name = file.relative_to(old).as_posix()
        target = new / name
        if name == RECORD or (file.is_dir() and not file.is_symlink()) or os.path.lexists(target):
            continue
        if name in written and hashlib.sha256(file.read_bytes()).hexdigest() == written[name]:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file, target, follow_symlinks=False)  # a second name for the file, without a copy
        except OSError:
            shutil.copy2(file, target, follow_symlinks=False)


@contextmanager
def _folder_beside(path: Path) -> Iterator[Path]:
    """Yield a new folder that is gone at the end."""
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.export")
    temporary.mkdir()  # with the rights of any new folder, which `tempfile` would not give
    try:
        yield temporary
    except OSError as error:
        name_target(error, path, temporary)
        raise
    finally:
        _remove(temporary)


def _recover(path: Path, is_alone: bool) -> None:
    """Remove what a killed export left beside its folder, and give an old folder its name back."""
    leftover = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}\.export")
    beside = {p.with_name(p.name.removesuffix(_OLD)) for p in path.parent.iterdir()}
    for new in sorted(p for p in beside if leftover.fullmatch(p.name)):
        old = new.with_name(new.name + _OLD)
        if not is_alone and new.exists() and time.time() - new.stat().st_mtime < _SECONDS:
            continue  # perhaps another export is at work
        if old.exists() and not path.exists():
            old.rename(path)
        _remove(old)
        _remove(new)


def _remove(folder: Path) -> None:
    """Remove a folder with all that it holds, or as much as can be removed now."""
    with suppress(OSError):  # of a folder that cannot be closed, which rmtree does not ignore
        shutil.rmtree(folder, ignore_errors=True)


def _put(new: Path, path: Path) -> None:
    """Give the new folder its name. Where that fails, the old folder has it again."""
    if path == Path.cwd():  # which is empty, and must stay the same folder
        _move_parts(new, path)
    elif not path.exists() or not any(path.iterdir()):
        if path.exists() and os.name == "nt":
            path.rmdir()
        new.rename(path)
    elif not _swap(new, path):
        old = new.with_name(new.name + _OLD)
        path.rename(old)
        try:
            new.rename(path)
        except BaseException:
            old.rename(path)
            raise
        old.rename(new)  # to be removed


def _swap(new: Path, path: Path) -> bool:
    """Exchange the names of two folders in one step, as Linux can. False where that is not known."""
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    current, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE
    if rename(current, os.fsencode(new), current, os.fsencode(path), exchange) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT_SWAP:
        return False
    raise OSError(code, os.strerror(code), os.fspath(path))


def _move_parts(new: Path, path: Path) -> None:
    """Move all that a folder holds into another, or nothing."""
    moved = []
    try:
        for part in sorted(new.iterdir(), key=lambda part: part.name == RECORD):  # the record last
            part.rename(path / part.name)
            moved.append(part)
    except BaseException:
        for part in moved:
            (path / part.name).rename(part)
        raise
