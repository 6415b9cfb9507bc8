"""What a release is made of: the bill of materials and the versions that were tested."""

import json
import re
import shutil
import sys
from importlib.metadata import metadata, version
from pathlib import Path

import pytest

from ethereal.export import make_program
from random_models import random_model

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import mcdc  # noqa: E402
from mcdc_models import case_of_rows  # noqa: E402


def states_a_licence(name: str) -> bool:
    """Whether the metadata of an installed package says what its licence is."""
    about = metadata(name)
    classifiers = about.get_all("Classifier") or []
    return bool(about.get("License") or about.get("License-Expression")) or any(
        text.startswith("License ::") for text in classifiers
    )


def test_the_bill_has_every_dependency_with_its_version():
    """`make sbom` writes the bill, and runs this file on it."""
    path = ROOT / "dist" / "ethereal-tm.cdx.json"
    if not path.exists():
        pytest.skip("there is no bill of materials; `make sbom` writes it")
    bill = json.loads(path.read_text(encoding="utf-8"))
    components, root = bill["components"], bill["metadata"]["component"]
    assert bill["bomFormat"] == "CycloneDX"
    assert root["name"] == "ethereal-tm"
    assert "serialNumber" not in bill  # which would differ each time
    versions = {component["name"].lower(): component["version"] for component in components}
    for name in ("numpy", "scikit-learn", "nanobind", "optuna", "scipy", "distributed", "tornado"):
        assert versions[name] == version(name)
    assert not {"pytest", "ruff", "pip"} & set(versions)
    references = {component["bom-ref"] for component in components} | {root["bom-ref"]}
    needed = {entry["ref"]: set(entry.get("dependsOn", [])) for entry in bill["dependencies"]}
    assert needed.keys() == references
    assert needed[root["bom-ref"]]
    assert set().union(*needed.values()) <= references
    unlicensed = [component["name"] for component in components if not component.get("licenses")]
    assert [name for name in unlicensed if states_a_licence(name)] == []


def test_tested_versions_are_pins_within_the_bounds_without_an_address():
    text = (ROOT / "requirements" / "tested.txt").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.+!]+", line) for line in lines)
    assert "://" not in text
    requirements = pytest.importorskip("packaging.requirements")
    tomllib = pytest.importorskip("tomllib")
    pins = dict(line.lower().replace("_", "-").split("==") for line in lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for wanted in map(requirements.Requirement, project["dependencies"]):
        assert wanted.specifier.contains(pins[wanted.name.lower()])


def test_a_branch_that_no_row_reaches_is_found(tmp_path):
    """A small part of `make mcdc`: all of one model's code is reached, and less of it with fewer rows."""
    if any(shutil.which(tool) is None for tool in ("clang-19", "llvm-profdata-19", "llvm-cov-19")):
        pytest.skip("clang-19, libclang-rt-19-dev or llvm-19 is not installed; `make system` installs them")
    model, _ = random_model(3, encoding=None, n_features=4, n_clauses=12)
    program = make_program(model, "straight", name="m")
    missing = []
    for name, rows in (("all", [[i >> b & 1 for b in range(4)] for i in range(16)]), ("one", [[0, 1, 0, 1]])):
        coverage = mcdc.Found()
        mcdc.measure(case_of_rows(name, program, rows), tmp_path / name, coverage)
        outcomes = [
            n > 0 for place, counts in coverage.branches.items() for n in counts if "et_sum" in place[1]
        ]
        missing.append((len(outcomes), outcomes.count(False)))
    assert missing[0] == (missing[1][0], 0)
    assert missing[1][1] > 0
