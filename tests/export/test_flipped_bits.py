"""The exported self-check finds any flipped bit of any table, as flash that lost one would have it."""

import shutil
import subprocess

import pytest

from ethereal import export
from kept_builds import build
from random_models import random_model

# The library's own file with its tables writable: every bit is flipped once.
PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#define const
#include "model/model.c"

static et_table et_tables[] = {ET_TABLES};
#ifdef ET_SUM_TABLES
static et_table et_sum_tables[] = {ET_SUM_TABLES};
#endif

int main(void)
{
    unsigned long missed = 0, flipped = 0;
    unsigned i, bit;

    if (!model_check() || !model_check_all())
        return 1;
    for (i = 0; i < sizeof et_tables / sizeof et_tables[0]; i++) {
        uint8_t *bytes = (uint8_t *)et_tables[i].data;

        for (bit = 0; bit < 8 * et_tables[i].size; bit++, flipped++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            missed += model_check() != 0;
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
#ifdef ET_SUM_TABLES
    for (i = 0; i < sizeof et_sum_tables / sizeof et_sum_tables[0]; i++) {
        uint8_t *bytes = (uint8_t *)et_sum_tables[i].data;

        for (bit = 0; bit < 8 * et_sum_tables[i].size; bit++, flipped++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            missed += model_check_all() != 0;
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
#endif
    printf("%lu %lu %d", flipped, missed, model_check_all());
    return 0;
}
"""


@pytest.mark.parametrize("layout", ["fast", "compact", "sliced"])
def test_the_self_check_finds_every_flipped_bit(layout, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "a C compiler builds the package, so there is one"
    model, rows = random_model(3, n_features=4, n_clauses=12)
    export.c(model, tmp_path / "model", layout=layout, rows=rows)
    (tmp_path / "flip.c").write_text(PROGRAM)
    command = [compiler, "-std=c99", "-O2", "-w", "-fsanitize=address,undefined", "flip.c", "-o", "flip"]
    built = build(command, tmp_path, "flip")
    assert built.returncode == 0, built.stderr
    done = subprocess.run(["./flip"], cwd=tmp_path, capture_output=True, text=True, check=True)
    flipped, missed, whole = map(int, done.stdout.split())
    assert flipped > 300
    assert (missed, whole) == (0, 1)
