"""What goes wrong when a code is read, and how much memory reading one may take."""

# Reading may take so many times the code's own bytes. Small codes may take the second figure, because a
# Model holds a vote for every clause and class, and a code names only those that are not zero.
MEMORY_FACTOR = 10
LEAST_MEMORY = 2**24


class CodeError(ValueError):
    """Bytes or words that are not a whole, undamaged code of a model."""


def check_memory(n_bytes: int, n_clauses: int, n_classes: int, rest: int) -> None:
    """Refuse a code of `n_bytes` that would take too much memory, before the memory is taken.

    `rest` is the memory for all that is not per clause or per vote (clauses x classes).
    """
    # A Model's offset of 8 bytes and weight of 4, what they were read into, and what checking them takes.
    need = rest + n_clauses * (21 + 7 * n_classes)
    most = max(MEMORY_FACTOR * n_bytes, LEAST_MEMORY)
    if need > most:
        raise CodeError(
            f"the code of {n_bytes:,} bytes has {n_clauses:,} clauses for {n_classes:,} classes. Reading it "
            f"would take {need:,} bytes of memory. At most {most:,} are allowed. The code is damaged, or its "
            "model is better kept in a model file (Model.save)."
        )
