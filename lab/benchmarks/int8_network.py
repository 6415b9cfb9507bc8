"""A small network of one hidden layer with int8 weights and activations, as C, to compare numbers with.

    python lab/benchmarks/int8_network.py    # checks the C against the same sums in numpy

Features come as 16-bit integers, as for the trees of `regression.py`. A multiplication and a shift make bytes
of them, then all products are of bytes, with sums in 32 bits.
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.neural_network import MLPRegressor

from ethereal.chips.targets import find_target
from ethereal.chips.toolchain import compile_elf
from ethereal.device.baselines import support

_ROUND = 1 << 14  # products are rounded and shifted by 15

_C = """#include <stdint.h>
static const int16_t middle[{n}] = {{{middle}}}, factor[{n}] = {{{factor}}};
static const int8_t first[{h}][{n}] = {{{first}}}, second[{h}] = {{{second}}};
static const int32_t bias[{h}] = {{{bias}}};
static int32_t byte(int32_t x) {{ return x > 127 ? 127 : x < -127 ? -127 : x; }}
int32_t net_sum(const int16_t *x)
{{
    int8_t in[{n}];
    int32_t out = {last};
    int i, j;
    for (i = 0; i < {n}; i++)
        in[i] = (int8_t)byte(((x[i] - middle[i]) * factor[i] + {round}) >> 15);
    for (j = 0; j < {h}; j++) {{
        int32_t sum = bias[j];
        for (i = 0; i < {n}; i++)
            sum += in[i] * first[j][i];
        if (sum > 0)
            out += byte((int32_t)(((int64_t)sum * {times} + {round}) >> 15)) * second[j];
    }}
    return out;
}}
"""


class Int8Network:
    """Learns in float, then rounds. What it predicts is what its C computes."""

    def __init__(self, hidden, alpha=1.0, seed=0):
        self.hidden, self.alpha, self.seed = hidden, alpha, seed

    def fit(self, X, y):
        self.low, span = X.min(axis=0), np.ptp(X, axis=0)
        self.per = 64000 / np.where(span > 0, span, 1)
        rows = self.whole(X)
        self.middle, spread = np.rint(rows.mean(axis=0)).astype(int), rows.std(axis=0) + 1
        # A byte has three standard deviations.
        self.factor = np.minimum(np.rint(42 * 32768 / spread), 32767).astype(int)
        bytes_in = self.bytes(rows) / 42
        self.mean, self.spread = y.mean(), y.std()
        net = MLPRegressor(
            hidden_layer_sizes=(self.hidden,),
            alpha=self.alpha,
            solver="lbfgs",
            max_iter=300,
            random_state=self.seed,
        )
        net.fit(bytes_in, (y - self.mean) / self.spread)
        (a, b), (c, d) = net.coefs_, net.intercepts_
        per_weight = 127 / np.abs(a).max()
        self.first, unit = np.rint(a * per_weight).astype(int), 42 * per_weight
        self.bias = np.rint(c * unit).astype(int)
        most = np.percentile(np.maximum(bytes_in @ a + c, 0).max(axis=1), 99.5) + 1e-6
        self.times = max(1, round(127 / (most * unit) * 32768))
        self.second = np.rint(b[:, 0] * 127 / np.abs(b).max()).astype(int)
        self.step = np.abs(b).max() / 127 * most / 127 * self.spread
        self.last = round((d[0] * self.spread) / self.step)
        return self

    def whole(self, X):
        return np.clip(np.rint((X - self.low) * self.per) - 32000, -32768, 32767).astype(int)

    def bytes(self, rows):
        return np.clip(((rows - self.middle) * self.factor + _ROUND) >> 15, -127, 127)

    def sums(self, X):
        hidden = np.maximum(self.bytes(self.whole(X)) @ self.first + self.bias, 0)
        return self.last + np.minimum((hidden * self.times + _ROUND) >> 15, 127) @ self.second

    def predict(self, X):
        return self.mean + self.step * self.sums(X)

    def c(self):
        def listed(values):
            return ", ".join(map(str, values.tolist()))

        first = ", ".join(f"{{{listed(row)}}}" for row in self.first.T)
        return _C.format(
            n=len(self.low), h=self.hidden, middle=listed(self.middle), factor=listed(self.factor),
            first=first, second=listed(self.second), bias=listed(self.bias), last=self.last,
            times=self.times, round=_ROUND,
        )  # fmt: skip

    @property
    def flash(self):
        files = {"net.c": self.c(), "support.c": support()}
        elf = compile_elf(files, find_target("cortex-m7"), ["net_sum"], optimize="-Os")
        return elf.code_bytes + elf.table_bytes


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 7)) * [1, 10, 0.1, 1, 1, 1, 1]
    y = X[:, 0] * X[:, 3] + np.sin(X[:, 4]) * 3 + X[:, 1]
    net = Int8Network(16).fit(X[:400], y[:400])
    rows, main_c = net.whole(X), "int main(void) { int16_t x[7]; while (fread(x, 2, 7, stdin) == 7) printf("
    with tempfile.TemporaryDirectory() as folder:
        code = "#include <stdio.h>\n" + net.c() + main_c + '"%ld\\n", (long)net_sum(x)); return 0; }\n'
        Path(folder, "net.c").write_text(code)
        subprocess.run(["gcc", "-O2", "-Wall", "net.c", "-o", "net"], cwd=folder, check=True)
        told = subprocess.run(
            f"{folder}/net", input=rows.astype("<i2").tobytes(), capture_output=True, check=True
        )
    same = np.array(told.stdout.split(), int) == net.sums(X)
    left = y[400:] - net.predict(X[400:])
    print(f"{same.sum()} of {len(X)} sums agree, R2 {1 - left.var() / y[400:].var():.3f}, {net.flash} B")


if __name__ == "__main__":
    main()
