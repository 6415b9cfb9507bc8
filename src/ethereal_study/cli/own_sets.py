"""Files among the sets of `ethereal study` and `ethereal benchmark`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imported where it is used: `ethereal --help` should not pay for scikit-learn
    from ethereal_study.options import OwnSetOptions

_ENDINGS = (".npz", ".csv", ".parquet", ".gz", ".tsv", ".tab", ".txt")


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
