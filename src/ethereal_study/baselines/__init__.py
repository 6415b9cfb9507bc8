"""What the machine is compared with, as estimators on the host and as C programs on the device.

`ForestClassifier` is a random forest on raw features, `BNNClassifier` a binarized network on Boolean ones.

`boosted` are LightGBM's trees through m2cgen, `vector_trees` are boosted trees with a vector of votes per
leaf through our own generator of code, and `bnn` is a binarized network with one hidden layer. Each makes a
`CProgram`, which has C files, a function that takes a row, and the host's answers. It is compiled and
executed in the same way as the exported machine. So are those of `ethereal.device.baselines`: a scikit-learn
forest, and the paper's scan of a model's words.

>>> ForestClassifier().trees
(5, 10, 15, 20, 25, 30)
"""

from ethereal.device.program import CProgram
from ethereal_study.baselines.bnn import BinaryNetwork, BNNClassifier, bnn
from ethereal_study.baselines.boosted import boosted, train_boosted
from ethereal_study.baselines.forest_classifier import ForestClassifier
from ethereal_study.baselines.vector_trees import train_vector_trees, vector_trees

__all__ = [
    "BNNClassifier",
    "BinaryNetwork",
    "CProgram",
    "ForestClassifier",
    "bnn",
    "boosted",
    "train_boosted",
    "train_vector_trees",
    "vector_trees",
]
