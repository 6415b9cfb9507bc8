"""The passes of `simplify` in their order.

A pass takes clauses and what their Booleans say, and returns clauses with the same class sums on every input
that the Booleanizer can produce. A new one is a module beside this one, a line here, and a property test.
"""

from __future__ import annotations

from ethereal.model.simplify.merging import merging
from ethereal.model.simplify.shortest import shortest

PASSES = (shortest, merging)  # merging needs what `shortest` writes: equal clauses in equal literals
