"""The documentation builds without a warning, knows the public names, and reads at once."""

import json
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from ethereal import _HOMES

ROOT = Path(__file__).parents[2]
PUBLIC = [
    *(f"ethereal.{name}" for name in _HOMES),
    *(
        f"ethereal.Model.{name}"
        for name in ("predict", "save", "load", "explain", "to_bytes", "from_includes")
    ),
    *(f"ethereal.EtherealClassifier.{name}" for name in ("fit", "predict", "partial_fit", "paper")),
    *(f"ethereal.export.{name}" for name in ("c", "arduino", "zephyr", "micropython")),
    *("ethereal.device.measure", "ethereal.datasets.load", "ethereal.adapt.Votes", "ethereal.tuning.Budget"),
]
# README, project pages, site and lab notes: each sentence is read once.
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *ROOT.glob("lab/*/*.md"),
    *ROOT.glob("examples/*.md"),
]
MOST_WORDS = 35


MOST_WORDS_OF_THE_SITE = 30_000  # a page for each of the things that can be done


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def built_pages(site):
    return {
        path.relative_to(site).as_posix(): path for path in site.rglob("*.html") if path.name != "404.html"
    }


def links_of(path, attributes="href"):
    return [unescape(url) for url in re.findall(rf'(?:{attributes})="([^"]*)"', path.read_text("utf-8"))]


@pytest.mark.parametrize("name", PUBLIC)
def test_reference_has(site, name):
    pages = (path.read_text(encoding="utf-8") for path in (site / "api").rglob("*.html"))
    assert any(f'id="{name}"' in page for page in pages)


@pytest.mark.parametrize(
    "words, page",
    [
        ("int16", "boards/stm32.html"),
        ("missing values", "guide/scikit-learn.html"),
        ("Arduino", "boards/arduino.html"),
        ("seed", "guide/first-model.html"),
        ("wav", "guide/recordings.html"),
    ],
)
def test_search_finds_a_page_that_helps(site, words, page):
    """Fault F37: the site had no search."""
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    hits = [
        entry["location"]
        for entry in index["docs"]
        if all(word in f"{entry['title']} {entry['text']}".lower() for word in words.lower().split())
    ]
    assert page in {location.partition("#")[0] for location in hits}


def test_every_page_is_reached_from_the_start_page(site):
    """By links in the text of pages: the navigation of the theme does not count."""
    pages = built_pages(site)
    reached, waiting = set(), ["index.html"]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        article = re.search(r"<article.*?</article>", pages[name].read_text("utf-8"), re.DOTALL)[0]
        for url in re.findall(r'href="([^"#]+)', article):
            target = os.path.normpath(os.path.join(os.path.dirname(name), url))
            if target in pages:
                waiting.append(target)
    assert reached == set(pages)


def test_pages_load_nothing_from_a_network(site):
    for name, path in built_pages(site).items():
        loaded = links_of(path, "src|srcset") + [
            url
            for tag in re.findall(r"<link [^>]*>", path.read_text("utf-8"))
            if 'rel="canonical"' not in tag
            for url in re.findall(r'href="([^"]*)"', tag)
        ]
        assert [url for url in loaded if re.match(r"(https?:)?//", url)] == [], name
    styles = [path.read_text("utf-8") for path in site.rglob("*.css")]
    assert not [text for text in styles if re.search(r"""(@import|url\()\s*["']?(https?:)?//""", text)]


def test_the_site_stays_small():
    words = sum(len(path.read_text(encoding="utf-8").split()) for path in (ROOT / "docs").rglob("*.md"))
    assert words <= MOST_WORDS_OF_THE_SITE
    assert len((ROOT / "docs" / "evidence.md").read_text(encoding="utf-8").split()) <= 1_500


def test_attributes_and_parameters_are_names_and_not_sentences(site):
    """Fault F37: `name : text` was read as a name and its type."""
    page = (site / "api" / "estimator.html").read_text(encoding="utf-8")
    about = page.split('id="ethereal.EtherealClassifier"')[1].split('id="ethereal.EtherealClassifier.')[0]
    parameters, rest = about.split("Parameters:")[1].split("Attributes:")
    attributes = rest.split("Examples:")[0]
    for text, names in (
        (attributes, ("classes_", "model_", "history_")),
        (parameters, ("n_clauses", "s", "random_state")),
    ):
        plain = re.sub(r"<code>\s*", "<code>", re.sub("</?(?:span|a)[^>]*>", "", text))
        for name in names:
            assert f"<code>{name}</code>" in plain
        assert not re.search(r"<code>[^<]*\w \w+ \w+ \w+ \w", plain)  # no sentence stands where a type does
    assert "Labels in the order of the class sums" in attributes


def test_architecture_names_every_layer():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in (ROOT / "src" / "ethereal").iterdir():
        if path.suffix == ".py" and not path.name.startswith("__"):
            assert f"`{path.name}`" in text
        elif (path / "__init__.py").exists():
            assert f"`{path.name}/`" in text


def test_links_between_files_of_the_repository():
    for path in PAGES:
        for link in re.findall(r"\]\(([^)#]+)", unescape(path.read_text(encoding="utf-8"))):
            if "://" not in link:
                assert (path.parent / link).exists(), f"{path.name} links to {link}"


def sentences(text):
    text = re.sub(r"(?s:```.*?```)|^(?: {4}|#|!|\|[-:|]+$).*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "Code", text))
    text = re.sub(r"^ *(?:[-*]|\d+\.) |\|", "\n\n", text, flags=re.MULTILINE)  # items and cells stand alone
    text = re.sub(r"\*+(?=\S)|(?<=\S)\*+", "", text)  # **Bold.** A sentence may end within it.
    for paragraph in re.split(r"\n\s*\n", text):
        yield from re.split(r"(?<=[.!?:]) (?=[^a-z])", " ".join(paragraph.split()))


def hard_to_read(text):
    """Sentences to read twice, with the reason."""
    for sentence in sentences(text):
        words = len(re.findall(r"\w[\w'.,-]*", sentence))
        if words > MOST_WORDS:
            yield f"{words} words instead of up to {MOST_WORDS}: {sentence}"
        if ";" in sentence:
            yield f"a semicolon, make two sentences of it: {sentence}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_are_short_and_have_one_thought(path):
    sentences = list(hard_to_read(path.read_text(encoding="utf-8")))
    assert not sentences, "\n".join([f"{path.relative_to(ROOT)} has", *sentences])


LONG = "The rows are in order, " * 8


@pytest.mark.parametrize(
    "text, n_found",
    [
        (f"{LONG}and so on.", 1),
        (f"- A point.\n- {LONG}and so on.\n  It is {LONG}long.", 2),
        (f"1. {LONG}and so on.", 1),
        (f"| a | b |\n|---|---|\n| c | {LONG} |", 1),
        (f"**Bold.** {LONG}and so on; on.", 2),
        ("One thought; another one.", 1),
        (f"One thought. `a; b` is code.\n\n    {LONG}\n\n```\n{LONG};\n```\n", 0),
    ],
)
def test_a_sentence_that_is_hard_to_read_is_found(text, n_found):
    assert len(list(hard_to_read(text))) == n_found


@pytest.mark.slow  # `make base` runs it, too
def test_python_of_the_readme_runs(tmp_path):
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "iris.etm").exists()
    for promised in re.findall(r"# .*such as (.*)$", code, re.MULTILINE):
        assert promised in done.stdout


# Of searches, processes and boards, which tests/tuning, tests/cluster and tests/export show.
LONG_PAGES = (
    *("cluster.md", "datasets.md", "examples.md", "scikit-learn.md", "study-your-machine.md", "teach.md"),
    *("tune.md", "tuning.md", "windows.md"),
)
NEEDS_DATA = ("datasets.md",)


def snippets(page):
    """Return the blocks of Python of a page, as one program."""
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))


WITH_PYTHON = [
    pytest.param(path, marks=[pytest.mark.slow] if path.name in LONG_PAGES else [], id=path.name)
    for path in (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "lab" / "notes" / "tuning.md")
    if "```python" in path.read_text(encoding="utf-8")
]


def test_snippets_have_the_names_that_they_use(tmp_path):
    """Fault F37, for the pages that take long, too: without running them."""
    pages = [page.values[0] for page in WITH_PYTHON]
    assert {page.name for page in pages} >= set(LONG_PAGES)
    for page in pages:
        (tmp_path / f"{page.stem}.py").write_text(snippets(page), encoding="utf-8")
    (tmp_path / "fault.py").write_text("print(nowhere)\n")
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E9,F63,F7,F82", str(tmp_path)]
    done = subprocess.run([*ruff, "--output-format", "concise"], capture_output=True, text=True, check=False)
    assert done.stdout.count("Undefined name") == 1, done.stdout
    assert "fault.py" in done.stdout


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_every_snippet_of_the_page_runs(page, tmp_path):
    """Fault F37: the blocks of some pages used names that the page did not have."""
    if page.name in NEEDS_DATA and not os.environ.get("ETHEREAL_DATA"):
        pytest.skip("ETHEREAL_DATA is not set")
    (tmp_path / "page.py").write_text(snippets(page), encoding="utf-8")  # worker processes import it
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_the_field_cites_is_in_the_citation_file():
    page = (ROOT / "docs" / "field.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    sources = re.findall(r"\]\((https://[^)]+)\)", page)
    assert len(sources) >= 9
    assert [url for url in sources if url not in citation] == []
