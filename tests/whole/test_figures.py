"""Sentences with figures say what the recorded tables say.

A claim is a file, the words around its figures, and what the figures are by the tables. `{}` stands for a
figure. It is compared as it is written, so that a rounded figure has to be rounded rightly.
"""

import csv
import re
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

ROOT = Path(__file__).parents[2]
WHOLE = ("gesture", "har", "mammography", "sports", "statlog")  # sets with all rows and the published split

# The line of each set in the README, and the forest beside it.
README_LINES = {
    "statlog": ("ours", "200 instructions"),
    "mammography": ("ours", "50 instructions"),
    "har": ("ours", "400 instructions"),
    "gas": ("ours", "300 instructions"),
    "emg": ("ours, early", "from 3200 instructions"),
    "sensorless": ("ours", "1200 instructions"),
    "gesture": ("ours, early", "from 2800 instructions"),
    "sports": ("ours, early", "from 2400 instructions"),
    "mnist": ("ours, early", "from 1600 instructions"),
}
FOREST, TUNED = ("forest", "25 x 14"), ("tuned forest", "chosen")


def path_of(name):
    """Return the path of the README, of the page Evidence, or of a lab note."""
    folder = {"README.md": ROOT, "evidence.md": ROOT / "docs"}.get(name, ROOT / "lab" / "notes")
    return folder / name


def text_of(name):
    """Return a page in one line, so that a claim may go over the end of a line."""
    return " ".join(path_of(name).read_text(encoding="utf-8").split())


def table_below(name, heading):
    """Return the rows of the first table below some words, as dictionaries. Equal names get a number."""
    lines = path_of(name).read_text(encoding="utf-8").partition(heading)[2].splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    names = [f"{n} {rows[0][:i].count(n) + 1}" if n in rows[0][:i] else n for i, n in enumerate(rows[0])]
    return [dict(zip(names, row, strict=True)) for row in rows[2:]]


def number(cell):
    return float(re.match(r"[-+\d.,]+", cell).group().replace(",", ""))


def frontier():
    """Return the mean over seeds of every column, by set, method and size."""
    figures = defaultdict(lambda: defaultdict(list))
    with path_of("frontier.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for column, value in row.items():
                if value and column not in ("set", "seed", "method", "size", "layout"):
                    figures[row["set"], row["method"], row["size"]][column].append(float(value))
    return {key: dict(columns) for key, columns in figures.items()}


LINES = frontier()


def mean(name, line, column="accuracy"):
    return fmean(LINES[(name, *line)][column])


def part(name, line, column, of=FOREST):
    return mean(name, line, column) / mean(name, of, column)


def shares():
    rows = table_below("results.md", "**Sizes: includes, clauses, bytes in each code**")
    return [100 * number(r["compact"]) / number(r["REDRESS"]) for r in rows if r["machine"] == "ETHEREAL"]


def of_bound():
    rows = table_below("results.md", "**Sizes: includes, clauses, bytes in each code**")
    return [number(row["of bound"]) for row in rows]


def table2(method):
    rows = table_below("results.md", "**Table 2: accuracy and includes**")
    return {row["set"].partition(",")[0]: row for row in rows if row["method"] == method}


def saved():
    return [number(row["less %"]) for name, row in table2("ETHEREAL").items() if name != "mnist"]


def published_savings():
    return sorted(number(row["paper 4"]) for name, row in table2("ETHEREAL").items() if name != "mnist")


def forest_gains():
    rows = table2("RF")
    return [number(rows[name]["accuracy %"]) - number(rows[name]["paper"]) for name in WHOLE]


def table3(method):
    rows = table_below("device.md", "## Table 3 of the paper")
    return {row["set"]: number(row["flash B"]) for row in rows if row["method"] == method}


def memory_ratios():
    words = table3("ETHEREAL, words")
    return [flash / words[name] for name, flash in table3("RF").items()]


def speed(column):
    return [number(row[column]) for row in table_below("performance.md", "benchmark train --epochs 2")]


def times_as_fast():
    rows = table_below("performance.md", "benchmark train --epochs 2")
    return [number(re.search(r"\((.*?)\)", row["pyTsetlinMachine 0.6.6"]).group(1)) for row in rows]


def ends(values, form):
    return [format(value, form) for value in (min(values), max(values))]


def mnist(method, column):
    return number(table2(method)["mnist"][column])


HAR, TIGHT = ("ours", "400 instructions"), ("ours", "1.5 kB, 400 instructions")
M7, M0 = "cortex-m7_instructions", "cortex-m0plus_instructions"

CLAIMS = {
    "evidence: code": ("evidence.md", "takes {} to {} % of the bytes of the paper's format",
                     lambda: ends(shares(), ".0f")),
    "evidence: training": ("evidence.md", "Training handles {} to {} rows per second",
                         lambda: ends([round(n, -3) for n in speed("ethereal")], ",.0f")),
    "evidence: times": ("evidence.md", "That is {} to {} times as fast as pyTsetlinMachine",
                      lambda: ends(times_as_fast(), ".0f")),
    "results: bound": ("results.md", "The compact code is at most {} times the bound",
                       lambda: [format(max(of_bound()), ".2f")]),
    "paper: saved": ("paper.md", "| {} to {} % | {} to {} %, but {} % on statlog |", lambda: [
        *ends(saved(), ".0f"), *ends(published_savings()[1:], ".0f"), format(published_savings()[0], ".0f")]),
    "paper: forest": ("paper.md", "{} points below to {} above on whole sets",
                      lambda: [format(-min(forest_gains()), ".1f"), format(max(forest_gains()), ".0f")]),
    "paper: mnist": ("paper.md", "| {} % at {} | 95.8 % at 36.3 |", lambda: [
        format(mnist("vanilla TM", "accuracy %"), ".2f"), format(mnist("vanilla TM", "includes"), ".1f")]),
    "paper: mnist, exclusion": ("paper.md", "| {} % at {} | 95.0 % at 19.4 |", lambda: [
        format(mnist("ETHEREAL", "accuracy %"), ".2f"), format(mnist("ETHEREAL", "includes"), ".1f")]),
    "paper: mnist, saved": ("paper.md", "--sets mnist` | {} % |",
                            lambda: [format(mnist("ETHEREAL", "less %"), ".1f")]),
    "paper: memory": ("paper.md", "| {} to {} times, in words | 7 times |", lambda: [
        format(min(memory_ratios()), ".1f"), format(max(memory_ratios()), ".0f")]),
    "paper: words": ("paper.md", "largest words {} kB",
                     lambda: [format(max(table3("ETHEREAL, words").values()) / 1000, ".0f")]),
    "frontier: har": ("frontier.md", "**har** has {} % in {} instructions and {} bytes", lambda: [
        format(mean("har", TIGHT), ".2f"), format(mean("har", TIGHT, M7), ",.0f"),
        format(mean("har", TIGHT, "cortex-m7_flash"), ",.0f")]),
    "frontier: seeds of har": ("frontier.md", "The seeds have {} to {} %.",
                               lambda: ends(LINES[("har", *TIGHT)]["accuracy"], ".1f")),
    "frontier: har within instructions": (
        "frontier.md", "Within 400 instructions alone there are {} % in {} bytes", lambda: [
            format(mean("har", HAR), ".1f"), format(mean("har", HAR, "cortex-m7_flash"), ",.0f")]),
    "frontier: emg": ("frontier.md", "{} of the forest's instructions on the Cortex-M7, and {} times",
                      lambda: [format(part("emg", README_LINES["emg"], x), ".2f") for x in (M7, M0)]),
    "frontier: gesture": ("frontier.md", "**gesture** has {} % in {} times the forest's instructions",
                          lambda: [format(mean("gesture", README_LINES["gesture"]), ".1f"),
                                   format(part("gesture", README_LINES["gesture"], M7), ".2f")]),
    "frontier: sports, mnist": (
        "frontier.md", "**sports** has {} % in {} of the forest's instructions, and mnist 96.2 % in {}",
        lambda: [format(mean("sports", README_LINES["sports"]), ".1f"), *(
            format(part(name, README_LINES[name], M7), ".2f") for name in ("sports", "mnist"))]),
}  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_claim(claim):
    """Fault F14."""
    name, words, computed = claim
    pattern = r"([\w.,+-]*\w)".join(map(re.escape, words.split("{}")))
    said = re.findall(pattern, text_of(name))
    assert len(said) == 1, f"{name} does not say once: {words}"
    figures = [said[0]] if isinstance(said[0], str) else list(said[0])
    assert figures == computed()


def readme_rows():
    return {row["data set"]: row for row in table_below("README.md", "# ethereal")}


@pytest.mark.parametrize("name", README_LINES)
def test_row_of_the_readme(name):
    row = readme_rows()[name]
    for line, keys in (
        (README_LINES[name], ("ethereal: accuracy", "flash", "instructions")),
        (TUNED, ("forest: accuracy", "flash 2", "instructions 2")),
    ):
        kilobytes = mean(name, line, "cortex-m7_flash") / 1000
        wanted = (
            (mean(name, line), 0.1),
            (kilobytes, 0.1 if kilobytes < 100 else 1),
            (mean(name, line, M7), 1),
        )
        for key, (figure, unit) in zip(keys, wanted, strict=True):
            # The file has three decimals, so a half may be rounded either way.
            assert abs(number(row[key]) - figure) <= 0.501 * unit, key


def test_the_readme_counts_the_sets_where_models_are_smaller_and_faster():
    quicker = {name: part(name, line, M7, TUNED) for name, line in README_LINES.items()}
    assert all(part(name, line, "cortex-m7_flash", TUNED) < 1 for name, line in README_LINES.items())
    assert sum(x < 0.95 for x in quicker.values()) == 6
    words = "fewer instructions on six sets, about as many on emg, and more on sensorless and gesture"
    assert words in text_of("README.md")
    assert "fewer instructions on six, equal on emg, more on sensorless and gesture" in text_of("evidence.md")
    assert [name for name, x in quicker.items() if 0.95 <= x <= 1.05] == ["emg"]
    assert [name for name, x in quicker.items() if x > 1.05] == ["sensorless", "gesture"]
    assert not [name for name, line in README_LINES.items() if mean(name, line) < mean(name, TUNED) - 0.05]


@pytest.mark.parametrize("name", README_LINES)
def test_tables_of_the_frontier_are_means_of_the_recorded_seeds(name):
    rows = table_below("frontier.md", f"**{name}: accuracy against flash and instructions")
    assert len(rows) > 20
    for row in rows:
        line = row["method"], row["size"]
        assert abs(number(row["accuracy %"]) - mean(name, line)) <= 0.0501, line
        for column, key in {
            "M7 flash": "cortex-m7_flash",
            "M7 instr.": M7,
            "M0+ flash": "cortex-m0plus_flash",
            "M0+ instr.": M0,
        }.items():
            # The file has a tenth of an instruction, so the last digit may differ.
            assert abs(number(row[column]) - mean(name, line, key)) <= 0.51, (line, column)


def test_the_tuned_forests_are_those_of_the_recorded_seeds():
    rows = table_below("frontier.md", "## The tuned forest")
    assert rows
    for row in rows:
        seeds = set(row["seeds"].split(", "))
        for (method, size), keys in {
            TUNED: ("accuracy %", "flash", "instructions"),
            FOREST: ("plain: accuracy %", "flash 2", "instructions 2"),
        }.items():
            with path_of("frontier.csv").open(encoding="utf-8") as file:
                lines = [
                    line
                    for line in csv.DictReader(file)
                    if (line["set"], line["method"], line["size"]) == (row["set"], method, size)
                    and line["seed"] in seeds
                ]
            assert {line["seed"] for line in lines} == seeds
            for key, column, unit in zip(keys, ("accuracy", "cortex-m7_flash", M7), (0.1, 1, 1), strict=True):
                mean = fmean(float(line[column]) for line in lines)
                assert abs(number(row[key]) - mean) <= 0.55 * unit, (row["set"], key)
