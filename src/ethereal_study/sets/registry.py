"""Where each data set comes from, what it must hold, and whom to cite. Pure data, one entry per set."""

from __future__ import annotations

from dataclasses import dataclass

from ethereal.datasets.catalogue import Source

_UCI = "https://archive.ics.uci.edu/static/public/"
_CC_BY = "CC BY 4.0"
# Addresses that serve the four files of MNIST.
_MNIST = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)


@dataclass(frozen=True)
class File:
    """One file to download, with the same bytes at any of its addresses."""

    urls: tuple[str, ...]
    hash: str | None = None  # "md5:..." or a SHA-256, None to remember that of the first download

    @property
    def name(self) -> str:
        """The name under which it is kept."""
        return self.urls[0].rsplit("/", 1)[-1]


@dataclass(frozen=True)
class PublishedSource(Source):
    """A data set with the files that its original is published in."""

    files: tuple[File, ...] = ()
    members: int = 0  # data files inside the archive


def _uci(number: int, slug: str) -> tuple[File, ...]:
    return (File((f"{_UCI}{number}/{slug}.zip",)),)


def _idx(name: str, md5: str) -> File:
    return File(tuple(f"{base}{name}-ubyte.gz" for base in _MNIST), f"md5:{md5}")


SOURCES: dict[str, PublishedSource] = {
    s.name: s
    for s in (
        PublishedSource(
            "emg", "EMG data for gestures: 36 subjects, a bracelet of 8 channels, 7 hand gestures",
            files=_uci(481, "emg+data+for+gestures"),
            members=72, rows=14232, features=160, classes=8, licence=_CC_BY,
            citation="S. Lobov et al., Latent factors limiting the performance of sEMG-interfaces, Sensors "
            "18(4):1122, 2018; doi:10.24432/C5ZP5C",
        ),
        PublishedSource(
            "gas", "Gas sensor array drift: 16 chemical sensors, 6 gases, 10 batches over 36 months",
            files=_uci(224, "gas+sensor+array+drift+dataset"),
            members=10, rows=13910, features=128, classes=6, licence=_CC_BY,
            citation="A. Vergara et al., Chemical gas sensor drift compensation using classifier ensembles, "
            "Sensors and Actuators B 166:320-329, 2012; doi:10.24432/C5RP6W",
        ),
        PublishedSource(
            "gesture", "Gesture phase segmentation: 6 body points in space, 7 videos, 5 phases",
            files=_uci(302, "gesture+phase+segmentation"),
            members=7, rows=9901, features=18, classes=5, licence=_CC_BY,
            citation="R. Madeo, C. Lima, S. Peres, Gesture unit segmentation using support vector machines, "
            "SAC 2013; doi:10.24432/C5Z32C",
        ),
        PublishedSource(
            "har", "Human activity recognition using smartphones: 30 subjects, 561 features, 6 activities",
            files=_uci(240, "human+activity+recognition+using+smartphones"),
            members=6, rows=10299, features=561, classes=6, licence=_CC_BY,
            citation="D. Anguita et al., A public domain dataset for human activity recognition using "
            "smartphones, ESANN 2013; doi:10.24432/C54S4K",
        ),
        PublishedSource(
            "mammography",
            "Mammographic mass: BI-RADS attributes of 961 masses, benign or malignant, values missing",
            files=_uci(161, "mammographic+mass"),
            members=1, rows=961, features=5, classes=2, licence=_CC_BY,
            citation="M. Elter, R. Schulz-Wendtland, T. Wittenberg, The prediction of breast cancer biopsy "
            "outcomes using two CAD approaches, Medical Physics 34(11):4164-4172, 2007; doi:10.24432/C53K6Z",
        ),
        PublishedSource(
            "sensorless", "Sensorless drive diagnosis: 48 features of motor currents, 11 conditions",
            files=_uci(325, "dataset+for+sensorless+drive+diagnosis"),
            members=1, rows=58509, features=48, classes=11, licence=_CC_BY,
            citation="M. Bator, Dataset for sensorless drive diagnosis, 2013; doi:10.24432/C5VP5F",
        ),
        PublishedSource(
            "sports", "Daily and sports activities: 8 subjects, 5 motion sensors, 19 activities",
            files=_uci(256, "daily+and+sports+activities"),
            members=9120, rows=100320, features=45, classes=19, licence=_CC_BY,
            citation="K. Altun, B. Barshan, O. Tuncel, Comparative study on classifying human activities "
            "with miniature inertial and magnetic sensors, Pattern Recognition 43(10):3605-3620, 2010; "
            "doi:10.24432/C5C59F",
        ),
        PublishedSource(
            "statlog", "Statlog vehicle silhouettes: 18 shape features, 4 vehicles",
            files=_uci(149, "statlog+vehicle+silhouettes"),
            members=9, rows=846, features=18, classes=4, licence=_CC_BY,
            citation="P. Mowforth, B. Shepherd, Statlog (vehicle silhouettes), Turing Institute, 1987; "
            "doi:10.24432/C5HG6N",
        ),
        PublishedSource(
            "mnist", "MNIST: handwritten digits, 28 x 28 grey pixels",
            files=(
                _idx("train-images-idx3", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
                _idx("train-labels-idx1", "d53e105ee54ea40749a09fcbcd1e9432"),
                _idx("t10k-images-idx3", "9fb629c4189551a2d022fa330f9573f3"),
                _idx("t10k-labels-idx1", "ec29112dd5afa0611ce80d1b7f02629c"),
            ),
            members=4, rows=70000, features=784, classes=10, licence="CC BY-SA 3.0",
            citation="Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, Gradient-based learning applied to "
            "document recognition, Proc. IEEE 86(11):2278-2324, 1998",
            image_shape=(28, 28),
        ),
    )
}  # fmt: skip


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
