"""Random budgets, kept or not: prune to each, then compile and execute what `export.c` writes.

    python benchmarks/budget_holds.py --budgets 50 --out budget

Flash (512-8192 bytes), instructions (1024-65536) and RAM (256-4096) on digits, statlog and mammography. The
files that are compiled are those of the exported folder, apart from how `prune` measures. Each budget is a
cell in a JSON file in --out; cells that are there are not computed again.
"""

import argparse
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from budget import TARGET, booleanizer, cell, share, split
from ethereal import Booleanizer, EtherealClassifier, datasets, device, export
from ethereal.study.settings import SETTINGS
from ethereal.tuning import BudgetError, prune

SETS = ("digits", "statlog", "mammography")


def budget_cell(out, name, index):
    """One random budget: prune to it, then compile and execute what export.c would write."""
    rng = np.random.default_rng([index, *name.encode()])
    budget = {
        "max_bytes": int(2 ** rng.uniform(9, 13)),
        "max_instructions": int(2 ** rng.uniform(10, 16)),
        "max_ram": int(2 ** rng.uniform(8, 12)),
    }
    model, train, held_out = machine_of(name)
    try:
        found = prune(model, *train, validation=held_out, random_state=index, **budget)
    except BudgetError as error:
        return {**budget, "fits": False, "told": str(error)}
    took, answers = exported(found.model, found.footprint, held_out[0])
    exceeded = [key for key in budget if took[key] > budget[key]]
    expected = found.model.class_sums(held_out[0][: len(answers)].astype(np.float32)).argmax(axis=1)
    return {**budget, "fits": True, "took": took, "exceeded": exceeded, "accuracy": found.accuracy,
            "agreement": share(answers, expected)}  # fmt: skip


def exported(model, footprint, X):
    """What the files that `export.c` writes take, compiled, and their answers on up to 200 rows."""
    with tempfile.TemporaryDirectory() as folder:
        form = {"layout": footprint.layout, "clause_bytes": footprint.clause_bytes}
        path = export.c(model, Path(folder) / "c", **form)
        sources = {p.name: p.read_text() for p in path.iterdir() if p.suffix in (".c", ".h")}
    del sources["model_test.c"]
    chip = device.find_target(TARGET)
    elf = device.compile_elf(sources, chip, ["model_predict", "model_check"], optimize="-Os")
    core = device.EmulatedCore(elf, chip)
    answers, counts = core.call_by_row("model_predict", X[:200].astype(np.float32))
    took = {
        "max_bytes": elf.code_bytes + elf.table_bytes,
        "max_instructions": float(np.mean(counts)),
        "max_ram": elf.ram_bytes + core.stack_bytes,
    }
    return took, answers


@cache
def machine_of(name):
    """A machine to prune: 8 bins, the study's clauses, T and s where it has the set."""
    if name == "digits":
        data = datasets.load("digits")
        parts = train_test_split(
            data.X_train, data.y_train, test_size=0.2, stratify=data.y_train, random_state=0
        )
        train, held_out = (parts[0], parts[2]), (parts[1], parts[3])
        clf = EtherealClassifier(60, 10, 5.0, epochs=20, booleanizer=Booleanizer(8), random_state=0)
        return clf.fit(*train, validation_set=held_out).model_, train, held_out
    train, held_out = split(name, 0)
    own = SETTINGS[name]
    clf = EtherealClassifier(own.n_clauses, own.T, own.s, epochs=20, exclude_every=own.exclude_every,
                             booleanizer=booleanizer(name, 8, train[0]), random_state=0)  # fmt: skip
    return clf.fit(*train, validation_set=held_out).model_, train, held_out


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budgets", type=int, default=50)
    parser.add_argument("--out", type=Path, default=Path("budget"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    names = [SETS[i % len(SETS)] for i in range(options.budgets)]
    found = [cell(options.out, f"holds-{n}-{i}", budget_cell, n, i) for i, n in enumerate(names)]
    made = [f for f in found if f["fits"]]
    print(
        f"{len(found)} budgets, {len(made)} with a model, "
        f"{sum(bool(f['exceeded']) for f in made)} exceeded, "
        f"{sum(f['agreement'] < 1 for f in made)} with another answer than the host's"
    )


if __name__ == "__main__":
    main()
