"""Mutation testing with cosmic-ray: small changes to the code that some test must notice.

    python tools/mutants.py [--sample 60] [--seed 0] [MODULE...]

A copy of the package and its tests in build/mutants is changed, one change at a time, and the tests of the
module are run. A change that they do not notice survives and is printed with its place. All changes of all
modules take hours; `--sample` takes so many of each module at random, 0 all of them.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "mutants"
# Modules, and the tests that should notice.
SUBJECTS = {
    "booleanize": (["booleanize.py", "layout.py"], ["test_booleanize.py"]),
    "model": (
        ["model.py", "_model_data.py", "_model_checks.py"],
        ["test_model.py", "test_rules.py", "test_files.py"],
    ),
    "compress": (
        ["compress/simplify.py", "compress/shorten.py", "compress/footprint.py", "compress/prune.py"],
        ["test_simplify.py", "test_shorten.py", "test_pruner.py", "test_prune.py", "test_join.py"],
    ),
    "encode": (
        [
            *("encode/__init__.py", "encode/container.py", "encode/redress.py", "clauses.py"),
            *("encode/compact/reader.py", "encode/compact/writer.py", "encode/compact/stream.py"),
        ],
        ["test_encode_bytes.py", "test_encode_redress.py", "test_encode_compact.py"],
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("subjects", nargs="*", metavar="MODULE", help=", ".join(SUBJECTS))
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for name in args.subjects or SUBJECTS:
        copy_tree()
        test(name, args.sample, args.seed)


def copy_tree() -> None:
    from ethereal import _native

    shutil.rmtree(WORK, ignore_errors=True)
    for folder in ("src/ethereal", "tests"):
        shutil.copytree(ROOT / folder, WORK / folder, ignore=shutil.ignore_patterns("__pycache__", "native"))
    shutil.copy(_native.__file__, WORK / "src" / "ethereal")


def test(name: str, sample: int, seed: int) -> None:
    from cosmic_ray.work_db import use_db
    from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult

    modules, tests = SUBJECTS[name]
    session, config = WORK / f"{name}.sqlite", WORK / f"{name}.toml"
    paths = ", ".join(f'"src/ethereal/{module}"' for module in modules)
    # -S: without the editable install, which would find the unchanged package.
    pytest = f"{sys.executable} -S -m pytest -x -q -p no:cacheprovider -p no:randomly"
    config.write_text(
        f"[cosmic-ray]\nmodule-path = [{paths}]\ntimeout = 600.0\nexcluded-modules = []\n"
        f'test-command = "{pytest} {" ".join(f"tests/{t}" for t in tests)}"\n'
        '[cosmic-ray.distributor]\nname = "local"\n'
    )
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(WORK / "src"), sysconfig.get_path("platlib")]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [str(Path(sys.executable).with_name("cosmic-ray"))]
    quiet = {"cwd": WORK, "env": environment, "check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([*command, "baseline", str(config)], **quiet)  # unchanged, the tests pass
    subprocess.run([*command, "init", str(config), str(session)], **quiet)
    with use_db(session) as database:
        jobs = sorted(item.job_id for item in database.work_items)
        chosen = set(random.Random(seed).sample(jobs, min(sample or len(jobs), len(jobs))))
        for job in jobs:
            if job not in chosen:
                database.set_result(job, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))
    subprocess.run([*command, "exec", str(config), str(session)], **quiet)
    survivors, counted = [], 0
    with use_db(session) as database:
        for job, result in database.results:
            if job in chosen:
                counted += 1
                if result.test_outcome == TestOutcome.SURVIVED:
                    survivors.append(result.diff)
    print(f"{name}: {len(jobs)} changes, {counted} tried, {counted - len(survivors)} noticed", flush=True)
    for diff in survivors:
        print("\n".join(line for line in (diff or "").splitlines() if not line.startswith(" ")), flush=True)


if __name__ == "__main__":
    main()
