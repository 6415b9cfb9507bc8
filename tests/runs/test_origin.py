"""Where the model of a run comes from: what is tried, and what is told of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ethereal.runs.options import Settings
from ethereal.runs.pipeline import _ways
from ethereal.runs.results import Origin, Pruned, Scores, from_json
from ethereal.runs.table import origin_notes
from ethereal.tuning.sources import Way, ways_of
from finished_runs import run_of

SCORES = Scores(
    accuracy=0.9, interval=None, interval_level=0.95, balanced=0.9, classes=(), rows=50, groups=None
)
USUAL = (Way("machine", "votes"),)


def _asked(**options):
    return Settings.of("digits", options)


def test_all_ways_are_tried_unless_it_is_a_first_look():
    assert _ways(_asked(), is_windows=False) == ways_of("auto", ("votes", "unseen"))
    assert _ways(_asked(quick=True), is_windows=False) == USUAL
    assert _ways(_asked(quick=True, learner="trees"), is_windows=False) == ways_of("trees", ())
    assert {way.source for way in _ways(_asked(learner="machine"), is_windows=False)} == {"machine"}
    assert _asked(learner="trees").command == "ethereal run digits --from trees"


def test_recordings_take_a_machine():
    assert _ways(_asked(), is_windows=True) == USUAL
    with pytest.raises(ValueError, match="learner is 'trees', but models of recordings come from machines"):
        _ways(_asked(learner="trees"), is_windows=True)


def test_the_table_says_what_others_would_have_given():
    pruned = run_of(SCORES).pruned
    assert origin_notes(pruned) == []
    other = Origin("boosted trees of at most 8 leaves, kept as trees", 0.88, 2048, 151.0)
    told = origin_notes(
        replace(pruned, origin="a machine, pruned by its votes", others=(other,), held_out=50)
    )
    assert told == [
        "The model comes from a machine, pruned by its votes: 90.0 % on 50 held-out rows.",
        "Instead, boosted trees of at most 8 leaves, kept as trees: 88.0 % there, in about 2.0 kB and 151 "
        "instructions.",
    ]


def test_a_run_of_before_has_no_origin():
    kept = {
        name: value for name, value in vars(run_of(SCORES).pruned).items() if name not in ("origin", "others")
    }
    again = from_json(Pruned, {**kept, "classes": [], "curve": [], "people": []})
    assert again.origin == ""
