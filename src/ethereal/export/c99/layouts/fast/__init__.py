"""The layout "fast": few instructions for a single row."""
