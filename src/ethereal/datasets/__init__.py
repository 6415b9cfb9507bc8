"""Labelled rows: data sets by name, tables and recordings.

Its names are loaded when they are first used, so that a command's options are known quickly.
"""

from typing import TYPE_CHECKING

from ethereal.base.package import loader

if TYPE_CHECKING:
    from ethereal.datasets.catalogue import Dataset, DatasetError, Status, fetch, folder, load, names, status

__all__ = ["Dataset", "DatasetError", "Status", "fetch", "folder", "load", "names", "status"]

__getattr__ = loader(__name__, {"catalogue": " ".join(__all__)})
