"""Branches and conditions of the exported C that are reached, by clang's coverage (MC/DC).

    python tools/mcdc.py [--only WORD] [--keep FOLDER]

Models of every layout and form are exported, compiled with `clang-19 -fcoverage-mcdc` and run: the golden
self-test, rows on and beside every threshold, missing values, damaged tables, windows, and calls that learn.
A place in the runtime counts as reached when some model reaches it. Code that is written for one model counts
for that model, when so many rows are sent that they can reach all of it. A branch whose outcome the compiler
knows is not a branch. It prints a table and every place that is not reached. The exit code is 1 when such a
place has no reason below.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mcdc_models import CORES, HEAD, PGMSPACE, Case, cases

CLANG, PROFDATA, COV = "clang-19", "llvm-profdata-19", "llvm-cov-19"

# Why a place cannot be reached: file, words of its line, reason.
REASONS: list[tuple[str, str, str]] = [
    (
        "ethereal_windows.h",
        "*top = bits < 32 ?",
        "no kernel adds up to 2^63. The guard keeps the shift defined.",
    ),
    (
        "ethereal_windows.h",
        "if (top != 0 ||",
        "no kernel divides by 2^31 or more. The division is a whole one.",
    ),
    (
        "ethereal_windows.h",
        "for (; count > 1 && et_sum_bands",
        "the loudest frame is active, so the search ends at it. The bound is for the proof.",
    ),
    (
        "ethereal_sliced.h",
        "(carry != 0u) && (k < ET_",
        "a count or sum has the planes that its clauses need. The bound is for the proof.",
    ),
    (
        "ethereal_sliced.h",
        "if (class_ >= ET_CLASSES)",
        "only classes that are there can win. The bound is for the proof.",
    ),
    ("code of straight, two, unknown", "(sums[c] > second)", "of two classes no third one can be second."),
]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="cases whose name has this word")
    parser.add_argument("--keep", type=Path, help="keep the programs in this folder")
    args = parser.parse_args()
    if missing := [tool for tool in (CLANG, PROFDATA, COV) if shutil.which(tool) is None]:
        sys.exit(f"{', '.join(missing)} is not installed. Debian: clang-19, libclang-rt-19-dev and llvm-19.")
    coverage = Found()
    with tempfile.TemporaryDirectory() as name:
        for case in cases():
            if args.only in case.name:
                folder = (args.keep or Path(name)) / re.sub(r"\W+", "-", case.name)
                print(f"{case.name}: {measure(case, folder, coverage)}", flush=True)
    sys.exit(1 if report(coverage) else 0)


@dataclass
class Found:
    """Outcomes by place: how often true and false, and whether a condition alone decided."""

    branches: dict[tuple[str, str, int], list[int]] = field(default_factory=dict)
    conditions: dict[tuple[str, str, int], bool] = field(default_factory=dict)
    functions: dict[tuple[str, str], int] = field(default_factory=dict)


def measure(case: Case, folder: Path, coverage: Found) -> str:
    """Compile and run a case, and add what it reached."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "avr").mkdir(parents=True)
    (folder / "avr" / "pgmspace.h").write_text(PGMSPACE)
    for name, text in case.export.items():
        (folder / name).write_text(text)
    text = "".join(case.export[name] for name in case.export if name.endswith((".c", ".h")))
    has = [f"#define HAS_{name}\n" for name in set(re.findall(r"\bm_(\w+)\(", case.export["m.h"]))]
    has += ["#define HAS_TABLES\n"] if "ET_TABLES" in text else []
    head = HEAD.replace("@core@", CORES[case.core])
    (folder / "driver.c").write_text("".join(has) + head + case.driver)
    flags = ["-std=gnu99", "-w", "-O0", "-fprofile-instr-generate", "-fcoverage-mapping", "-fcoverage-mcdc"]
    subprocess.run([CLANG, *flags, "-I.", "driver.c", "-o", "driver"], cwd=folder, check=True)
    done = subprocess.run(["./driver"], cwd=folder, input=case.sent, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{case.name}: exit {done.returncode}. {done.stderr.decode()}{done.stdout[-100:]!r}")
    subprocess.run([PROFDATA, "merge", "-o", "profile", "default.profraw"], cwd=folder, check=True)
    branches, conditions = len(coverage.branches), len(coverage.conditions)
    add(case, folder, coverage)
    branches, conditions = len(coverage.branches) - branches, len(coverage.conditions) - conditions
    return f"{branches} new branches, {conditions} new conditions"


def add(case: Case, folder: Path, coverage: Found) -> None:
    """Read what clang counted."""
    options = ["--instr-profile", "profile", "./driver"]
    told = subprocess.run([COV, "export", *options], cwd=folder, check=True, capture_output=True, text=True)
    lines: dict[str, list[str]] = {}
    owners: dict[tuple[str, int], str] = {}
    for function in json.loads(told.stdout)["data"][0]["functions"]:
        short_name = function["name"].split(":")[-1]
        paths = [Path(name) for name in function["filenames"]]
        files = [path.name for path in paths]
        if files[0] in ("driver.c", "m_test.c"):
            continue
        for path in paths:
            lines.setdefault(path.name, path.read_text().splitlines())
        where = owner(case, files[0], short_name)
        if where.startswith("code of ") and not case.has_every_row:
            continue
        key = (where, short_name)
        coverage.functions[key] = coverage.functions.get(key, 0) + function["count"]
        for first, _, last, *_ in function["regions"][:1]:
            owners.update(((files[0], line), where) for line in range(first, last + 1))
        for line, column, _, _, yes, no, at, *_ in function["branches"]:
            place = (where, f"{short_name}: {lines[files[at]][line - 1].strip()}", column)
            counts = coverage.branches.setdefault(place, [0, 0])
            counts[0] += yes
            counts[1] += no
    shown = [COV, "show", "--show-mcdc", *options]
    text = subprocess.run(shown, cwd=folder, check=True, capture_output=True, text=True).stdout
    for name, line, column, i, outcome in decisions(text):
        if (name, line) not in owners or outcome.startswith("constant"):
            continue
        place = (owners[name, line], f"condition {i}: {lines[name][line - 1].strip()}", column)
        coverage.conditions[place] = coverage.conditions.get(place, False) or outcome.startswith("covered")


def owner(case: Case, name: str, function: str) -> str:
    """The file that a place is counted for: a template's, whatever the model, or the model's own code."""
    if name != "m.c":
        return name
    return f"code of {case.name}" if case.is_generated and function.startswith("et_") else "m.c"


def decisions(text: str) -> Iterator[tuple[str, int, int, str, str]]:
    """File, line and column of a decision, and number and outcome of each of its conditions."""
    name, line, column = "driver.c", 0, 0
    for row in text.splitlines():
        if row.endswith((".c:", ".h:")) and row.startswith("/"):
            name = Path(row[:-1]).name
        elif start := re.search(r"MC/DC Decision Region \((\d+):(\d+)\)", row):
            line, column = int(start[1]), int(start[2])
        elif pair := re.search(r"C(\d+)-Pair: (.*)", row):
            yield name, line, column, pair[1], pair[2]


def reason(place: tuple[str, str, int]) -> str | None:
    return next((why for name, words, why in REASONS if name == place[0] and words in place[1]), None)


def report(coverage: Found) -> int:
    """Print the table and what was not reached. Returns how many places have no reason."""
    files = sorted({where for where, *_ in [*coverage.branches, *coverage.functions]})
    models = [where for where in files if where.startswith("code of ")]
    missing: list[tuple[str, str, int]] = []
    print("\n| file | functions | branches | conditions |\n|---|---|---|---|")
    for names in [*([where] for where in files if where not in models), models]:
        if not names:
            continue
        functions = [n > 0 for (where, _), n in coverage.functions.items() if where in names]
        outcomes = [(p, n > 0) for p, counts in coverage.branches.items() if p[0] in names for n in counts]
        alone = [(p, is_shown) for p, is_shown in coverage.conditions.items() if p[0] in names]
        missing += [
            (where, name, 0) for (where, name), n in coverage.functions.items() if where in names and not n
        ]
        missing += [place for place, is_reached in [*outcomes, *alone] if not is_reached]
        title = names[0] if len(names) == 1 else f"code of {len(names)} models"
        shares = [share(functions), share(ok for _, ok in outcomes), share(ok for _, ok in alone)]
        print(f"| {title} | {' | '.join(shares)} |")
    for place in missing:
        print(f"not reached: {place[0]}, column {place[2]}: {place[1]} -- {reason(place) or 'NO REASON'}")
    return sum(reason(place) is None for place in missing)


def share(reached: Iterable[bool]) -> str:
    each = list(reached)
    return f"{sum(each)} of {len(each)}" if each else "none"


if __name__ == "__main__":
    main()
