"""Write files to a folder, all or nothing."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ethereal.base.atomic import is_standard_output, name_target, write_bytes
from ethereal.base.locks import NO_LOCKS, lock, unlock

RECORD = ".ethereal-export"  # in the folder: names of the files that the export wrote, with their SHA-256
_OLD = ".old"  # ends the name of an older folder that gives way to a new one, and begins with that one's name
_SECONDS = 60.0  # after which a folder beside it is a leftover, where folders cannot be locked
# What renameat2 says where a file system or a kernel cannot swap.
_CANNOT_SWAP = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


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
    _recover(path)
    is_new = not path.exists() or not any(path.iterdir())
    if not is_new and not force:
        some = ", ".join(sorted(p.name for p in path.iterdir())[:3])
        raise FileExistsError(
            f"the folder {folder} exists and holds files ({some}, ...). Choose another. "
            "Give force=True to replace an earlier export there."
        )
    if not is_new and (path == Path.cwd() or path in Path.cwd().parents):
        raise FileExistsError(f"{folder} is the current folder and holds files. Name a folder of its own.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _folder_beside(path) as temporary:
        contents = {n: text.encode() if isinstance(text, str) else text for n, text in files.items()}
        linked: dict[Path, bytes] = {}  # what is a link stays one, and the file that it leads to is replaced
        record = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
        for name, data in {**contents, RECORD: json.dumps(record, indent=0).encode()}.items():
            file, old = temporary / name, path / name
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
            temporary.chmod(path.stat().st_mode)
        for old, data in linked.items():
            write_bytes(old, data)
        if not is_new:
            _keep_others(path, temporary)
        _put(temporary, path)
    return Path(folder)


def check_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a folder to write to. Refuse what can only take one stream of bytes.

    >>> check_folder("-")
    Traceback (most recent call last):
    ValueError: '-' is standard output, but several files are written. Name a folder.
    """
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
    """Yield a new folder that is gone at the end. It is locked, so that nobody takes it for a leftover."""
    while True:
        temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.export")
        temporary.mkdir()  # with the rights of any new folder, which `tempfile` would not give
        held = lock(temporary)
        if held is not None:
            break
    try:
        yield temporary
    except OSError as error:
        name_target(error, path, temporary)
        raise
    finally:
        _remove(temporary)
        unlock(held)


def _recover(path: Path) -> None:
    """Remove what a killed export left beside its folder, and give an old folder its name back."""
    if not path.parent.is_dir():
        return
    leftover = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}\.export")
    found = sorted(p for p in path.parent.iterdir() if leftover.fullmatch(p.name.removesuffix(_OLD)))
    for new in sorted({p.with_name(p.name.removesuffix(_OLD)) for p in found}):
        held, old = lock(new) if new.exists() else NO_LOCKS, new.with_name(new.name + _OLD)
        is_recent = new.exists() and time.time() - new.stat().st_mtime < _SECONDS
        if held is None or (held == NO_LOCKS and is_recent):  # at work, or perhaps at work
            continue
        if old.exists() and not path.exists():
            old.rename(path)
        for one in (old, new):
            _remove(one)
        unlock(held)


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
