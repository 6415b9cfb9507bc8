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
    *(f"{_HOMES[name]}.{name}" for name in _HOMES),
    *(f"ethereal.model.model.Model.{name}" for name in ("predict", "save", "load", "explain", "to_bytes")),
    *("ethereal.export.projects.writer.c", "ethereal.export.mpy.package.micropython"),
    *("ethereal.device.measurement.measure", "ethereal.datasets.load", "ethereal.model.codes.to_bytes"),
]
# Pages for somebody who reads each sentence once.
PLAIN = [ROOT / "README.md", *(ROOT / "docs" / name for name in ("index.md", "glossary.md"))]
PLAIN += sorted((ROOT / "docs" / "guide").glob("*.md"))


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


def test_architecture_names_every_room():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in (ROOT / "src" / "ethereal").iterdir():
        if path.suffix == ".py" and not path.name.startswith("__"):
            assert f"`{path.name}`" in text
        elif (path / "__init__.py").exists():
            assert f"`{path.name}/`" in text


def test_links_between_files_of_the_repository():
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"):
        for link in re.findall(r"\]\(([^)#]+)", unescape(path.read_text(encoding="utf-8"))):
            if "://" not in link:
                assert (path.parent / link).exists(), f"{path.name} links to {link}"


def sentences(text):
    text = re.sub(r"(?s:```.*?```)|^(?: {4}\S|#|!|\|[-:|]+$).*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "Code", text))
    text = re.sub(r"^ *(?:[-*]|\d+\.) |\|", "\n\n", text, flags=re.MULTILINE)  # items and cells stand alone
    for paragraph in re.split(r"\n\s*\n", text):
        yield from re.split(r"(?<=[.!?:]) (?=[^a-z])", " ".join(paragraph.split()))


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.name)
def test_sentences_are_short_and_have_one_thought(path):
    for sentence in sentences(path.read_text(encoding="utf-8")):
        assert len(re.findall(r"\w[\w'.,-]*", sentence)) <= 25, sentence
        assert not re.search(r";|\bis no\b", sentence), sentence


@pytest.mark.parametrize(
    "path", [PLAIN[0], ROOT / "docs" / "guide" / "first-model.md"], ids=lambda path: path.name
)
def test_python_of_the_page_runs(path, tmp_path):
    [code] = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "iris.etm").exists()
