"""Only `base/atomic.py`, and what is built on it in `base/`, writes files."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
# They write. The last two run in processes of other libraries.
MAY_WRITE = {
    *(f"ethereal/base/{name}.py" for name in ("atomic", "npz")),
    *("ethereal_study/baselines/larq_runner.py", "ethereal_study/speed/runner.py"),
}
# Methods and functions that write or rename a file, whatever they belong to.
WRITERS = {
    *("write_text", "write_bytes", "touch", "symlink_to", "hardlink_to", "rename", "renames"),
    *("savez", "savez_compressed", "save_file", "savetxt", "tofile", "memmap"),
    *("to_csv", "to_parquet", "to_json", "to_pickle", "write_csv", "write_table"),
    *("copyfile", "copy2", "copytree", "mkstemp", "NamedTemporaryFile", "fdopen"),
}
OF_MODULES = {
    ("os", "replace"),
    ("os", "open"),
    ("os", "link"),
    ("json", "dump"),
    ("shutil", "move"),
    ("np", "save"),
}


def offences(text: str) -> list[int]:
    """Lines of a module in which it writes a file itself."""
    lines = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Attribute):
            owner = function.value.id if isinstance(function.value, ast.Name) else ""
            writes = function.attr in WRITERS or (owner, function.attr) in OF_MODULES
            place = 0  # of the mode, in path.open()
            name = function.attr
        elif isinstance(function, ast.Name):
            writes, place, name = False, 1, function.id
        else:
            continue
        if name == "open":
            given = [*node.args[place : place + 2], *(k.value for k in node.keywords if k.arg == "mode")]
            modes = [
                one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            writes |= any(set(mode) & set("wax+") and set(mode) <= set("rwaxbt+") for mode in modes)
            writes |= any(isinstance(one, ast.IfExp) for one in given)
        if writes:
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize(
    "line",
    [
        'open(path, "w")',
        'open(path, mode="ab")',
        'path.open("xb")',
        'path.open("ab" if start else "wb")',
        "path.write_text(text)",
        "np.savez(path, X=X)",
        "os.replace(a, b)",
        "frame.to_csv(path)",
    ],
)
def test_what_is_an_offence(line):
    assert offences(line) == [1]


def test_reading_is_none():
    assert (
        offences('open(path, "rb")\nopen(path)\npath.open()\nwrite_text(path, text)\ns.replace("w", "a")')
        == []
    )


def test_no_other_module_writes():
    places = {
        f"{name}:{line}"
        for file in SOURCE.rglob("*.py")
        if (name := file.relative_to(SOURCE).as_posix()) not in MAY_WRITE
        for line in offences(file.read_text(encoding="utf-8"))
    }
    assert places == set()
