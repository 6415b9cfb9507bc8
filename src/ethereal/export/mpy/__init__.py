"""A Model as a MicroPython package."""
