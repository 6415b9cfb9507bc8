"""scikit-learn's random forest, 25 trees of depth 14, on the Booleans: for prediction only."""

from importlib.metadata import version

import numpy as np
from sklearn.ensemble import RandomForestClassifier

LIBRARY = "RandomForest, 25 trees"
VERSION = version("scikit-learn")
ROWS = np.float32  # the dtype its trees compare in, so that nothing is converted


def train(task):
    forest = RandomForestClassifier(25, max_depth=14, n_jobs=task.threads, random_state=task.seed)
    forest.fit(task.rows("train", np.float32), task.labels("train"))
    return forest.predict
