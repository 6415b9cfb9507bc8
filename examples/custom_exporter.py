"""An exporter of your own: a model as SQL, one expression per class, checked against the host in SQLite.

An exporter sees a `Model` and nothing else: clauses with literals and weights, and a feature map that says
what each Boolean means. One that writes files would hand them to `ethereal.export.write_folder`, which writes
all or nothing. A board or tool that takes the C needs templates only, see
`docs/architecture.md`.
"""

import sqlite3

import numpy as np
from sklearn.datasets import load_iris

from ethereal import Booleanizer, EtherealClassifier, Model


def sql(model: Model, columns: list[str]) -> list[str]:
    """An expression per class that gives its votes; NULL is not expected."""
    n, feature_map = model.n_booleans, model.feature_map
    if model.booleanizer is None or feature_map.encoding != "thermometer" or feature_map.missing.any():
        raise ValueError("this exporter takes thermometer codes without missing values")
    feature = np.repeat(np.arange(feature_map.n_features), np.diff(feature_map.threshold_offsets))

    def literal(index: int) -> str:
        is_negated, boolean = divmod(index, n)
        sign = "<=" if is_negated else ">"
        return f'"{columns[feature[boolean]]}" {sign} {float(feature_map.thresholds[boolean])!r}'

    votes: list[list[str]] = [[] for _ in range(model.n_classes)]
    for clause in model:
        if clause.literals:  # an empty clause never votes
            condition = " AND ".join(map(literal, clause.literals))
            for of_class, weight in clause.weights.items():
                votes[of_class].append(f"{weight:+d} * ({condition})")
    return [" ".join(vote) or "0" for vote in votes]


X, y = load_iris(return_X_y=True)
columns = ["sepal length", "sepal width", "petal length", "petal width"]
clf = EtherealClassifier.paper(
    n_clauses=10, T=5, s=3.0, epochs=20, booleanizer=Booleanizer(n_bins=4), random_state=0
)
model = clf.fit(X, y).model_.simplify()
expressions = sql(model, columns)
print("\n\n".join(expressions)[:600])

database = sqlite3.connect(":memory:")
names = ", ".join(f'"{name}" REAL' for name in columns)
database.execute(f"CREATE TABLE flowers ({names})")
database.executemany("INSERT INTO flowers VALUES (?, ?, ?, ?)", X.tolist())
rows = database.execute(f"SELECT {', '.join(expressions)} FROM flowers").fetchall()
assert np.array_equal(rows, model.class_sums(X)), "SQLite and the host differ"
print(f"\n{len(X)} rows: the votes in SQLite are the host's")
