"""Trees as a Model, those of other libraries and our own.

`read.py` makes plain trees (`plain.py`) of estimators and files, by `sklearn_trees.py` and `boosted.py`.
`clauses.py` makes a Model of plain trees. `importing.py` does both and compares the answers.
`grow.py` grows boosted trees of our own, and `unseen.py` asks learners for rows that they did not see.
"""

from ethereal.trees.importing import TreeImport, from_trees, import_trees

__all__ = ["TreeImport", "from_trees", "import_trees"]
