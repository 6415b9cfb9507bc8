"""A data set of your own: recordings of a sensor become rows, rows a model, split by who was recorded.

The recordings are made up here; put your own in `recordings`. To make a set known by name, to `ethereal run`
and to the study, see "Where to add" in docs/architecture.md.
"""

import numpy as np

from ethereal import Booleanizer, EtherealClassifier
from ethereal.base.splits import group_split
from ethereal.features.windows import SlidingWindows, WindowPooling

# %% Recordings: time x channels, a label per moment, and who was recorded.
rng = np.random.default_rng(0)
recordings, labels, subjects = [], [], []
for subject in range(6):
    time = np.arange(3000) / 100.0
    moving = (time // 5).astype(int) % 3  # still, walking, running, five seconds each
    speed = np.array([0.0, 2.0, 3.5])[moving] * rng.uniform(0.9, 1.1)
    wave = np.sin(2 * np.pi * speed * time) * speed
    recordings.append(np.column_stack([wave, np.roll(wave, 25)]) + rng.normal(0, 0.3, (3000, 2)))
    labels.append(moving)
    subjects.append(subject)

# %% Rows: root of the sum of squares over a tenth of a second, then windows of a second, every half second.
pool, windows = WindowPooling(10, "rss"), SlidingWindows(10, 5)
steps = pool.transform(recordings)
X = windows.transform(steps)
y = windows.transform_labels(pool.transform_labels(labels))
subject_of_row = np.array(subjects)[windows.groups(steps)]

# %% Rows of one subject are alike: test on subjects that training never saw.
test = group_split(y, subject_of_row)
clf = EtherealClassifier.paper(
    n_clauses=20, T=10, s=4.0, epochs=20, booleanizer=Booleanizer(n_bins=6), random_state=0
)
clf.fit(X[~test], y[~test])
print(f"{len(X)} rows, {X.shape[1]} features; accuracy on new subjects: {clf.score(X[test], y[test]):.3f}")

# %% What it learned, and a file of it.
model = clf.model_.simplify()
print(model.describe(max_rules=2))
print(f"{len(model.to_bytes('compact'))} bytes")
