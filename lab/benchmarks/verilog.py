"""Gates of pruned machines on the study's nine sets: for lab/notes/verilog.md.

    python lab/benchmarks/verilog.py record --out verilog.jsonl [--sets statlog,har] [--luts 1000,2000]
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

MACHINES = {"statlog": 3}


def read(name):
    """Return the set with its Booleans where the study compares with one threshold."""
    data = datasets.load(name)
    threshold = PAPER[name].threshold
    if threshold is None:
        return data, data.X_train, data.X_test
    return data, data.X_train > threshold, data.X_test > threshold


def joined(name, X, y, kept, held, n_clauses, epochs):
    """Return machines of different seeds as one model."""
    models, keywords = [], {}
    for seed in range(MACHINES.get(name, 2)):
        machine = EtherealClassifier(
            n_clauses, 20, 5.0, epochs=epochs, random_state=seed, n_jobs=1, **keywords
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
        begin = time.time()
        data, X, X_test = read(name)
        y, classes = data.y_train, np.unique(data.y_train)
        groups = getattr(data, "groups_train", None)
        kept, held = hold_out(np.searchsorted(classes, y), 0.2, 0, groups)
        model = joined(name, X, y, kept, held, args.clauses, args.epochs)
        taught = time.time() - begin
        pruned = prune(model, X[kept], y[kept], validation=(X[held], y[held]), luts=max(args.luts))
        for luts in args.luts:
            try:
                point = Choice(pruned.curve, Gates(luts=luts), in_gates).make()
            except BudgetError:
                continue
            one = point.model
            one.save(folder / f"{name}-{luts}.etm")
            design = Design.of(one)
            n, wrong, sums = differences(design, X_test)
            row = {
                "set": name, "bound": luts, "held out": point.accuracy,
                "test": float((one.predict(X_test) == data.y_test).mean()),
                "joined": float((model.predict(X_test) == data.y_test).mean()),
                "clauses": one.n_clauses, "includes": one.n_includes,
                "votes": int(np.count_nonzero(one.weights)), "estimate": design.luts,
                "rows": n, "wrong": wrong, "other sums": sums, "clocks": len(design.stream.steps),
                "latency": design.latency, "seconds": [round(taught, 1), round(time.time() - begin, 1)],
            }  # fmt: skip
            with args.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(row, flush=True)


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
    for path in sorted(args.out.with_suffix("").glob("*.etm")):
        name, bound = path.stem.rsplit("-", 1)
        if name not in args.sets or int(bound) not in args.luts:
            continue
        begin, model = time.time(), Model.load(path)
        if args.target == "xc7":
            found = six(Design.of(model, lut=6))
        else:
            found = measure_gates(model, None, args.target).as_dict()
        row = {
            "set": name,
            "bound": int(bound),
            "build": args.target,
            **found,
            "seconds": round(time.time() - begin),
        }
        with args.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


def unpruned(args):
    for name in args.sets:
        data, X, X_test = read(name)
        n_bins = PAPER[name].n_bins
        keywords = {} if PAPER[name].threshold else {"booleanizer": Booleanizer(n_bins=n_bins)}
        machine = EtherealClassifier.paper(100, 10, 3.0, random_state=0, **keywords).fit(X, data.y_train)
        model = machine.model_
        row = {"set": name, "build": "unpruned", "test": float((model.predict(X_test) == data.y_test).mean()),
               "includes": model.n_includes, **six(Design.of(model, lut=6))}  # fmt: skip
        with args.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


def show(args):
    for row in map(json.loads, args.out.read_text(encoding="utf-8").splitlines()):
        print(" ".join(f"{key}={value}" for key, value in row.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["record", "build", "unpruned", "show"])
    parser.add_argument("--out", type=Path, default=Path("verilog.jsonl"))
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(PAPER))
    parser.add_argument("--luts", type=lambda text: [int(n) for n in text.split(",")], default=[1000])
    parser.add_argument("--target", default="ice40-up5k")
    parser.add_argument("--clauses", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=30)
    arguments = parser.parse_args()
    globals()[arguments.what](arguments)
