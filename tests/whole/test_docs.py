"""The documentation builds without a warning, knows the public names, and reads at once."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from ethereal import _HOMES

ROOT = Path(__file__).parents[2]
PUBLIC = [
    *(f"ethereal.{name}" for name in _HOMES if name not in ("frontier", "prune", "tune")),
    *(f"ethereal.tuning.{name}" for name in ("frontier", "prune", "tune")),
    *(f"ethereal.Model.{name}" for name in ("predict", "save", "load", "explain", "to_bytes")),
    *("ethereal.export.projects.writer.c", "ethereal.export.mpy.package.micropython"),
    *("ethereal.device.measurement.measure", "ethereal.datasets.load", "ethereal.model.codes.to_bytes"),
]
# README, project pages, guide, reference and lab notes: each sentence is read once.
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *ROOT.glob("lab/*/*.md"),
    *ROOT.glob("examples/*.md"),
]
MOST_WORDS = 25


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.parametrize("name", PUBLIC)
def test_reference_has(site, name):
    pages = (path.read_text(encoding="utf-8") for path in (site / "api").rglob("*.html"))
    assert any(f'id="{name}"' in page for page in pages)


def test_the_site_can_be_searched(site):
    """Fault F37."""
    assert (site / "search" / "search_index.json").stat().st_size > 100_000


def test_attributes_and_parameters_are_names_and_not_sentences(site):
    """Fault F37: `name : text` was read as a name and its type."""
    page = (site / "api" / "core" / "index.html").read_text(encoding="utf-8")
    own = page.split('id="ethereal.EtherealClassifier"')[1].split('id="ethereal.EtherealClassifier.')[0]
    attributes = own.split("Attributes:")[1].split("Examples:")[0]
    for name in ("classes_", "model_", "history_"):
        assert f"<code>{name}</code>" in re.sub("</?(?:span|a)[^>]*>", "", attributes)
    assert "Labels in the order of the class sums" in attributes
    assert not re.search(r"<code>[^<]*\w \w+ \w+ \w", attributes)  # no sentence stands where a type does


def test_architecture_names_every_room():
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
    found = list(hard_to_read(path.read_text(encoding="utf-8")))
    assert not found, "\n".join([f"{path.relative_to(ROOT)} has", *found])


LONG = "The rooms are in a row, " * 5


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


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(ROOT / "README.md", id="README.md", marks=pytest.mark.slow),  # `make base` runs it, too
        pytest.param(ROOT / "docs" / "guide" / "first-model.md", id="first-model.md"),
    ],
)
def test_python_of_the_page_runs(path, tmp_path):
    [code] = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "iris.etm").exists()
    for promised in re.findall(r"# .*such as (.*)$", code, re.MULTILINE):
        assert promised in done.stdout


# Of searches, processes and boards, which tests/tuning, tests/cluster and tests/export show.
LONG_PAGES = (
    *("cluster.md", "scikit-learn.md", "study-your-machine.md", "teach.md", "tune.md", "tuning.md"),
    "windows.md",
)


def snippets(page):
    """Return the blocks of Python of a page, as one program."""
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))


WITH_PYTHON = [
    pytest.param(path, marks=[pytest.mark.slow] if path.name in LONG_PAGES else [], id=path.name)
    for path in (*sorted((ROOT / "docs" / "guide").glob("*.md")), ROOT / "lab" / "notes" / "tuning.md")
    if "```python" in path.read_text(encoding="utf-8") and path.name != "first-model.md"  # tested above
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
