"""The compact code: a dense bit stream that a microcontroller decodes clause by clause.

docs/codes.md describes the format exactly. In short: clauses are a set, so they are sorted, and what the
order tells is not written. Clauses with the same votes form a group; a group falls into runs of clauses with
equally many literals; a run is sorted, so the first literal of a clause is told by its distance from the
first literal of the clause before it, the others by their distance from the literal before. Each distance is
a number of variable length whose parameter follows from how many places and literals are left, so there are
no tables. With two segments the plain and the negated literals of a clause are counted apart, which is
shorter where one kind prevails. The encoder tries what there is to choose and takes the shortest.
"""

from ethereal.model.codes.compact.reader import read_payload
from ethereal.model.codes.compact.stream import Payload
from ethereal.model.codes.compact.writer import payload

__all__ = ["Payload", "payload", "read_payload"]
