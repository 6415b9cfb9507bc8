"""What training saw: novelty of rows and drift of answers, on the host and in C."""

import copy

import numpy as np
import pytest

from c_on_host import answers_of
from ethereal import EtherealClassifier
from ethereal.export import LAYOUTS, make_program
from ethereal.model.file import from_file_bytes, to_file_bytes
from old_ranges import with_ranges
from random_models import random_model
from windows import everything, hard_windows, model_of

DRIVER = """
#include <stdio.h>
#include "model.h"
int main(void)
{
    static model_input rows[N * MODEL_FEATURES];
    unsigned r;

    if (fread(rows, sizeof rows[0], N * MODEL_FEATURES, stdin) != N * MODEL_FEATURES)
        return 1;
    for (r = 0; r < N; r++)
        printf("%u %u\\n", model_novelty(&rows[r * MODEL_FEATURES]), model_drift(r * r % MODEL_CLASSES));
    return 0;
}
"""


def found_in_c(program, features, folder):
    (folder / "driver.c").write_text(f"#define N {len(features)}u\n{DRIVER}")
    return np.array(answers_of(program, features.tobytes(), folder).split(), dtype=int).reshape(-1, 2)


def expected(model, X):
    drift = model.drift()
    return [(n, drift.add(r * r % model.n_classes)) for r, n in enumerate(model.novelty(X).tolist())]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_c_counts_what_the_host_counts(layout, tmp_path):
    model, X = random_model(21, missing="some")
    model = with_ranges(model, X[:40])
    wild = X.copy()
    wild[::3] *= 1e6
    wild[1, :] = [-0.0, 0.0, np.inf, -np.inf, np.nan, 1e-45]
    program = make_program(model, layout)
    assert found_in_c(program, program.features(wild), tmp_path).tolist() == list(
        map(list, expected(model, wild))
    )
    assert model.novelty(wild).max() > 2 > model.novelty(X[:40]).max() == 0


def test_zero_has_one_sign(tmp_path):
    model, X = random_model(21)
    model = with_ranges(model, np.abs(X) * 0)
    rows = np.array([[-0.0] * 6, [0.0] * 6, [1e-45] * 6, [-1e-45] * 6], dtype=np.float32)
    program = make_program(model, "compact")
    assert (
        found_in_c(program, program.features(rows), tmp_path)[:, 0].tolist() == model.novelty(rows).tolist()
    )
    assert model.novelty(rows).tolist()[:2] == [0, 0]


def test_windows_too(tmp_path):
    windows = hard_windows(64, n_axes=3)
    model = with_ranges(model_of(everything(3, rate=50).fit(windows), windows, n_clauses=6), windows[10:30])
    program = make_program(model, "fast")
    features = program.model.front_end.transform(windows)
    assert found_in_c(program, features, tmp_path)[:, 0].tolist() == model.novelty(windows).tolist()
    assert model.novelty(windows).max() > 0


def test_rows_of_other_groups_are_rarely_novel_and_strange_rows_are():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 50)
    X = rng.normal(0, 1, (600, 5)) + rng.normal(0, 0.3, (12, 5))[groups]
    y = np.where(X.sum(axis=1) > 0, "up", "down")
    clf = EtherealClassifier(20, epochs=5, random_state=0).fit(X, y)
    model = with_ranges(clf.model_, X, y, groups)
    new = rng.normal(0, 1, (600, 5)) + rng.normal(0, 0.3, 5)
    assert (model.novelty(new) > model.seen.limit).mean() < 0.05
    assert (model.novelty(new * 10) > model.seen.limit).mean() > 0.5
    assert sum(model.seen.rates) == pytest.approx(65536, abs=2)


def test_drift_tells_another_stream_from_training():
    rng = np.random.default_rng(1)
    model, X = random_model(5)
    model = with_ranges(model, X, np.repeat(model.classes, [50, 30, 20]))
    drift = model.drift()
    alike = [drift.add(int(a)) for a in rng.choice(3, 2000, p=[0.5, 0.3, 0.2])]
    assert max(alike) < 250
    assert [drift.add(2) for _ in range(300)][-1] > 650
    unknown = with_ranges(model.with_unknown(2), X)
    assert len(unknown.seen.rates) == 4


def test_files_and_copies_keep_it():
    model, X = random_model(5)
    model = with_ranges(model, X)
    for other in (from_file_bytes(to_file_bytes(model)), copy.deepcopy(model), model.simplify()):
        assert other.novelty(X * 2).tolist() == model.novelty(X * 2).tolist()
        assert other.seen.rates == model.seen.rates
    assert to_file_bytes(model.with_normal(None)) == to_file_bytes(random_model(5)[0])


def test_what_cannot_be_had_is_refused():
    model, X = random_model(5)
    with pytest.raises(ValueError, match="does not know its training rows"):
        model.novelty(X)
    with pytest.raises(ValueError, match=r"input.*'int16'"):
        _ = make_program(with_ranges(model, X), "fast", input="int16").files
