"""Trees of other libraries as a Model.

`read.py` makes plain trees (`plain.py`) of estimators and files, by `sklearn_trees.py` and `boosted.py`.
`clauses.py` makes a Model of plain trees. `importing.py` does both and compares the answers.
"""

from ethereal.trees.importing import TreeImport, from_trees, import_trees

__all__ = ["TreeImport", "from_trees", "import_trees"]
