"""The layout "sliced": 32 rows at a time."""
