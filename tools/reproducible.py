"""Build the sdist and the wheel twice, in two folders, and compare every byte.

    python tools/reproducible.py [--out dist]

Both builds start from a clone of the last commit and take their times from it (SOURCE_DATE_EPOCH). Folder,
hash seed, time zone and language differ. It prints the SHA-256 of what was built, and keeps it in `--out` if
both builds are the same. Else it names the members of the archives that differ, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = (
    "import sys, scikit_build_core.build as b; print(b.build_sdist(sys.argv[1]), b.build_wheel(sys.argv[1]))"
)
PLACES = (
    ("first", {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"}),
    ("another/folder", {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"}),
)


def build(folder: Path, commit: str, when: str, environment: dict[str, str]) -> Path:
    """Clone and build; the folder of what was built."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(ROOT), str(folder)], check=True)
    subprocess.run(["git", "checkout", "--quiet", "--detach", commit], cwd=folder, check=True)
    variables = {"SOURCE_DATE_EPOCH": when, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [sys.executable, "-c", BUILD, "dist"]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | variables | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    return folder / "dist"


def members(path: Path) -> dict[str, bytes]:
    """Hash of each member of an archive, with its time and rights."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            parts = [
                (i.filename, f"{i.date_time} {i.external_attr}", archive.read(i)) for i in archive.infolist()
            ]
    else:
        with tarfile.open(path) as archive:
            files = [(i, archive.extractfile(i)) for i in archive.getmembers()]
            parts = [
                (i.name, f"{i.mtime} {i.mode} {i.uid}", file.read() if file else b"") for i, file in files
            ]
    return {name: hashlib.sha256(about.encode() + data).digest() for name, about, data in parts}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    args = parser.parse_args()
    asked = ["git", "log", "-1", "--format=%H %ct"]
    commit, when = subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    with tempfile.TemporaryDirectory() as name:
        first, second = (build(Path(name) / place, commit, when, there) for place, there in PLACES)
        names = sorted(path.name for path in first.iterdir())
        is_same = names == sorted(path.name for path in second.iterdir())
        for member in names:
            digests = [
                hashlib.sha256((folder / member).read_bytes()).hexdigest() for folder in (first, second)
            ]
            print(f"{digests[0]}  {member}" if digests[0] == digests[1] else f"differs: {member}")
            if digests[0] != digests[1]:
                is_same = False
                a, b = members(first / member), members(second / member)
                parts = [part for part in sorted(a.keys() | b.keys()) if a.get(part) != b.get(part)]
                print(f"  {len(parts)} members, such as {', '.join(parts[:5])}")
        if not is_same:
            sys.exit(1)
        args.out.mkdir(parents=True, exist_ok=True)
        for member in names:
            shutil.copy(first / member, args.out / member)


if __name__ == "__main__":
    main()
