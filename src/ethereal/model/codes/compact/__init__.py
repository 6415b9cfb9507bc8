"""The compact code, a dense bit stream that a microcontroller decodes clause by clause.

docs/codes.md describes the format. Clauses with the same votes form a group, and a group has sorted runs of
clauses with equally many literals. The first literal of a clause is written as its distance from that of the
clause before, the others as their distance from the literal before. A distance is a number of variable
length. Its parameter follows from how many places and literals are left, so there are no tables. With two
segments the plain and the negated literals are counted separately. The encoder takes the shortest choice.
"""

from ethereal.model.codes.compact.reader import read_payload
from ethereal.model.codes.compact.stream import Payload
from ethereal.model.codes.compact.writer import payload

__all__ = ["Payload", "payload", "read_payload"]
