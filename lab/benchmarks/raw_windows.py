"""Raw windows: speed of `WindowFeatures`, and accuracy and cost from sample to label (lab/notes/windows.md).

python lab/benchmarks/raw_windows.py speed har.npz
python lab/benchmarks/raw_windows.py prices har.npz --target cortex-m0plus
python lab/benchmarks/raw_windows.py accuracy har.npz --groups har12 --bins 8 --flash 8192 --seeds 3

A file has X (windows x samples x axes, int16), y, group, test, axis_names, rate and scale. Test rows are of
people that no training row is of, and choose nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ethereal import EtherealClassifier, WindowFeatures, compress, prune
from ethereal.device import EmulatedCore, compile_elf, find_target, measure
from ethereal.export import choose

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
import reference_windows
from windows import model_of

TIME_DOMAIN = ("stats", "std", "mad", "step", "shape", "parts", "haar")
GROUPS: dict[str, dict[str, list[str]]] = {
    "all": {name: ["axes"] for name in (*TIME_DOMAIN, "bands", "spectrum", "cov", "corr")},
    "usual": {name: ["axes"] for name in ("stats", "haar", "bands", "corr")},
    "har12": {
        "stats": ["ax", "ay", "gx", "gz"],
        "haar": ["az", "gx", "gy"],
        "corr": ["ax*ay", "gx*gz"],
        "bands": ["ax", "gx", "gz"],
    },
    "gesture": {"parts": ["axes", "|a|"], "haar": ["axes"]},
    "watch": {name: ["axes", "|a|"] for name in ("stats", "std", "shape", "haar")} | {"cov": ["axes"]},
    "sound": {"mel": ["axes"]},
}


def cpu_seconds(function: Any, repeats: int) -> float:
    """The least CPU seconds of several calls."""
    collected = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        collected.append(time.process_time() - start)
    return min(collected)


def speed(data: Any, repeats: int) -> None:
    """Print windows per second of one thread, native and in numpy, for each kernel and for all."""
    windows = data["X"][:2000]
    for name in (*GROUPS["all"], "all"):
        kernels = GROUPS["all"] if name == "all" else {name: ["axes"]}
        extractor = WindowFeatures(kernels, rate=float(data["rate"])).fit(windows).front_end_
        assert np.array_equal(extractor.transform(windows), reference_windows.features(extractor, windows))
        native = len(windows) / cpu_seconds(lambda extractor=extractor: extractor.transform(windows), repeats)
        numpy = len(windows) / cpu_seconds(
            lambda extractor=extractor: reference_windows.features(extractor, windows), repeats
        )
        print(f"{name:10} {native:10,.0f} {numpy:10,.0f} windows/s {native / numpy:6.1f} times", flush=True)


def price(kernels: dict[str, list[str]], windows: Any, target: str, rate: float) -> tuple[float, int]:
    """Instructions of the features of a window, and bytes of flash, on a core."""
    chip, extractor = find_target(target), WindowFeatures(kernels, rate=rate).fit(windows)
    program = choose(model_of(extractor, windows, n_clauses=3), "fast", target=target)
    counts, flash = [], []
    features = program.model.front_end.transform(windows)  # type: ignore[union-attr]
    for function, rows in (("model_window", windows), ("model_predict", features)):
        core = EmulatedCore(compile_elf(program.files, chip, [function], optimize="-Os"), chip)
        address = core.buffer(np.zeros(rows[0].size, dtype=np.int16))
        for row in rows:
            core.write(address, np.ascontiguousarray(row))
            core.call(function, address)
        counts.append(core.instructions / len(rows))
        flash.append(core.elf.code_bytes + core.elf.table_bytes)
    return counts[0] - counts[1], flash[0] - flash[1]


def prices(data: Any, target: str) -> None:
    """Print what each kernel costs on one axis more, its mean included, and its flash with what it calls."""
    windows, rate = data["X"][::160][:20], float(data["rate"])
    if windows.shape[2] == 1:
        cost, flash = price({"mel": ["x"]}, windows[:5], target, rate)
        print(f"mel        {cost:10,.0f} {flash:6,} bytes")
        return
    for name in GROUPS["all"]:
        sources = ["ax*ay", "gx*gy"] if name in ("cov", "corr") else ["ax", "gy"]
        (one, flash), (two, _) = (price({name: sources[:n]}, windows, target, rate) for n in (1, 2))
        print(f"{name:10} {two - one:10,.0f} {flash:6,} bytes", flush=True)
    plain, loud = (price({"step": ["ax", other]}, windows, target, rate)[0] for other in ("ay", "|a|"))
    print(f"magnitude  {loud - plain:10,.0f}")


def machine(data: Any, rows: Any, args: argparse.Namespace, seed: int, thresholds: Any = None) -> Any:
    """Two machines of 200 clauses as one model, trained on some rows."""
    names = [str(name) for name in data["axis_names"]]
    front_end = WindowFeatures(GROUPS[args.groups], axes=names, rate=float(data["rate"]),
                               scale=data["scale"].tolist(), hop=64)  # fmt: skip
    collected = []
    for i in range(2):
        clf = EtherealClassifier(200, 10, 4.0, epochs=20, booleanizer=args.bins, front_end=front_end,
                                 validation_fraction=0, noise_clauses=0, refit_votes=False,
                                 random_state=10 * seed + i)  # fmt: skip
        collected.append(clf.fit(data["X"][rows], data["y"][rows]).model_)
    return compress.join(collected)


def accuracy(data: Any, args: argparse.Namespace) -> None:
    """Print a line for the forests and one for each seed, and all of it as JSON at the end."""
    X, y, test, group = data["X"], data["y"], data["test"], data["group"]
    extractor = WindowFeatures(
        GROUPS[args.groups], axes=[str(n) for n in data["axis_names"]], rate=float(data["rate"])
    )
    F = extractor.fit_transform(X)
    forests = [
        RandomForestClassifier(random_state=s).fit(F[~test], y[~test]).score(F[test], y[test])
        for s in range(3)
    ]
    print(f"{F.shape[1]} features, forests {np.round(100 * np.array(forests), 1)}", flush=True)
    records = []
    for seed in range(args.seeds):
        people = np.unique(group[~test])
        held = np.random.default_rng(seed).permutation(people)[: len(people) // 4]
        learn, choose = ~test & ~np.isin(group, held), ~test & np.isin(group, held)
        whole = machine(data, ~test, args, seed)
        record: dict[str, Any] = {"seed": seed, "unpruned": float((whole.predict(X[test]) == y[test]).mean())}
        if args.flash:
            bounds = {"flash": args.flash, "target": args.target}
            if args.instructions:
                bounds["instructions"] = args.instructions
            part = prune(machine(data, learn, args, seed), X[learn], y[learn],
                         validation=(X[choose], y[choose]), **bounds)  # fmt: skip
            model = prune(whole, X[~test], y[~test], like=part, **bounds).model
            cost = measure(model, X[test][:60], args.target, flash=args.flash)
            record |= {
                "pruned": float((model.predict(X[test]) == y[test]).mean()),
                "includes": model.n_includes,
                "groups": len(model.drop_unused_kernels().front_end.groups),
                "layout": cost.name,
                "instructions": round(cost.total_instructions),
                "classifier": round(cost.instructions + cost.booleanize_instructions),
                "flash": cost.flash_bytes,
                "ram": cost.ram_bytes + cost.stack_bytes,
                "agreement": cost.agreement,
            }
        records.append({k: round(v, 4) if isinstance(v, float) else v for k, v in record.items()})
        print(records[-1], flush=True)
    print(json.dumps({"forests": forests, "ethereal": records}))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["speed", "prices", "accuracy"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--groups", choices=GROUPS, default="usual")
    parser.add_argument("--bins", type=int, default=8)
    parser.add_argument("--flash", type=int, default=0, help="bytes, feature code included, 0 not to prune")
    parser.add_argument("--instructions", type=int, default=0, help="of the classifier alone, 0 for no bound")
    parser.add_argument("--target", default="cortex-m7")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    with np.load(args.file, allow_pickle=False) as file:
        data = dict(file)
    if args.what == "speed":
        speed(data, args.repeats)
    elif args.what == "prices":
        prices(data, args.target)
    else:
        accuracy(data, args)


if __name__ == "__main__":
    main()
