"""The study's rivals: random forests on raw features and binarized networks on Boolean ones.

>>> from ethereal.study.baselines import BNNClassifier, ForestClassifier
>>> ForestClassifier().trees
(5, 10, 15, 20, 25, 30)
"""

from ethereal.study.baselines.bnn import BinaryNetwork, BNNClassifier
from ethereal.study.baselines.forest import ForestClassifier

__all__ = ["BNNClassifier", "BinaryNetwork", "ForestClassifier"]
