"""A gas sensor that drifts with heat and damp: raw counts in, a concentration out, as C without a table.

The readings are made up here. Readings of your own need the same: what the sensor says, what disturbs it, and
what a good instrument said at that time.
"""

import tempfile
from pathlib import Path

import numpy as np

from ethereal import EtherealRegressor, export, prune

NAMES = ["counts", "degC", "humidity"]


def readings(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of counts, temperature and humidity, and the true concentration in ppm."""
    ppm, heat, damp = rng.uniform(0, 500, n), rng.uniform(-5, 45, n), rng.uniform(20, 95, n)
    counts = 400 + 900 * np.sqrt(ppm / 500) * (1 + 0.008 * (heat - 20)) - 2.5 * np.maximum(damp - 60, 0)
    return np.column_stack([np.rint(counts + rng.normal(0, 6, n)), heat.round(1), damp.round()]), ppm


rng = np.random.default_rng(0)
X, y = readings(1500, rng)
chosen_by, X_new = readings(400, rng), readings(400, rng)

# More gas never makes fewer counts, so the answer may only rise with them.
reg = EtherealRegressor(monotonic={0: +1}, unit="ppm", random_state=0).fit(X, y)
model = prune(reg.model_.with_feature_names(NAMES), X, y, validation=chosen_by).model
error = np.abs(model.predict(X_new[0]) - X_new[1])
number = model.output
print(f"mean error {error.mean():.1f} ppm, with {model.n_clauses} rules in place of {reg.model_.n_clauses}")
print(f"{100 * (error <= number.half_width).mean():.0f} % of new readings are within {number.half_width:.0f} ppm")
line = np.polynomial.Polynomial.fit(X[:, 0], y, 1)
print(f"a straight line through the counts: mean error {np.abs(line(X_new[0][:, 0]) - X_new[1]).mean():.1f} ppm")

sweep = np.tile([0.0, 35.0, 80.0], (200, 1))
sweep[:, 0] = np.linspace(300, 1500, 200)
print(f"the answer rises with the counts: {bool((np.diff(model.predict(sweep)) >= 0).all())}")
print(model.describe(max_rules=3))

with tempfile.TemporaryDirectory() as folder:
    export.c(model, Path(folder) / "gas", name="gas", rows=X, input="float")
    print("float gas_value(const float *features) in", Path(folder, "gas", "gas.c").name)
