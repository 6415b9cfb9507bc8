"""`ethereal measure --words`: a published model as it is, and clear errors for files that are not one."""

import json
import os

import numpy as np
import pytest

from ethereal.cli.measure import WordsOptions, read_model
from ethereal.datasets.options import RowsOptions
from foreign_words import foreign_machine, scan, toggled_on_empty_clauses
from says import says

MIXED = 0  # a seed whose words change their polarity within a clause


def put(folder, words, counts):
    """Write the two files, and return the options that name them."""
    for name, numbers in (("words", words), ("counts", counts)):
        (folder / f"{name}.txt").write_text("".join(f"{x}\n" for x in numbers))
    return "--words", folder / "words.txt", "--counts", folder / "counts.txt"


def rows_of(seed, n, n_classes):
    rng = np.random.default_rng(seed)
    return rng.random((40, n)) < 0.5, np.arange(40) % n_classes


@pytest.mark.parametrize("seed", range(6))
def test_class_sums_are_those_of_a_plain_decoder(seed, tmp_path):
    machine, n = foreign_machine(seed)
    words, counts = toggled_on_empty_clauses(machine, n)
    X, y = rows_of(seed, n, len(counts))
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    put(tmp_path, words, counts)
    options = WordsOptions(tmp_path / "words.txt", tmp_path / "counts.txt", lenient=True)
    model, _, _ = read_model(options, str(tmp_path / "rows.npz"), RowsOptions())
    assert model.class_sums(X).tolist() == [scan(words, counts, row) for row in X]


def test_measure_takes_words(call, tmp_path):
    machine, n = foreign_machine(MIXED)
    words, counts = toggled_on_empty_clauses(machine, n)
    files = put(tmp_path, words, counts)
    X, y = rows_of(1, n, len(counts))
    np.savez("rows.npz", X=X, y=y)
    refused = call("measure", *files, "rows.npz", code=1).stderr
    assert "changes the polarity within a clause" in refused
    assert "--lenient" in refused
    printed = json.loads(call("measure", *files, "rows.npz", "--lenient", "--json").stdout)
    assert [m["name"] for m in printed] == [
        "compact",
        "fast",
        "straight",
        "sliced",
        "redress",
        "redress scan",
    ]
    right = np.mean([np.argmax(scan(words, counts, x)) == label for x, label in zip(X, y, strict=True)])
    for m in printed:
        assert m["agreement"] == 1.0
        assert m["n_rows"] == 40
        assert m["accuracy"] == pytest.approx(right)
    shown = call("measure", *files, "--lenient", "--layout", "redress").stdout
    assert "words.txt on cortex-m7" in shown
    assert "rows near the thresholds" in shown


def test_a_set_of_the_study_is_booleanized_as_the_study_did(call, tmp_path):
    if not os.environ.get("ETHEREAL_DATA"):
        pytest.skip("the data set is not there (ETHEREAL_DATA)")
    files = put(tmp_path, [0, 1 << 14 | 4, 2, 1 << 14 | 6], [2, 2])
    printed = json.loads(call("measure", *files, "mammography", "--layout", "redress", "--json").stdout)
    assert all(m["agreement"] == 1.0 and 0 < m["accuracy"] < 1 for m in printed)


@pytest.mark.parametrize(
    "words, counts, message",
    [
        ([0, 2, 4], [2], ["adds", "2", "3"]),
        ([0, 2], [1, -1], ["line 2", "includes_per_class", "'-1'"]),
        ([0, 2], [1, 99999999], ["includes_per_class[1] is 99999999"]),
        ([0, 2], [1, 10**30], ["line 2", "includes_per_class"]),
        ([0, 2 * 77], [1, 1], ["word 1 (154)", "Boolean 77", "4"]),
        ([0, 70000], [1, 1], ["words[1]", "70000", "0", "65535"]),
        (["x", 2], [1, 1], ["line 1", "'x'"]),
        ([0, 2], [], ["adds", "0", "2"]),
    ],
)
def test_files_that_are_not_a_model(call, tmp_path, words, counts, message):
    np.savez("rows.npz", X=np.eye(4) > 0, y=np.arange(4) % 2)
    said = call("measure", *put(tmp_path, words, counts), "rows.npz", code=1).stderr
    says(said, *message)
    assert "words.txt with" in " ".join(said.split())


def test_what_is_missing_is_named(call, tmp_path):
    files = put(tmp_path, [0, 2], [1, 1])
    says(call("measure", *files[:2], code=1).stderr, "--words", "--counts")
    says(call("measure", *files[2:], code=1).stderr, "--counts", "--words")
    says(call("measure", "m.etm", "--lenient", code=1).stderr, "--lenient", "--words")
    assert "No model is given" in call("measure", code=1).stderr
    says(call("measure", *files, "a", "b", code=1).stderr, "'b'", "one")
    says(call("measure", "a", "b", "c", code=1).stderr, "'c'", "one")
    gone = call("measure", "--words", "none.txt", "--counts", files[3], code=1).stderr
    says(gone, "none.txt: Cannot")
    np.savez("raw.npz", X=np.linspace(0, 5, 8).reshape(4, 2), y=np.arange(4) % 2)
    says(call("measure", *files, "raw.npz", code=1).stderr, "raw.npz", "0", "1")
    np.savez("three.npz", X=np.eye(3) > 0, y=np.array(["a", "b", "c"]))
    said = " ".join(call("measure", *files, "three.npz", code=1).stderr.split())
    says(said, "2", "three.npz", "3 labels")
    (tmp_path / "words.txt").write_bytes(b"\xff\n")
    assert "Is not a text of numbers" in call("measure", *files, code=1).stderr


def test_a_file_beyond_any_board_is_not_read(call, tmp_path):
    files = put(tmp_path, [0, 2], [1, 1])
    with open(tmp_path / "words.txt", "r+b") as file:
        file.truncate(10**12)  # takes no room on the disk
    said = " ".join(call("measure", *files, code=1).stderr.split())
    says(said, "words.txt", "1,000,000,000,000")
