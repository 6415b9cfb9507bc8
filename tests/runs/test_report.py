"""The report in a real browser: what it shows is what Python says, at any width, in light and dark."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from ethereal import Booleanizer, EtherealClassifier, Model, WindowFeatures, datasets
from ethereal.runs.report import Report, render
from ethereal.runs.sensor import shown_windows
from random_models import number_model
from thinned import few
from windows import hard_windows, model_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "\"quotes\" & 'more'",
    "größe → 高",
]


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


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens a report; fails when anything goes wrong in the page or it asks for anything from elsewhere."""
    contexts, troubles = [], []

    def opener(report, **options):
        path = tmp_path / "report.html"
        path.write_text(render(report), encoding="utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: troubles.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: troubles.append(str(e)))
        page.on("dialog", lambda d: (troubles.append(f"dialog {d.message}"), d.dismiss()))
        page.on("request", lambda r: None if r.url.startswith("file:") else troubles.append(r.url))
        page.goto(path.as_uri())
        return page

    yield opener
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="module")
def digits_report():
    data = datasets.load("digits")
    history, chosen = {}, {}
    for name, every in (("ETHEREAL", 1), ("vanilla", None)):
        clf = EtherealClassifier.paper(40, 15, 4.0, epochs=6, exclude_every=every, random_state=0)
        clf.fit(data.X_train, data.y_train)
        history[name], chosen[name] = clf.history_, 3
        if every:
            model = clf.model_.simplify()
    return Report(
        title="digits",
        subtitle="handwritten digits",
        model=model,
        X_test=data.X_test,
        y_test=data.y_test,
        headline=[("Accuracy", "94 %", [("vanilla", "95 %")])],
        history=history,
        chosen=chosen,
        table={
            "columns": ["ethereal", "forest, 25 trees"],
            "rows": [["accuracy", "94 %", "95 %"]],
            "notes": ["n"],
        },
        sizes={"ethereal, pruned": [(900, 90.0), (5000, 94.0)], "forest": [(60_000, 95.0)]},
        speeds={"ethereal, pruned": [(90, 90.0), (500, 94.0)], "forest": [(1200, 95.0)]},
        device={"note": "emulated", "columns": ["layout", "flash"], "rows": [["fast", 1234]]},
        snippets=[("Python", "model.predict(X)")],
        facts={"command": "ethereal run digits"},
        image_shape=(8, 8),
    )


def live_answers(page, X):
    rows = [[None if np.isnan(v) else float(v) for v in row] for row in np.asarray(X, dtype=float)]
    return page.evaluate("rows => rows.map(row => ethereal.classSums(row))", rows)


def test_a_number_is_shown_with_the_bits_of_python(open_page):
    """Its unit is in the page, what pushes it up and down too, and nothing speaks of classes."""
    model, X = number_model(21, feature_names=["<b>load</b>", *"abcde"])
    number = model.output
    report = Report("a gauge", "", model, X, model.predict(X) + 1)
    page = open_page(report)
    np.testing.assert_array_equal(live_answers(page, X), model.class_sums(X))
    predicted = page.evaluate("rows => rows.map(row => ethereal.predict(row))", X.tolist())
    assert np.array(predicted, dtype=np.float32).tobytes() == model.predict(X).tobytes()
    assert predicted == model.predict(X).astype(float).tolist()
    first = model.predict(X[:1])[0]
    text = page.inner_text("#verdict")
    assert text.startswith(f"temperature: {first:.1f} degC, nine times of ten between {first - 1.5:.1f} degC")
    assert text.endswith(f"(true: {first + 1:.1f} degC)")
    why = model.explain(X[0])
    shown = page.locator("#fired tr").all_inner_texts()
    assert len(shown) == len(why.up) + len(why.down)
    assert shown[0].split("\t")[0] == number.amount(why.up[0][0])
    sums = page.locator("#votes .number").all_inner_texts()
    assert sums[0] == number.amount(sum(vote for vote, _ in why.up))
    assert sums[1].replace("−", "-") == number.amount(sum(vote for vote, _ in why.down))
    assert page.locator("#error-charts svg").count() == 2  # and none against a time
    assert page.locator("#error-charts circle").count() == 2 * len(X)
    assert f"{len(X)} of them" in page.inner_text("#confusion-note")  # all within 1.5
    assert not page.locator("#filter-class").is_visible()
    assert "+" in page.inner_text("#clause-rows")
    live = page.inner_text("#live") if page.locator("#live").count() else page.inner_text("main")
    assert "class" not in live.lower()


def test_live_model_agrees_with_python(open_page, digits_report):
    page = open_page(digits_report)
    X = digits_report.X_test[:200]
    np.testing.assert_array_equal(live_answers(page, X), digits_report.model.class_sums(X))
    predicted = page.evaluate("rows => rows.map(row => ethereal.predict(row))", X.tolist())
    np.testing.assert_array_equal(digits_report.model.classes[predicted], digits_report.model.predict(X))
    # the rows that come with the page are the first test rows, with the same answers
    shown = page.evaluate("data.rows.map(row => [ethereal.predict(row.x), row.predicted])")
    assert len(shown) == 200
    assert all(a == b for a, b in shown)


@pytest.mark.parametrize("encoding", few(["thermometer", "onehot"]))
def test_live_model_with_missing_values(open_page, encoding):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] > 0.3, "yes", "no")
    X[rng.random(X.shape) < 0.1] = np.nan
    booleanizer = Booleanizer(n_bins=4, encoding=encoding)
    clf = EtherealClassifier.paper(20, 10, 3.0, epochs=5, booleanizer=booleanizer, random_state=0).fit(X, y)
    page = open_page(Report("missing", "", clf.model_, X, y))
    np.testing.assert_array_equal(live_answers(page, X[:200]), clf.model_.class_sums(X[:200]))
    page.locator("input[type=number]").nth(1).fill("")  # a missing value, typed
    assert page.locator("#verdict").inner_text().startswith("Prediction: ")


def test_moving_a_slider_changes_the_votes(open_page):
    booleanizer = Booleanizer(thresholds=[[0.5]]).fit([[0.0], [1.0]])
    model = Model(
        [0, 1], [0, 1, 2], [[0, 3], [2, 0]], n_booleans=1, classes=["low", "high"], booleanizer=booleanizer,
        feature_names=["height"],
    )  # fmt: skip
    page = open_page(Report("one feature", "", model, np.array([[0.0], [1.0]]), np.array(["low", "high"])))
    assert "low" in page.locator("#verdict").inner_text()
    page.locator(".slider input[type=number]").fill("0.9")
    assert "high" in page.locator("#verdict").inner_text()
    assert "height > 0.5" in page.locator("#fired").inner_text()
    page.locator("#row-next").click()
    assert "true label: high" in page.locator("#verdict").inner_text()


def test_drawing_with_pointer_and_keys(open_page, digits_report):
    page = open_page(digits_report)
    page.locator("#row-clear").click()
    assert "(of an empty picture)" in page.locator("#verdict").inner_text()
    before = page.evaluate("x.slice()")
    box = page.locator("canvas.draw").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.mouse.up()
    after = page.evaluate("x.slice()")
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
    assert "empty" not in page.locator("#verdict").inner_text()
    page.locator("canvas.draw").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press(" ")
    assert page.evaluate("x[5 * 8 + 4]") == 16


@pytest.mark.slow
def test_explorer_filters(open_page, digits_report):
    page, model = open_page(digits_report), digits_report.model
    count = page.locator("#clause-count")
    votes = model.weights
    assert count.inner_text().startswith(f"{model.n_clauses} of {model.n_clauses} rules")
    page.locator("#filter-class").select_option("3")
    assert count.inner_text().startswith(f"{(votes[:, 3] != 0).sum()} of")
    page.locator("#filter-polarity").select_option("-")
    assert count.inner_text().startswith(f"{(votes[:, 3] < 0).sum()} of")
    page.locator("#filter-class").select_option("")
    page.locator("#filter-polarity").select_option("")
    page.locator("#filter-text").fill("x21 ")
    texts = page.locator("#clause-rows td.rule").all_inner_texts()
    assert texts
    assert all("x21 " in text for text in texts)
    page.locator("#filter-text").fill("")
    page.locator("#filter-sort").select_option("fires")
    first = int(page.locator("#clause-rows tr").first.get_attribute("data-clause"))
    fires = model.clause_outputs(digits_report.X_test).sum(axis=0)
    assert fires[first] == fires.max()
    page.locator("#clause-more").click()
    assert page.locator("#clause-rows tr").count() == 250


@pytest.mark.parametrize("scheme", few(["dark", "light"]))
def test_colours_follow_the_system(open_page, digits_report, scheme):
    page = open_page(digits_report, color_scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    bright = sum(int(v) for v in ground[4:-1].split(",")[:3]) > 382
    assert bright == (scheme == "light")


@pytest.mark.parametrize("width", few([360, 768, 1400], 2))
def test_no_sideways_scrolling(open_page, digits_report, width):
    page = open_page(digits_report, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    small = page.evaluate(
        "[...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().width === 0).length"
    )
    assert small == 0


def test_nothing_is_covered_or_cut_without_a_sign_on_a_phone(open_page, digits_report):
    """Copy buttons stand below their code, and a table that is too wide says that it can be scrolled."""
    page = open_page(digits_report, viewport={"width": 390, "height": 800})
    covered = page.evaluate(
        "[...document.querySelectorAll('.code')].filter(box => box.querySelector('button')"
        ".getBoundingClientRect().top < box.querySelector('pre').getBoundingClientRect().bottom).length"
    )
    assert covered == 0
    unsigned = page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1"
        " && (!box.nextElementSibling?.classList.contains('hint') || box.nextElementSibling.hidden)).length"
    )
    assert unsigned == 0
    assert page.locator("#confusion-table + .hint").is_visible()


@pytest.fixture(scope="module")
def mixed_report():
    """Numbers with units, gaps, and two columns of categories."""
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(20, 3, (240, 12)), 1)
    X[:, 1], X[:, 2] = rng.integers(0, 3, 240), rng.integers(0, 2, 240)
    X[::9, 3] = np.nan
    y = np.where(X[:, 1] == 2, "lying down, half asleep", np.where(X[:, 0] > 20, "walking", "sitting"))
    names = [
        "rate [/s]",
        "colour",
        "door",
        *(f"sensor {i} with a long name [kg·m²/s³]" for i in range(3, 12)),
    ]
    categories = {1: ["blue", "dark green", "red"], 2: ["no", "yes"]}
    clf = EtherealClassifier(n_clauses=60, epochs=10, random_state=0).fit(X, y, categories=categories)
    code = "ethereal predict runs/a-long-name-of-a-run/model.etm new-readings.csv --out labels.csv"
    model = clf.model_.with_feature_names(names)
    return Report("mixed", "", model, X, y, snippets=[("Command line", code)])


def test_categories_are_chosen_by_name(open_page, mixed_report):
    page, X = open_page(mixed_report), mixed_report.X_test
    colour = page.get_by_label("colour")
    assert colour.locator("option").all_inner_texts()[:3] == ["blue", "dark green", "red"]
    row = X[0].copy()
    for number, name in enumerate(["blue", "dark green", "red"]):
        colour.select_option(name)
        row[1] = number
        shown = page.locator("#votes .vote > span:last-child").all_inner_texts()
        assert list(map(int, shown)) == mixed_report.model.class_sums(row[None])[0].tolist()


def test_conditions_are_written_as_in_rules(open_page, mixed_report):
    page = open_page(mixed_report)
    ranked = page.locator(".ranked li").all_inner_texts()
    assert ranked
    assert not any("NOT" in line for line in ranked)
    assert any(line.startswith("colour is ") for line in ranked)


@pytest.mark.parametrize("width", few([390, 1280]))
def test_nothing_of_a_mixed_table_is_cut_without_a_sign(open_page, mixed_report, width):
    page = open_page(mixed_report, viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = page.evaluate(
        "[...document.querySelectorAll('body *')].filter(e => (e.scrollWidth > e.clientWidth + 1 || "
        "e.scrollHeight > e.clientHeight + 1) && ['auto', 'scroll', 'hidden'].includes(getComputedStyle(e)"
        ".overflowX) && e.clientWidth > 0 && !(e.nextElementSibling?.classList.contains('hint') && "
        "!e.nextElementSibling.hidden)).map(e => e.tagName + '.' + e.className + '#' + e.id)"
    )
    assert cut == []
    numbers = "[...document.querySelectorAll('input[type=number]')].map(e => e.scrollWidth - e.clientWidth)"
    assert max(page.evaluate(numbers)) <= 1


def test_the_header_says_which_command_made_the_page_and_when(open_page, digits_report):
    made = "ethereal run digits --quick, 2026-11-17 12:00"
    page = open_page(replace(digits_report, command=made))
    assert made in page.locator("header").inner_text()


def test_labels_that_are_numbers_are_not_read_as_figures(open_page, digits_report):
    page = open_page(digits_report)
    votes = page.locator("#clause-rows td.votes").first.inner_text()
    assert re.fullmatch(r"\d+ votes? (for|against) class \d(, \d+ votes? (for|against) class \d)*", votes)
    assert page.locator("#results-table tbody th").first.inner_text() == "accuracy"
    recall = page.locator("#confusion-table tbody tr").first.inner_text().split("\t")
    predicted = digits_report.model.predict(digits_report.X_test)[digits_report.y_test == 0] == 0
    assert recall[:3] == ["class 0", str(len(predicted)), f"{100 * predicted.mean():.1f} %"]
    assert "REDRESS words" in page.locator("#terms").inner_text()


def test_everything_can_be_reached_by_keyboard(open_page, digits_report):
    page = open_page(digits_report)
    seen = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"row-choice", "row-next", "draw", "filter-class", "filter-text", "clause-more"} <= seen


def test_hostile_names_appear_as_text(open_page):
    rng = np.random.default_rng(0)
    X = rng.random((120, 4)) < 0.5
    y = np.array(HOSTILE)[2 * X[:, 0] + X[:, 1]]
    import pandas as pd

    frame = pd.DataFrame(X, columns=HOSTILE)
    clf = EtherealClassifier.paper(10, 5, 3.0, epochs=10, random_state=0).fit(frame, y)
    report = Report(HOSTILE[0], HOSTILE[1], clf.model_, X, y, facts={HOSTILE[0]: HOSTILE[1]})
    page = open_page(report)
    assert page.locator("h1").inner_text() == HOSTILE[0]
    rules = " ".join(page.locator("#clause-rows td.rule").all_inner_texts())
    options = page.locator("#filter-class option").all_inner_texts()
    for name in HOSTILE:
        assert name in rules
        assert name in options
    assert page.locator("img").count() == 0
    assert page.evaluate("document.scripts.length") == 2
    np.testing.assert_array_equal(live_answers(page, X), clf.model_.class_sums(X))


@pytest.mark.parametrize(("n_classes", "n_features"), few([(2, 1), (26, 30), (3, 800)], 2))
def test_other_shapes(open_page, n_classes, n_features):
    rng = np.random.default_rng(1)
    y = rng.integers(n_classes, size=400)
    X = rng.normal(size=(400, n_features))
    X[:, 0] += y
    booleanizer = Booleanizer(n_bins=3)
    clf = EtherealClassifier.paper(10, 8, 4.0, epochs=3, booleanizer=booleanizer, random_state=0)
    names = np.array([f"class {chr(97 + c)}" for c in range(n_classes)])
    clf.fit(X, names[y])
    page = open_page(Report("shape", "", clf.model_, X, names[y]), viewport={"width": 360, "height": 700})
    np.testing.assert_array_equal(live_answers(page, X[:50]), clf.model_.class_sums(X[:50]))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_large_models_stay_small(open_page):
    """As many clauses, literals and features as the study's mnist machine."""
    rng = np.random.default_rng(2)
    literals = [np.sort(rng.choice(2 * 784, size=30, replace=False)) for _ in range(1000)]
    weights = np.kron(np.eye(10, dtype=int), np.repeat([1, -1], 50)[:, None])
    booleanizer = Booleanizer(thresholds=75.0).fit(np.zeros((1, 784)))
    model = Model(
        np.concatenate(literals), np.arange(1001) * 30, weights, n_booleans=784, classes=range(10),
        booleanizer=booleanizer,
    )  # fmt: skip
    X = rng.integers(0, 256, (300, 784)).astype(np.uint8)
    report = Report("large", "", model, X, rng.integers(10, size=300), image_shape=(28, 28))
    assert len(render(report).encode()) < 3_000_000
    page = open_page(report)
    assert page.locator("#clause-rows tr").count() == 50


def test_a_window_is_drawn_with_what_decided_it(open_page):
    windows = hard_windows(64, n_axes=3)
    extractor = WindowFeatures(
        {"stats": ["ax", "ay"], "parts": ["az"]}, axes=["ax", "ay", "az"], rate=50
    ).fit(windows)
    model = model_of(extractor, windows, n_clauses=30).with_unknown(6)
    labels = model.with_unknown(None).predict(windows)
    people = {"note": "n", "columns": ["groups", "rows", "accuracy"], "rows": [["anna", 3, "90 %"]]}
    curve = {"note": "the margin", "points": [[50, 99], [100, 90]], "chosen": [50, 99]}
    taught = {"note": "n", "columns": ["rows per class", "gain"], "rows": [["5", "+8.1 (2.0)"]]}
    report = Report("windows", "", model, extractor.transform(windows), labels, people=people, unknown=curve,
                    teaching=taught, windows=shown_windows(model.front_end, windows))  # fmt: skip
    for width in (1280, 390):
        page = open_page(report, viewport={"width": width, "height": 900})
        assert page.locator("#window-chart path").count() == 3
        assert (
            "The rules for this answer look most at" in page.locator("#window-chart figcaption").inner_text()
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("#people-table").inner_text().split()[-1] == "%"
        assert page.locator("#teaching-table").inner_text().split()[-1] == "(2.0)"
        assert page.locator("#unknown-chart circle").count() == 3
        answers = page.evaluate("data.rows.map(r => ethereal.predict(r.x))")
        expected = model.output.codes(model.class_sums(windows))
        assert answers == expected[: len(answers)].tolist()
        assert model.n_classes in answers
    assert not page.locator("#kernels").is_visible()


@pytest.fixture(scope="module")
def window_report():
    """Windows in g, with kernels of every rule of units."""
    windows = hard_windows(64, n_axes=2)
    kernels = {"stats": ["ax", "ay"], "haar": ["ay"], "std": ["ax"], "bands": ["ax"], "shape": ["ax"],
               "cov": ["ax*ay"], "corr": ["ax*ay"]}  # fmt: skip
    extractor = WindowFeatures(kernels, axes=["ax", "ay"], scale=1000, units="g").fit(windows)
    model = model_of(extractor, windows, n_clauses=60)
    X = extractor.transform(windows)
    return Report(
        "windows", "", model, X, model.predict(windows), windows=shown_windows(model.front_end, windows)
    )


def test_sliders_of_windows_show_values_as_rules_write_them(open_page, window_report):
    """Fault F32: a slider showed 619 where the rule said 0.0781."""
    page, front_end = open_page(window_report), window_report.model.front_end
    for f in range(window_report.model.n_features):
        values = [-700, 0, 1, 619, 1500, 20000, *window_report.model.feature_map.thresholds_of(f).tolist()]
        shown = page.evaluate(
            "([f, vs]) => vs.map(v => inUnits(data.model.features[f].shown, v))", [f, values]
        )
        assert shown == pytest.approx([front_end.in_units(f, value) for value in values])
    page.locator("#row-next").click()
    texts = page.locator(".slider output").all_inner_texts()
    assert any(text.endswith(" g") for text in texts)
    words = page.locator("#glossary dd").all_text_contents()
    assert any("neighbouring samples" in text for text in words)


@pytest.mark.parametrize("which", few(["window_report", "mixed_report"]))
def test_the_prediction_stays_in_sight_beside_the_last_slider_on_a_phone(open_page, request, which):
    """Fault F32: it lay below 30 sliders."""
    page = open_page(request.getfixturevalue(which), viewport={"width": 390, "height": 700})
    sliders = page.locator(".slider").count()
    for i in (0, sliders // 2, sliders - 1):
        page.locator(".slider").nth(i).evaluate("slider => slider.scrollIntoView({ block: 'center' })")
        box = page.locator("#verdict").bounding_box()
        assert 0 <= box["y"] < 700 - box["height"]
        assert box["height"] < 140
    page.locator(".slider input, .slider select").last.focus()
    assert page.locator("#verdict").bounding_box()["y"] >= 0


def test_the_model_of_the_page_is_marked_on_its_curves(open_page, digits_report):
    """Fault F32."""
    curve = {"ethereal, pruned": [(500, 80.0), (2000, 90.0)]}
    report = replace(
        digits_report, sizes=curve, speeds=curve, this={"sizes": (1200, 88.0), "speeds": (300, 88.0)}
    )
    page = open_page(report)
    for chart, words in (("#size-chart", "1200 bytes"), ("#speed-chart", "300 instructions")):
        assert words in page.locator(f"{chart} circle.ring title").first.text_content()
        assert "this model" in page.locator(f"{chart} .legend").inner_text()
