"""From raw samples to C: windows of an accelerometer in, an answer out, without features of your own.

The recordings are made up here: eight people rest, walk or run with an accelerometer. Recordings of your own
need the same three things: int16 samples, a label, and who they are of.
"""

import tempfile
from pathlib import Path

import numpy as np

from ethereal import EtherealClassifier, WindowFeatures, export, prune

RATE, WINDOW, HOP = 50, 128, 64


def recording(activity: str, rng: np.random.Generator) -> np.ndarray:
    """Twenty seconds of samples x axes, in 1/1000 g."""
    t = np.arange(20 * RATE)[:, None] / RATE
    pace, force = {"rest": (0.0, 0.0), "walk": (1.8, 0.25), "run": (2.8, 0.9)}[activity]
    steps = force * np.sin(2 * np.pi * pace * rng.uniform(0.9, 1.1) * t + rng.uniform(0, 6, 3))
    noise = rng.normal(0, 0.02, (len(t), 3))
    return np.rint(1000 * (steps * rng.uniform(0.7, 1.3, 3) + noise + [0, 0, 1])).astype(np.int16)


def cut(samples: np.ndarray) -> np.ndarray:
    """Windows x samples x axes. No window crosses two recordings."""
    starts = range(0, len(samples) - WINDOW + 1, HOP)
    return np.stack([samples[start : start + WINDOW] for start in starts])


rng = np.random.default_rng(0)
parts, labels, people = [], [], []
for person in range(8):
    for activity in ("rest", "walk", "run"):
        windows = cut(recording(activity, rng))
        parts.append(windows)
        labels += [activity] * len(windows)
        people += [person] * len(windows)
X, y, person = np.concatenate(parts), np.array(labels), np.array(people)
known, chosen_by, new = person < 4, person == 4, person > 4  # a person chooses the size, others test it

# The scale and the rate are part of the model: floats in g would be multiplied by 1000.
front_end = WindowFeatures(
    {"stats": ["axes"], "haar": ["axes", "|a|"], "bands": ["axes"]}, hop=HOP, rate=RATE, scale=1000, units="g"
)
clf = EtherealClassifier(40, epochs=20, front_end=front_end, random_state=0).fit(X[known], y[known])
model = prune(clf.plain_model_, X[known], y[known], validation=(X[chosen_by], y[chosen_by])).model
print(f"accuracy on new people: {(model.predict(X[new]) == y[new]).mean():.3f}")
print(model.describe(max_rules=2))
used = model.drop_unused_kernels().front_end.groups
print(
    f"{len(used)} of {len(model.front_end.groups)} kernels are left:",
    *(" of ".join(g) for g in used),
    sep="\n  ",
)

with tempfile.TemporaryDirectory() as folder:
    export.c(model, Path(folder) / "activity", name="activity", rows=X[known], majority=3)
    header = (Path(folder) / "activity" / "activity.h").read_text()
    print(next(line for line in header.splitlines() if "_push(" in line and line.startswith("int")))
