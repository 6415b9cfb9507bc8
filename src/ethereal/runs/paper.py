"""What the package of the study adds to a run: the paper's two machines, found by an entry point."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from ethereal.base.package import added

if TYPE_CHECKING:
    from ethereal.datasets.rows import Rows
    from ethereal.runs.folder import RunFolder
    from ethereal.train.classifier import EtherealClassifier


Make = Callable[[bool], "EtherealClassifier"]
Tell = Callable[[str], None]


class Paper(Protocol):
    """What a run asks of the module that the group `ethereal.paper` names."""

    def train(self, folder: RunFolder, rows: Rows, make: Make, target: str, tell: Tell) -> None:
        """Train both machines and measure their programs. `make` takes whether it is the vanilla one."""

    def results(self, folder: RunFolder) -> dict[str, Any]:
        """Return what is kept of each machine, by its stage."""

    def of_report(self, folder: RunFolder) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the fields of the report that the machines fill, and files beside it by their names."""

    def test_rows(self, name: str) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Return Boolean test rows of a set of the paper with their labels, None for another name."""


def papers() -> list[Paper]:
    """Return the module of the study, or an empty list without that package."""
    return list(added("ethereal.paper").values())
