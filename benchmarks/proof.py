"""Prove pruned models of the study's sets and random models in every layout, and find seeded faults.

    python benchmarks/proof.py [--sets statlog,har] [--random 50] [--faults] [--models FOLDER] [--json FILE]
                               [--functions check,predict]

Models of the sets are trained quickly (4,000 rows, 10 epochs) and pruned to 4,000 bytes of flash. Trained
models are kept in the folder, so that a stopped run continues. docs/proof.md has the figures.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from ethereal import Model, datasets, prune
from ethereal.device.proof import Source, prove
from ethereal.export import LAYOUTS
from ethereal.export.c99.program import make_program
from ethereal.model.needs import NotSupported
from ethereal.study.settings import SETTINGS

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from random_models import random_model

ROWS, EPOCHS, MAX_BYTES = 4000, 10, 4000
# What is broken, in which layout, in which file, and who must notice.
FAULTS = {
    "a literal count in a table": ("sliced", "model.c", r"(et_literals\[\d+\] = \{\n +)\d+", r"\g<1>250"),
    "a stream of clauses": (
        "compact",
        "model.c",
        r"(et_stream\[\d+\] = \{\n +)\d+, \d+, \d+",
        r"\g<1>0, 0, 0",
    ),
    "the bound of a loop": ("fast", "ethereal.h", r"s < ET_SLOTS; s\+\+\) \{", "s <= ET_SLOTS; s++) {"),
    "a checksum": ("fast", "model.h", r"(CHECKSUM 0x)[0-9A-F]{8}", r"\g<1>12345678"),
    "a threshold, in range": ("redress", "model.c", r"(et_thresholds\[\d+\] = \{\n +)-?\d+", r"\g<1>7"),
}


def pruned(name: str, folder: Path) -> Model:
    """A small model of a set, trained once."""
    kept = folder / f"{name}.etm"
    if not kept.exists():
        data, settings = datasets.load(name), SETTINGS[name]
        pick = np.random.default_rng(0).permutation(len(data.X_train))[:ROWS]
        X, y = data.X_train[pick], data.y_train[pick]
        machine = settings.machine(epochs=EPOCHS, random_state=0, booleanizer=settings.booleanizer())
        folder.mkdir(parents=True, exist_ok=True)
        prune(machine.fit(X, y).model_, X, y, max_bytes=MAX_BYTES).model.save(kept)
    return Model.load(kept)


def random_models(n: int) -> Iterator[tuple[str, Model]]:
    """Random models of all encodings."""
    rng = np.random.default_rng(0)
    for seed in range(n):
        encoding = (None, "thermometer", "onehot", "mixed")[seed % 4]
        model, _ = random_model(
            seed,
            encoding=encoding,
            n_features=int(rng.integers(2, 30)),
            n_bins=int(rng.integers(2, 6)),
            n_classes=int(rng.integers(2, 12)),
            n_clauses=int(rng.integers(4, 120)),
            longest=int(rng.integers(1, 20)),
            heaviest=int(rng.choice([1, 3, 300])),
            missing=str(rng.choice(["no", "some", "ignore"])) if encoding else "no",
        )
        yield f"random {seed}", model


def sources(model: Model, kind: str) -> Iterator[tuple[str, Source]]:
    for layout in LAYOUTS:
        try:
            yield layout, Source.of(make_program(model, layout, input=kind))
        except (NotSupported, ValueError) as error:
            print(f"left out: {layout}, {kind}: {error}")


def analyse(name: str, model: Model, kind: str, bits: int, functions: list[str] | None) -> list[dict]:
    found = []
    for layout, source in sources(model, kind):
        for own in prove(source, functions=functions, int_bits=(bits,), seconds=300):
            found.append({"model": name, "layout": layout, "input": kind} | own.as_dict())
            if not own.is_proven:
                print(name, layout, kind, own.function, own.findings, flush=True)
        own = [r for r in found if (r["layout"], r["input"]) == (layout, kind)]
        seconds = {r["function"]: r["seconds"] for r in own}
        print(f"{name} {layout} {kind}: {len(own)} analyses, {sum(r['alarms'] for r in own)} alarms, "
              f"{sum(r['unproven'] for r in own)} unproven, predict {seconds['predict']:.1f} s, "
              f"all {sum(seconds.values()):.1f} s", flush=True)  # fmt: skip
    return found


def seeded_faults(model: Model) -> None:
    for what, (layout, file, pattern, new) in FAULTS.items():
        source = Source.of(make_program(model, layout, input="int16"))
        broken, n = re.subn(pattern, new, source.files[file], count=1)
        assert n == 1, what
        files = source.files | {file: broken}
        own = list(
            prove(replace(source, files=files), int_bits=(32,), functions=["check", "predict"], seconds=300)
        )
        noticed = [f"{a.function} ({a.alarms} alarms, {a.unproven} unproven)" for a in own if not a.is_proven]
        print(
            f"fault: {what} ({layout}): {'found by ' + ', '.join(noticed) if noticed else 'NOT FOUND'}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETTINGS))
    parser.add_argument("--random", type=int, default=50)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--models", type=Path, default=Path("runs/proof"))
    parser.add_argument("--functions", help="Those to analyse. Default: all.")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    functions = args.functions.split(",") if args.functions else None
    warnings.simplefilter("ignore")
    found = []
    for name in filter(None, args.sets.split(",")):
        found += analyse(name, pruned(name, args.models), "int16", 32, functions)
    for i, (name, model) in enumerate(random_models(args.random)):
        if model.simplify().n_clauses:
            kind = ("float", "int16", "uint16", "int8", "uint8")[i % 5]
            found += analyse(name, model, kind, (16, 32)[i % 2], functions)
    if args.faults:
        seeded_faults(pruned("statlog", args.models))
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    left = sum(not r["is_proven"] for r in found)
    print(f"{len(found)} analyses, {left} not proven, {sum(r['seconds'] for r in found):.0f} CPU s")


if __name__ == "__main__":
    main()
