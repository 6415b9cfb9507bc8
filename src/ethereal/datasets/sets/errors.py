"""The one error of this package."""


class DatasetError(RuntimeError):
    """A data set cannot be had, for example without a network or with a full disk."""
