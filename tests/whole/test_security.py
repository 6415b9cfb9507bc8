"""What must not be in the package: code that executes data or hands it to a shell. SECURITY.md says so."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
FILES = sorted(SOURCE.rglob("*.py"))
MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "pty", "commands"}
CALLS = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "os.execv", "os.execvp"),
    *("subprocess.getoutput", "subprocess.getstatusoutput", "tempfile.mktemp", "yaml.load"),
    *("joblib.load", "joblib.dump", "np.fromfile", "pd.read_pickle", "ctypes.CDLL", "torch.load"),
}


def name_of(node):
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def faults(tree):
    """What is forbidden in a module, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names if a.name.split(".")[0] in MODULES)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            yield node.lineno, node.module
        if not isinstance(node, ast.Call):
            continue
        name, keywords = name_of(node.func), {k.arg: k.value for k in node.keywords}
        loads_nothing = name == "ctypes.CDLL" and ast.unparse(node.args[0]) == "None"  # this process
        if name in CALLS and not loads_nothing:
            yield node.lineno, name
        shell = keywords.get("shell")
        if shell is not None and not (isinstance(shell, ast.Constant) and shell.value is False):
            yield node.lineno, f"{name}(shell=...)"
        if name in ("np.load", "numpy.load"):
            allow = keywords.get("allow_pickle")
            if not (isinstance(allow, ast.Constant) and allow.value is False):
                yield node.lineno, f"{name} without allow_pickle=False"
        if name.endswith((".extract", ".extractall", "unpack_archive")):
            yield node.lineno, name


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_is_executed_but_the_package(path):
    assert list(faults(ast.parse(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import loads",
        "eval('1')",
        "np.load(f)",
        "np.load(f, allow_pickle=True)",
        "os.system('ls')",
        "subprocess.run('ls', shell=True)",
        "subprocess.run('ls', shell=flag)",
        "archive.extractall()",
    ],
)
def test_the_search_finds_what_it_looks_for(text):
    assert list(faults(ast.parse(text)))


def test_pages_name_no_other_host():
    """Neither the report nor what it is made of loads anything from elsewhere."""
    for path in (SOURCE / "ethereal" / "runs" / "report").iterdir():
        if path.suffix in (".html", ".js", ".css", ".py"):
            text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"https?://|//cdn|\binnerHTML\b|document\.write|\beval\(", text), path.name
