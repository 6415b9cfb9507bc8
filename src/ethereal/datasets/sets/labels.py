"""Names of features and classes that the archives do not carry themselves, in the order of the columns."""

from __future__ import annotations

CLASSES: dict[str, list[str]] = {
    "emg": ["unmarked", "rest", "fist", "wrist flexion", "wrist extension", "radial deviation",
        "ulnar deviation", "extended palm"],
    "gas": ["ethanol", "ethylene", "ammonia", "acetaldehyde", "acetone", "toluene"],
    "gesture": ["rest", "preparation", "stroke", "hold", "retraction"],
    "har": ["walking", "walking_upstairs", "walking_downstairs", "sitting", "standing", "laying"],
    "mammography": ["benign", "malignant"],
    "sensorless": [f"condition {i}" for i in range(1, 12)],
    "sports": ["sitting", "standing", "lying on back", "lying on right side", "ascending stairs",
        "descending stairs", "standing in an elevator", "moving around in an elevator",
        "walking in a parking lot", "walking on a flat treadmill", "walking on an inclined treadmill",
        "running on a treadmill", "exercising on a stepper", "exercising on a cross trainer",
        "cycling horizontally", "cycling vertically", "rowing", "jumping", "playing basketball"],
    "statlog": ["van", "saab", "bus", "opel"],
    "mnist": [str(digit) for digit in range(10)],
}  # fmt: skip

_GAS_KINDS = ("dR", "|dR|", "rise0.001", "rise0.01", "rise0.1", "decay0.001", "decay0.01", "decay0.1")

FEATURES: dict[str, list[str]] = {
    "emg": [f"step{step}.channel{channel}" for step in range(1, 21) for channel in range(1, 9)],
    "gas": [f"sensor{sensor}.{kind}" for sensor in range(1, 17) for kind in _GAS_KINDS],
    "gesture": [f"{point}{axis}" for point in ("lh", "rh", "h", "s", "lw", "rw") for axis in "xyz"],
    "mammography": ["birads", "age", "shape", "margin", "density"],
    "sensorless": [f"attribute{i}" for i in range(1, 49)],
    "sports": [f"{place}_{axis}{kind}" for place in ("T", "RA", "LA", "RL", "LL")
               for kind in ("acc", "gyro", "mag") for axis in "xyz"],
    "statlog": ["compactness", "circularity", "distance circularity", "radius ratio",
        "pr.axis aspect ratio", "max.length aspect ratio", "scatter ratio", "elongatedness",
        "pr.axis rectangularity", "max.length rectangularity", "scaled variance major",
        "scaled variance minor", "scaled radius of gyration", "skewness major", "skewness minor",
        "kurtosis minor", "kurtosis major", "hollows ratio"],
    "mnist": [f"row{row}.column{column}" for row in range(28) for column in range(28)],
}  # fmt: skip
