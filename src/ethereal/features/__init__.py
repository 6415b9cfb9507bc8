"""Raw samples to Booleans."""
