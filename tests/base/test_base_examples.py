"""Examples of the helpers of `ethereal/base`, as doctests."""

# ruff: noqa: F401

import os
from pathlib import Path

import numpy as np

from ethereal.base.atomic import check_folder, is_standard_output, is_stream, name_target, write_bytes
from ethereal.base.checks import (
    bytes_text,
    check_integer,
    check_number,
    count_threads,
    duration_text,
    missing_file,
    parse_bytes,
    parse_count,
    parse_seconds,
    seconds_text,
)
from ethereal.base.messages import blocks, printable, say, table_of
from ethereal.base.npz import read_arrays, shape_of, unpacked_bytes, write_arrays
from ethereal.base.options import option, with_flags
from ethereal.base.package import added, install, lacks, loader

__test__ = {
    "is_stream": """
    >>> is_stream("-"), is_stream("m.etm")
    (True, False)
    """,
    "is_standard_output": """
    >>> is_standard_output("-"), is_standard_output("m.etm")
    (True, False)
    """,
    "name_target": """
    >>> error = OSError(28, "No space left on device")
    >>> name_target(error, Path("m.etm"), Path(".m.etm.tmp"))
    >>> str(error)
    "[Errno 28] No space left on device: 'm.etm'"
    """,
    "write_bytes": """
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes(f"{folder}/a.bin", b"all of it")
    ...     os.listdir(folder)
    ['a.bin']
    """,
    "check_folder": """
    >>> check_folder("-")
    Traceback (most recent call last):
    ValueError: '-' is standard output, but several files are written. Name a folder.
    """,
    "check_integer": """
    >>> check_integer("T", 15, 1, 100)
    15
    >>> check_integer("T", 0, 1, 100)
    Traceback (most recent call last):
        ...
    ValueError: T is 0. It must be an integer from 1 to 100.
    """,
    "check_number": """
    >>> check_number("s", 0.5, 1.0, 1e6)
    Traceback (most recent call last):
        ...
    ValueError: s is 0.5. It must be a number from 1 to 1e+06.
    """,
    "count_threads": """
    >>> count_threads(None), count_threads(3)
    (1, 3)
    >>> count_threads(0)
    Traceback (most recent call last):
        ...
    ValueError: n_jobs is 0. It must be None, a number of threads, or -1 for one per core.
    """,
    "parse_bytes": """
    >>> parse_bytes("flash", "8k"), parse_bytes("flash", "1.5 kB"), parse_bytes("flash", 900)
    (8192, 1536, 900)
    >>> parse_bytes("flash", "8kk")
    Traceback (most recent call last):
        ...
    ValueError: flash is '8kk'. It must be a number of bytes such as 900, 8k or 1M.
    """,
    "parse_count": """
    >>> parse_count("instructions", "20k")
    20000.0
    """,
    "parse_seconds": """
    >>> parse_seconds("time", "10m"), parse_seconds("time", "2h")
    (600.0, 7200.0)
    """,
    "bytes_text": """
    >>> bytes_text(96), bytes_text(5734), bytes_text(300 * 1024)
    ('96 B', '5.6 kB', '300 kB')
    """,
    "seconds_text": """
    >>> seconds_text(2.2e-5), seconds_text(3.1e-6), seconds_text(0.0042)
    ('22 us', '3.1 us', '4.2 ms')
    """,
    "duration_text": """
    >>> duration_text(0.4), duration_text(43), duration_text(100), duration_text(4000)
    ('1 s', '45 s', '2 min', '1.1 h')
    """,
    "missing_file": """
    >>> missing_file("tabel.csv")
    'tabel.csv: there is no such file. Look at the name and the folder.'
    >>> missing_file("digits") is None
    True
    """,
    "say": """
    >>> say("two files written")
    two files written
    """,
    "table_of": """
    >>> table_of("Bytes", ["code", "size"], [["compact", "1,200"]]).row_count
    1
    """,
    "blocks": """
    >>> blocks(["set", "rows", "clauses"], [["har", "1,200", "300"]], 1, 17)
    [[0, 1], [0, 2]]
    """,
    "read_arrays": """
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/a.npz", X=[1, 2])
    ...     read_arrays(f"{folder}/a.npz")
    {'X': array([1, 2])}
    """,
    "write_arrays": """
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_arrays(f"{folder}/a.npz", {"X": [1, 2]})
    ...     read_arrays(f"{folder}/a.npz")["X"]
    array([1, 2])
    """,
    "unpacked_bytes": """
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez_compressed(f"{folder}/a.npz", X=np.zeros(10**6))
    ...     unpacked_bytes(f"{folder}/a.npz")
    8000128
    """,
    "shape_of": """
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/a.npz", X=np.zeros((3, 2), bool))
    ...     shape_of(f"{folder}/a.npz", "X")
    ((3, 2), dtype('bool'))
    """,
    "with_flags": """
    >>> flags = {"drop": ("--drop", ""), "header": ("--header", "--no-header"), "test": ("--test", "")}
    >>> with_flags("Give header=False or drop=['my id'], not test=0.2. test is 2, drop= is for files.", flags)
    "Give --no-header or --drop 'my id', not --test 0.2. --test is 2, --drop is for files."
    """,
    "loader": """
    >>> load = loader("ethereal.base", {"package": "loader", "checks": "parse_bytes parse_count"})
    >>> load("parse_bytes")("flash", "8k")
    8192
    """,
    "install": """
    >>> install("device", "study")
    "pip install 'ethereal-tm[device,study]'"
    """,
    "lacks": """
    >>> lacks("Tuning", "Optuna", "tune")
    "Tuning needs Optuna. Install it with pip install 'ethereal-tm[tune]'."
    """,
    "added": """
    >>> added("ethereal.nothing")
    {}
    """,
}
