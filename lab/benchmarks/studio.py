"""How quickly the studio answers on a folder with a table of 1,000,000 rows, and the memory of its server.

    python lab/benchmarks/studio.py             # starts a studio on loopback, and a quick run in it

Seconds are those of a request. CPU is that of the server in it, which another process on the machine does not
change.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

ROWS = 1_000_000


class Served:
    """A studio in a process of its own."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "ethereal", "studio", str(folder), "--no-open"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        address = next(match[0] for line in self.process.stdout if (match := re.search(r"http://\S+", line)))
        self.base, self.token = address.split("?token=")
        with urllib.request.urlopen(address):  # the page, which begins to import
            pass

    def ask(self, path: str, body: Any = None) -> Any:
        """Return the answer to a request."""
        headers = {"x-ethereal-token": self.token, "origin": self.base.rstrip("/")}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.base + path, data, headers)) as answer:
            return json.loads(answer.read())

    def timed(self, name: str, path: str, body: Any = None) -> Any:
        """Ask, and print how long it took."""
        begin, cpu = time.perf_counter(), self.cpu()
        answer = self.ask(path, body)
        took, busy = time.perf_counter() - begin, self.cpu() - cpu
        print(f"{name:<34}{took:8.3f} s{busy:8.2f} s CPU{self.megabytes():6} MB", flush=True)
        return answer

    def cpu(self) -> float:
        """CPU seconds of the server."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def megabytes(self) -> int:
        """Memory of the server."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * 4096 >> 20


def main() -> None:
    """Time requests before, during and after a run."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.random((ROWS, 2)).round(4), rng.integers(0, 97, (ROWS, 3))])
        labels = np.where(X[:, 0] + X[:, 2] / 200 > 0.7, "p", "q").tolist()
        rows = (",".join(map(str, row)) + f",{y}" for row, y in zip(X.tolist(), labels, strict=True))
        (folder / "million.csv").write_text("\n".join(["a,b,c,d,e,y", *rows, ""]))
        studio = Served(folder)
        try:
            studio.timed("the project, at once", "api/project")
            studio.timed("the table, at once", "api/table?source=million.csv")
            time.sleep(5)
            (folder / "million.csv").touch()  # another version of the file
            studio.timed("the table, read again", "api/table?source=million.csv")
            studio.timed("a histogram", "api/histogram?source=million.csv&column=a&label=y")
            asked = {"source": "million.csv", "label": "y", "quick": True}
            studio.timed("the command", "api/command", asked)
            studio.ask("api/start", asked)
            slowest, times = 0.0, 0
            while True:
                begin = time.perf_counter()
                said = studio.ask("api/runs")
                if said["finished"]:
                    break
                slowest, times = max(slowest, time.perf_counter() - begin), times + 1
                time.sleep(0.5)
            first = time.perf_counter() - begin
            print(f"runs, {times} times, the slowest{slowest:14.3f} s")
            print(f"runs, with the first that is done{first:9.3f} s{studio.megabytes():25} MB")
            studio.timed("its page with WebAssembly", "api/live?run=million")
            studio.timed("its page again", "api/live?run=million")
        finally:
            studio.process.terminate()
            studio.process.wait()


if __name__ == "__main__":
    main()
