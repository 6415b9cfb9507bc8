"""What the trial of teaching says agrees with its own figures."""

import numpy as np
import pytest

from ethereal.adapt.trial import Trial


@pytest.mark.parametrize(
    ("change", "word"), [(0.041, "gain by it too"), (-0.03, "lose by it"), (0.0, "neither")]
)
def test_what_is_said_of_other_people_is_what_their_column_says(change, word):
    """Fault F19: "other people lose by it" stood over a column of +4.1."""
    two = np.array([0.9, 0.92])
    trial = Trial(("a", "b"), two, after={1: two}, after_wrong={1: two}, others={1: np.full(2, change)})
    assert trial.lines[0][-1] == f"{100 * change:+.1f}"
    assert word in trial.limits
