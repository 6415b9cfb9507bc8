"""Packages and layers know only those before them, whatever the form of the import."""

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import layers  # noqa: E402


def test_every_module_is_in_a_package_and_a_layer():
    assert {path.parent.name for path in layers.SRC.glob("*/__init__.py")} == set(layers.PACKAGES)
    for name in layers.modules():
        assert layers.layer_of(name) in (*layers.ORDER, *layers.PACKAGES, "", "__main__"), name
    root = layers.SRC / "ethereal"
    assert {p.name for p in root.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_no_import_goes_against_the_order():
    assert [str(offence) for offence in layers.offences()] == []


FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ethereal.export import Program"
FORBIDDEN = {
    "ethereal/model/rules.py": [
        ("from ethereal.device import measure", "ethereal.device"),
        ("def f():\n    from ethereal.device import measure", "ethereal.device"),
        ("def f():\n    import ethereal.device.emulator", "ethereal.device.emulator"),
        (FOR_TYPES, "ethereal.export"),
        ("from ethereal import EtherealClassifier", "ethereal.EtherealClassifier"),
        ("from ethereal import device", "ethereal.device"),
        ("import importlib\nimportlib.import_module('ethereal.cli.run')", "ethereal.cli.run"),
        ("def f():\n    from ethereal_bounds import bound", "ethereal_bounds.bound"),
    ],
    "ethereal/cli/run.py": [
        ("def f():\n    from ethereal_study.paper import train", "ethereal_study.paper"),
        ("import ethereal_study", "ethereal_study"),
        ("def f():\n    import ethereal_bounds.walk", "ethereal_bounds.walk"),
    ],
    "ethereal_bounds/walk.py": [
        ("def f():\n    from ethereal.chips.elf import Elf", "ethereal.chips.elf"),
        ("from ethereal import Model", "ethereal.Model"),
        ("import ethereal_study.cells", "ethereal_study.cells"),
    ],
}


@pytest.mark.parametrize("module", FORBIDDEN)
def test_every_forbidden_import_is_found_with_file_and_line(tmp_path, module):
    left_out = shutil.ignore_patterns("__pycache__", "native", "*.so")
    shutil.copytree(layers.SRC, tmp_path / "src", ignore=left_out)
    path, expected = tmp_path / "src" / module, []
    name = layers.layer_of(module.replace("/", "."))
    for text, target in FORBIDDEN[module]:
        path.write_text(path.read_text() + text + "\n")
        expected.append(f"{module}:{len(path.read_text().splitlines())} {name} imports {target}")
    assert [str(offence) for offence in layers.offences(tmp_path / "src")] == expected


def test_the_documentation_has_packages_and_layers_in_their_order():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for name, about in layers.PACKAGES.items():
        assert f"| `{name}` | {about} |" in text
    for number, (name, about) in enumerate(layers.LAYERS.items()):
        assert f"| {number} | `{name}/` | {about} |" in text
