"""Figures that are called counts of rules count rules, whatever votes they have."""

import json

import numpy as np
import pytest

from ethereal import Model
from ethereal.runs.report import Report, render


@pytest.fixture
def model():
    """Three rules with the first literal: 7, 7 and 5 votes for a, and two of them against b. One without."""
    votes = [[7, -2], [7, 0], [5, -3], [0, 9]]
    return Model([0, 0, 1, 0, 3, 2], [0, 1, 3, 5, 6], votes, n_booleans=2, classes=["a", "b"])


def test_the_page_counts_rules(model):
    """Fault F11: 19 votes of three rules were called nineteen rules."""
    page = render(Report("t", "", model, np.array([[1, 0]]), np.array(["a"])))
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    counts = {(c, name): (n, side) for c, ranks in enumerate(data["ranked"]) for name, n, side in ranks}
    first = next(name for _, name in counts)
    assert counts[0, first] == (3, "for")
    assert counts[1, first] == (2, "against")


def test_inspect_counts_a_clause_once(model, call, tmp_path):
    """Fault F11: 68 clauses with a literal in a model of 61."""
    model.save(tmp_path / "m.etm")
    facts = json.loads(call("inspect", "m.etm", "--json").stdout)
    assert facts["top_literals"][0][1] == 3
    assert max(n for _, n in facts["top_literals"]) <= facts["clauses"]
