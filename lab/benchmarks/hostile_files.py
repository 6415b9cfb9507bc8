"""Files that were made to fill the memory: what reading each takes beyond the import, and how it ends.

    python lab/benchmarks/hostile_files.py                # all, in about three minutes
    python lab/benchmarks/hostile_files.py --share 0.01   # the same files, a hundred times smaller
    python lab/benchmarks/hostile_files.py votes-compact csv-quotes

Each file is read in a process of its own, whose peak of memory (ru_maxrss) is compared with the peak before.
A file of up to 50 MB may take 300 MB, or is refused with a reason. Whatever else happens is a failure here.
"""

from __future__ import annotations

import argparse
import json
import resource
import struct
import subprocess
import sys
import tempfile
import time
import wave
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MOST = 300  # MB beyond the import
FREE = 6 << 30  # bytes of address space that a child may take, so that a fault here does not harm the machine


def container(words: Any, counts: Any, n_booleans: int = 8192) -> bytes:
    """Return REDRESS words in their container."""
    labels = json.dumps(
        {"dtype": "int64", "values": list(range(len(counts)))}, separators=(",", ":")
    ).encode()
    body = np.asarray(counts, "<u4").tobytes() + np.asarray(words, "<u2").tobytes()
    data = struct.pack("<4sBBHIIII", b"ETHC", 1, 1, 0, n_booleans, len(labels), 0, len(body)) + labels + body
    return data + struct.pack("<I", zlib.crc32(data))


def many_votes(code: str) -> Callable[[Path, float], None]:
    """Clauses x classes: a code names only the votes that are not zero, a model holds them all."""

    def write(path: Path, share: float) -> None:
        n = max(2, int(8000 * share**0.5))
        if code == "redress":
            path.write_bytes(container(np.arange(n) * 2 % 2**14, np.ones(n, int)))
            return
        from ethereal import Model

        model = Model(
            np.arange(n), np.arange(n + 1), np.eye(n, dtype=int), n_booleans=n, classes=list(range(n))
        )
        path.write_bytes(model.to_bytes("compact"))

    return write


def clause_per_word(path: Path, share: float) -> None:
    n = int(16_500_000 * share)
    words = (np.arange(n) % 8192) << 1 | (np.arange(n) % 2) << 14
    path.write_bytes(container(words, [n // 2, n - n // 2]))


def described(path: Path, about: dict[str, Any]) -> None:
    """Write a model file with other entries in its description, and the checksum that fits."""
    import hashlib

    from safetensors.numpy import load, save

    from ethereal import Model
    from ethereal.model.file import to_file_bytes

    n = len(about.get("classes", {}).get("values", "ab"))
    model = Model([0, 1], [0, 1, 2], np.eye(2, n, dtype=int), n_booleans=2, classes=list(range(n)))
    data = to_file_bytes(model)
    end = 8 + int.from_bytes(data[:8], "little")
    printed = json.loads(json.loads(data[8:end])["__metadata__"]["ethereal"])
    text = json.dumps({**printed, **about, "sha256": "0" * 64}, separators=(",", ":"), sort_keys=True)
    blank = save(load(data), {"ethereal": text})
    path.write_bytes(blank.replace(b"0" * 64, hashlib.sha256(blank).hexdigest().encode(), 1))


def long_label(path: Path, share: float) -> None:
    values = [*(f"{i:04}" for i in range(int(1000 * share**0.5))), "x" * int(65_000 * share**0.5)]
    described(path, {"classes": {"dtype": "str", "values": values}})


def empty_lists(path: Path, share: float) -> None:
    described(path, {"provenance": {"a": [[]] * int(5_000_000 * share)}})


def parquet(columns: dict[str, Any], n_rows: int, path: Path) -> None:
    """Write a row group many times, all of constant columns."""
    import pyarrow as pa
    import pyarrow.parquet

    step = min(n_rows, 1 << 20)
    same = pa.array(np.zeros(step, np.int32))
    arrays = {
        name: pa.DictionaryArray.from_arrays(same, [value])
        if isinstance(value, str)
        else np.full(step, value)
        for name, value in columns.items()
    }
    table = pa.table(arrays)
    with pyarrow.parquet.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for first in range(0, n_rows, step):
            writer.write_table(table.slice(0, min(step, n_rows - first)))


def many_rows(path: Path, share: float) -> None:
    parquet({"a": 1.0, "b": 2.0, "y": "no"}, int(200_000_000 * share), path)


def long_texts(path: Path, share: float) -> None:
    parquet({"a": 1.0, "y": "no" * 5000}, int(5_000_000 * share), path)


def many_texts(path: Path, share: float) -> None:
    parquet({"a": "red", "b": 1.0, "y": "no"}, int(100_000_000 * share), path)


def npz_of_zeros(path: Path, shape: tuple[int, ...], dtype: type) -> None:
    """Write zeros piece by piece, with two labels."""
    piece = bytes(1 << 24)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        with file.open("X.npy", "w", force_zip64=True) as member:
            about = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(member, about)
            left = int(np.prod(shape)) * np.dtype(dtype).itemsize
            while left > 0:
                left -= member.write(piece[:left])
        with file.open("y.npy", "w", force_zip64=True) as member:
            np.save(member, np.arange(shape[0]) % 2 == 0)


def zeros(path: Path, share: float) -> None:
    npz_of_zeros(path, (int(100_000_000 * share), 4), np.float64)


def many_windows(path: Path, share: float) -> None:
    npz_of_zeros(path, (int(8_300_000 * share), 64, 3), np.int16)


def allowed_rows(path: Path, share: float) -> None:
    npz_of_zeros(path, (int(3_000_000 * share), 4), np.float64)


def allowed_windows(path: Path, share: float) -> None:
    npz_of_zeros(path, (int(260_000 * share), 64, 3), np.int16)


def allowed_parquet(path: Path, share: float) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    n = int(4_300_000 * share)
    labels = pa.DictionaryArray.from_arrays(pa.array(np.arange(n, dtype=np.int32) % 2), ["no", "yes"])
    pyarrow.parquet.write_table(
        pa.table({"a": np.arange(n) % 7, "b": np.ones(n), "y": labels}), path, compression="zstd"
    )


def lines(head: str, line: str, last: str = "") -> Callable[[Path, float], None]:
    """Return what writes a table of 50 MB of the same lines."""

    def write(path: Path, share: float) -> None:
        path.write_text(head + line * int(50e6 * share / len(line)) + last)

    return write


def long_field(path: Path, share: float) -> None:
    lines("a,b,y\n1,2,no\n1,2,yes\n", "1,2,no\n")(path, share)
    with path.open("a") as file:
        file.write("1,2," + "x" * int(1e6 * share**0.5) + "\n")


def many_columns(path: Path, share: float) -> None:
    n = int(300_001 * share)
    row = ",".join(["1"] * n)
    rows = "".join(f"{row},{label}\n" for label in ("no", "yes") * 10)
    path.write_text(",".join(f"c{i}" for i in range(n)) + ",y\n" + rows)


def many_names(path: Path, share: float) -> None:
    path.write_text("a,y\n" + "".join(f"{i:x},{i % 2}\n" for i in range(int(5_500_000 * share))))


def lying_sound(path: Path, share: float) -> None:
    path.mkdir()
    for label in ("a", "b"):
        (path / label).mkdir()
        with wave.open(str(path / label / "1.wav"), "wb") as file:
            file.setparams((1, 2, 16000, 0, "NONE", ""))
            file.writeframes(bytes(4000))
        data = bytearray((path / label / "1.wav").read_bytes())
        data[40:44] = struct.pack("<I", 0xFFFFFFF0)  # bytes of samples
        (path / label / "1.wav").write_bytes(data)


def long_sound(path: Path, share: float) -> None:
    path.mkdir()
    for label in ("a", "b"):
        (path / label).mkdir()
        with wave.open(str(path / label / "1.wav"), "wb") as file:
            file.setparams((1, 2, 16000, 0, "NONE", ""))
            file.writeframes(bytes(int(25e6 * share) // 2 * 2))


def long_recording(path: Path, share: float) -> None:
    n = int(12e6 * share)
    path.write_text("ax,y\n" + "1,a\n" * (n // 2) + "2,b\n" * (n // 2))


_TABLE = "from ethereal.datasets.reading import read\n" \
    "from ethereal.datasets.options import SourceOptions\noptions = SourceOptions(%s)"  # fmt: skip
READERS = {
    ".bin": "from ethereal.model.codes import from_bytes\n"
    "read, options = lambda path, _: from_bytes(open(path, 'rb').read()), None",
    ".etm": "from ethereal import Model\nread, options = lambda path, _: Model.load(path), None",
    ".npz": _TABLE % "",
    "": _TABLE % "window=512",
    "recording": _TABLE % "label='y', window=64",
    "table": _TABLE % "label='y'",
}
CASES: dict[str, tuple[str, Callable[[Path, float], None], str]] = {
    "votes-compact": ("v.bin", many_votes("compact"), "8,000 clauses for 8,000 classes, compact code"),
    "votes-redress": ("v.bin", many_votes("redress"), "the same in REDRESS words"),
    "clause-per-word": ("c.bin", clause_per_word, "16.5 million REDRESS words, each a clause"),
    "long-label": ("l.etm", long_label, "1,000 labels, one of 65,000 characters"),
    "empty-lists": ("e.etm", empty_lists, "5 million empty lists as provenance"),
    "parquet-rows": ("r.parquet", many_rows, "200 million equal rows"),
    "parquet-texts": ("t.parquet", many_texts, "100 million equal rows, one column of text"),
    "parquet-labels": ("l.parquet", long_texts, "5 million equal labels of 10,000 characters"),
    "npz-zeros": ("z.npz", zeros, "400 million zeros as doubles"),
    "npz-windows": ("w.npz", many_windows, "8.3 million windows of zeros"),
    "npz-allowed": ("a.npz", allowed_rows, "12 million zeros as doubles"),
    "npz-allowed-windows": ("w.npz", allowed_windows, "260,000 windows of zeros"),
    "parquet-allowed": ("a.parquet", allowed_parquet, "4.3 million rows of three columns"),
    "csv-allowed": ("a.csv", lines("a,b,y\n1.5,2,yes\n", "1.25,2.5,no\n"), "4 million rows of three cells"),
    "csv-quotes": ("q.csv", lines("a,b,y\n1,2,no\n1,2,yes\n", "1,2,no\n", '"'), "a quote at the end"),
    "csv-quote": ("q.csv", lines('a,b,y\n1,2,no\n1,2,"', "x" * 1000), "a quote that never ends"),
    "csv-head": ("h.csv", lines("", "x" * 1000), "one name of 50 MB"),
    "csv-field": ("f.csv", long_field, "7 million rows, one label of a million characters"),
    "csv-columns": ("c.csv", many_columns, "300,001 columns, 20 rows"),
    "csv-digits": ("d.csv", lines("a,b,c,y\n1,2,3,0\n", "1,1,2,1\n"), "cells of one digit"),
    "csv-rows": ("s.csv", lines("a,y\n1,b\n", "1,a\n"), "12.5 million rows of two cells"),
    "csv-names": ("n.csv", many_names, "a column of 5.5 million different texts"),
    "csv-lines": ("e.csv", lines("a,y\n1,b\n", "\n"), "empty lines"),
    "wav-lies": ("recordings", lying_sound, "4 GB of samples by its header, 4 kB in truth"),
    "wav-long": ("recordings", long_sound, "two recordings of 25 MB"),
    "recording": ("s.csv", long_recording, "12 million samples of one axis"),
}
_CHILD = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
{reader}
try:
    import pyarrow.csv, pyarrow.parquet
except ImportError:
    pass
import sklearn.base
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
try:
    found = read({path!r}, options)
    how = "read"
except (ValueError, OSError) as error:
    how = f"refused: {{error}}"
except BaseException as error:
    how = f"FAILED: {{type(error).__name__}}: {{error}}"
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([how, (after - before) / 1024, time.process_time() - start]))
"""


def measured(case: str, share: float) -> tuple[str, float, float, float]:
    """Return how reading ends, the peak in MB beyond the import, CPU seconds, and the size in MB."""
    name, write, _ = CASES[case]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write(path, share)
        size = sum(p.stat().st_size for p in [path, *path.rglob("*")] if p.is_file()) / 1e6
        reader = READERS["recording"] if case == "recording" else READERS.get(path.suffix, READERS["table"])
        limit = (FREE, FREE)
        done = subprocess.run(
            [sys.executable, "-c", _CHILD.format(reader=reader, path=str(path))],
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
        )
        if done.returncode:
            return f"FAILED: exit {done.returncode} {done.stderr[-200:]}", 0.0, 0.0, size
        how, peak, seconds = json.loads(done.stdout.splitlines()[-1])
        return how.replace(f"{folder}/", ""), peak, seconds, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="default: all")
    parser.add_argument("--share", type=float, default=1.0, help="of the size of the files")
    arguments = parser.parse_args()
    unknown = set(arguments.cases) - set(CASES)
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    start, failed = time.monotonic(), 0
    print("| case | file | what it holds | beyond the import | CPU | how it ends |")
    print("|---|---:|---|---:|---:|---|")
    for case in arguments.cases or CASES:
        how, peak, seconds, size = measured(case, arguments.share)
        failed += peak > MOST or how.startswith("FAILED")
        end = " ".join(how.split())[:200]
        print(
            f"| {case} | {size:.3g} MB | {CASES[case][2]} | {peak:.0f} MB | {seconds:.1f} s | {end} |",
            flush=True,
        )
    print(f"\n{failed} failed ({time.monotonic() - start:.0f} s)")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
