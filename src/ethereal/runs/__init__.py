"""`ethereal run`: its stages, its folder and the report."""
