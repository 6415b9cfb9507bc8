"""Prove pruned models of the study's sets and random models in every layout, and find seeded faults.

    python lab/benchmarks/proof.py [--sets statlog,har] [--sizes 8000] [--random 50] [--faults] [--models F]
    python lab/benchmarks/proof.py --learning
    python lab/benchmarks/proof.py --table

Models of the sets are trained quickly (4,000 rows, 10 epochs) and pruned to 8,000, 1,000 and 2,000 bytes of
flash. The folder keeps models and results, so that a stopped run continues. `--learning` proves all functions
of small exports that learn instead. `--table` shows the results so far. lab/notes/proof.md has the figures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethereal import Model, datasets, prune
from ethereal.device.proof import Source, prove
from ethereal.export import LAYOUTS
from ethereal.export.c99.choose import programs
from ethereal.export.c99.program import Program, make_program
from ethereal.export.options import ExportOptions
from ethereal.features.window_features import WindowFeatures
from ethereal.model.needs import NotSupported
from ethereal_study.settings import SETTINGS

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from old_ranges import with_ranges
from random_models import random_model
from windows import everything, hard_windows, model_of

ROWS, EPOCHS, SIZES = 4000, 10, (8000, 1000, 2000)
MOST_BYTES = 40_000  # in `redress`, which repeats a clause by its weight, random models may take far more
KINDS = ("float", "int16", "uint16", "int8", "uint8")
FIRST, OTHERS, SECONDS = ("check", "predict"), ("class_sums", "predict_batch"), 300
LEARNING: dict[str, dict[str, Any]] = {
    "votes": {"guard": False},
    "guard": {},
    "bias": {"learn": "bias"},
    "new class": {"classes": 1, "anchors": 2},
}
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


def trained(name: str, folder: Path) -> tuple[Model, NDArray[Any], NDArray[Any]]:
    """The quick machine of a set, trained once, with the rows that it saw."""
    data, settings, kept = datasets.load(name), SETTINGS[name], folder / f"{name}.etm"
    pick = np.random.default_rng(0).permutation(len(data.X_train))[:ROWS]
    X, y = data.X_train[pick], data.y_train[pick]
    if not kept.exists():
        machine = settings.machine(epochs=EPOCHS, random_state=0, booleanizer=settings.booleanizer())
        folder.mkdir(parents=True, exist_ok=True)
        machine.fit(X, y).model_.save(kept)
    return Model.load(kept), X, y


def pruned(name: str, size: int, folder: Path) -> Model:
    """The machine of a set within so many bytes of flash, pruned once."""
    kept = folder / f"{name}-{size}.etm"
    if not kept.exists():
        model, X, y = trained(name, folder)
        prune(model, X, y, flash=size).model.save(kept)
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


def other_models() -> Iterator[tuple[str, Model, str, dict[str, Any], tuple[str, ...]]]:
    """Small models with something besides: name, model, layout, options, and what is analysed."""
    model, X = random_model(21, missing="some", n_features=4, n_clauses=12)
    seen = with_ranges(model, X[:40]).with_unknown(2)
    for layout in LAYOUTS:
        functions = ("check", "predict", "class_sums", "predict_batch", "novelty", "drift", "names")
        yield "unknown, novelty, drift", seen, layout, {"with_names": True}, functions
    checks = {name: getattr(model, name) for name in ("n_booleans", "classes", "booleanizer")}
    early = Model(model.literals, model.offsets, model.weights, early=[(4, 2), (9, 1)], **checks)
    for kind in ("float", "int16"):
        yield "early answers", early, "straight", {"input": kind}, FIRST + OTHERS
    windows = hard_windows(64)
    moves = model_of(everything().fit(windows), windows)
    sounds = np.random.default_rng(0).integers(-32768, 32768, (19, 1024, 1)).astype(np.int16)
    spoken = model_of(WindowFeatures(["mel"], rate=8000).fit(sounds), sounds)
    for name, windowed, layout in (("windows", moves, "fast"), ("mel", spoken, "compact")):
        yield name, windowed, layout, {"majority": 3}, ("window", "push")


@dataclass(frozen=True)
class Job:
    """One export, and what is analysed of it."""

    name: str
    model: Model
    layout: str
    bits: int  # of an int
    functions: tuple[str, ...]  # none: all that there are
    options: dict[str, Any]

    def program(self) -> Program:
        """Return the export, which may learn."""
        if "learn" not in self.options:
            return make_program(self.model, self.layout, **self.options)
        every = programs(self.model, ExportOptions.of("proof", self.options))
        return next(program for program, _ in every if program.layout == self.layout)


def jobs(sets: list[str], all_sizes: list[int], n_random: int, folder: Path) -> Iterator[Job]:
    """All exports, such that a run that is stopped early has something of every set and of every layout."""

    def exports(sizes: Iterable[int], kind: str, bits: int, functions: tuple[str, ...]) -> Iterator[Job]:
        for name, size, layout in product(sets, sizes, LAYOUTS):
            model = pruned(name, size, folder)
            yield Job(f"{name}-{size}", model, layout, bits, functions, {"input": kind})

    for size in all_sizes:
        yield from exports([size], "int16", 32, FIRST)
    for i, (name, model) in enumerate(random_models(n_random)):
        for layout in LAYOUTS:
            yield Job(name, model, layout, (16, 32)[i % 2], FIRST, {"input": KINDS[i % len(KINDS)]})
    for bits, (name, model, layout, options, functions) in product((16, 32), other_models()):
        yield Job(name, model, layout, bits, functions, options)
    yield from exports(all_sizes, "float", 32, ("predict",))
    yield from exports(all_sizes, "int16", 16, ("predict",))
    yield from exports(all_sizes, "int16", 32, OTHERS)
    yield from exports(all_sizes, "int16", 16, ("check", *OTHERS))
    yield from exports(all_sizes, "float", 32, ("check", *OTHERS))
    yield from exports(all_sizes, "float", 16, FIRST + OTHERS)


def learning_jobs() -> Iterator[Job]:
    """Small exports that learn: both layouts, all forms of the rule, both kinds of int."""
    model, X = random_model(1, n_features=3, n_clauses=8)
    for bits, layout, (what, learning) in product((32, 16), ("branches", "lists"), LEARNING.items()):
        options = {"learn": "votes", "learn_rows": 3, "margin": 3, **learning}
        if "anchors" in options:
            rows = X[-options["anchors"] :]
            options["anchors"] = rows, model.predict(rows)
        yield Job(f"learning, {what}", model, layout, bits, (), options)


def run(todo: Iterable[Job], results: Path) -> None:
    """Analyse what the results do not have yet, and append a line for each analysis."""
    keys = ("model", "layout", "input", "int_bits", "function", "digest")
    done = {tuple(record[key] for key in keys) for record in read(results)}
    for job in todo:
        kind = job.options.get("input", "float")
        try:
            program = job.program()
        except (NotSupported, ValueError) as error:
            print(f"left out: {job.name}, {job.layout}, {kind}: {error}", flush=True)
            continue
        if program.flash_bytes > MOST_BYTES:
            print(f"left out: {job.name}, {job.layout}, {kind}: {program.flash_bytes} bytes", flush=True)
            continue
        source = Source.of(program)
        for function in job.functions or source.functions:
            text = json.dumps([source.harness(function), source.files], sort_keys=True)
            about = {"model": job.name, "layout": job.layout, "input": kind, "bytes": program.flash_bytes}
            about |= {"digest": hashlib.sha256(text.encode()).hexdigest()[:16]}
            if tuple((about | {"int_bits": job.bits, "function": function})[key] for key in keys) in done:
                continue
            (analysis,) = prove(source, functions=[function], int_bits=(job.bits,), seconds=SECONDS)
            with results.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(about | analysis.as_dict()) + "\n")
            which = f"{job.name} {job.layout} {kind} int{job.bits} {function}"
            counts = f"{analysis.alarms} alarms, {analysis.unproven} unproven, {analysis.seconds:.1f} s"
            print(f"{which}: {counts}", *analysis.findings, flush=True)


def read(results: Path) -> list[dict[str, Any]]:
    """The newest record of each analysis, of which there may be none yet."""
    text = results.read_text(encoding="utf-8") if results.exists() else ""
    records = [json.loads(line) for line in text.splitlines()]
    keys = ("model", "layout", "input", "int_bits", "function")
    return list({tuple(record[key] for key in keys): record for record in records}.values())


def table(records: list[dict[str, Any]]) -> str:
    """What was found, a line for each model. All random models are one."""
    models: dict[str, list[dict[str, Any]]] = {}
    for r in records:
        models.setdefault("random" if r["model"].startswith("random") else r["model"], []).append(r)
    lines = ["| model | bytes | layouts | input, int | analyses | alarms | not proven | slowest | CPU s |"]
    lines.append("|---|---:|---:|---|---:|---:|---:|---|---:|")
    for name, model in models.items():
        slowest = max(model, key=lambda r: r["seconds"])
        kinds = sorted({f"{r['input']} {r['int_bits']}" for r in model})
        lines.append(
            f"| {name} | {min(r['bytes'] for r in model):,}-{max(r['bytes'] for r in model):,} "
            f"| {len({r['layout'] for r in model})} | {', '.join(kinds)} | {len(model)} "
            f"| {sum(r['alarms'] for r in model)} | {sum(not r['is_proven'] for r in model)} "
            f"| {slowest['seconds']:.1f} ({slowest['layout']}, {slowest['function']}) "
            f"| {sum(r['seconds'] for r in model):.0f} |"
        )
    return "\n".join(lines)


def seeded_faults(model: Model) -> None:
    for what, (layout, file, pattern, new) in FAULTS.items():
        source = Source.of(make_program(model, layout, input="int16"))
        broken, n = re.subn(pattern, new, source.files[file], count=1)
        assert n == 1, what
        files = source.files | {file: broken}
        analyses = list(
            prove(replace(source, files=files), int_bits=(32,), functions=["check", "predict"], seconds=300)
        )
        noticed = [
            f"{a.function} ({a.alarms} alarms, {a.unproven} unproven)" for a in analyses if not a.is_proven
        ]
        print(
            f"fault: {what} ({layout}): {'found by ' + ', '.join(noticed) if noticed else 'NOT FOUND'}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETTINGS))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--random", type=int, default=50)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--learning", action="store_true", help="Prove small exports that learn instead.")
    parser.add_argument("--models", type=Path, default=Path("runs/proof"))
    parser.add_argument("--table", action="store_true", help="Show what was found, and analyse nothing.")
    args = parser.parse_args()
    results = args.models / "results.jsonl"
    warnings.simplefilter("ignore")
    if not args.table:
        if args.faults:
            seeded_faults(pruned("statlog", 2000, args.models))
        sets, sizes = args.sets.split(","), args.sizes.split(",")
        named = [name for name in sets if name]
        todo = jobs(named, [int(size) for size in sizes], args.random, args.models)
        args.models.mkdir(parents=True, exist_ok=True)
        run(learning_jobs() if args.learning else todo, results)
    records = read(results)
    print(table(records))
    left = sum(not r["is_proven"] for r in records)
    print(f"{len(records)} analyses, {left} not proven, {sum(r['seconds'] for r in records):.0f} CPU s")


if __name__ == "__main__":
    main()
