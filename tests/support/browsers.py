"""Pages in a real browser and in node. A page that asks for anything from elsewhere, or complains, fails."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from ethereal.export.page.payload import shared

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
SOUND = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
HARNESS = Path(__file__).with_name("board_page.mjs")


@contextmanager
def chromium() -> Iterator:
    """Start the browser of this machine."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium: `make system` installs it")
        pytest.skip("no Chromium on this machine; `make system` installs it where it may")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS + SOUND)
        yield browser
        browser.close()


@contextmanager
def opening(browser) -> Iterator:
    """Give a function that opens a file. In the end, nothing may have gone wrong in any page."""
    contexts, troubles = [], []

    def opener(path, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: troubles.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: troubles.append(str(e)))
        page.on("dialog", lambda d: (troubles.append(f"dialog {d.message}"), d.dismiss()))
        page.on("request", lambda r: None if r.url.startswith(("file:", "blob:")) else troubles.append(r.url))
        page.goto(path.as_uri())
        return page

    yield opener
    for context in contexts:
        context.close()
    assert not troubles, troubles


def data_of(page: str) -> dict:
    """Return the data in a page."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def in_node(page: str, *, rows=None, windows=None) -> dict:
    """Return what the compiled model of a page answers in node, without the page around it.

    `rows` have features, missing ones NaN. `windows` are pushed sample by sample.
    """
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    given = {"data": data_of(page), "scripts": shared("live.js") + shared("board.js")}
    if rows is not None:
        given["rows"] = [
            [None if np.isnan(v) else float(v) for v in row] for row in np.asarray(rows, dtype=float)
        ]
    if windows is not None:
        given["windows"] = np.asarray(windows).tolist()
    done = subprocess.run(
        ["node", HARNESS], input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def until(page, expression: str) -> None:
    """Wait until an expression is true in a page. Playwright's own way needs `eval`, which pages forbid."""
    for _ in range(500):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"never true: {expression}")
