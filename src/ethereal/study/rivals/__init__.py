"""What the exported machine is compared with, compiled and executed in the same way.

`redress` scans the model's REDRESS words as the paper did, `forest` is a scikit-learn forest through emlearn,
`Bnn` a binarized network with one hidden layer. Each makes a `CProgram`: C files, a function that
takes a row, and the host's answers.
"""

from ethereal.device.program import CProgram
from ethereal.study.rivals.bnn import Bnn
from ethereal.study.rivals.forest import forest
from ethereal.study.rivals.redress import redress

__all__ = ["Bnn", "CProgram", "forest", "redress"]
