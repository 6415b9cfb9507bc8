"""What goes wrong when a code is read."""

MAX_VOTES = 2**26  # clauses x classes: 256 MB. A few hostile bytes must not ask for more than that.


class CodeError(ValueError):
    """Bytes or words that are not a whole, undamaged code of a model."""


def check_votes(n_clauses: int, n_classes: int) -> None:
    """Refuse a table of votes that would fill the memory."""
    if n_clauses * n_classes > MAX_VOTES:
        raise CodeError(
            f"the code has {n_clauses} clauses for {n_classes} classes; a code may have at most "
            f"{MAX_VOTES} votes (clauses x classes)"
        )
