"""Cores, chips and the compilers for them. It knows no model."""
