"""A model that goes on learning on its board, and the same on the host, bit for bit.

The clauses stay as they are, and the votes learn. `Votes` is the host's side. `export.c(..., learn="votes")`
and `export.micropython(..., learn="votes")` write the board's side. docs/guide/teach.md says how to use them.
"""

from ethereal.adapt.learning import Learning as Learning
from ethereal.adapt.options import LearnOptions as LearnOptions
from ethereal.adapt.votes import Votes as Votes
