"""Helpers that know nothing of machines."""
