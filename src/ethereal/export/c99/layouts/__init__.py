"""The ways to lay out clauses in C."""
