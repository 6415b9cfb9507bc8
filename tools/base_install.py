"""The README's commands and its Python, as typed, in a base install.

    python tools/base_install.py build/base

builds a wheel, installs it without extras into an environment of its own, and works in an empty folder with a
small table and a few recordings. A command whose comment in the README names an extra may instead end with
the line that installs the extra. Everything else must work.
"""

from __future__ import annotations

import csv
import random
import re
import shlex
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
N_ROWS = 240
# Beside the README: a table with everything that tables have.
BEYOND = ["ethereal --version", "ethereal run people.csv --label activity --group person"]
REMEDY = "pip install 'ethereal-tm["


def readme_commands(text: str) -> list[tuple[str, bool]]:
    """Return the commands of the indented blocks that call `ethereal`, and whether each needs an extra."""
    lines = re.findall(r"^    (ethereal .*)$", text, re.MULTILINE)
    return [(line.split("#")[0].strip(), "(extra" in line) for line in lines]


def readme_python(text: str) -> list[str]:
    """Return the blocks of Python."""
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def write_table(path: Path, *without: str) -> None:
    """Write readings with a text column, missing values, a column of groups and units in brackets."""
    draw = random.Random(0)
    with path.open("w", newline="") as file:
        every = ("speed [m/s]", "rate [/s]", "load", "surface", "person", "activity")
        writer = csv.DictWriter(file, [name for name in every if name not in without], extrasaction="ignore")
        writer.writeheader()
        for i in range(N_ROWS):
            walks = i % 3 == 0
            row = {
                "speed [m/s]": round(draw.gauss(1 + walks, 0.4), 2),
                "rate [/s]": round(draw.gauss(3 - walks, 0.8), 3),
                "load": "" if draw.random() < 0.1 else round(draw.gauss(5 + 4 * walks, 2), 2),
                "surface": draw.choice(["road", "grass"]) if walks else "chair",
                "person": f"p{i // 20}",
                "activity": "walk" if walks else "sit",
            }
            writer.writerow(row)


def install(folder: Path) -> Path:
    """Build the wheel, install it into an environment of its own, and return the folder of its programs.

    The environment is kept for as long as pyproject.toml is the same.
    """
    python = folder / "venv" / "bin" / "python"
    quiet = ["--quiet", "--disable-pip-version-check"]
    for old in folder.glob("*.whl"):
        old.unlink()
    build = [sys.executable, "-m", "pip", "wheel", *quiet, "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", str(folder), str(ROOT)], check=True)
    [wheel] = folder.glob("*.whl")
    made_for, project = folder / "made-for.toml", (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    # This environment's pip installs into the other one, which saves installing pip there first.
    add = [sys.executable, "-m", "pip", "--python", str(python), "install", *quiet]
    if not made_for.exists() or made_for.read_text(encoding="utf-8") != project:
        venv.create(folder / "venv", clear=True)
        subprocess.run([*add, "--no-compile", str(wheel)], check=True)
        made_for.write_text(project, encoding="utf-8")
    else:
        subprocess.run([*add, "--force-reinstall", "--no-deps", str(wheel)], check=True)
    return python.parent


def main(folder: Path) -> int:
    """Return the number of failures."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    programs = install(folder.resolve())
    work = folder / f"work-{int(time.time())}"
    work.mkdir()
    write_table(work / "readings.csv", "surface", "person")
    write_table(work / "new.csv", "surface", "person", "activity")
    write_table(work / "my.csv", "surface")
    write_table(work / "people.csv")
    recordings = [str(programs / "python"), str(ROOT / "examples" / "recordings.py"), "recordings"]
    subprocess.run(recordings, cwd=work, check=True, capture_output=True)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    asked = [([str(programs / "python"), "-c", code], "the Python of the README", False)
             for code in readme_python(text)]  # fmt: skip
    for command, is_extra in [*readme_commands(text), *((command, False) for command in BEYOND)]:
        asked.append(([str(programs / "ethereal"), *shlex.split(command)[1:]], command, is_extra))
    failures = 0
    for words, name, is_extra in asked:
        done = subprocess.run(words, cwd=work, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        fine = done.returncode == 0 or (is_extra and done.returncode == 1 and REMEDY in said)
        failures += not fine
        print(f"{'ok  ' if fine else 'FAIL'} {name}")
        if not fine:
            print(said[-2000:])
    print(f"{len(asked)} tried in a base install, {failures} failures, {time.monotonic() - began:.0f} s")
    return failures


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])) > 0)
