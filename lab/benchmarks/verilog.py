"""Gates of pruned machines on the study's nine sets: for lab/notes/verilog.md.

    python lab/benchmarks/verilog.py record --out verilog.jsonl [--sets statlog,har] [--luts 1000,2000]
    python lab/benchmarks/verilog.py check --out verilog.jsonl       # the simulation again
    python lab/benchmarks/verilog.py build --out verilog.jsonl --sets har --target ice40-up5k
    python lab/benchmarks/verilog.py unpruned --sets statlog
    python lab/benchmarks/verilog.py show --out verilog.jsonl

record: two machines are trained and joined, three for statlog. A fifth of the training rows, whole people
where they are known, are held out and choose. The machine is pruned to each bound on lookup tables. Every
test row is simulated, and test rows choose nothing. build: synthesis, place and route of these models for an
FPGA, or with --target xc7 a synthesis for tables of six inputs of the core alone. unpruned: the same for a
machine of 100 clauses a class, T 10 and s 3, that was not pruned.
"""

import argparse
import json
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from ethereal import Booleanizer, EtherealClassifier, Model, datasets
from ethereal.base.splits import hold_out
from ethereal.chips.fpgas import _cells, run_tool
from ethereal.compress import join
from ethereal.device.gates import differences, measure_gates
from ethereal.export.hdl.design import Design
from ethereal.train.paper import PAPER
from ethereal.tuning import BudgetError, prune
from ethereal.tuning.budget import Gates
from ethereal.tuning.choice import Choice
from ethereal.tuning.footprint import in_gates

MACHINES = {"statlog": 3, "mammography": 1}


def options_of(X, args):
    """Return the number type in which rows come in, and how many features at once."""
    return {"bus": args.bus, **({"input": "uint8"} if X.dtype == np.uint8 else {})}


def joined(name, X, y, kept, held, args):
    """Return machines of different seeds as one model, or one machine."""
    models, keywords = [], {}
    for seed in range(1 if args.plain else MACHINES.get(name, 2)):
        machine = EtherealClassifier(
            args.clauses, 20, 5.0, epochs=args.epochs, random_state=seed, n_jobs=1, **keywords
        )
        machine.fit(X[kept], y[kept], eval_set=(X[held], y[held]))
        models.append(machine.model_)
        if machine.model_.fitted is not None:
            keywords = {"booleanizer": Booleanizer(thresholds=models[0].feature_map)}
    return join(models)


def record(args):
    folder = args.out.with_suffix("")
    folder.mkdir(exist_ok=True)
    for name in args.sets:
        begin, data = time.time(), datasets.load(name)
        X, y, classes = data.X_train, data.y_train, np.unique(data.y_train)
        kept, held = hold_out(np.searchsorted(classes, y), 0.2, 0, getattr(data, "groups_train", None))
        model = joined(name, X, y, kept, held, args)
        if args.plain:
            model.save(folder / f"{name}-0.etm")
            continue
        print(name, f"taught in {time.time() - begin:.0f} s", flush=True)
        pruned = prune(model, X[kept], y[kept], validation=(X[held], y[held]), luts=max(args.luts))
        for luts in args.luts:
            with suppress(BudgetError):
                point = Choice(pruned.curve, Gates(luts=luts), in_gates).make()
                point.model.save(folder / f"{name}-{luts}.etm")
        print(name, f"pruned after {time.time() - begin:.0f} s", flush=True)
    check(args)


def kept_models(args):
    """Yield the models that were recorded, with their set and bound."""
    for path in sorted(args.out.with_suffix("").glob("*.etm")):
        name, bound = path.stem.rsplit("-", 1)
        if name in args.sets and int(bound) in ([0] if args.plain else args.luts):
            yield name, int(bound), Model.load(path)


def tell(args, row):
    """Add a row to the results."""
    with args.out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print(row, flush=True)


def check(args):
    for name, bound, model in kept_models(args):
        data, begin = datasets.load(name), time.time()
        design = Design.of(model, **options_of(data.X_test, args))
        n, wrong, sums = differences(design, data.X_test)
        row = {
            "set": name, "bound": bound, "bus": args.bus,
            "test": float((model.predict(data.X_test) == data.y_test).mean()),
            "clauses": model.n_clauses, "includes": model.n_includes,
            "votes": int(np.count_nonzero(model.weights)), "estimate": design.luts, "rows": n, "wrong": wrong,
            "other sums": sums, "clocks": len(design.stream.steps), "latency": design.latency,
            "seconds": round(time.time() - begin),
        }  # fmt: skip
        tell(args, row)


def six(design):
    """Return the lookup tables of six inputs that yosys makes of the core without sums, and flip-flops."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in design.files().items():
            Path(folder, name).write_text(text, encoding="utf-8")
        core = f"{design.name}_core"
        script = f"read_verilog {core}.v; chparam -set SUMS 0 {core}; "
        script += f"synth_xilinx -family xc7 -flatten -top {core}; tee -o stat.txt stat"
        run_tool("yosys", ["-q", "-p", script], Path(folder))
        cells = _cells(Path(folder, "stat.txt").read_text(encoding="utf-8"))
    tables = sum(n for cell, n in cells.items() if cell.startswith("LUT"))
    return {
        "LUT6": tables,
        "FF": sum(n for cell, n in cells.items() if cell.startswith("FD")),
        "estimate": design.core.luts,
    }


def build(args):
    for name, bound, model in kept_models(args):
        begin, options = time.time(), options_of(datasets.load(name).X_test, args)
        if args.target == "xc7":
            row = six(Design.of(model, lut=6, **options))
        else:
            row = measure_gates(model, None, args.target, **options).as_dict()
        row["seconds"] = round(time.time() - begin)
        tell(args, {"set": name, "bound": bound, "bus": args.bus, "build": args.target, **row})


def unpruned(args):
    for name in args.sets:
        data = datasets.load(name)
        booleanizer = Booleanizer(n_bins=PAPER[name].n_bins)
        machine = EtherealClassifier.paper(100, 10, 3.0, random_state=0, booleanizer=booleanizer)
        model = machine.fit(data.X_train, data.y_train).model_
        accuracy = float((model.predict(data.X_test) == data.y_test).mean())
        row = {"set": name, "build": "unpruned", "test": accuracy, "includes": model.n_includes}
        tell(args, row | six(Design.of(model, lut=6, **options_of(data.X_test, args))))


def show(args):
    for row in map(json.loads, args.out.read_text(encoding="utf-8").splitlines()):
        print(" ".join(f"{key}={value}" for key, value in row.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["record", "check", "build", "unpruned", "show"])
    parser.add_argument("--out", type=Path, default=Path("verilog.jsonl"))
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(PAPER))
    parser.add_argument("--luts", type=lambda text: [int(n) for n in text.split(",")], default=[1000])
    parser.add_argument("--target", default="ice40-up5k")
    parser.add_argument("--bus", type=int, default=1, help="features in a transfer")
    parser.add_argument("--clauses", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--plain", action="store_true", help="one machine, not pruned, to be simulated")
    arguments = parser.parse_args()
    globals()[arguments.what](arguments)
