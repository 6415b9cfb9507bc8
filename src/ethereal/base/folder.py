"""Write files to a folder, all or nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ethereal.base.atomic import name_target

RECORD = ".ethereal-export"  # in the folder: names of the files that the export wrote, with their SHA-256


def write_folder(
    folder: str | os.PathLike[str], files: Mapping[str, str | bytes], *, force: bool = False
) -> Path:
    """Write texts or bytes by their names. A folder that holds something is only touched with `force`.

    With `force`, the files of an earlier export are gone afterwards, those of these names are replaced, and
    everything else in the folder is kept. The folder is the old one or the new one, never half of both.
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file. Name a folder.")
    is_new = not path.exists() or not any(path.iterdir())
    if not is_new and not force:
        some = ", ".join(sorted(p.name for p in path.iterdir())[:3])
        raise FileExistsError(
            f"the folder {path} exists and holds files ({some}, ...). Choose another. "
            "Use force=True (--force) to replace an earlier export there."
        )
    path = path.resolve()
    if not is_new and (path == Path.cwd() or path in Path.cwd().parents):
        raise FileExistsError(f"{folder} is the current folder and holds files. Name a folder of its own.")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        contents = {n: text.encode() if isinstance(text, str) else text for n, text in files.items()}
        record = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
        for name, data in {**contents, RECORD: json.dumps(record, indent=0).encode()}.items():
            file = temporary / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        temporary.chmod(0o755)
        if not is_new:
            _keep_others(path, temporary)
        _put(temporary, path)
    except OSError as error:
        name_target(error, path, temporary)
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return Path(folder)


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


def _put(new: Path, path: Path) -> None:
    """Give the new folder its name. Where that fails, the old folder has it again."""
    if not path.exists():
        new.rename(path)
        return
    if not any(path.iterdir()):  # perhaps the current folder, which must stay the same
        for part in list(new.iterdir()):
            part.rename(path / part.name)
        return
    old = new.with_name(f"{new.name}.old")
    path.rename(old)
    try:
        new.rename(path)
    except OSError:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)
