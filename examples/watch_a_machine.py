"""What is normal: a detector from a fleet, a board's own machine, and why something was an alarm.

python examples/watch_a_machine.py
"""

import tempfile
from pathlib import Path

import numpy as np

from ethereal import EtherealDetector, WindowFeatures, export
from ethereal.adapt import Normal

rng = np.random.default_rng(0)
TIME = np.arange(64) / 400  # seconds


def windows(speed, loud, n=60, fault=0.0):
    """Made-up vibration of two axes. The fault is a tone at three times the speed."""
    phase = rng.uniform(0, 6.28, (n, 1, 2))
    tone = loud * np.sin(6.28 * speed * TIME[:, None] + phase)
    tone = tone + fault * np.sin(3 * 6.28 * speed * TIME[:, None] + phase)
    return np.rint(tone + rng.normal(0, 30, (n, 64, 2))).astype(np.int16)


# A fleet of eight machines. Each is left out in turn for the limit.
fleet = [windows(rng.uniform(20, 40), rng.uniform(200, 900)) for _ in range(8)]
detector = EtherealDetector(0.02, front_end=WindowFeatures(["std", "bands"], axes=["x", "y"], rate=400))
detector.fit(np.concatenate(fleet), groups=np.repeat(np.arange(8), 60))

# A new machine with a small fault. The fleet's detector knows many machines, so it misses most of it.
healthy, faulty = windows(30, 300, 120), windows(30, 300, fault=150)
print(f"the fleet's detector notices {(detector.predict(faulty) == -1).mean():.0%} of the faulty windows")

# The board learns its own machine from 80 windows.
board = Normal(detector.model_, n_centres=4)
board.begin()
for window in healthy[:80]:
    board.learn(window)
assert board.end() == 1
print(f"its own notices {1 - board.is_normal(faulty).mean():.0%}")
print(f"and takes {1 - board.is_normal(healthy[80:]).mean():.0%} of the healthy ones for faulty")

print(detector.model_.explain_normal(windows(30, 300, 1, fault=30000)[0], 2))
with tempfile.TemporaryDirectory() as folder:
    library = export.arduino(detector.model_, Path(folder) / "watch", name="watch", own_normal=4)
    print("the sketch:", (library / "examples" / "Watch" / "Watch.ino").relative_to(library))
