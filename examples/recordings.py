"""Make a small folder of recordings, as `ethereal capture` writes them: a folder per class and per person.

    python examples/recordings.py recordings
    ethereal run recordings --window 128 --hop 64 --rate 50 --group person --quick

Six people rest, walk or run with an accelerometer that sends 1 g as 1000, 50 times a second. It is made up.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

RATE, SECONDS = 50, 20
PEOPLE = ("anna", "ben", "carla", "david", "emma", "finn")
ACTIVITIES = {"rest": (0.0, 0.0), "walk": (1.8, 0.25), "run": (2.8, 0.9)}  # paces per second, and force in g


def recording(activity: str, rng: np.random.Generator) -> np.ndarray:
    """Samples x axes, in counts."""
    t = np.arange(SECONDS * RATE)[:, None] / RATE
    pace, force = ACTIVITIES[activity]
    steps = force * np.sin(2 * np.pi * pace * rng.uniform(0.9, 1.1) * t + rng.uniform(0, 6, 3))
    noise = rng.normal(0, 0.02, (len(t), 3))
    return np.rint(1000 * (steps * rng.uniform(0.7, 1.3, 3) + noise + [0, 0, 1])).astype(int)


def make(folder: Path) -> int:
    """Write all recordings, and return how many there are."""
    rng = np.random.default_rng(0)
    for person in PEOPLE:
        for activity in ACTIVITIES:
            path = folder / activity / person / "1.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = [",".join(map(str, sample)) for sample in recording(activity, rng).tolist()]
            path.write_text("\n".join(["ax,ay,az", *lines]) + "\n")
    return len(PEOPLE) * len(ACTIVITIES)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(f"{make(Path(sys.argv[1]))} recordings in {sys.argv[1]}")
    else:
        with tempfile.TemporaryDirectory() as temporary:
            print(f"{make(Path(temporary))} recordings. Name a folder to keep them.")
