"""The summary of the frontier shows the line that keeps the goal, if possible on both cores."""

from ethereal_study import frontier_pages
from ethereal_study.table import Table


def row(method, size, accuracy, m7, m0):
    made = {"method": method, "size": size, "accuracy": accuracy}
    for target, (flash, instructions) in {"cortex-m7": m7, "cortex-m0plus": m0}.items():
        made |= {f"{target}_flash": flash, f"{target}_instructions": instructions}
    return made


FOREST = row("forest", "25 x 14", 80.0, (1000, 1000), (1000, 1000))
SMALL = row("ours", "1 kB", 81.0, (100, 200), (100, 5000))  # in another layout on the second core
BOTH = row("ours", "300 instructions", 80.5, (120, 240), (120, 240))
LARGE = row("ours", "32 kB", 82.0, (900, 900), (900, 900))
WRONG = row("ours", "50 instructions", 79.0, (10, 10), (10, 10))


def summary(*ours):
    (line,) = frontier_pages.goals_table({"har": Table("t", "", [], [FOREST, *ours])}).rows
    return line


def test_a_line_that_keeps_the_goal_on_both_cores_is_shown():
    line = summary(SMALL, BOTH, LARGE, WRONG)
    assert (line["size"], line["reached"], line["cortex-m0plus_instructions"]) == (
        "300 instructions",
        "yes",
        0.24,
    )


def test_the_goal_of_the_cortex_m7_comes_first():
    line = summary(SMALL, LARGE, WRONG)
    assert (line["size"], line["reached"]) == ("1 kB", "M7 only")


def test_a_model_that_is_less_accurate_or_too_large_does_not_reach_it():
    assert summary(LARGE, WRONG)["reached"] == "no"
    assert summary(WRONG)["reached"] == "no"
