"""Take the pictures of docs/guide/studio.md: the studio with a made-up table and a finished run.

    python tools/studio_pictures.py        # writes docs/studio.png and docs/studio-phone.png

It starts a studio on a folder of its own, and looks at it in Chromium, wide and on a phone.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).resolve().parent.parent / "docs"
SIZES = {"studio.png": (1280, 2330), "studio-phone.png": (390, 1500)}


def motors(path: Path) -> None:
    """Write a table of motors that run, rub or have lost a screw."""
    rng = np.random.default_rng(0)
    lines = ["motor,load,temperature,hum,rattle,housing,state"]
    for motor in range(24):
        for _ in range(25):
            state = rng.choice(["runs", "rubs", "loose"], p=[0.5, 0.3, 0.2])
            load = rng.uniform(0.1, 1.0)
            temperature = 21 + 30 * load + 9 * (state == "rubs") + rng.normal(0, 2.5)
            hum = 0.4 * load + 0.15 * (state == "rubs") + rng.normal(0, 0.05)
            rattle = abs(rng.normal(0, 0.06)) + 0.25 * (state == "loose") * load
            housing = rng.choice(["steel", "brass"])
            values = f"{load:.2f},{temperature:.1f},{hum:.3f},{rattle:.3f}"
            lines.append(f"M{motor:02},{values},{housing},{state}")
    path.write_text("\n".join(lines) + "\n")


def until(page: Page, expression: str) -> None:
    """Wait for something on the page, whose policy forbids to evaluate texts there."""
    while not page.evaluate(expression):
        page.wait_for_timeout(200)


def main() -> int:
    """Take all pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("Chromium is missing: make system installs it")
        return 1
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch, "motors")
        folder.mkdir()
        motors(folder / "motors.csv")
        command = [sys.executable, "-m", "ethereal", "studio", str(folder), "--no-open"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address = next(match[0] for line in server.stdout if (match := re.search(r"http://\S+", line)))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            for name, (width, height) in SIZES.items():
                page = browser.new_page(viewport={"width": width, "height": height})
                page.goto(address)
                page.wait_for_selector("#columns tbody tr")
                page.get_by_label("Role of motor", exact=True).select_option("group")
                page.select_option("#target", "nucleo-f446re")
                page.wait_for_selector("#start:not([disabled])")
                if name == "studio.png":
                    page.click("#start")
                until(page, "document.querySelectorAll('#finished .run').length > 0")
                page.locator("#flash-slider").fill("13")
                page.wait_for_timeout(2000)
                page.evaluate("document.getElementById('path').textContent = '~/motors'; scrollTo(0, 0)")
                page.screenshot(path=DOCS / name)
                Image.open(DOCS / name).quantize(128).save(DOCS / name, optimize=True)
        finally:
            browser.close()
            server.terminate()
            server.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
