"""What bins, clauses, T, s and k do, one at a time: the figure of lab/notes/tuning.md.

    python lab/benchmarks/tuning_curves.py --out curves --figure lab/notes/tuning.png

Every other setting stays at its value in BASE. The accuracy is that of a fifth of the training rows, the mean
over the last five epochs and over seeds. Test rows are not used. Finished points stay in --out.
"""

import argparse
import json
import math
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.model_selection import train_test_split

from ethereal import Booleanizer, EtherealClassifier, datasets
from ethereal.base.atomic import open_atomically, write_text
from ethereal.base.plotting import new_figure, style
from ethereal_study.cells import prepare
from ethereal_study.settings import SETTINGS

SETS = {"statlog": 6, "gas": 2, "emg": 2, "gesture": 2}  # seeds each
BASE = {"bins": 8, "clauses": 100, "T_factor": 1.0, "s": 5.0, "k": 1}
VALUES = {  # label and values
    "bins": ("thermometer bins per feature", (2, 3, 4, 6, 8, 12, 16, 24)),
    "clauses": ("clauses per class", (10, 20, 50, 100, 200, 400)),
    "T_factor": ("T / sqrt(clauses / 2)", (0.25, 0.5, 1.0, 2.0, 4.0)),
    "s": ("s", (2.0, 3.0, 5.0, 8.0, 12.0, 20.0)),
    "k": ("k, epochs between exclusions", (1, 2, 3, 5, 10, None)),
}


def point(out, name, change):
    """Return accuracy and includes of one setting."""
    setting = BASE | change
    path = out / ("-".join([name, *(f"{k}{v}" for k, v in setting.items())]) + ".json")
    if path.exists():
        return json.loads(path.read_text())
    rows = prepare(datasets.load(name), SETTINGS[name], "honest")
    collected = []
    for seed in range(SETS[name]):
        train, held, y_train, y_held = train_test_split(
            rows.X_train, rows.y_train, test_size=0.2, stratify=rows.y_train, random_state=seed
        )
        clf = EtherealClassifier.paper(
            setting["clauses"],
            max(1, round(setting["T_factor"] * math.sqrt(setting["clauses"] / 2))),
            setting["s"],
            epochs=25,
            exclude_every=setting["k"],
            booleanizer=Booleanizer(setting["bins"]),
            random_state=seed,
        ).fit(train, y_train, validation_set=(held, y_held))
        last = [r for r in clf.history_ if r["phase"] == "train"][-5:]
        collected.append([np.mean([r[c] for r in last]) for c in ("validation_accuracy", "includes")])
    result = dict(zip(("accuracy", "includes"), np.mean(collected, axis=0).tolist(), strict=True))
    write_text(path, json.dumps(result))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("curves"))
    parser.add_argument("--figure", type=Path, default=Path("tuning.png"))
    parser.add_argument("--sets", default=",".join(SETS))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    looks = dict(zip(options.sets.split(","), ("o-", "s--", "D-.", "^:"), strict=False))
    with style():
        drawing = new_figure(13, 4.6)
        panels = drawing.subplots(2, len(VALUES), sharex="col", sharey="row")
        for (above, below), (parameter, (label, values)) in zip(panels.T, VALUES.items(), strict=True):
            names = ["never" if v is None else f"{v:g}" for v in values]
            for name, look in looks.items():
                points = [point(options.out, name, {parameter: value}) for value in values]
                above.plot([100 * p["accuracy"] for p in points], look, markersize=4, label=name)
                below.plot([p["includes"] for p in points], look, markersize=4)
                for value, p in zip(names, points, strict=True):
                    print(f"{name} {parameter} {value}: {100 * p['accuracy']:.1f} % {p['includes']:.0f}")
            below.set_yscale("log")
            below.set_xticks(range(len(values)), names)
            below.set_xlabel(label)
        panels[0, 0].set_ylabel("validation accuracy [%]")
        panels[1, 0].set_ylabel("includes")
        panels[0, 0].legend(frameon=False)
        with open_atomically(options.figure) as file:
            drawing.savefig(file, format="png", dpi=110)


if __name__ == "__main__":
    main()
