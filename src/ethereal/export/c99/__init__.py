"""A Model as C."""
