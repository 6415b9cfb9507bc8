"""`ethereal adapt` tells what people gain, and when nothing is to be gained."""

import csv
import json

import numpy as np
import pytest

from ethereal import EtherealClassifier


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of three people, and a table of four others who hold the sensor another way."""
    folder = tmp_path_factory.mktemp("adapt")
    rng = np.random.default_rng(0)

    def rows(shift, n):
        y = np.tile(np.arange(3), n)
        return y, rng.normal(0, 0.4, (3 * n, 4)) + np.eye(4)[y] * 2 + np.eye(4)[(y + shift) % 3]

    known = [rows(0, 60) for _ in range(3)]
    X, y = np.concatenate([label for _, label in known]), np.concatenate([label for label, _ in known])
    names = np.array(["sit", "walk", "run"])
    EtherealClassifier(20, epochs=5, random_state=1).fit(X, names[y]).model_.save(folder / "m.etm")
    for name, shift in (("same", 0), ("other", 1)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["x0", "x1", "x2", "x3", "activity", "person"])
            for person in range(4):
                classes, values = rows(shift, 30)
                if name == "other":
                    values = values[:, [1, 2, 0, 3]]
                writer.writerows(
                    [*row, names[c], f"p{person}"] for c, row in zip(classes, values.tolist(), strict=True)
                )
    return folder


def test_gains_are_told_per_number_of_examples(call, files):
    words = (files / "m.etm", files / "other.csv", "--label", "activity", "--group", "person")
    text = call("adapt", *words, "--people", "--html", files / "page.html").output
    assert "4 people" in text
    assert "Teaching is worth it" in text
    assert "p3" in text
    page = (files / "page.html").read_text()
    assert "worst person" in page
    assert "Teaching is worth it" in page
    told = json.loads(call("adapt", *words, "--json").output)
    assert told["is_worth_it"]
    assert set(told["after"]) == {"1", "2", "5", "10", "20"}
    assert np.mean(told["after"]["10"]) > np.mean(told["before"]) + 0.1


def test_it_says_when_nothing_is_to_be_gained(call, files):
    text = call(
        "adapt", files / "m.etm", files / "same.csv", "--label", "activity", "--group", "person"
    ).output
    assert "Nothing is to be gained" in text


@pytest.mark.parametrize(
    "words, message",
    [
        (("--group", "person"), "say which column has the labels"),
        (("--label", "activity"), "--group COLUMN"),
        (("--label", "activity", "--group", "nobody"), "nobody"),
        (("--label", "person", "--group", "activity"), "not a class of the model"),
        (("--label", "activity", "--group", "person", "--learn", "all"), "learn is 'all'"),
    ],
)
def test_bad_input_is_explained(call, files, words, message):
    assert message in call("adapt", files / "m.etm", files / "same.csv", *words, code=1).output


def test_export_learns_by_an_option(call, files):
    text = call(
        "export", files / "m.etm", "--learn", "votes", "--learn-rows", "40", "--out", files / "c"
    ).output
    assert "layout branches" in text
    assert "#define M_ROWS 40u" in (files / "c" / "m.h").read_text()
    as_header = "--single-header", "--name", "own", "--out", files / "h"
    call("export", files / "m.etm", "--learn", "bias", *as_header)
    assert "own_state" in (files / "h" / "own.h").read_text()
    call("export", files / "m.etm", "--to", "micropython", "--learn", "bias", "--out", files / "mp")
    assert "class Learner" in (files / "mp" / "m.py").read_text()
