"""The studio in a real browser, as somebody uses it."""

import os
import shutil
import subprocess
import threading
import time
import urllib.parse
import zipfile

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")

from ethereal.datasets.options import SourceOptions
from ethereal.datasets.reading import read
from ethereal.runs.run import Run
from ethereal.runs.watched import NormalRun
from studios import odd_table, sound, started, wait_for

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
FLAGS += ["--autoplay-policy=no-user-gesture-required"]


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium: `make system` installs it")
        pytest.skip("no Chromium on this machine; `make system` installs it where it may")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with started(tmp_path_factory.mktemp("studio")) as one:
        yield one


@pytest.fixture
def open_page(browser, studio):
    """Opens the page; fails when anything goes wrong in it, or it asks for anything from elsewhere."""
    contexts, troubles = [], []

    def opener(**options):
        context = browser.new_context(accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: troubles.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: troubles.append(str(e)))
        page.on("dialog", lambda d: (troubles.append(f"dialog {d.message}"), d.dismiss()))
        ours = (studio.base, "data:", "blob:")
        page.on("request", lambda r: None if r.url.startswith(ours) else troubles.append(r.url))
        page.set_default_timeout(120_000)
        page.goto(studio.address)
        until(page, "document.getElementById('folder').textContent !== '…'")
        return page

    yield opener
    for context in contexts:
        context.close()
    # What the server refuses is told on the page, and by the browser in its console.
    assert [t for t in troubles if "400 (Bad Request)" not in t and "ScriptProcessorNode" not in t] == []


def until(page, expression):
    """Wait for something on the page, whose policy forbids to evaluate texts there."""
    wait_for(lambda: page.evaluate(expression) or page.wait_for_timeout(100))


def role_of(page, column):
    return page.get_by_label(f"Role of {column}", exact=True)


def run_to_the_end(page, folder, name):
    page.wait_for_selector("#start:not([disabled])")
    page.click("#start")
    page.wait_for_selector(f"#finished >> text={name}")
    return Run.load(folder / "runs" / name)


def test_a_table_becomes_a_model_that_is_taken_away(open_page, studio, tmp_path):
    page = open_page(viewport={"width": 1280, "height": 900})
    page.set_input_files(
        "#file", odd_table(tmp_path / "mood of <b>things</b>.csv".replace("<b>", "").replace("</b>", ""))
    )
    page.wait_for_selector("#columns tbody tr")
    assert role_of(page, "mood").input_value() == "label"
    assert role_of(page, "day").input_value() == "drop"
    assert page.locator("#columns tbody tr").count() == 7
    assert page.locator("b").count() == 0  # a name with a tag in it stays a name
    role_of(page, "constant").select_option("drop")
    page.locator("#flash-slider").fill("14")
    page.click("#goal summary >> text=More")
    page.check("#quick")
    until(page, "document.getElementById('command').textContent.includes('--drop constant')")
    command = page.locator("#command").inner_text()
    assert "--flash 2030" in command
    page.click("#split")
    page.wait_for_selector("#split-shown table")
    done = run_to_the_end(page, studio.folder, "mood of things")
    assert done.pruned.bounds == {"flash": 2030}
    assert sorted(done.model.feature_names) == ["gap", "grün & <b>", "name [kg]"]

    page.click("text=Open the model")
    report = page.frame_locator("#report")
    assert "mood of things" in report.locator("h1").inner_text()
    shown = []  # the answers of the page to its rows
    for i in range(1, report.locator("#row-choice option").count()):  # the first stands for own values
        report.locator("#row-choice").select_option(index=i)
        shown.append(report.locator("#verdict").inner_text().split(" (")[0].removeprefix("Prediction: "))

    page.locator("#flash-slider").fill("8")
    until(page, "document.getElementById('promise').textContent.includes('needs no training')")
    assert page.locator("#goal-curve circle").count() > 1
    other = run_to_the_end(page, studio.folder, "mood of things-2")
    assert other.learned == done.learned  # taken over, seconds and all
    assert "taken from" in (studio.folder / "runs" / "mood of things-2" / "run.log").read_text()
    for name in ("mood of things", "mood of things-2"):
        page.get_by_label(f"Compare {name}", exact=True).check()
    assert page.locator("#compare-table tbody tr").count() >= 3
    assert page.locator("#curve path").count() == 2

    with page.expect_download() as download:
        page.locator("#finished .run").last.get_by_role("link", name="C", exact=True).click()
    packed = zipfile.ZipFile(download.value.path())
    packed.extractall(tmp_path)
    program = tmp_path / "mood of things" / "c"
    asked = SourceOptions(label="mood", drop=["day", "id", "constant"])
    rows_of = done.rows()
    host = done.model.predict(rows_of.X_test)
    assert rows_of.y_test.shape == host.shape
    (tmp_path / "try.c").write_text(TRY)
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler for this computer")
    subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-I", program, program / "model.c",
                    tmp_path / "try.c", "-o", tmp_path / "try"], check=True)  # fmt: skip
    X = np.ascontiguousarray(rows_of.X_test, dtype=np.float32)
    said = subprocess.run([tmp_path / "try"], input=X.tobytes(), capture_output=True, check=True).stdout
    answers = done.model.classes[[int(line) for line in said.split()]]
    assert answers.tolist() == host.tolist()
    assert shown == host.tolist()
    assert read(str(studio.folder / "mood of things.csv"), asked).X.shape[1] == 3


TRY = """#include <stdio.h>
#include "model.h"
int main(void) {
    static float x[MODEL_FEATURES];
    while (fread(x, sizeof x, 1, stdin) == 1) printf("%u\\n", model_predict(x));
    return 0;
}
"""


def test_two_windows_and_a_phone_see_the_same(open_page, studio):
    odd_table(studio.folder / "two.csv", rows=60)
    wide, phone = (
        open_page(viewport={"width": 1280, "height": 900}),
        open_page(viewport={"width": 390, "height": 800}),
    )
    for page in (wide, phone):
        page.select_option("#source", "two.csv")
        page.wait_for_selector("#columns tbody tr")
        page.wait_for_selector("#histogram svg")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert wide.locator("#finished .run").count() == phone.locator("#finished .run").count()
    phone.keyboard.press("Tab")  # the first stop of the keyboard skips to the data
    assert phone.evaluate("document.activeElement.className") == "skip"
    every = "[...document.querySelectorAll('input,select,button,iframe')]"
    named = "e.labels?.length || e.textContent.trim() || e.ariaLabel || e.title"
    unnamed = f"{every}.filter(e => !({named})).length"
    assert phone.evaluate(unnamed) == 0


def test_a_mistake_is_told_where_it_is_seen(open_page, studio):
    (studio.folder / "one.csv").write_text("a,y\n1,p\n2,p\n")
    page = open_page()
    page.fill("#place", "../etc/passwd")
    page.click("#take")
    until(page, "document.getElementById('trouble').textContent.includes('folder')")
    page.fill("#place", "one.csv")
    page.click("#take")
    page.wait_for_selector("#columns tbody tr")
    assert page.locator("#trouble").is_hidden()


def test_recordings_are_cut_heard_learned_and_answered(open_page, studio):
    rng = np.random.default_rng(0)
    for person in ("anna", "ben", "carla", "david", "emma"):
        for label, force in (("rest", 3), ("shake", 400)):
            path = studio.folder / "moves" / label / person / "1.csv"
            path.parent.mkdir(parents=True)
            samples = rng.normal(0, force, (400, 2)).astype(int).tolist()
            path.write_text("ax,ay\n" + "".join(f"{a},{b}\n" for a, b in samples))
    sound(studio.folder / "noises" / "hum" / "1.wav")
    page = open_page(viewport={"width": 1280, "height": 900})
    page.select_option("#source", "noises/")
    page.click("text=1.wav")
    page.wait_for_selector("#signal svg")
    heard = "s.oncanplaythrough = () => done(s.duration); s.load();"
    length = f"new Promise(done => {{ const s = document.getElementById('sound'); {heard} }})"
    assert page.evaluate(length) == pytest.approx(1, abs=0.01)

    page.select_option("#source", "moves/")
    until(page, "document.querySelectorAll('#recording-rows tr').length === 10")
    page.locator("#recording-rows button").last.click()
    page.wait_for_selector("#signal-name:has-text('moves/shake/emma')")
    curve = page.locator("#signal > svg")
    until(page, "document.querySelector('#signal > svg').ariaLabel.includes('emma')")
    curve.scroll_into_view_if_needed()
    box = curve.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60, steps=4)
    page.mouse.up()
    first, end = (int(page.input_value(f"#cut-{which}")) for which in ("first", "end"))
    assert 50 < first < end < 350
    page.fill("#cut-label", "shake")
    page.fill("#cut-group", "frida")
    page.click("#cut")
    until(page, "document.getElementById('cut-note').textContent.includes('frida')")
    part = studio.folder / "moves" / "shake" / "frida" / "1.csv"
    assert len(part.read_text().splitlines()) == 1 + end - first

    page.fill("#window", "64")
    page.fill("#hop", "32")
    page.fill("#rate", "50")
    page.click("#goal summary >> text=More")
    page.check("#quick")
    done = run_to_the_end(page, studio.folder, "moves")
    assert done.model.front_end.window == 64
    page.locator("#recording-rows button").first.click()
    page.select_option("#answer-of", "moves")
    page.wait_for_selector("text=Answers above the curve")
    said = page.locator("#signal ul").last.inner_text()
    assert "rest" in said

    pty, tty = pytest.importorskip("pty"), pytest.importorskip("tty")
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    ends = threading.Event()

    def send():
        while not ends.is_set():
            os.write(ours, b"".join(b"%d,%d\n" % tuple(rng.normal(0, 400, 2).astype(int)) for _ in range(8)))
            time.sleep(0.02)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        page.locator("#live summary").click()
        page.fill("#live-port", os.ttyname(theirs))
        page.select_option("#live-run", "moves")
        page.click("#live-start")
        until(page, "document.getElementById('live-answer').textContent.startsWith('shake')")
        assert "WebAssembly" in page.locator("#live-by").inner_text()
        page.click("#live-stop")
        page.wait_for_selector("#live-start:not([disabled])")
        page.locator("#record summary").click()
        page.fill("#port", os.ttyname(theirs))
        page.fill("#record-folder", "board")
        for label in ("quiet", "loud"):
            page.fill("#record-label", label)
            page.click("#listen")
            until(page, "parseInt(document.getElementById('record-note').textContent) > 60")
            page.click("#stop")
            page.wait_for_selector(f"#record-note:has-text('board/{label}')")
    finally:
        ends.set()
        sender.join()
        os.close(ours)
    assert len(list((studio.folder / "board").rglob("*.csv"))) == 2


def test_the_microphone_is_recorded_as_wav(open_page, studio):
    page = open_page()
    page.locator("#record summary").click()
    page.fill("#record-folder", "voice")
    page.fill("#record-label", "beep")
    page.click("#hear")
    until(page, "parseFloat(document.getElementById('record-note').textContent) > 0.5")
    page.click("#stop")
    page.wait_for_selector("#record-note:has-text('voice/beep')")
    (path,) = (studio.folder / "voice" / "beep").glob("*.wav")
    assert path.stat().st_size > 16000


@pytest.mark.slow
def test_a_number_and_what_is_normal_are_learned_too(open_page, studio):
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 200)).round(3)
    for name, y in (("heat", 20 + 30 * a), ("strange", 90 + 0 * a)):
        lines = [",".join(map(str, row)) for row in zip(a + (name == "strange"), b, y.round(1), strict=True)]
        (studio.folder / f"{name}.csv").write_text("\n".join(["a,b,degrees", *lines]) + "\n")
    page = open_page(viewport={"width": 1280, "height": 900})
    page.select_option("#source", "heat.csv")
    page.wait_for_selector("#columns tbody tr")
    role_of(page, "degrees").select_option("label")
    until(page, "document.querySelector('input[name=task]:checked').value === 'number'")
    page.click("#goal summary >> text=More")
    page.check("#quick")
    done = run_to_the_end(page, studio.folder, "heat")
    assert done.model.is_number
    assert "R2" in page.locator("#finished .run").first.inner_text()
    page.click("#finished .run >> nth=0 >> text=Open the model")
    assert "degrees" in page.frame_locator("#report").locator("#verdict").inner_text()

    page.click("#goal label >> text=Normal or not")
    page.select_option("#abnormal", "strange.csv")
    until(page, "document.getElementById('command').textContent.includes('--abnormal strange.csv')")
    page.click("#start")
    page.wait_for_selector("#finished >> text=heat-2")
    watched = NormalRun.load(studio.folder / "runs" / "heat-2").watched
    assert watched.n_features == 2  # without the label
    assert watched.detected > 0.5


def test_a_table_of_a_million_rows_is_answered_at_once(studio):
    """What is timed is how many rows are read, not the machine: the first ones only."""
    path = studio.folder / "million.csv"
    block = "".join(f"{i % 97},{i % 13},{'pq'[i % 2]}\n" for i in range(10_000))
    with open(path, "w") as file:
        file.write("a,b,y\n")
        file.writelines(block for _ in range(100))
    name = urllib.parse.quote("million.csv")
    status, facts = studio.ask(f"api/table?source={name}")
    assert (status, facts["rows"], facts["whole"]) == (200, 10_000, False)
    path.unlink()
