"""Small archives in the layout of the originals, and a server for them on loopback."""

from __future__ import annotations

import gzip
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from ethereal_study.sets import registry


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in files.items():
            z.writestr(name, content)
    return buffer.getvalue()


def _table(rows: np.ndarray, sep: str) -> str:
    return "".join(sep.join(f"{v:.6g}" for v in row) + "\n" for row in rows)


def emg_files(subjects: int = 2, milliseconds: int = 3600, unmarked: float = 0.5) -> dict[str, str]:
    """Two recordings per subject; every fifth millisecond is left out; the last file ends within a line.

    With all 36 subjects that is the first recording of subject 34, as in the original.
    """
    rng = np.random.default_rng(0)
    files = {"EMG_data_for_gestures-master/README.txt": "about the data"}
    for subject in range(1, subjects + 1):
        for session in (1, 2):
            time = np.arange(1, milliseconds + 1)
            label = np.where(time > unmarked * milliseconds, 1 + (subject + session) % 7, 0)
            rows = np.column_stack([time, np.round(rng.normal(size=(len(time), 8)), 2), label])
            text = "time\t" + "\t".join(f"channel{c}" for c in range(1, 9)) + "\tclass\n"
            text += _table(rows[time % 5 != 3], "\t")
            name = f"EMG_data_for_gestures-master/{subject:02d}/{session}_raw_data_13-1{session}_22.03.16.txt"
            files[name] = text
    cut = next((n for n in files if "/34/1_raw" in n), name)
    files[cut] = files[cut].rstrip().rsplit("\t", 1)[0]
    return files


def gas_files(rows: int = 7) -> dict[str, str]:
    rng = np.random.default_rng(1)
    files = {}
    for batch in range(1, 11):
        lines = [
            f"{1 + (batch + i) % 6} "
            + " ".join(f"{k}:{v:.4f}" for k, v in enumerate(rng.normal(size=128), 1))
            for i in range(rows)
        ]
        files[f"Dataset/batch{batch}.dat"] = " \n".join(lines) + " \n"
    return files


def gesture_files(rows: int = 6) -> dict[str, str | bytes]:
    rng = np.random.default_rng(2)
    points = [f"{point}{axis}" for point in ("lh", "rh", "h", "s", "lw", "rw") for axis in "xyz"]
    header = ",".join(points) + ",timestamp,phase\n"
    phases = ["Rest", "Preparation", "Stroke", "Hold", "Retraction"]
    files: dict[str, str | bytes] = {"data_description.txt": "about"}
    for video in ("a1", "a2", "a3", "b1", "b3", "c1", "c3"):
        lines = [
            ",".join(f"{v:.6f}" for v in rng.normal(5, 1, 18)) + f",{5702026 + 31 * i},{phases[i % 5]}"
            for i in range(rows)
        ]
        files[f"{video}_raw.csv"] = header + "\n".join(lines) + "\n"
        files[f"{video}_va3.csv"] = "1,2,3\n"
    # One row of the original has its phase in Portuguese.
    files["b1_raw.csv"] = str(files["b1_raw.csv"]).replace("Preparation", "Preparação").encode("latin-1")
    return files


def har_files(train: int = 12, test: int = 6) -> dict[str, str]:
    rng = np.random.default_rng(3)
    names = [f"tBodyAcc-{i}()" for i in range(558)] + ["fBodyAcc-bandsEnergy()-1,8"] * 3
    files = {
        "UCI HAR Dataset/features.txt": "".join(f"{i} {n}\n" for i, n in enumerate(names, 1)),
        "UCI HAR Dataset/features_info.txt": "about",
        "__MACOSX/UCI HAR Dataset/._features.txt": "resource fork",
    }
    for part, n in (("train", train), ("test", test)):
        numbers = rng.uniform(-1, 1, (n, 561))
        lines = ("  " + " ".join(f"{v: .7e}" for v in row) for row in numbers)
        files[f"UCI HAR Dataset/{part}/X_{part}.txt"] = "\n".join(lines) + "\n"
        files[f"UCI HAR Dataset/{part}/y_{part}.txt"] = "".join(f"{1 + i % 6}\n" for i in range(n))
        files[f"UCI HAR Dataset/{part}/subject_{part}.txt"] = "".join(f"{1 + i // 3}\n" for i in range(n))
    return files


def mammography_files(rows: int = 20) -> dict[str, str]:
    lines = [
        f"{1 + i % 5},{40 + i},{1 + i % 4},{'?' if i % 3 == 0 else 1 + i % 5},3,{i % 2}" for i in range(rows)
    ]
    return {"mammographic_masses.data": "\n".join(lines) + "\n", "mammographic_masses.names": "about"}


def sensorless_files(rows: int = 22) -> dict[str, str]:
    numbers = np.random.default_rng(4).normal(size=(rows, 48))
    table = np.column_stack([numbers, 1 + np.arange(rows) % 11])
    return {"Sensorless_drive_diagnosis.txt": _table(table, " ")}


def sports_files(activities: int = 2, subjects: int = 2, segments: int = 2) -> dict[str, str]:
    rng = np.random.default_rng(5)
    return {
        f"data/a{a:02d}/p{p}/s{s:02d}.txt": _table(rng.normal(size=(125, 45)), ",")
        for a in range(1, activities + 1)
        for p in range(1, subjects + 1)
        for s in range(1, segments + 1)
    }


def statlog_files(rows: int = 4) -> dict[str, str]:
    rng = np.random.default_rng(6)
    vehicles = ["van ", "saab", "bus ", "opel"]  # padded with a blank, as in the original
    return {
        f"xa{letter}.dat": "".join(
            " ".join(map(str, rng.integers(1, 300, 18))) + f" {vehicles[i % 4]}\n" for i in range(rows)
        )
        for letter in "abcdefghi"
    } | {"Index": "xaa.dat", "vehicle.doc": "about"}


def idx(array: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    return gzip.compress(head + array.astype(np.uint8).tobytes())


def mnist_files(train: int = 5, test: int = 3) -> dict[str, bytes]:
    rng = np.random.default_rng(7)
    files = {}
    for part, n in (("train", train), ("t10k", test)):
        files[f"{part}-images-idx3-ubyte.gz"] = idx(rng.integers(0, 256, (n, 28, 28)))
        files[f"{part}-labels-idx1-ubyte.gz"] = idx(np.arange(n) % 10)
    return files


def saved(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


GOOD = {"X": np.zeros((4, 2)), "y": np.array([0, 1, 0, 1]), "test": np.array([True, False, False, True])}

ARCHIVES = {
    "emg": (lambda: zipped(emg_files()), 4),
    "gas": (lambda: zipped(gas_files()), 10),
    "gesture": (lambda: zipped(gesture_files()), 7),
    "har": (lambda: zipped({"UCI HAR Dataset.names": "x", "UCI HAR Dataset.zip": zipped(har_files())}), 6),
    "mammography": (lambda: zipped(mammography_files()), 1),
    "sensorless": (lambda: zipped(sensorless_files()), 1),
    "sports": (lambda: zipped(sports_files()), 8),
    "statlog": (lambda: zipped(statlog_files()), 9),
}


@dataclass
class Site:
    """What the server answers: bytes per path, and how it misbehaves."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    break_after: list[int] = field(default_factory=list)  # bytes after which the next answers break off
    errors: list[int] = field(default_factory=list)  # status codes of the next answers
    ranges: bool = True
    validator: bool = True
    requests: list[tuple[str, str | None]] = field(default_factory=list)  # path and Range of each request


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = self.path.lstrip("/")
            asked = self.headers.get("Range")
            site.requests.append((name, asked))
            if site.errors or name not in site.files:
                self.send_error(site.errors.pop(0) if site.errors else 404)
                return
            body, start = site.files[name], 0
            etag = f'"{hashlib.sha256(body).hexdigest()}"'
            if asked and site.ranges and self.headers.get("If-Range") == etag:
                start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body) > 0:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body) - start))
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            if site.validator:
                self.send_header("ETag", etag)
            self.end_headers()
            if site.break_after:
                self.wfile.write(body[start : start + site.break_after.pop(0)])
                self.wfile.flush()
                self.close_connection = True
            else:
                self.wfile.write(body[start:])

        def log_message(self, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *args: object) -> None:
            pass  # a client that was killed is no news

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}/"
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def small_source(name: str, site: Site, members: int | None = None) -> registry.PublishedSource:
    """The source of a set, its files taken from the site, with as many members as the small archive has."""
    source = registry.SOURCES[name]
    files = tuple(replace(f, urls=(site.url + f.name,), hash=None) for f in source.files)
    return replace(source, files=files, members=ARCHIVES[name][1] if members is None else members)
