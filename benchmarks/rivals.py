"""Accuracy and time of the rivals on the study's sets.

    python benchmarks/rivals.py forest|bnn [--sets har,emg] [--units 256] [--backend numpy|larq] [--seeds 3]

Thresholds from the training rows (2 bins and so on, as the study set them); the published figures beside.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from ethereal import datasets
from ethereal.study.rivals import BNNClassifier, ForestClassifier
from ethereal.study.settings import SETTINGS


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rival", choices=["forest", "bnn"])
    parser.add_argument("--sets", default=",".join(n for n in SETTINGS if n != "mnist"))
    parser.add_argument("--units", type=int, default=256)
    parser.add_argument("--backend", choices=["numpy", "larq"], default="numpy")
    parser.add_argument("--seeds", type=int, default=1)
    args = parser.parse_args()
    print(f"{'set':12} {'accuracy':>16} {'published':>9} {'seconds':>8}  chosen / completeness")
    for name in args.sets.split(","):
        data, settings = datasets.load(name), SETTINGS[name]
        X, X_test = (x[:, : settings.n_features] for x in (data.X_train, data.X_test))
        scores, start, chosen = [], time.perf_counter(), ""
        for seed in range(args.seeds):
            if args.rival == "forest":
                published = settings.published.forest
                forest = ForestClassifier(random_state=seed).fit(X, data.y_train)
                scores.append(forest.score(X_test, data.y_test))
                chosen += f"({forest.n_trees_}, {forest.depth_}) "
            else:
                published = settings.published.bnn512 if args.units == 512 else settings.published.bnn256
                bits, bits_test = X, X_test
                if X.dtype != np.bool_:
                    booleanizer = settings.booleanizer().fit(X)
                    bits, bits_test = booleanizer.transform(X), booleanizer.transform(X_test)
                bnn = BNNClassifier(args.units, backend=args.backend, random_state=seed).fit(
                    bits, data.y_train
                )
                scores.append(bnn.score(bits_test, data.y_test))
        seconds = (time.perf_counter() - start) / args.seeds
        spread = f"{100 * np.mean(scores):.2f} +- {100 * np.std(scores):.2f}"
        print(
            f"{name:12} {spread:>16} {published or 0:9.2f} {seconds:8.1f}  {chosen}{data.completeness}",
            flush=True,
        )


if __name__ == "__main__":
    main()
