"""`python -m ethereal` is the command `ethereal`."""

from ethereal.cli import app

app()
