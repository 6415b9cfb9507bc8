"""Trees and a Model: ensembles that were trained elsewhere become clauses, and our own are grown."""
