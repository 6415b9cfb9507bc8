"""What package managers ask of an export: their rules here, and their own tools where these are on the PATH.

python -m venv tools && tools/bin/pip install platformio idf-component-manager
PATH=$PWD/tools/bin:$PATH python -m pytest tests/export/test_packages.py -m "slow or not slow"
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
import xml.etree.ElementTree as ET
import zipfile

import pytest

from ethereal import export
from random_models import random_model
from thinned import few
from windows import everything, hard_windows, model_of

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Werror"]
VERSION = r"[0-9]+\.[0-9]+\.[0-9]+"
# Of Arduino's library specification.
CATEGORIES = {
    "Display", "Communication", "Signal Input/Output", "Sensors", "Device Control", "Timing", "Data Storage",
    "Data Processing", "Other",
}  # fmt: skip


def exported(tmp_path, to, kind="rows", **options):
    if kind == "rows":
        model, rows = random_model(8, encoding="onehot")
    else:
        rows = hard_windows(64, 3, n_random=3)
        model = model_of(everything(3).fit(rows), rows, n_clauses=20)
    folder = export.project(model, tmp_path / "toy", to, name="toy", rows=rows, layout="compact", **options)
    return model, folder


@pytest.mark.parametrize("kind", few(["rows", "windows"], 2))
def test_the_example_of_esp_idf_runs(kind, tmp_path):
    """With as much of ESP-IDF as it uses, on this computer."""
    _, folder = exported(tmp_path, "esp_idf", kind)
    main = folder / "examples" / "self_test" / "main"
    (tmp_path / "esp_timer.h").write_text(
        "#include <stdint.h>\nstatic inline int64_t esp_timer_get_time(void) { return 0; }\n"
    )
    (tmp_path / "start.c").write_text(
        "void app_main(void);\nint main(void);\nint main(void)\n{\n    app_main();\n    return 0;\n}\n"
    )
    sources = [tmp_path / "start.c", *(folder / "src").glob("*.c"), *main.glob("*.c")]
    command = ["gcc", "-std=gnu17", *WARNINGS, "-I", tmp_path, "-I", folder / "src", *sources]
    subprocess.run([*command, "-o", tmp_path / "x"], check=True)
    said = subprocess.run([tmp_path / "x"], capture_output=True, text=True, check=True).stdout
    assert said == "toy: 0 failures in 0 microseconds\n"


def test_a_component_of_esp_idf_names_files_that_are_there(tmp_path):
    _, folder = exported(tmp_path, "esp_idf")
    for cmake in folder.rglob("CMakeLists.txt"):
        for names in re.findall(r"(?:SRCS|INCLUDE_DIRS) ((?:\"[^\"]+\" ?)+)", cmake.read_text()):
            assert all((cmake.parent / name).exists() for name in re.findall(r'"([^"]+)"', names))
    manifest = (folder / "idf_component.yml").read_text()
    assert re.search(rf'^version: "{VERSION}"$', manifest, re.MULTILINE)
    assert re.search(r'^dependencies:\n  idf: ">=', manifest, re.MULTILINE)
    stack = int(
        re.search(r"STACK_SIZE=(\d+)", (folder / "examples/self_test/sdkconfig.defaults").read_text())[1]
    )
    assert stack >= 3584


@pytest.mark.parametrize("kind", few(["rows", "windows"], 2))
def test_a_cmsis_pack_holds_what_its_description_names(kind, tmp_path):
    _, folder = exported(tmp_path, "cmsis_pack", kind)
    pack = folder / "ethereal.toy.1.0.0.pack"
    with zipfile.ZipFile(pack) as archive:
        assert archive.testzip() is None
        names = set(archive.namelist())
        texts = {name: archive.read(name) for name in names}
    root = ET.fromstring(texts["ethereal.toy.pdsc"])
    assert root.tag == "package"
    assert re.fullmatch(VERSION, root.attrib["schemaVersion"])
    wanted = {"vendor": "ethereal", "name": "toy"}  # with the release they are the names of the files
    assert {tag: root.findtext(tag) for tag in wanted} == wanted
    assert 0 < len(root.findtext("description")) <= 256
    assert root.find("url") is not None
    assert re.fullmatch(VERSION, root.find("releases/release").attrib["version"])
    (component,) = root.findall("components/component")
    assert {"Cclass", "Cgroup", "Cversion"} <= component.attrib.keys()
    assert component.findtext("description")
    for file in component.findall("files/file"):
        name = file.attrib["name"]
        assert file.attrib["category"] in {"doc", "include", "header", "source"}
        assert name in names or any(other.startswith(name) for other in names if name.endswith("/"))
    for path in folder.rglob("*"):
        if path.is_file() and path != pack and path.name != ".ethereal-export":
            assert texts[path.relative_to(folder).as_posix()] == path.read_bytes()
    # the same model, the same bytes
    _, again = exported(tmp_path / "again", "cmsis_pack", kind)
    assert (again / pack.name).read_bytes() == pack.read_bytes()
    # its sources and its template are a program
    program = tmp_path / "x"
    sources = [*(folder / "src").glob("*.c"), *(folder / "templates").glob("*.c")]
    (tmp_path / "main.c").write_text(
        "int toy_self_test(void);\nint main(void);\nint main(void)\n{\n    return toy_self_test();\n}\n"
    )
    command = ["gcc", "-std=gnu11", *WARNINGS, "-I", folder / "src", tmp_path / "main.c", *sources]
    subprocess.run([*command, "-o", program], check=True)
    assert subprocess.run([program], check=False).returncode == 0


def test_rules_of_arduino_lint(tmp_path):
    """The rules of a library, but for those of a published one: `url` and a licence are the user's."""
    _, folder = exported(tmp_path, "arduino")
    lines = (folder / "library.properties").read_text().splitlines()
    said = dict(line.split("=", 1) for line in lines)
    assert len(said) == len(lines)
    assert {
        "name",
        "version",
        "author",
        "maintainer",
        "sentence",
        "paragraph",
        "category",
        "url",
    } <= said.keys()
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}", said["name"])
    assert not said["name"].lower().startswith("arduino")
    assert re.fullmatch(VERSION, said["version"])
    assert all(said[key].strip() for key in ("author", "maintainer", "sentence"))
    assert said["sentence"].rstrip(".") not in said["paragraph"]
    assert said["category"] in CATEGORIES
    assert all((folder / "src" / header).exists() for header in said["includes"].split(","))
    assert (folder / "src" / f"{said['name']}.h").exists()
    for sketch in folder.rglob("*.ino"):
        assert sketch.stem == sketch.parent.name
        assert sketch.is_relative_to(folder / "examples")
    for line in (folder / "keywords.txt").read_text().splitlines():
        assert re.fullmatch(r"\S+\t(KEYWORD[123]|LITERAL[12])", line)
    assert not [path for path in folder.rglob("*") if re.search(r"[^\w.-]", path.name)]


def test_rules_of_platformio(tmp_path):
    _, folder = exported(tmp_path, "arduino")
    record = json.loads((folder / "library.json").read_text())
    assert re.fullmatch(VERSION, record["version"])
    assert (folder / "src" / record["headers"]).exists()
    for example in record["examples"]:
        assert all((folder / example["base"] / file).exists() for file in example["files"])


def test_packages_of_mip(tmp_path):
    model, _ = random_model(1)
    folder = export.micropython(model, tmp_path / "x", name="toy")
    for name in ("package.json", "loader.json"):
        record = json.loads((folder / name).read_text())
        assert re.fullmatch(VERSION, record["version"])
        assert all(there == file and (folder / file).exists() for there, file in record["urls"])


@pytest.mark.slow
def test_platformio_packs_it(tmp_path):
    if shutil.which("pio") is None:
        pytest.skip("pio is not on the PATH; `pip install platformio` into an environment of its own")
    _, folder = exported(tmp_path, "arduino")
    subprocess.run(["pio", "pkg", "pack", "."], cwd=folder, check=True, capture_output=True)
    with tarfile.open(folder / "toy-1.0.0.tar.gz") as packed:
        assert {"library.json", "src/toy.c", "src/toy.h"} <= set(packed.getnames())


@pytest.mark.slow
def test_espressifs_component_manager_packs_it(tmp_path):
    if shutil.which("compote") is None:
        pytest.skip("compote is not on the PATH; `pip install idf-component-manager` elsewhere")
    _, folder = exported(tmp_path, "esp_idf")
    command = ["compote", "component", "pack", "--name", "toy"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    with tarfile.open(folder / "dist" / "toy_1.0.0.tgz") as packed:
        names = {name.removeprefix("./") for name in packed.getnames()}
    assert {"idf_component.yml", "CMakeLists.txt", "src/toy.c", "examples/self_test/main/main.c"} <= names
