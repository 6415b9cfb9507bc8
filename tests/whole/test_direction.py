"""Rooms know only the rooms before them, whatever the form of the import."""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import rooms  # noqa: E402


def test_every_module_is_in_a_room():
    for name in rooms.modules():
        assert rooms.room_of(name) in rooms.ORDER or name in ("", "__main__"), name
    assert {p.name for p in rooms.PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_no_import_goes_against_the_order():
    assert [str(offence) for offence in rooms.offences()] == []


FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ethereal.export import Program"


FORBIDDEN = [
    ("from ethereal.device import measure", "device"),
    ("def f():\n    from ethereal.device import measure", "device"),
    ("def f():\n    import ethereal.device.emulator", "device.emulator"),
    (FOR_TYPES, "export"),
    ("from ethereal import EtherealClassifier", "EtherealClassifier"),
    ("from ethereal import device", "device"),
    ("import importlib\nimportlib.import_module('ethereal.cli.run')", "cli.run"),
]


def test_every_forbidden_import_is_found_with_file_and_line(tmp_path):
    package = tmp_path / "ethereal"
    shutil.copytree(rooms.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "native", "*.so"))
    path = package / "model" / "rules.py"
    expected = []
    for text, target in FORBIDDEN:
        path.write_text(path.read_text() + text + "\n")
        line = len(path.read_text().splitlines())
        expected.append(f"model/rules.py:{line} model imports ethereal.{target}")
    assert [str(found) for found in rooms.offences(package)] == expected


def test_the_documentation_has_the_rooms_in_their_order():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for number, (name, about) in enumerate(rooms.ROOMS.items()):
        assert f"| {number} | `{name}/` | {about} |" in text
