"""Count what cppcheck's MISRA addon says of the exported C, by rule and layout.

    python tools/misra.py [MODEL.etm] [--lines] [--most 60]

Without a model, a random one is taken. The command fails when there are more findings than `--most`.
lab/notes/proof.md says why each rule that is left is not followed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from ethereal import Model
from ethereal.export import make_program
from ethereal.export.c99.layouts import LAYOUTS

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from random_models import random_model


def findings(model: Model, layout: str) -> set[tuple[str, str]]:
    """Rules and places, each place once. The rule "own" is what cppcheck says by itself."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in make_program(model, layout, input="int16").files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        command = ["cppcheck", "--addon=misra", "--quiet", "--std=c99", "--enable=style",
                   "--platform=unix32", "--template={file}:{line}:{column} {id}",
                   "model.c"]  # fmt: skip
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stderr
    rules = set()
    for line in said.splitlines():
        place, _, rule = line.partition(" ")
        if match := re.fullmatch(r"misra-c2012-(\d+\.\d+)", rule):
            rules.add((match[1], place))
        elif rule and ":" in place:
            rules.add((rule, place))
    return rules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--most", type=int, default=60)
    args = parser.parse_args()
    if shutil.which("cppcheck") is None:
        sys.exit(
            "cppcheck is not installed, so nothing is counted. On Debian run `apt-get install cppcheck`."
        )
    model = Model.load(args.model) if args.model else random_model(1, n_clauses=60)[0]
    total: Counter[str] = Counter()
    everywhere = set()
    for layout in LAYOUTS:
        rules = findings(model, layout)
        everywhere |= {
            (rule, f"{layout} {place}" if place.startswith("model") else place) for rule, place in rules
        }
        print(f"{layout}: {len(rules)}", dict(Counter(rule for rule, _ in rules).most_common()))
        if args.lines:
            print("\n".join(f"  {place} {rule}" for rule, place in sorted(rules)))
        total.update(rule for rule, _ in rules)
    print(f"in all: {total.total()} findings, {len(everywhere)} different places", dict(total.most_common()))
    sys.exit(total.total() > args.most)


if __name__ == "__main__":
    main()
