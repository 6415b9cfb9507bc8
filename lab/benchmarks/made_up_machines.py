"""Made-up vibration of machines, healthy and with three faults, for the benchmark of what is normal.

Each machine has a speed, harmonics, a resonance and noise of its own, so what is usual for one is odd for
another. The faults are an imbalance, a loose foot and a damaged bearing, from hardly there to plain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RATE, WINDOW, AXES = 1600.0, 128, 3
FAULTS = ("imbalance", "looseness", "bearing")


class Machine:
    """One machine with its own sound."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        draw = self._rng.uniform
        self._speed = draw(20, 60)  # turns per second
        self._harmonics = draw(20, 120, (4, AXES)) / np.arange(1, 5)[:, None] ** draw(0.5, 2)
        self._resonance, self._damping = draw(300, 700), draw(60, 200)
        self._noise = draw(15, 60, AXES)
        self._balls = draw(3.1, 5.4)  # hits of a bearing per turn
        self._gravity = 1000 * self._rng.normal(size=AXES)

    def windows(self, n: int, fault: str | None = None) -> NDArray[np.int16]:
        """Return windows of a healthy machine, or of one with a fault, windows x samples x axes."""
        rng = self._rng
        time = np.arange(WINDOW) / RATE
        made = np.empty((n, WINDOW, AXES))
        for i in range(n):
            speed = self._speed * (1 + 0.02 * rng.normal())
            load = 1 + 0.15 * rng.normal()
            size = rng.uniform(0.3, 1.5)  # of the fault
            phase = rng.uniform(0, 2 * np.pi, (4, AXES))
            harmonics = self._harmonics * load
            if fault == "imbalance":
                harmonics = harmonics * np.array([1 + 1.5 * size, 1, 1, 1])[:, None]
            if fault == "looseness":
                harmonics = harmonics * np.array([1, 1 + 1.5 * size, 1 + 2 * size, 1 + 2 * size])[:, None]
            turns = np.arange(1, 5)[:, None, None] * speed * time[:, None]
            signal = (harmonics[:, None] * np.sin(2 * np.pi * turns + phase[:, None])).sum(axis=0)
            signal = signal + self._noise * rng.normal(size=(WINDOW, AXES))
            if fault == "looseness":
                half = 60 * size * np.sin(np.pi * speed * time + phase[0, 0])
                signal = signal + half[:, None] * self._harmonics[0] / self._harmonics[0].mean()
            if fault == "bearing":
                signal = signal + size * self._ringing(time, speed)[:, None] * np.array([1.0, 0.7, 0.4])
            made[i] = signal + self._gravity
        return np.clip(np.rint(made), -(2**15), 2**15 - 1).astype(np.int16)

    def _ringing(self, time: NDArray[np.float64], speed: float) -> NDArray[np.float64]:
        """Return the resonance, hit again and again."""
        every = 1 / (self._balls * speed)
        signal = np.zeros(len(time))
        for hit in np.arange(-self._rng.uniform(0, every) - 3 * every, time[-1], every):
            since = np.maximum(time - hit, 0)
            ring = np.exp(-self._damping * since) * np.sin(2 * np.pi * self._resonance * since)
            signal += 120 * np.where(time >= hit, ring, 0)
        return signal
