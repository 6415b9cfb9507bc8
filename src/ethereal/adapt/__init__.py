"""A model that goes on learning on its board, and the same on the host, bit for bit.

The clauses stay as they are, and the votes learn. `Votes` is the host's side. `export.c(..., learn="votes")`
and `export.micropython(..., learn="votes")` write the board's side. docs/guide/teach.md says how to use them.
`Normal` learns what is normal for one machine, and `export.c(..., own_normal=8)` writes its board's side.
"""

from typing import TYPE_CHECKING

from ethereal.base.package import loader

if TYPE_CHECKING:
    from ethereal.adapt.learn_options import LearnOptions
    from ethereal.adapt.learning import Learning
    from ethereal.adapt.normal import Normal
    from ethereal.adapt.votes import Votes

__all__ = ["LearnOptions", "Learning", "Normal", "Votes"]
__getattr__ = loader(
    __name__,
    {"learning": "Learning", "learn_options": "LearnOptions", "normal": "Normal", "votes": "Votes"},
)
