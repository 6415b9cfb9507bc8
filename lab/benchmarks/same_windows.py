"""Whether raw windows get the same features and answers everywhere (lab/notes/windows.md).

python lab/benchmarks/same_windows.py har.npz watch.npz gesture.npz fsdd.npz --on-cores 60

The C of a model with every kernel is compiled for this computer. It answers all windows of a file, and then
all of them as one stream. Every emulated core answers some of them, and windows that are hard on integers.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ethereal import WindowFeatures, export
from ethereal.device import TARGETS, EmulatedCore, compile_elf
from ethereal.export import choose

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from windows import everything, hard_windows, model_of

MAIN = """
#include <stdio.h>
#include "model.h"

int main(int argc, char **argv)
{
    static int16_t samples[MODEL_WINDOW * MODEL_AXES];

    if (argc > 1 && argv[1][0] == 's') { /* a stream */
        while (fread(samples, sizeof(int16_t), MODEL_AXES, stdin) == MODEL_AXES) {
            int answer = model_push(samples);
            if (answer >= 0)
                fwrite(&answer, sizeof answer, 1, stdout);
        }
        return 0;
    }
    while (fread(samples, sizeof samples, 1, stdin) == 1) {
        int answer = (int)model_window(samples);
        fwrite(&answer, sizeof answer, 1, stdout);
        fwrite(model_features(), sizeof(int16_t), MODEL_FEATURES, stdout);
    }
    return 0;
}
"""


def on_computer(model: Any, windows: Any) -> tuple[int, int, int]:
    """Return how many windows differ, and how many answers of the stream there are and how many differ."""
    front_end, wanted = model.drop_unused_kernels().front_end, model.output.codes(model.class_sums(windows))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "c"
        export.c(model, folder)
        (folder / "main.c").write_text(MAIN)
        subprocess.run(["cc", "-O2", "main.c", "model.c", "-o", "main"], cwd=folder, check=True)

        def run(*mode: str) -> bytes:
            command = [str(folder / "main"), *mode]
            return subprocess.run(command, input=windows.tobytes(), capture_output=True, check=True).stdout

        kind = np.dtype([("answer", "<i4"), ("features", "<i2", len(front_end.names))])
        rows = np.frombuffer(run(), kind)
        pushed = np.frombuffer(run("stream"), "<i4")
    differ = (rows["features"] != front_end.transform(windows)).any(axis=1) | (rows["answer"] != wanted)
    stream = windows.reshape(-1, windows.shape[2])
    answers = model.output.codes(model.class_sums(model.front_end.windows(stream)))
    if len(answers) != len(pushed):
        raise SystemExit(f"push gave {len(pushed)} answers, but there are {len(answers)} windows")
    return int(differ.sum()), len(pushed), int((answers != pushed).sum())


def on_core(model: Any, windows: Any, target: str) -> int:
    """Return how many windows have other features or another answer on an emulated core."""
    program, chip = choose(model, "fast", target=target), TARGETS[target]
    core = EmulatedCore(compile_elf(program.files, chip, ["model_window", "model_features"]), chip)
    features, answers = (
        program.model.front_end.transform(windows),
        model.output.codes(model.class_sums(windows)),
    )
    address, differ = core.buffer(np.zeros(windows[0].size, dtype=np.int16)), 0
    for window, wanted, answer in zip(windows, features, answers, strict=True):
        core.write(address, np.ascontiguousarray(window))
        is_same = core.call("model_window", address) == answer
        on_core = np.frombuffer(core.read(core.call("model_features"), 2 * len(wanted)), "<i2")
        differ += not (is_same and np.array_equal(on_core, wanted))
    return differ


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="npz files as raw_windows.py says")
    parser.add_argument("--on-cores", type=int, default=60, help="windows of a file for each emulated core")
    args = parser.parse_args()
    cores = [name for name, target in TARGETS.items() if target.isa != "avr"]
    print("| set | windows | other here | answers of the stream | other | on each core | other |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for path in args.files:
        with np.load(path, allow_pickle=False) as file:
            windows = np.ascontiguousarray(file["X"])
        _, n, n_axes = windows.shape
        hop = n // 2
        extractor = (
            WindowFeatures(["mel"], rate=8000, hop=hop)
            if path.stem == "fsdd"
            else everything(n_axes, hop=hop)
        )
        model = model_of(extractor.fit(windows), windows)
        here, pushed, other = on_computer(model, windows)
        some = windows[np.linspace(0, len(windows) - 1, args.on_cores).astype(int)]
        hard = np.concatenate([some, hard_windows(n, n_axes, 5)])
        there = {name: on_core(model, hard, name) for name in cores}
        print(
            f"| {path.stem} | {len(windows):,} | {here} | {pushed:,} | {other} | {len(hard)} "
            f"| {', '.join(f'{name} {k}' for name, k in there.items())} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
