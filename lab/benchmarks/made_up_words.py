"""Write keywords that a synthesiser speaks, with voices, noise and places in the window that vary.

python lab/benchmarks/made_up_words.py words.npz
python lab/benchmarks/patterns.py windows words.npz --test --flash 8000

It needs espeak-ng (apt-get install espeak-ng). Test voices are not in training, and the words of the class
"other" are not those of training either. The arrays are those of the other sets of windows.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import wave
from typing import Any

import numpy as np

RATE, WINDOW = 8000, 8192
KEYWORDS = ("yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go")
OTHERS = (("water", "seven", "maybe", "tree", "happy"), ("river", "eight", "never", "house", "simple"))
ACCENTS = ("en-us", "en-gb", "en-gb-scotland", "en-029")
KINDS = ("m1", "m3", "m5", "m7", "f1", "f2", "f4", "f5")


def spoken(word: str, voice: str, speed: int, pitch: int) -> Any:
    """Return what a voice says, as floats at RATE."""
    command = ["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "--stdout", word]
    done = subprocess.run(command, capture_output=True, check=True)
    with wave.open(io.BytesIO(done.stdout)) as read:
        rate = read.getframerate()
        samples = np.frombuffer(read.readframes(2**24), "<i2").astype(float)
    width = max(1, round(rate / RATE))  # a mean keeps out most of what RATE cannot hold
    smooth = np.convolve(samples, np.ones(width) / width, mode="same")
    return np.interp(np.arange(0, len(smooth), rate / RATE), np.arange(len(smooth)), smooth)


def window_of(sound: Any, rng: np.random.Generator) -> Any:
    """Return a window of int16 with the sound somewhere, at some loudness, and noise."""
    sound = sound[:WINDOW]
    out = np.zeros(WINDOW)
    start = rng.integers(0, WINDOW - len(sound) + 1)
    out[start : start + len(sound)] = sound / max(1.0, np.abs(sound).max())
    loud = 32767 * 10 ** rng.uniform(-1.2, -0.1)
    noise = rng.normal(size=WINDOW)
    colour = rng.uniform(0, 0.9)
    for i in range(1, WINDOW):  # from white to nearly brown
        noise[i] += colour * noise[i - 1]
    noise *= np.sqrt(np.mean(out**2)) / noise.std() / 10 ** (rng.uniform(5, 25) / 20)
    return np.clip(np.rint(loud * (out + noise)), -32768, 32767).astype(np.int16)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--takes", type=int, default=4, help="of each word and voice")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    voices = [f"{accent}+{kind}" for accent in ACCENTS for kind in KINDS]
    rows: list[tuple[Any, int, str, bool]] = []
    for voice in voices:
        test = voice.endswith(("m7", "f5"))  # kinds of voices that training has in no accent
        for word in (*KEYWORDS, *OTHERS[test]):
            label = KEYWORDS.index(word) if word in KEYWORDS else len(KEYWORDS)
            for _ in range(args.takes):
                sound = spoken(word, voice, int(rng.integers(130, 200)), int(rng.integers(30, 70)))
                rows.append((window_of(sound, rng), label, voice, test))
    X, y, group, test_rows = (np.array(column) for column in zip(*rows, strict=True))
    np.savez_compressed(
        args.out, X=X[:, :, None], y=y.astype(np.int16), group=group, test=test_rows, rate=float(RATE),
        class_names=np.array([*KEYWORDS, "other"]), axis_names=np.array(["sound"]),
    )  # fmt: skip
    print(f"{len(X)} windows of {len(voices)} voices, {test_rows.sum()} for the test")


if __name__ == "__main__":
    main()
