"""Labelled rows: data sets by name, tables and recordings.

Its names are loaded when they are first used, so that a command's options are known quickly.
"""

from typing import TYPE_CHECKING

from ethereal.base.package import loader

if TYPE_CHECKING:
    from ethereal.datasets.catalogue import Status, fetch, folder, load, names, status
    from ethereal.datasets.dataset import Dataset, DatasetError

__all__ = ["Dataset", "DatasetError", "Status", "fetch", "folder", "load", "names", "status"]

_HOMES = {"catalogue": "Status fetch folder load names status", "dataset": "Dataset DatasetError"}
__getattr__ = loader(__name__, _HOMES)
