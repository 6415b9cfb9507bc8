"""Fetch one file. An interrupted download is resumed, and its hash is remembered.

pooch keeps the cache. It checks hashes and renames a finished download, but it cannot resume. So the
downloader given to it collects the bytes in `FILE.part` beside the target, with the server's validator (ETag
or Last-Modified) in `FILE.part.json`. A later call asks for the rest if the file is still the same one
(`If-Range`). Otherwise it starts again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import pooch

from ethereal.base.atomic import open_to_append, rename, write_text
from ethereal.datasets.catalogue import DatasetError, Unreachable

TRIES = 4  # per address
WAIT = 1.0  # seconds before the second try, doubled each time
TIMEOUT = 30.0  # seconds without a byte
CHUNK = 1 << 14  # bytes, which is the most that is lost when a connection breaks
_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}


def fetch(urls: tuple[str, ...], folder: Path, known_hash: str | None, *, progress: bool = False) -> Path:
    """Return the path of the file, downloaded when it is not there yet.

    The file is named like the end of the first address. Without `known_hash`, the hash kept by `remember`, if
    any, is the known one.
    """
    path = folder / urls[0].rsplit("/", 1)[-1]
    memory = _memory(path)
    known = known_hash or _remembered(memory)
    if path.exists():
        _check(path, known, memory)
    else:
        _download(urls, path, known, memory, progress=progress)
    return path


def remember(path: Path) -> None:
    """Keep the SHA-256 of a file that proved readable in `FILE.sha256`, as the known one."""
    memory = _memory(path)
    if memory.exists():
        return
    try:
        write_text(memory, f"{pooch.file_hash(str(path))}  {path.name}\n")  # the form of sha256sum --check
    except OSError as e:
        raise DatasetError(f"{memory}: cannot be written ({e.strerror or e})") from e


def _download(urls: tuple[str, ...], path: Path, known: str | None, memory: Path, *, progress: bool) -> None:
    from requests.exceptions import RequestException  # slow to import, and only needed here

    failures, answered = [], False
    for url in urls:
        cache = pooch.Pooch(path=path.parent, base_url="", registry={path.name: known}, urls={path.name: url})
        try:
            cache.fetch(path.name, downloader=ResumingDownloader(path, progress=progress))
            return
        except RequestException as e:
            failures.append(f"{url}: {_reason(e)}")
            answered |= getattr(e, "response", None) is not None
        except ValueError as e:  # pooch's word for another hash
            raise DatasetError(
                f"{url}: the download is not the expected file ({_hash_text(known)} expected). If the "
                f"original was really replaced, delete {memory} and fetch again."
            ) from e
        except OSError as e:
            raise DatasetError(
                f"{path}: cannot be written ({e.strerror or e}). Free some space, or point ETHEREAL_DATA to "
                "another folder. What was downloaded so far is kept and resumed."
            ) from e
    hint = f"Without a network, put the file into {path.parent} by hand and call again."
    message = "\n".join([f"cannot download {path.name}:", *(f"  {text}" for text in failures), hint])
    if answered:
        raise DatasetError(message)
    host = urlsplit(urls[0]).netloc
    raise Unreachable(message, f"{host} does not answer. Is there a network?")


class ResumingDownloader:
    """A downloader for pooch that resumes a download of `path` with a range request."""

    def __init__(self, path: Path, *, progress: bool = False) -> None:
        self.part = path.with_name(path.name + ".part")
        self.state = path.with_name(path.name + ".part.json")
        self.progress = progress

    def __call__(self, url: str, output_file: str, pooch: Any = None) -> None:
        """Download `url` and move it to `output_file` when all of it is here."""
        from requests.exceptions import RequestException

        for attempt in range(TRIES):
            try:
                self._attempt(url)
                break
            except RequestException as e:
                response = getattr(e, "response", None)
                final = response is not None and response.status_code not in _TRANSIENT
                if final or attempt == TRIES - 1:
                    raise
                time.sleep(WAIT * 2**attempt)
        rename(self.part, output_file)
        self.state.unlink(missing_ok=True)

    def _attempt(self, url: str) -> None:
        import requests

        start, validator = self._resume_point(url)
        headers = {"Accept-Encoding": "identity"}  # because a byte range counts stored bytes
        if start:
            headers |= {"Range": f"bytes={start}-", "If-Range": validator}
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            if response.status_code == 416:
                if response.headers.get("Content-Range") == f"bytes */{start}":
                    return  # all of it is here already
                self._discard("the server refused to resume the download")
            response.raise_for_status()
            if response.status_code != 206:
                # All of it comes. The old part goes before the new validator is noted, so that a process
                # killed in between does not continue one file with another.
                start = 0
                self.part.unlink(missing_ok=True)
            elif not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
                self._discard("the server sent another part than was asked for")
            length = response.headers.get("Content-Length", "")
            total = start + int(length) if length.isdigit() else None
            self._note_validator(url, response.headers)
            with (
                open_to_append(self.part) as file,
                _bar(self.progress, self.part.stem, total) as bar,
            ):
                bar(start)
                for chunk in response.iter_content(CHUNK):
                    file.write(chunk)
                    bar(len(chunk))
                size = file.tell()
            if total is not None and size != total:
                raise requests.ConnectionError(f"the connection ended after {size} of {total} bytes")

    def _discard(self, why: str) -> NoReturn:
        """Forget what is here, so that the next attempt starts from the beginning."""
        from requests import ConnectionError

        self.part.unlink(missing_ok=True)
        raise ConnectionError(why)

    def _resume_point(self, url: str) -> tuple[int, str]:
        try:
            state = json.loads(self.state.read_text())
            size = self.part.stat().st_size
        except (OSError, ValueError):
            return 0, ""
        is_same = isinstance(state, dict) and state.get("url") == url
        return (size, state["validator"]) if is_same and isinstance(state.get("validator"), str) else (0, "")

    def _note_validator(self, url: str, headers: Any) -> None:
        etag = headers.get("ETag", "")
        validator = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified", "")
        if validator:
            write_text(self.state, json.dumps({"url": url, "validator": validator}))
        else:  # without a validator, an interrupted download starts again
            self.state.unlink(missing_ok=True)


def _bar(progress: bool, name: str, total: int | None) -> AbstractContextManager[Callable[[int], None]]:
    """Return a context of a function that is given the number of bytes that came."""
    if not progress:
        return nullcontext(lambda n: None)
    from rich import progress as rich
    from rich.console import Console

    @contextmanager
    def shown() -> Any:
        columns = (
            rich.BarColumn(),
            rich.DownloadColumn(),
            rich.TransferSpeedColumn(),
            rich.TimeRemainingColumn(),
        )
        name_column = rich.TextColumn("{task.description}")
        with rich.Progress(name_column, *columns, console=Console(stderr=True)) as bars:
            task = bars.add_task(name, total=total)
            yield lambda n: bars.advance(task, n)

    return shown()


def _check(path: Path, known: str | None, memory: Path) -> None:
    if known is None:
        return
    algorithm, _, digest = known.rpartition(":")
    actual = pooch.file_hash(str(path), alg=algorithm or "sha256")
    if actual != digest:
        raise DatasetError(
            f"{path}: has another hash ({actual}) than expected ({_hash_text(known)}). It is damaged or not "
            f"whole. Delete it and fetch it again. If you replaced it on purpose, delete {memory}, too."
        )


def _memory(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _remembered(memory: Path) -> str | None:
    try:
        words = memory.read_text().split()
    except OSError:
        return None
    if not words or len(words[0]) != 64 or not set(words[0]) <= set("0123456789abcdef"):
        raise DatasetError(f"{memory}: holds no SHA-256. Delete it and fetch again.")
    return words[0]


def _hash_text(known: str | None) -> str:
    return known if known and ":" in known else f"sha256:{known}"


def _reason(error: Exception) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code} {response.reason}"
    return f"{type(error).__name__}: {str(error)[:200]}"
