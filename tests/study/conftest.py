"""Small sets of the study's names in a data folder of the test's own, and the command on them."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from ethereal.cli import app
from ethereal_study.sets.npz import write_npz
from small_sets import small_set


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A data folder with two small sets and small pictures."""
    folder = tmp_path / "data"
    monkeypatch.setenv("ETHEREAL_DATA", str(folder))
    write_npz(folder / "statlog.npz", small_set("statlog"))
    missing = small_set("mammography", n_features=5, n_classes=2, seed=1)
    missing.X[::7, 2] = np.nan
    write_npz(folder / "mammography.npz", missing)
    return folder


@pytest.fixture
def call(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)

    def caller(*words, code=0):
        result = CliRunner().invoke(app, ["study", *map(str, words)])
        assert result.exit_code == code, result.output + repr(result.exception)
        return result

    return caller
