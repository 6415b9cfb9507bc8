"""Coverage-guided fuzzing of everything that reads bytes (tests/support/fuzz_targets.py), with atheris.

    python tools/fuzz.py [--seconds 60] [TARGET...]      # fuzz each target that long
    python tools/fuzz.py --keep [TARGET...]              # add the few that reach new code to tests/corpus
    python tools/fuzz.py --seeds                         # write the seeds of tests/corpus anew

Starts from tests/corpus/TARGET. What it discovers on the way lies in build/fuzz/TARGET and is used again by
the next run. An input that makes a target fail is written to tests/corpus/TARGET/crash-*: keep it there once
it is fixed, test_fuzz.py replays the folder in every test run.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "corpus"
LAUNCHER = ROOT / "build" / "fuzz" / "run"  # libFuzzer starts itself anew to merge
sys.path.insert(0, str(ROOT / "tests" / "support"))


def main() -> None:
    if target := os.environ.get("FUZZ_TARGET"):
        fuzz(target)
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all of them without")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--seeds", action="store_true")
    args = parser.parse_args()
    if args.seeds:
        write_seeds()
        return
    from fuzz_targets import TARGETS

    failed = []
    site = plain_site()
    LAUNCHER.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{__file__}" "$@"\n')
    LAUNCHER.chmod(0o755)
    for target in args.targets or TARGETS:
        folder_there = ROOT / "build" / "fuzz" / target
        folder_there.mkdir(parents=True, exist_ok=True)
        options = {
            **({"set_cover_merge": 1, "use_counters": 0} if args.keep else {"max_total_time": args.seconds}),
            "max_len": 4096,
            "timeout": 10,
            "rss_limit_mb": 2048,
            "artifact_prefix": f"{CORPUS / target}/",
            "print_final_stats": 1,
        }
        folders = [str(folder_there), str(CORPUS / target)][
            :: -1 if args.keep else 1
        ]  # what is new goes to the first
        command = [str(LAUNCHER), *(f"-{k}={v}" for k, v in options.items()), *folders]
        environment = os.environ | {
            "FUZZ_TARGET": target,
            "PYTHONPATH": os.pathsep.join([str(site), sysconfig.get_path("platlib")]),
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        stats = dict(
            line.removeprefix("stat::").split(":") for line in done.stderr.splitlines() if "stat::" in line
        )
        coverage = [line for line in done.stderr.splitlines() if " cov: " in line][-1:]
        reached = coverage[0].split(" cov: ")[1].split()[0] if coverage else "?"
        executed = stats.get("number_of_executed_units", "?").strip()
        added = re.findall(r"(\d+) new files with", done.stderr)[-1:]
        did = f"{added[0]} inputs added" if added else f"{executed} inputs, {reached} branches reached"
        print(f"{target}: {did}, exit {done.returncode}", flush=True)
        if done.returncode:
            failed.append(target)
            print(done.stderr[-4000:])
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


def plain_site() -> Path:
    """The packages as plain files: atheris cannot instrument what an editable install's loader loads."""
    from ethereal import _native

    site, source = ROOT / "build" / "fuzz" / "site", ROOT / "src"
    (site / "ethereal").mkdir(parents=True, exist_ok=True)
    links = {site / "ethereal" / path.name: path for path in (source / "ethereal").iterdir()}
    links |= {site / path.name: path for path in source.glob("ethereal_*")}
    links[site / "ethereal" / Path(_native.__file__).name] = Path(_native.__file__)
    for link, path in links.items():
        link.unlink(missing_ok=True)
        link.symlink_to(path)
    return site


def fuzz(target: str) -> None:
    """In this process, with libFuzzer's arguments."""
    import atheris

    with atheris.instrument_imports(include=["ethereal", "ethereal_study", "zipfile", "csv", "json"]):
        from fuzz_targets import TARGETS
    atheris.Setup([str(LAUNCHER), *sys.argv[1:]], TARGETS[target])
    atheris.Fuzz()


def write_seeds() -> None:
    """One or two small whole files of each kind."""
    import numpy as np
    import pandas as pd

    from dataset_archives import (
        emg_files,
        gas_files,
        gesture_files,
        mammography_files,
        sensorless_files,
        statlog_files,
        zipped,
    )
    from ethereal import Booleanizer, Model
    from ethereal.model import Number
    from ethereal.model.clauses import Clauses, plain_votes
    from ethereal.model.codes import compact, redress, to_bytes
    from ethereal.model.file import to_file_bytes
    from ethereal.train.automata import Snapshot
    from ethereal.train.checkpoint import Checkpoint, Progress
    from ethereal_study.store import Cell, Store
    from fuzz_targets import FOLDER

    plain = Model([0, 3, 1], [0, 2, 3], [[0, 1], [2, -1]], n_booleans=2, classes=["no", "yes"])
    booleanizer = Booleanizer(thresholds=[[1.0, 2.5], [0.25]], missing="ignore").fit([[0.0, 1.0]])
    raw = Model(
        [0, 2, 4, 5],
        [0, 2, 3, 4],
        [[1, 0], [0, -3], [2, 1]],
        n_booleans=3,
        classes=[0, 1],
        booleanizer=booleanizer,
        feature_names=["a", "b"],
        boolean_rates=[0.1, 0.2, 0.3],
    )
    seeds: dict[str, list[bytes]] = {"etm": [], "container": [], "compact_code": [], "redress_words": []}
    number = Model.of(
        raw.clauses.voting(raw.weights[:, :1]), output=Number(0.25, 0.1), booleanizer=raw.fitted
    )
    seeds["etm"].append(to_file_bytes(number))
    for model in (plain, raw):
        seeds["etm"].append(to_file_bytes(model))
        seeds["container"] += [to_bytes(model, "compact"), to_bytes(model, "redress")]
        stream = compact.payload(model)
        head = stream.choices.to_bytes(2, "little") + bytes([model.n_booleans, model.n_classes - 1])
        seeds["compact_code"].append(head + stream.data)
        words, counts = redress.words(model)
        seeds["redress_words"].append(bytes([len(counts), *counts.tolist()]) + words.astype("<u2").tobytes())
    seeds["redress_text"] = ["#".join(redress.write_text(model)).encode() for model in (plain, raw)]
    table = "a,b,label\n1,2.5,x\n?,3,y\n-1e3,,z\n"
    seeds["csv"] = [table.encode(), table.replace(",", ";").encode(), b'"a b","c ""d"""\r\ntrue,1\r\n']
    frame = pd.DataFrame({"a": [1.0, 2.0], "label": ["x", "y"]})
    seeds["parquet"] = [frame.to_parquet()]
    for name, arrays in (
        ("npy", {"X": np.arange(6.0).reshape(3, 2)}),
        (
            "npz",
            {
                "X": np.arange(6.0).reshape(3, 2),
                "y": np.array([0, 1, 1], np.int16),
                "test": np.array([False, True, False]),
                "class_names": np.array(["x", "y"]),
            },
        ),
    ):
        buffer = io.BytesIO()
        if name == "npy":
            np.save(buffer, arrays["X"])
        else:
            np.savez_compressed(buffer, **arrays)
        seeds[name] = [buffer.getvalue()]
    inner = zipped({"deep/a.txt": "1 2 3\n"})
    seeds["archive"] = [zipped({"d/a.txt": "1 2\n", "in.zip": inner, "../out.txt": "x"})]
    seeds["gz"] = [gzip.compress(b"some text", mtime=0), b"plain"]
    files = (
        emg_files(1, 300),
        gas_files(1),
        gesture_files(2),
        mammography_files(4),
        sensorless_files(1),
        statlog_files(2),
    )
    names = ("raw_data", "batch1.", "a1_raw", "masses.data", "Sensorless", "xaa")
    seeds["dataset_text"] = []
    for i, (members, name) in enumerate(zip(files, names, strict=True)):
        text = next(text for path, text in members.items() if name in path)
        seeds["dataset_text"].append(bytes([i]) + (text if isinstance(text, bytes) else text.encode())[:4000])
    kept = Checkpoint(FOLDER / "seed", "an identity")
    states = np.zeros((2, 2, 4), np.uint8)
    chosen = Snapshot(Clauses([0], [0, 1, 1, 1, 1], plain_votes(2, 2), 2), 0.5, 1, states)
    kept.save(Progress(states, 1, [{"epoch": 1}], [chosen]))
    seeds["checkpoint"] = [kept.path.read_bytes()[:-32]]
    store, cell = Store(FOLDER / "store"), Cell("har", "ethereal", "honest", 0)
    store.put(cell, {}, {"accuracy": 0.5}, None)
    seeds["results"] = [(store.folder / f"{cell.key}.json").read_bytes(), json.dumps({"epochs": 5}).encode()]
    for target, contents in seeds.items():
        (CORPUS / target).mkdir(parents=True, exist_ok=True)
        for i, content in enumerate(contents):
            (CORPUS / target / f"seed-{i}").write_bytes(content)


if __name__ == "__main__":
    main()
