"""The decoder in docs/codes.md, compiled as it stands there, votes like the model."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ethereal import Model
from ethereal.model.codes.compact import _Stream

DOCS = Path(__file__).parents[2] / "docs" / "codes.md"


class Compact(ctypes.Structure):
    """The struct `compact_t` of the document."""

    _fields_ = (
        ("bits", ctypes.c_char_p),
        ("n_booleans", ctypes.c_uint32),
        ("segments", ctypes.c_uint8),
        ("votes_per_clause", ctypes.c_uint8),
        ("count_parameter", ctypes.c_uint8),
        ("negated_parameter", ctypes.c_uint8),
        ("class_parameter", ctypes.c_uint8),
        ("weight_parameter", ctypes.c_uint8),
    )


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("decoder")
    [code] = re.findall(r"```c\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (folder / "decoder.c").write_text(code, encoding="utf-8")
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", "decoder.so", "decoder.c"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "decoder.so")).compact_sums


@pytest.mark.parametrize("segments", [1, 2])
@pytest.mark.parametrize("votes_per_clause", [False, True])
@pytest.mark.parametrize(
    "n_booleans, n_clauses, includes", [(1, 5, 1), (6, 80, 2), (40, 200, 5), (900, 60, 40)]
)
def test_decoder_of_the_document(decoder, segments, votes_per_clause, n_booleans, n_clauses, includes):
    rng = np.random.default_rng(n_booleans)
    mask = rng.random((n_clauses, 2 * n_booleans)) < includes / (2 * n_booleans)
    weights = rng.integers(-9, 10, (n_clauses, 5)) * (rng.random((n_clauses, 5)) < 0.3)
    weights[: n_clauses // 2] = np.eye(5, dtype=int)[rng.integers(0, 5, n_clauses // 2)]
    offsets = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
    model = Model(np.nonzero(mask)[1], offsets, weights, n_booleans=n_booleans, classes=list("abcde"))
    stream = _Stream(model.clauses.merged(), segments, votes_per_clause).packed()
    code = Compact(
        stream.data,
        n_booleans,
        stream.segments,
        stream.votes_per_clause,
        stream.count_parameter,
        stream.negated_parameter,
        stream.class_parameter,
        stream.weight_parameter,
    )
    rows = rng.random((20, n_booleans)) < 0.8
    for row, clause in zip(rows, mask, strict=False):  # long clauses need help to fire
        row[clause[:n_booleans]] = True
        row[clause[n_booleans:]] = False
    expected = model.class_sums(rows)
    assert expected.any()
    for row, sums in zip(rows, expected, strict=True):
        decoded = (ctypes.c_int32 * 5)()
        decoder(ctypes.byref(code), np.packbits(row, bitorder="little").tobytes(), decoded)
        assert list(decoded) == sums.tolist()


def test_example_of_the_document():
    # The golden bits are those of test_encode_compact.py. The table of the document must spell them out.
    text = DOCS.read_text(encoding="utf-8")
    table = text[text.index("### An example") : text.index("## Self-describing bytes")]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    bits = "".join(re.findall(r"`([01]+)`", "".join(cells)))
    assert int(bits, 2).to_bytes((len(bits) + 7) // 8, "big").hex() == "2eff47adcfe5"
    assert "2eff47adcfe5" in table
