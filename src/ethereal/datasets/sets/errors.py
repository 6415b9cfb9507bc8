"""The errors of this package."""


class DatasetError(RuntimeError):
    """A data set cannot be had, for example without a network or with a full disk."""


class Unreachable(DatasetError):
    """No server answered, so that trying other sets is in vain. `reason` says so in one line."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
