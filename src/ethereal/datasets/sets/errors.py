"""The one error of this package: its message says what is wrong with which file, and what to do."""


class DatasetError(RuntimeError):
    """A data set cannot be had: no network, a damaged file, a full disk.

    >>> from ethereal.datasets.sets.errors import DatasetError
    >>> issubclass(DatasetError, RuntimeError)
    True
    """
