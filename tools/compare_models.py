"""Draw random models, odd ones above all, and compare host and exported C on every row.

    python tools/compare_models.py [--models 10000] [--first 0] [--all-inputs]

Each model is exported in every layout, one that learns included, and compiled with and without -ffast-math.
Number types take turns: each layout of a model has another one. With --all-inputs every layout has every
number type. A model that a layout cannot hold must be refused by name. tests/support/odd_models.py draws the
models.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

_AT_ONCE = 50  # models in an executable


def main() -> int:
    from host_and_c import Comparison, compare

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first model")
    parser.add_argument("--all-inputs", action="store_true", help="every number type in every layout")
    asked = parser.parse_args()
    comparison, end = Comparison(), asked.first + asked.models
    for first in range(asked.first, end, _AT_ONCE):
        seeds = range(first, min(first + _AT_ONCE, end))
        with tempfile.TemporaryDirectory() as folder:
            part = compare(seeds, Path(folder), cover="all" if asked.all_inputs else "layouts", keep=False)
        comparison.add(part)
        for difference in part.differences:
            print(difference, flush=True)
        print(
            f"{comparison.n_models:,} models, {len(comparison.differences)} differ",
            file=sys.stderr,
            flush=True,
        )
    print(comparison)
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main())
