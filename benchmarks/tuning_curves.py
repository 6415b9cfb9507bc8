"""What bins, clauses, T, s and k do, one at a time: the figure of docs/tuning.md.

    python benchmarks/tuning_curves.py --out curves --figure docs/tuning.png

Everything else stays at 8 thermometer bins, 100 clauses per class, T = sqrt(clauses / 2), s = 5, k = 1 and 25
epochs.
Accuracy is that of a fifth of the training rows, the mean over the last five epochs and over seeds; test rows
are not used. Finished points stay in --out.
"""

import argparse
import json
import math
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.model_selection import train_test_split

from ethereal import Booleanizer, EtherealClassifier, datasets
from ethereal.base.atomic import open_atomically, write_text
from ethereal.study.cells import prepare
from ethereal.study.settings import SETTINGS

SETS = {"statlog": 6, "gas": 2, "emg": 2, "gesture": 2}  # seeds each
EPOCHS = 25
BASE = {"bins": 8, "clauses": 100, "T_factor": 1.0, "s": 5.0, "k": 1}
VALUES = {
    "bins": (2, 3, 4, 6, 8, 12, 16, 24),
    "clauses": (10, 20, 50, 100, 200, 400),
    "T_factor": (0.25, 0.5, 1.0, 2.0, 4.0),
    "s": (2.0, 3.0, 5.0, 8.0, 12.0, 20.0),
    "k": (1, 2, 3, 5, 10, None),
}
LABELS = {
    "bins": "thermometer bins per feature",
    "clauses": "clauses per class",
    "T_factor": "T / sqrt(clauses / 2)",
    "s": "s",
    "k": "k, epochs between exclusions",
}


def point(out, name, change):
    """Accuracy and includes of one setting."""
    setting = BASE | change
    key = "-".join([name, *(f"{k}{v}" for k, v in setting.items())])
    path = out / f"{key}.json"
    if path.exists():
        return json.loads(path.read_text())
    rows = prepare(datasets.load(name), SETTINGS[name], "honest")
    X, y = rows.X[~rows.test], rows.y[~rows.test]
    found = []
    for seed in range(SETS[name]):
        X_train, X_held, y_train, y_held = train_test_split(
            X, y, test_size=0.2, stratify=y, random_state=seed
        )
        clf = EtherealClassifier(
            setting["clauses"],
            max(1, round(setting["T_factor"] * math.sqrt(setting["clauses"] / 2))),
            setting["s"],
            epochs=EPOCHS,
            exclude_every=setting["k"],
            booleanizer=Booleanizer(setting["bins"]),
            random_state=seed,
        ).fit(X_train, y_train, validation_set=(X_held, y_held))
        last = [r for r in clf.history_ if r["phase"] == "train"][-5:]
        found.append([np.mean([r[c] for r in last]) for c in ("validation_accuracy", "includes")])
    accuracy, includes = np.mean(found, axis=0).tolist()
    write_text(path, json.dumps({"accuracy": accuracy, "includes": includes}))
    return {"accuracy": accuracy, "includes": includes}


def figure(found, sets):
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style = {"font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
             "grid.color": "0.9", "axes.axisbelow": True}  # fmt: skip
    with rc_context(style):
        drawing = Figure(figsize=(13, 4.6), layout="constrained", dpi=110)
        panels = drawing.subplots(2, len(VALUES), sharex="col", sharey="row")
        for column, (parameter, values) in enumerate(VALUES.items()):
            above, below = panels[:, column]
            for name, marker, line in zip(sets, "osD^", ("-", "--", "-.", ":"), strict=False):
                points = [found[name, parameter, v] for v in values]
                x = range(len(values))
                above.plot(x, [100 * p["accuracy"] for p in points], marker + line, markersize=4, label=name)
                below.plot(x, [p["includes"] for p in points], marker + line, markersize=4)
            below.set_yscale("log")
            below.set_xticks(range(len(values)), ["never" if v is None else f"{v:g}" for v in values])
            below.set_xlabel(LABELS[parameter])
        panels[0, 0].set_ylabel("validation accuracy [%]")
        panels[1, 0].set_ylabel("includes")
        panels[0, 0].legend(frameon=False)
    return drawing


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("curves"))
    parser.add_argument("--figure", type=Path, default=Path("tuning.png"))
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--sets", default=",".join(SETS))
    options = parser.parse_args()
    sets = options.sets.split(",")
    options.out.mkdir(parents=True, exist_ok=True)
    end, found = time.monotonic() + 60 * options.minutes, {}
    for name in sets:
        for parameter, values in VALUES.items():
            for value in values:
                if time.monotonic() > end:
                    raise SystemExit("time is up; the same command goes on")
                found[name, parameter, value] = point(options.out, name, {parameter: value})
    with open_atomically(options.figure) as file:
        figure(found, sets).savefig(file, format="png")
    for parameter, values in VALUES.items():
        for value in values:
            told = "  ".join(
                f"{name} {100 * found[name, parameter, value]['accuracy']:.1f} % "
                f"{found[name, parameter, value]['includes']:.0f}"
                for name in sets
            )
            print(f"{parameter} {value}: {told}")


if __name__ == "__main__":
    main()
