"""Coverage-guided fuzzing of the exported C with libFuzzer, under address and undefined-behaviour sanitizers.

    python tools/fuzz_c.py [--seconds 60] [--models 3]

Random models are exported in every layout and linked into one program. It reads any bytes as rows of floats,
NaN and infinity included, and stops when a layout reads beyond its tables, shifts too far, or when two
layouts differ in a class or a vote. Early answers are compared with the votes of their first clauses. Needs
clang with its fuzzer runtime.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))
LAYOUTS = ("fast", "compact", "sliced", "redress", "straight")
MARGIN = 3  # votes, of an early answer

HARNESS = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "fast/fast.h"
#include "compact/compact.h"
#include "sliced/sliced.h"
#include "redress/redress.h"
#include "straight/straight.h"
#include "early/early.h"
#include "part/part.h"

/* The class of early answers, from the votes of the clauses before their check. */
static unsigned expected_early(const fast_input *row, unsigned otherwise)
{
    int32_t sums[FAST_CLASSES];
    unsigned best = 0, c;

    part_class_sums(row, sums);
    for (c = 1; c < FAST_CLASSES; c++)
        if (sums[c] > sums[best])
            best = c;
    for (c = 0; c < FAST_CLASSES; c++)
        if (c != best && sums[best] - sums[c] <= MARGIN)
            return otherwise;
    return best;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { ROW = FAST_FEATURES * sizeof(fast_input), MOST = 40 };
    fast_input rows[MOST * FAST_FEATURES];
    uint16_t classes[5][MOST];
    unsigned n = (unsigned)(size / ROW), r, k;
    static int checked;

    if (!checked && (!fast_check() || !compact_check() || !sliced_check()
                     || !redress_check()))
        abort();
    checked = 1; /* once, as at start-up: it takes longer than a row */
    if (n > MOST)
        n = MOST;
    memcpy(rows, data, n * ROW);
    fast_predict_batch(rows, n, classes[0]);
    compact_predict_batch(rows, n, classes[1]);
    sliced_predict_batch(rows, n, classes[2]);
    redress_predict_batch(rows, n, classes[3]);
    straight_predict_batch(rows, n, classes[4]);
    for (r = 0; r < n; r++) {
        const fast_input *row = rows + r * FAST_FEATURES;
        int32_t sums[5][FAST_CLASSES];

        fast_class_sums(row, sums[0]);
        compact_class_sums(row, sums[1]);
        sliced_class_sums(row, sums[2]);
        redress_class_sums(row, sums[3]);
        straight_class_sums(row, sums[4]);
        for (k = 1; k < 5; k++)
            if (memcmp(sums[0], sums[k], sizeof sums[0]) || classes[0][r] != classes[k][r])
                abort();
        if (classes[0][r] != fast_predict(row) || classes[0][r] >= FAST_CLASSES)
            abort();
        early_class_sums(row, sums[1]);
        if (memcmp(sums[0], sums[1], sizeof sums[0])
            || early_predict(row) != expected_early(row, classes[0][r]))
            abort();
    }
    return 0;
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=60, help="for all models together")
    parser.add_argument("--models", type=int, default=3)
    args = parser.parse_args()
    from ethereal import export
    from ethereal.model.output import checks_of, parts_of
    from random_models import random_model

    kinds = [
        {"encoding": "thermometer", "missing": "some"},
        {"encoding": "onehot", "missing": "ignore", "n_classes": 5, "longest": 12},
        {"encoding": "thermometer", "n_bins": 12, "n_clauses": 200, "heaviest": 40},
    ]
    for seed in range(args.models):
        model, rows = random_model(seed, **kinds[seed % len(kinds)])
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for layout in LAYOUTS:
                export.c(model, folder / layout, name=layout, layout=layout, rows=rows)
            early = model._with(early=checks_of([(model.n_clauses // 2, MARGIN)], model.n_clauses))
            export.c(early, folder / "early", name="early", rows=rows)
            export.c(parts_of(early)[0], folder / "part", name="part", layout="compact", rows=rows)
            (folder / "harness.c").write_text(HARNESS)
            (folder / "seeds").mkdir()
            (folder / "seeds" / "rows").write_bytes(rows[:40].astype("<f4").tobytes())
            build = ["clang", "-std=c99", "-g", "-O1", "-fsanitize=fuzzer,address,undefined"]
            build += [
                "-fno-sanitize-recover=all",
                "harness.c",
                f"-DMARGIN={MARGIN}",
                *(f"{x}/{x}.c" for x in (*LAYOUTS, "early", "part")),
                "-o",
                "fuzz",
            ]
            subprocess.run(build, cwd=folder, check=True)
            options = [f"-max_total_time={args.seconds // args.models}", "-max_len=8192", "-timeout=10"]
            command = ["./fuzz", *options, "-print_final_stats=1", f"-artifact_prefix={ROOT}/build/", "seeds"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            match = re.search(r"number_of_executed_units: (\d+)", done.stderr)
            executed = match.group(1) if match else "?"
            coverage = re.findall(r" cov: (\d+)", done.stderr)[-1:] or ["?"]
            print(f"model {seed}: {executed} inputs, {coverage[0]} branches, exit {done.returncode}")
            if done.returncode:
                sys.exit(done.stderr[-4000:])


if __name__ == "__main__":
    main()
