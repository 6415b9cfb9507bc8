"""Files made to fill the memory, in small: each is read within its bound, or refused with a reason.

`lab/benchmarks/hostile_files.py` makes them, and measures the large ones in processes of their own.
"""

import sys
import tracemalloc
import warnings
from pathlib import Path

import pytest

from ethereal import Model
from ethereal.datasets import tables
from ethereal.datasets.options import SourceOptions
from ethereal.datasets.reading import read as read_rows
from ethereal.datasets.tables import TableError

sys.path.append(str(Path(__file__).parents[2] / "lab" / "benchmarks"))
import hostile_files

SHARE = 0.004  # of the large files
LEAST = int(SHARE * tables.LEAST)  # bytes of content that any file may have
OPTIONS = {
    "recording": SourceOptions(label="y", window=64),
    "": SourceOptions(window=512),
    ".npz": SourceOptions(),
}
# Those that are read in full size, where the bound of content is large enough for them.
READ = {"csv-allowed", "npz-allowed", "npz-allowed-windows", "parquet-allowed", "wav-long"}


def read(case, path, **more):
    if path.suffix in (".bin", ".etm"):
        return Model.from_bytes(path.read_bytes()) if path.suffix == ".bin" else Model.load(path)
    options = OPTIONS.get(case, OPTIONS.get(path.suffix, SourceOptions(label="y")))
    return read_rows(str(path), SourceOptions(**{**vars(options), **more}))


@pytest.mark.parametrize("case", [case for case in hostile_files.CASES if not case.startswith("votes")])
def test_memory_is_in_proportion(case, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tables, "LEAST", LEAST)
    name, write, _ = hostile_files.CASES[case]
    path = tmp_path / name
    write(path, SHARE)
    size = sum(p.stat().st_size for p in [path, *path.rglob("*")] if p.is_file())
    bound = max(LEAST, tables.FACTOR * size)
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(case, path)
        refused = ""
    except ValueError as error:
        refused = str(error)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * bound + 4_000_000
    if case in READ:
        assert not refused


@pytest.mark.parametrize("case", ["csv-rows", "parquet-allowed", "npz-zeros", "npz-windows", "recording"])
def test_what_is_really_large_is_read_when_the_user_says_so(case, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tables, "LEAST", LEAST // 8)
    name, write, _ = hostile_files.CASES[case]
    write(tmp_path / name, SHARE)
    with pytest.raises(TableError, match=r"content.*large=True"):
        read(case, tmp_path / name)
    assert len(read(case, tmp_path / name, large=True).y) > 100


def test_the_command_says_why_in_a_line(call, tmp_path, monkeypatch):
    Path("wide.csv").write_text(",".join(f"c{i}" for i in range(20_000)) + "\n")
    Path("quote.csv").write_text('a,y\n1,"' + "x" * 200_000)
    Path("head.csv").write_text("x" * 200_000)
    Path("label.csv").write_text("a,y\n1,b\n" + "1," + "x" * 2000 + "\n")
    for name, why in (
        ("wide", "has 20,000 columns. At most 16,384 are read"),
        ("quote", "more than 131,072 characters. A quote may lack its end"),
        ("head", "more than 131,072 characters. A quote may lack its end"),
        ("label", "a label has 2,000 characters"),
    ):
        shown = call("train", f"{name}.csv", "--label", "y", "--out", "m.etm", code=1).stderr
        assert shown.startswith("error: ")
        assert why in " ".join(shown.split())
        assert "Traceback" not in shown
