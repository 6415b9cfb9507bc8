"""A studio in a process of its own, and what tests of it share."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import wave

import numpy as np


def odd_table(path, rows=120, seed=0):
    """A table with text, dates, ids, a constant, gaps and names that are no identifiers."""
    rng = np.random.default_rng(seed)
    lines = ["name [kg],grün & <b>,day,id,constant,gap,mood"]
    for i in range(rows):
        weight, colour = rng.normal(20, 3), rng.choice(["red", "blue", "dark red"])
        mood = "good" if weight + 2 * (colour == "red") > 21 else "bad"
        gap = "" if rng.random() < 0.1 else f"{rng.normal():.2f}"
        lines.append(f"{weight:.2f},{colour},2026-01-{1 + i % 28:02},a{i},7,{gap},{mood}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class started:
    """A studio in a process of its own."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ethereal", "studio", str(self.folder), "--no-open"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        )  # fmt: skip
        lines = [self.process.stdout.readline() for _ in range(3)]
        assert "Ctrl-C" in lines[-1], lines
        self.address = lines[1].strip()
        self.base, self.token = self.address.split("?token=")
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        self.process.stdout.close()

    def ask(self, path, body=None, *, headers=None, method=None, raw=False):
        """The status and the answer to a request, with the token and this page's origin by default."""
        origin = self.base.rstrip("/")
        usual = {"x-ethereal-token": self.token, **({} if body is None else {"origin": origin})}
        request = urllib.request.Request(
            self.base + path, data=body if isinstance(body, bytes | None) else json.dumps(body).encode(),
            headers=usual if headers is None else headers, method=method,
        )  # fmt: skip
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, content = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, content = error.code, error.read()
        return status, content if raw else json.loads(content)


def wait_for(what, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (result := what()) is not None:
            return result
        time.sleep(0.2)
    raise AssertionError("nothing came of it")


def sound(path, n=8000, rate=8000):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((1000 * np.sin(np.arange(n) / 9)).astype("<i2").tobytes())
