"""Write files to a folder, all or nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ethereal.atomic import name_target


def write_folder(
    folder: str | os.PathLike[str], files: Mapping[str, str | bytes], *, force: bool = False
) -> Path:
    """Write texts or bytes by their names; a folder that holds something is only touched with `force`.

    With `force`, files of these names are replaced and others are left alone.
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file; name a folder")
    if path.exists() and any(path.iterdir()) and not force:
        some = ", ".join(sorted(p.name for p in path.iterdir())[:3])
        raise FileExistsError(
            f"the folder {path} exists and holds files ({some}, ...); choose another, or use force=True "
            "(--force) to replace what has the same names"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        for name, contents in files.items():
            file = temporary / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(contents.encode() if isinstance(contents, str) else contents)
        temporary.chmod(0o755)
        if not path.exists():
            temporary.rename(path)
            return path
        for name in files:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (temporary / name).replace(path / name)
    except OSError as error:
        name_target(error, path, temporary)
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return path
