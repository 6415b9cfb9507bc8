"""The page of an export on whole data sets: answers in node and in a browser beside the host's, and bytes.

    python lab/benchmarks/pages.py --sets har,mnist --out pages.csv

Every test row goes through the compiled model of the page, in node, and up to 2,000 in the page itself in
Chromium. Recorded windows are pushed sample by sample. The columns `own` and `wasm` are the bytes of
WebAssembly with nothing but the prediction, and with all that the page calls. A request of the page to
anywhere is an error.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from browsers import chromium, in_node, opening
from ethereal import EtherealClassifier, WindowFeatures, datasets
from ethereal.chips.toolchain import compile_wasm
from ethereal.export.c99.choose import choose
from ethereal.export.page.web import compiled, page_text

SETS = ["digits", "emg", "gas", "gesture", "har", "mammography", "mnist", "sensorless", "sports", "statlog"]
WINDOWS = ("har", "watch")  # recordings of DATA/raw
MOST_BROWSER = 2000


def rows_of(name: str) -> tuple[Any, Any, Any, Any]:
    """Return training rows, labels, test rows and rate, windows for `raw/NAME`."""
    if not name.startswith("raw/"):
        data = datasets.load(name)
        return data.X_train, data.y_train, data.X_test, None
    with np.load(datasets.folder() / f"{name}.npz") as kept:
        X, y, test = kept["X"], kept["y"], kept["test"].astype(bool)
        return X[~test], y[~test], X[test], float(kept["rate"]) if "rate" in kept else None


def measured(name: str, n_clauses: int, epochs: int, browser: Any) -> dict[str, Any]:
    """Train a model on a set and compare its page with the host."""
    X, y, X_test, rate = rows_of(name)
    front = WindowFeatures({kernel: ["axes"] for kernel in ("stats", "std", "step")}, rate=rate)
    front = front if X.ndim == 3 else None
    clf = EtherealClassifier(n_clauses=n_clauses, epochs=epochs, random_state=0, front_end=front).fit(X, y)
    model = clf.model_.simplify()
    program = choose(model, flash=1 << 28)
    page, name_of = page_text(program, "model"), program.name
    bare = len(compile_wasm(program.files, [f"{name_of}_{'window' if front else 'predict'}"], stack=1 << 15))
    expected = model.output.codes(model.class_sums(X_test))
    start = time.perf_counter()
    if front is None:
        got = in_node(page, rows=X_test)
        node = int((np.array(got["classes"]) != expected).sum())
        node += int((np.array(got["sums"]) != model.class_sums(X_test)).any(axis=1).sum())
    else:
        got = in_node(page, windows=X_test)
        node = int((np.array([answer for answer, _ in got["windows"]]) != expected).sum())
    seconds = time.perf_counter() - start
    some = X_test[:MOST_BROWSER]
    with tempfile.TemporaryDirectory() as folder, opening(browser) as opener:
        path = Path(folder) / "page.html"
        path.write_text(page, encoding="utf-8")
        tab = opener(path)
        tab.evaluate("window.ready")
        if front is None:
            singles = np.asarray(some, dtype=float).tolist()
            given = [[None if np.isnan(v) else v for v in row] for row in singles]
            answers = tab.evaluate("rows => rows.map(row => ethereal.predict(row))", given)
        else:
            push = "samples => { model.reset(); return samples.map(one => model.push(one)).at(-1); }"
            answers = tab.evaluate(f"windows => windows.map({push})", np.asarray(some).tolist())
    accuracy = float((model.predict(X_test) == y_of(name)).mean())
    whole = len(compiled(program))
    return {
        "set": name,
        "accuracy": round(accuracy, 4),
        "layout": program.layout,
        "rows": len(X_test),
        "node": node,
        "browser_rows": len(some),
        "browser": int((np.array(answers) != expected[: len(some)]).sum()),
        "own": bare,
        "wasm": whole,
        "more": whole - bare,
        "page": len(page.encode()),
        "imports": got["imports"],
        "node_s": round(seconds, 1),
    }


def y_of(name: str) -> Any:
    """Return the labels of the test rows."""
    if not name.startswith("raw/"):
        return datasets.load(name).y_test
    with np.load(datasets.folder() / f"{name}.npz") as kept:
        return kept["y"][kept["test"].astype(bool)]


def main() -> None:
    """Measure sets one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join([*SETS, *(f"raw/{name}" for name in WINDOWS)]))
    parser.add_argument("--clauses", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = []
    with chromium() as browser:
        for name in given.sets.split(","):
            rows.append(measured(name, given.clauses, given.epochs, browser))
            print(rows[-1], flush=True)
    if given.out is not None:
        with open(given.out, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
