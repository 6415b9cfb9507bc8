"""Boosted trees of LightGBM through m2cgen."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ethereal.base.package import lacks
from ethereal.device.baselines import LOW, scaling, to_int16
from ethereal.device.program import CProgram
from ethereal_study.baselines.base import best_rate

TOOLS = ("lightgbm", "m2cgen")
_NUMBER = r"-?\d[\d.]*(?:e[-+]?\d+)?"
_TEST = re.compile(rf"input\[(\d+)\] (>|<=) ({_NUMBER})")
_LEAF = re.compile(rf"(var\d+) = ({_NUMBER});")
_SUMS = re.compile(r"(?:softmax\(\(double\[\]\)\{(?P<many>[^}]*)\}|sigmoid\((?P<one>[^;]*)\);)")
_ONE = 1 << 16  # of a leaf's value


def missing_tools() -> list[str]:
    """Return the packages for boosted trees that are not installed."""
    return [tool for tool in TOOLS if importlib.util.find_spec(tool) is None]


def train_boosted(X: ArrayLike, y: ArrayLike, rounds: int, leaves: int, seed: int) -> Any:
    """Fit boosted trees. The same seed gives the same trees. Held-out rows choose the rate of learning."""
    if missing := missing_tools():
        raise ModuleNotFoundError(lacks("Boosted trees", ", ".join(missing), "study"))
    from lightgbm import LGBMClassifier

    options: dict[str, Any] = {"n_jobs": 1, "verbose": -1, "deterministic": True, "force_row_wise": True}
    options |= {"n_estimators": rounds, "num_leaves": leaves, "random_state": seed}

    def fitted(rows: NDArray[Any], labels: NDArray[Any], rate: float) -> Any:
        return LGBMClassifier(learning_rate=rate, **options).fit(rows, labels)

    everything = np.asarray(X), np.asarray(y)
    return fitted(*everything, best_rate(fitted, *everything, seed))


def boosted(estimator: Any, X: ArrayLike) -> CProgram:
    """A fitted LGBMClassifier as the C of m2cgen over 16-bit features, with whole numbers for its doubles.

    m2cgen writes doubles, which a small core has to emulate. So features and thresholds are scaled to 16 bits
    as those of `forest`, leaves become 32-bit integers, and the largest sum wins without exponentials.
    `expected` is the class that LightGBM gives.
    """
    if missing := missing_tools():
        raise ModuleNotFoundError(lacks("Boosted trees on the device", ", ".join(missing), "study"))
    import m2cgen

    rows = np.asarray(X, dtype=np.float64)
    body = m2cgen.export_to_c(estimator).split("void score(", 1)[1].split("{", 1)[1]
    code, low, scale = integer_code(body, rows.shape[1])
    expected = np.searchsorted(estimator.classes_, estimator.predict(rows))
    files = {"boosted.c": code}
    return CProgram("boosted", files, "boosted_predict", to_int16(rows, low, scale), expected)


def integer_code(body: str, n_features: int) -> tuple[str, NDArray[np.float64], NDArray[np.float64]]:
    """Return C with whole numbers, and the lowest threshold and the steps per unit of each feature."""
    low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    for feature, _, threshold in _TEST.findall(body):
        low[int(feature)] = min(low[int(feature)], float(threshold))
        high[int(feature)] = max(high[int(feature)], float(threshold))
    low, scale = scaling(low, high)
    end = _SUMS.search(body)
    if end is None:
        raise ValueError("The C of m2cgen has another form than expected. Use m2cgen 0.10.")

    def test(match: re.Match[str]) -> str:
        i = int(match[1])
        return f"input[{i}] {match[2]} {int(np.floor((float(match[3]) - low[i]) * scale[i])) + LOW}"

    trees = re.sub(r"double var\d+\[\d+\];", "", body[: end.start()])
    trees = trees[: trees.rindex("}") + 1]  # what follows belongs to the sums
    trees = _LEAF.sub(lambda m: f"{m[1]} = {round(_ONE * float(m[2]))};", _TEST.sub(test, trees))
    trees = trees.replace("double ", "int32_t ")
    sums = end["many"] or f"0, {end['one']}"
    n_classes = sums.count(",") + 1
    code = (
        "#include <stdint.h>\n\nint32_t boosted_predict(const int16_t *input);\n\n"
        "int32_t boosted_predict(const int16_t *input)\n{\n"
        f"{trees}\n    const int32_t sums[] = {{{sums}}};\n    int32_t best = 0;\n"
        f"    for (int32_t i = 1; i < {n_classes}; i++)\n"
        "        if (sums[i] > sums[best])\n            best = i;\n    return best;\n}\n"
    )
    return code, low, scale
