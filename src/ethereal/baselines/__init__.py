"""The study's rivals: random forests on raw features and binarized networks on Boolean ones.

>>> from ethereal.baselines import BNNClassifier, ForestClassifier
>>> ForestClassifier().trees
(5, 10, 15, 20, 25, 30)
"""

from ethereal.baselines.bnn import BinaryNetwork, BNNClassifier
from ethereal.baselines.forest import ForestClassifier

__all__ = ["BNNClassifier", "BinaryNetwork", "ForestClassifier"]
