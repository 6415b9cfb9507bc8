"""The documentation builds without a warning, and its reference knows the public names."""

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
    *("ethereal.export.projects.library.c", "ethereal.export.mpy.package.micropython"),
    *("ethereal.device.measurement.measure", "ethereal.datasets.load", "ethereal.model.codes.to_bytes"),
]


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
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "benchmarks" / "README.md"):
        for link in re.findall(r"\]\(([^)#]+)", unescape(path.read_text(encoding="utf-8"))):
            if "://" not in link:
                assert (path.parent / link).exists(), f"{path.name} links to {link}"
