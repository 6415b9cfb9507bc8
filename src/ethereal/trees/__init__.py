"""Trees and a Model: ensembles that were trained elsewhere become clauses."""
