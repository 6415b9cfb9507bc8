"""How to install what a base install leaves out. Every message about it is made here."""

from __future__ import annotations


def install(*extras: str) -> str:
    """Return the command that adds extras to the installed package.

    pip finds the package installed, from an index or from a folder, and adds what the extras need.

    >>> install("device", "study")
    "pip install 'ethereal-tm[device,study]'"
    """
    return f"pip install 'ethereal-tm[{','.join(extras)}]'"


def lacks(what: str, package: str, *extras: str) -> str:
    """Return the message for something that needs a package of an extra.

    >>> lacks("Tuning", "Optuna", "tune")
    "Tuning needs Optuna. Install it with pip install 'ethereal-tm[tune]'."
    """
    return f"{what} needs {package}. Install it with {install(*extras)}."
