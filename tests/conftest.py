"""Settings of all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: a busy machine must not fail a test. The same examples in every run.
settings.register_profile("ethereal", deadline=None, derandomize=True)
settings.load_profile("ethereal")


@pytest.fixture(scope="session")
def study_data() -> Path:
    """The folder with the study's data, where somebody put it."""
    folder = Path(os.environ.get("ETHEREAL_DATA") or "/nonexistent")
    if not (folder / "sports.npz").exists():
        pytest.skip("ETHEREAL_DATA does not point to the study's data")
    return folder
