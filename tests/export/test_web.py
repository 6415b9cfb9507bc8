"""The page of an export: the compiled C answers like the host, in node and in a browser."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from browsers import chromium, data_of, in_node, opening, until
from ethereal import Booleanizer, EtherealClassifier, Model, WindowFeatures, datasets
from ethereal.export import web
from ethereal.export.c99.program import make_program
from ethereal.export.page.web import compiled
from ethereal.model.needs import NotSupported
from ethereal.model.simplify import drop_unused_kernels
from random_models import number_model, random_clauses
from thinned import few
from windows import everything, hard_windows, model_of

pytest.importorskip("ziglang")

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "\"q\" & 'm'",
    "größe → 高\u202e",
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def open_page(browser):
    with opening(browser) as opener:
        yield opener


def table_model(seed=0, missing=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 4)).round(2)
    y = np.where(X[:, 0] + X[:, 1] > 0.3, "yes", np.where(X[:, 2] > 0, "no", "maybe"))
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    booleanizer = Booleanizer(n_bins=4)
    clf = EtherealClassifier.paper(20, 10, 3.0, epochs=3, booleanizer=booleanizer, random_state=0)
    model = clf.fit(X, y).model_.with_feature_names(["a", "b", "c, with a comma", "d"])
    return model, X, y


def page_text(model, tmp_path, **options):
    return web(model, tmp_path / "page.html", force=True, **options).read_text(encoding="utf-8")


def check_rows(model, page, X):
    got = in_node(page, rows=X)
    np.testing.assert_array_equal(got["sums"], model.class_sums(X))
    np.testing.assert_array_equal(got["classes"], model.output.codes(model.class_sums(X)))
    assert got["imports"] == 0
    assert got["check"] == 1
    assert set(got["refused"]) == {-1}
    return got


@pytest.mark.parametrize("layout", few([None, "compact", "fast", "straight", "sliced", "redress"], 2))
def test_every_row_in_node(tmp_path, layout):
    model, X, _ = table_model()
    check_rows(model, page_text(model, tmp_path, layout=layout), X)


def test_values_on_thresholds_and_beyond_floats(tmp_path):
    model, _, _ = table_model(missing=False)
    places = model.feature_map.thresholds_of(0).astype(np.float64)
    values = np.concatenate(
        [places, np.nextafter(places, 9), np.nextafter(places, -9), [1e300, -1e300, 1e-46, 0.0]]
    )
    X = np.stack([np.roll(values, k) for k in range(4)], axis=1)
    check_rows(model, page_text(model, tmp_path), X)


def test_booleans_and_margin(tmp_path):
    rng = np.random.default_rng(1)
    clauses = random_clauses(rng, 12)
    model = Model(*clauses, n_booleans=12, classes=[3, 5, 7]).with_unknown(4)
    X = rng.integers(0, 2, (200, 12))
    got = check_rows(model, page_text(model, tmp_path), X)
    assert 3 in got["classes"]  # unknown


def test_a_number(tmp_path):
    model, X = number_model(3)
    got = in_node(page_text(model, tmp_path), rows=X)
    np.testing.assert_array_equal(got["sums"], model.class_sums(X))
    np.testing.assert_array_equal(np.array(got["classes"], dtype=np.float32), model.predict(X))


def test_a_value_that_never_was_missing(tmp_path):
    model, X, _ = table_model(missing=False)
    page = page_text(model, tmp_path)
    rows = X[:3].copy()
    rows[1, 2] = np.nan
    assert in_node(page, rows=rows)["refused"] == [-1, 2, -1]


@pytest.mark.parametrize("n_axes", few([1, 3, 6]))
def test_windows_pushed_sample_by_sample(tmp_path, n_axes):
    windows = hard_windows(64, n_axes, n_random=3)
    extractor = everything(n_axes).fit(windows)
    model = model_of(extractor, windows)
    got = in_node(page_text(model, tmp_path, rows=windows), windows=windows)
    classes = [answer for answer, _ in got["windows"]]
    np.testing.assert_array_equal(classes, model.output.codes(model.class_sums(windows)))
    _, columns = drop_unused_kernels(model.simplify())
    np.testing.assert_array_equal(
        [row for _, row in got["windows"]], extractor.transform(windows)[:, columns]
    )


def test_less_than_3_kb_beside_the_model(tmp_path):
    model, _, _ = table_model()
    program = make_program(model, "straight")
    assert len(compiled(program)) < program.flash_bytes + 3000


def test_models_it_refuses(tmp_path):
    model, _, _ = table_model(missing=False)
    early = model._with(early=((10, 1),))
    with pytest.raises(NotSupported, match="early"):
        web(early, tmp_path / "page.html")
    with pytest.raises(ValueError, match="image is '3x3'"):
        web(model, tmp_path / "page.html", image="3x3")
    with pytest.raises(ValueError, match="name is"):
        web(model, tmp_path / "page", name="../x")
    path = web(model, tmp_path / "page.html")
    with pytest.raises(FileExistsError, match="force=True"):
        web(model, path)
    assert [p.name for p in web(model, tmp_path / "folder", name="m").glob("*.html")] == ["m.html"]


def test_a_file_is_answered_and_compared(open_page, tmp_path):
    model, X, y = table_model()
    path = web(model, tmp_path / "page.html")
    page = open_page(path)
    page.evaluate("window.ready")
    table = tmp_path / "rows.csv"
    with open(table, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["note", *model.feature_names, "label"])
        writer.writerows(
            ['said "so", then\nleft', *("" if np.isnan(v) else repr(float(v)) for v in row), label]
            for row, label in zip(X, y, strict=True)
        )
    page.locator("#file").set_input_files(table)
    right = int((model.predict(X) == y).sum())
    until(page, "document.getElementById('file-result').textContent.includes('right')")
    assert f"{right} of {len(X)} are right" in page.locator("#file-result").inner_text()
    with page.expect_download() as download:
        page.locator("#download").click()
    with open(download.value.path(), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["answer"] for row in rows] == model.predict(X).tolist()
    assert rows[0]["note"] == 'said "so", then\nleft'
    # a row of the file, looked at: its votes are those of the host
    page.locator("#row-choice").select_option("5")
    assert page.evaluate("model.sums(x)") == model.class_sums(X[5:6])[0].tolist()


def test_a_file_for_a_number(open_page, tmp_path):
    model, X = number_model(3)
    page = open_page(web(model, tmp_path / "page.html"))
    page.evaluate("window.ready")
    assert page.locator("#verdict").inner_text().startswith("temperature: ")
    expected = model.predict(X)
    table, names = np.column_stack([X, expected + 0.5]), ",".join([*model.input_names, "truth"])
    np.savetxt(tmp_path / "rows.csv", table, "%.17g", ",", header=names, comments="")
    page.locator("#file").set_input_files(tmp_path / "rows.csv")
    until(page, "!document.getElementById('download').hidden")
    assert f"0.5000 degC away from truth on average of {len(X)}" in page.locator("#file-result").inner_text()
    np.testing.assert_array_equal(np.float32(page.evaluate("answered.answers")), expected)


def test_files_that_cannot_be_read_say_why(open_page, tmp_path):
    model, _, _ = table_model()
    page = open_page(web(model, tmp_path / "page.html"))
    page.evaluate("window.ready")
    told = page.locator("#file-result")
    for text, why in (
        ("", "The file is empty"),
        ("a,b,d\n1,2,3\n", 'lacks the column "c, with a comma"'),
        ('a,b,"c, with a comma",d\n1,2,x,4\n', '"x" is not a number'),
        ('a;b;"c, with a comma";d\n1;2;3,5;4\n', "decimal comma"),
        ('a,b,"c, with a comma",d\n1,2,3\n', "Row 1 has 3 cells"),
    ):
        (tmp_path / "bad.csv").write_text(text, encoding="utf-8")
        page.locator("#file").set_input_files([])
        page.locator("#file").set_input_files(tmp_path / "bad.csv")
        until(page, f"document.getElementById('file-result').textContent.includes({why!r})")
        assert told.inner_text().startswith("bad.csv: ")


def test_hostile_names_at_390_pixels_in_the_dark(open_page, tmp_path):
    model = Model(
        [0, 1], [0, 1, 2], [[1, 0], [0, 1]], n_booleans=2, classes=HOSTILE[:2], feature_names=HOSTILE[2:]
    )
    path = web(model, tmp_path / "page.html")
    dark = open_page(path, viewport={"width": 390, "height": 800}, color_scheme="dark")
    dark.evaluate("window.ready")
    assert dark.evaluate("document.documentElement.scrollWidth") <= 390
    assert dark.evaluate("document.scripts.length") == 2
    assert dark.evaluate("document.images.length") == 0
    assert dark.locator("#verdict strong").inner_text() == HOSTILE[0]
    light = open_page(path, color_scheme="light")
    light.evaluate("window.ready")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert dark.evaluate(ground) != light.evaluate(ground)
    # every control is reached by the tab key
    reached, controls = set(), "input:not([hidden]), select, button"
    for _ in range(40):
        light.keyboard.press("Tab")
        reached.add(light.evaluate("document.activeElement.id || document.activeElement.type"))
    visible = light.locator(controls).evaluate_all(
        "all => all.filter(e => e.offsetParent).map(e => e.id || e.type)"
    )
    assert set(visible) <= reached


def test_a_recording_and_sensors(open_page, tmp_path):
    windows = hard_windows(64, 3, n_random=3)
    extractor = WindowFeatures({"stats": ["axes"], "std": ["axes"]}, axes=["ax", "ay", "az"], rate=50.0)
    extractor.fit(windows)
    model = model_of(extractor, windows)
    page = open_page(web(model, tmp_path / "page.html", rows=windows))
    page.evaluate("window.ready")
    samples = windows.reshape(-1, 3)
    np.savetxt(tmp_path / "samples.csv", samples, "%d", ",", header="ax,ay,az", comments="")
    page.locator("#file").set_input_files(tmp_path / "samples.csv")
    until(page, "!document.getElementById('download').hidden")
    answers = page.evaluate("answered.answers.filter(a => a !== null)")
    np.testing.assert_array_equal(answers, model.output.codes(model.class_sums(windows)))
    # the phone's sensor, as events that a browser sends
    page.locator("#sensor-start").click()
    until(page, "running !== null")
    page.evaluate(
        """() => { for (let k = 0; k < 200; k++) {
          const e = new Event("devicemotion");
          Object.defineProperty(e, "timeStamp", { value: 1000 + 20 * k });
          e.accelerationIncludingGravity = { x: 0, y: 0, z: 9.80665 };
          dispatchEvent(e); } }"""
    )
    assert "3 answers" in page.locator("#sensor-state").inner_text()
    still = np.broadcast_to(np.array([0, 0, 1000], dtype=np.int16), (1, 64, 3))
    assert page.locator("#stream-answer").inner_text() == model.predict(still)[0]
    assert page.evaluate("model.sums(x)") == model.class_sums(still)[0].tolist()
    page.locator("#sensor-start").click()
    # the microphone, which this browser makes up
    page.locator("#axis0").select_option("sound")
    page.locator("#sensor-rate").fill("8000")
    page.locator("#sensor-start").click()
    until(page, "/ [1-9]\\d* answers/.test(document.getElementById('sensor-state').textContent)")
    page.locator("#sensor-start").click()


def test_a_drawing_grid(open_page, tmp_path):
    digits = datasets.load("digits")
    clf = EtherealClassifier.paper(10, 10, 3.0, epochs=2, random_state=0).fit(digits.X_train, digits.y_train)
    page = open_page(web(clf.model_, tmp_path / "page.html", image=(8, 8), rows=digits.X_train))
    page.evaluate("window.ready")
    X = digits.X_test[:100]
    got = page.evaluate("rows => rows.map(row => ethereal.classSums(row))", X.tolist())
    np.testing.assert_array_equal(got, clf.model_.class_sums(X))
    before = page.locator("#verdict").inner_text()
    box = page.locator("canvas.draw").bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 200, steps=10)
    page.mouse.up()
    assert page.evaluate("x.some(v => v > 0)")
    assert page.locator("#verdict").inner_text() != before


def test_data_of_a_page_names_what_it_reads(tmp_path):
    model, _, _ = table_model()
    data = data_of(page_text(model, tmp_path))
    assert [f["input"] for f in data["model"]["features"]] == list(model.feature_names)
