"""What the study set and what it published, per data set: data to read and to compare with.

Accuracies are percent of test rows, the best over all epochs (the `paper` protocol). Board figures are the
study's own: MicroPython on an STM32F746G-DISCO (Cortex-M7, 216 MHz), per row.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ethereal.train.classifier import EtherealClassifier
from ethereal.train.paper import PAPER, PaperSettings


@dataclass(frozen=True)
class OnBoard:
    """One model on the study's board: time and energy per row, memory in all."""

    seconds: float
    kilobytes: float
    millijoules: float


@dataclass(frozen=True)
class Published:
    """The figures of the paper's tables 2 and 3 for one set, None where it has none."""

    vanilla: float | None = None
    vanilla_includes: float | None = None  # per clause
    ethereal: float | None = None
    ethereal_includes: float | None = None
    forest: float | None = None
    forest_trees: int | None = None
    forest_depth: int | None = None
    bnn256: float | None = None
    bnn512: float | None = None
    forest_board: OnBoard | None = None
    bnn_board: OnBoard | None = None  # FC256
    redress_board: OnBoard | None = None  # the vanilla machine in REDRESS words
    ethereal_board: OnBoard | None = None


@dataclass(frozen=True)
class Settings(PaperSettings):
    """How the study trained on one set, and what it published."""

    published: Published = Published()
    unmarked: int | None = (
        None  # label of rows outside every marked stretch. The notes tell how they are used.
    )
    notes: str = ""  # what the study did besides

    def machine(self, **changes: Any) -> EtherealClassifier:
        """Return a new machine as the study trained it, with some keywords changed."""
        return EtherealClassifier.paper(**(self.machine_keywords | changes))

    def training(self) -> dict[str, object]:
        """What decides a result: everything but the published figures and the notes.

        >>> SETTINGS["statlog"].training()["T"]
        16
        """
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("published", "notes")}


# What the study adds to the settings of the paper that the product has.
_MORE: dict[str, dict[str, Any]] = {
    "emg": dict(
        unmarked=0,
        notes="Quantiles from the marked windows only. Unmarked windows (class 0) with the bits of a marked "
        "one take its label (ethereal.features.windows.relabel_unmarked), test rows too.",
        published=Published(
            85.95, 9.23, 84.09, 5.18, 77.66, 25, 14, 81.10, 81.24,
            OnBoard(0.026, 1394.80, 6.13), OnBoard(1.51, 643.36, 355.97),
            OnBoard(0.72, 1001.54, 179.36), OnBoard(0.44, 580.96, 111.04),
        ),
    ),
    "gas": dict(
        notes="The first row of each of the ten batches was skipped.",
        published=Published(
            87.19, 12.27, 84.89, 7.22, 91.29, 30, 12, 81.19, 80.07,
            OnBoard(0.027, 1598.72, 6.37), OnBoard(1.20, 532.72, 282.96),
            OnBoard(0.70, 988.93, 172.77), OnBoard(0.42, 583.30, 105.46),
        ),
    ),
    "gesture": dict(
        published=Published(
            82.53, 29.31, 79.15, 17.12, 66.68, 25, 16, 81.02, 83.19,
            OnBoard(0.026, 1531.54, 6.09), OnBoard(1.66, 504.24, 388.61),
            OnBoard(2.40, 3286.53, 578.46), OnBoard(1.41, 1933.25, 341.25),
        ),
    ),
    "har": dict(
        published=Published(
            88.33, 66.22, 87.55, 8.25, 84.93, 25, 14, 80.52, 80.76,
            OnBoard(0.024, 1817.38, 5.95), OnBoard(6.34, 1944.56, 1570.76),
            OnBoard(3.33, 3613.74, 810.47), OnBoard(0.29, 512.27, 121.25),
        ),
    ),
    "mammography": dict(
        notes="A missing value counts as the middle bin. Quantiles come from the values that are there.",
        published=Published(
            83.94, 3.07, 83.94, 1.67, 83.94, 30, 4, 82.38, 81.35,
            OnBoard(0.014, 113.50, 3.29), OnBoard(0.16, 44.26, 37.58),
            OnBoard(0.012, 23.33, 3.63), OnBoard(0.008, 16.91, 2.75),
        ),
    ),
    "sensorless": dict(
        published=Published(
            86.45, 15.30, 85.12, 8.58, 88.89, 30, 16, 56.84, 72.86,
            OnBoard(0.031, 1928.29, 7.78), OnBoard(1.41, 2202.72, 353.84),
            OnBoard(1.59, 2210.90, 400.74), OnBoard(0.91, 1214.14, 238.40),
        ),
    ),
    "sports": dict(
        published=Published(
            92.61, 5.81, 89.64, 3.53, 87.50, 25, 20, 79.11, 86.37,
            OnBoard(0.025, 1729.68, 6.48), OnBoard(0.67, 1467.60, 173.71),
            OnBoard(0.54, 776.64, 144.75), OnBoard(0.36, 459.81, 100.65),
        ),
    ),
    "statlog": dict(
        published=Published(
            81.18, 4.76, 82.35, 4.70, 75.29, 25, 14, 71.76, 72.94,
            OnBoard(0.024, 1439.23, 5.52), OnBoard(3.59, 194.74, 825.99),
            OnBoard(0.221, 286.42, 53.85), OnBoard(0.219, 283.92, 53.41),
        ),
    ),
    "mnist": dict(
        notes="A pixel is true above 75. The paper's text gives the figures, but not k.",
        published=Published(95.8, 36.3, 95.0, 19.4),
    ),
}  # fmt: skip
SETTINGS = {name: Settings(**vars(PAPER[name]), **more) for name, more in _MORE.items()}

# What the paper's table 3 prints as saved by ETHEREAL of REDRESS TM, in percent: time, memory, energy.
PUBLISHED_SAVINGS: dict[str, tuple[float, float, float]] = {
    "emg": (38.83, 41.99, 38.09),
    "gas": (39.77, 41.02, 38.96),
    "gesture": (41.27, 41.18, 41.01),
    "har": (91.26, 85.82, 85.04),
    "mammography": (34.25, 27.50, 24.26),
    "sensorless": (42.39, 45.08, 40.51),
    "sports": (33.52, 40.80, 30.46),
    "statlog": (0.75, 0.87, 0.82),
}
