"""How the paper trained: the settings of each of its data sets, and the estimator that has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ethereal.features.booleanizer import Booleanizer
from ethereal.features.feature_map import Missing

_POSITIONAL = ("n_clauses", "T", "s", "exclude_every")
# The way the paper trains. No noise clauses, votes as trained, and the best epoch on held-out rows.
_WAY: dict[str, Any] = {"keep": "best", "noise_clauses": 0, "refit_votes": False}
# For data of your own. No set of the paper has just these.
_USUAL: dict[str, Any] = {
    "n_clauses": 100, "T": 15, "s": 5.0, "exclude_every": 1, "epochs": 50, "booleanizer": 10
}  # fmt: skip


@dataclass(frozen=True)
class PaperSettings:
    """How the paper trained on one set."""

    n_clauses: int  # per class
    T: int
    s: float
    epochs: int
    exclude_every: int  # the paper's k
    n_bins: int
    encoding: Literal["thermometer", "onehot"] = "thermometer"
    n_features: int | None = None  # the first so many raw features, None for all
    threshold: float | None = None  # one fixed threshold instead of quantiles

    def booleanizer(
        self, *, keep_equal: bool = False, missing: Missing | Literal["auto"] = "raise"
    ) -> Booleanizer:
        """Return a new Booleanizer with the paper's bins. With `keep_equal` it has its Booleans, too."""
        if self.threshold is not None:
            return Booleanizer(thresholds=self.threshold, missing=missing)
        return Booleanizer(n_bins=self.n_bins, encoding=self.encoding, keep_equal=keep_equal, missing=missing)

    @property
    def machine_keywords(self) -> dict[str, Any]:
        """Keywords of `EtherealClassifier` without those of the Booleanizer."""
        return {name: getattr(self, name) for name in (*_POSITIONAL, "epochs")}


PAPER: dict[str, PaperSettings] = {
    "emg": PaperSettings(300, 14, 7.5, 200, exclude_every=3, n_bins=2),
    "gas": PaperSettings(300, 12, 10.0, 200, exclude_every=5, n_bins=2),
    "gesture": PaperSettings(500, 25, 9.0, 250, exclude_every=25, n_bins=10, encoding="onehot"),
    "har": PaperSettings(200, 14, 6.0, 250, exclude_every=1, n_bins=2, n_features=560),
    "mammography": PaperSettings(50, 7, 3.0, 100, exclude_every=1, n_bins=3, encoding="onehot"),
    "sensorless": PaperSettings(300, 15, 10.0, 100, exclude_every=4, n_bins=3, encoding="onehot"),
    "sports": PaperSettings(150, 12, 4.0, 50, exclude_every=1, n_bins=2),
    "statlog": PaperSettings(300, 16, 3.0, 100, exclude_every=1, n_bins=20),
    "mnist": PaperSettings(100, 10, 3.0, 50, exclude_every=1, n_bins=2, threshold=75.0),
}


def paper_keywords(given: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of `EtherealClassifier` for the arguments of `EtherealClassifier.paper`."""
    if not given or not isinstance(given[0], str):
        if len(given) > len(_POSITIONAL):
            raise TypeError(
                f"paper() takes {', '.join(_POSITIONAL)} by position, and {len(given)} are given."
            )
        return {**_WAY, **_USUAL, **dict(zip(_POSITIONAL, given, strict=False)), **keywords}
    name, *more = given
    if name not in PAPER:
        raise ValueError(f"The paper has no data set {name!r}. Its data sets are {', '.join(PAPER)}.")
    if more:
        raise TypeError(f"paper({name!r}, ...) takes changes by keyword, such as n_clauses={more[0]!r}.")
    settings = PAPER[name]
    booleanizer = settings.booleanizer(missing="auto")
    return {**_WAY, **settings.machine_keywords, "booleanizer": booleanizer, **keywords}
