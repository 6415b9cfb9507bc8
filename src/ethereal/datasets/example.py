"""Tables to begin with, which scikit-learn brings along."""

from __future__ import annotations


def example_csv(name: str) -> str:
    """Return a table as CSV: "wine", whose label is the grower.

    >>> example_csv("wine").splitlines()[0].split(",")[-1]
    'grower'
    """
    from sklearn.datasets import load_wine

    if name != "wine":
        raise ValueError(f"there is no example {name!r}. It must be 'wine'.")
    wine = load_wine()
    rows = zip(wine.data.tolist(), wine.target.tolist(), strict=True)
    lines = [",".join([*map(repr, row), f"grower {label + 1}"]) for row, label in rows]
    return "\n".join(
        [",".join([*(each.replace("_", " ") for each in wine.feature_names), "grower"]), *lines, ""]
    )
