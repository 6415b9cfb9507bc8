"""Files of your own among the sets of `ethereal study` and `ethereal benchmark`, and the options for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ethereal.base.checks import check_integer, check_number
from ethereal.base.options import option
from ethereal.datasets.options import GroupedTableOptions, SplitOptions

if TYPE_CHECKING:
    from ethereal_study.settings import Settings


EPOCHS = 50  # of a set of your own, unless --epochs says otherwise
_ENDINGS = (".npz", ".csv", ".parquet", ".gz", ".tsv", ".tab", ".txt")


@dataclass(frozen=True)
class OwnSetOptions(GroupedTableOptions, SplitOptions):
    """How files among the sets are read, and the machine that is trained on them."""

    clauses: int = option(100, "For files among the sets: clauses per class.")
    T: int = option(15, "For files among the sets: vote margin of training.", "--T")
    s: float = option(5.0, "For files among the sets: specificity.", "--s")
    exclude_every: int = option(1, "For files among the sets: epochs between two exclusions.")
    bins: int = option(10, "For files among the sets: bins per feature.")
    booleans: str = option("thermometer", "For files among the sets: thermometer or onehot.")

    def settings(self) -> Settings:
        """Return the settings of a set of your own."""
        from ethereal_study.settings import Settings

        check_integer("--clauses", self.clauses, 1, 10**6)
        check_integer("--T", self.T, 1, 10**6)
        check_number("--s", self.s, 1.0, 1e6)
        check_integer("--exclude-every", self.exclude_every, 1, 10**6)
        check_integer("--bins", self.bins, 2, 10**6)
        kind: Literal["thermometer", "onehot"] = "onehot" if self.booleans == "onehot" else "thermometer"
        if self.booleans != kind:
            raise ValueError(f"--booleans is {self.booleans!r}. It must be thermometer or onehot.")
        return Settings(
            self.clauses, self.T, self.s, EPOCHS, self.exclude_every, n_bins=self.bins, encoding=kind
        )


def with_own_sets(sets: str, options: OwnSetOptions, folder: Path) -> str:
    """Make the files among the sets known to the study, and return all names, separated by commas.

    A file is called by its name without the ending. What the study reads of it is kept in `folder`.
    """
    names = []
    for one in (part.strip() for part in sets.split(",")):
        if not one.lower().endswith(_ENDINGS):
            names.append(one)
            continue
        from ethereal.datasets.files import read_table
        from ethereal.datasets.options import TableOptions
        from ethereal.datasets.rows import split
        from ethereal_study.additions import add_set

        name = Path(one).name.split(".")[0]
        if name in names:
            raise ValueError(f"--sets: two sets are called {name!r}. Rename one of the files.")
        table = TableOptions() if one.lower().endswith(".npz") else options  # which knows its columns itself
        rows = split(read_table(one, table), options.test)
        if rows.test is None:
            raise ValueError(f"--test is {options.test}, but the study needs test rows. Give more than 0.")
        add_set(name, rows, options.settings(), folder)
        names.append(name)
    return ",".join(names)
