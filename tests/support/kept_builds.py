"""What compilers made of sources, kept under the hash of all inputs: the same program is compiled once.

It lies beside the programs that `ethereal.chips.toolchain` keeps, for all workers and later runs. Only builds
without any message are kept. What fails or warns is compiled again, and fails again.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ethereal.chips.toolchain import cache_folder

# GNU ld takes longer for a small program under sanitizers than the compiler does.
LINKER = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []


def build(command: Sequence[str | Path], folder: Path, made: str) -> subprocess.CompletedProcess[str]:
    """Run a compiler in a folder, where it reads sources and writes the file `made`."""
    words = [str(word) for word in command]
    if words[0] in ("cc", "gcc", "g++", "clang") and not {"-c", "-S"} & set(words):
        words += LINKER
    digest = hashlib.sha256(repr((words, made, _version(words[0]))).encode())
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in (".c", ".h", ".cpp", ".hpp", ".ino", ".inc", ".S"):
            digest.update(repr((path.relative_to(folder).as_posix(), path.read_bytes())).encode())
    kept = cache_folder() / "tests" / digest.hexdigest()
    if kept.exists():
        shutil.copy(kept, folder / made)
        return subprocess.CompletedProcess(words, 0, "", "")
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == 0 and not done.stdout + done.stderr:
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_name(f"{kept.name}.{os.getpid()}.part")
        shutil.copy(folder / made, part)
        part.replace(kept)
    return done


@functools.cache
def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
