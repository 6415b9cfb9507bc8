"""What a bit stream of the compact code needs beside its bits."""

from __future__ import annotations

from dataclasses import dataclass

from ethereal.model.codes.errors import CodeError

UNARY = 4  # beyond this unary part numbers grow exponentially, so no code word is long
MAX_PARAMETER = 7  # of the four parameters that are chosen, 3 bits each
# These bound the memory that writing a stream, or reading a hostile one, can take.
MAX_INCLUDES = 2**23
MAX_BYTES = 2**23


@dataclass(frozen=True)
class Payload:
    """The bit stream of a model and the six choices that are needed to read it."""

    data: bytes  # the last byte is filled up with zero bits
    segments: int  # 1, or 2 for plain and negated literals separately
    votes_per_clause: bool  # votes follow each clause, not each group of clauses
    count_parameter: int  # of the number of clauses in a run
    negated_parameter: int  # of the number of negated literals (two segments only)
    class_parameter: int  # of the steps from class to class
    weight_parameter: int  # of the weights

    @property
    def choices(self) -> int:
        """All choices in 14 bits.

        >>> Payload(b"", 2, False, 1, 0, 0, 7).choices == 0b111_000_000_001_0_1
        True
        """
        first, last = (
            (self.count_parameter, self.negated_parameter),
            (self.class_parameter, self.weight_parameter),
        )
        parameters, bits = first + last, (self.segments - 1) | self.votes_per_clause << 1
        return bits | sum(parameter << 3 * i + 2 for i, parameter in enumerate(parameters))

    @classmethod
    def from_choices(cls, data: bytes, choices: int) -> Payload:
        """Bit stream with the choices of a header.

        >>> Payload.from_choices(b"", 5)
        Payload(data=b'', segments=2, votes_per_clause=False, count_parameter=1, ...)
        """
        if choices >> 14:
            raise CodeError(f"the choices of the compact code are {choices}. Only 14 bits are known.")
        parameters = (choices >> 3 * i + 2 & MAX_PARAMETER for i in range(4))
        return cls(data, (choices & 1) + 1, bool(choices & 2), *parameters)
