"""Files that comments, docstrings and pages name are there: a file that moves takes its mentions along."""

import ast
import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "tools", "lab", "examples", "docs", ".github")
SKIPPED = {"__pycache__", "corpus"}
ENDINGS = r"py|(?:h|c|md|py)\.in|h|cpp|hpp|c|js|mjs|upy|md|toml|yml"
NAME = re.compile(rf"(?<![\w/.*{{<$~-])((?:[\w.-]+/)*[\w-]+\.(?:{ENDINGS}))(?![\w/(*-]|\.\w)")
COMMENTED = re.compile(rf"#.*\.(?:{ENDINGS})")
# Files that the package writes, or that its users have.
WRITTEN = {
    *("ethereal_tm.py", "ethereal_check.py", "m.py", "tiny.py", "main.py", "zephyr/module.yml"),
    *("study/frontier-goals.md", "idf.py"),
}
EVERYWHERE = [
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.is_file() and not SKIPPED & set(path.parts)
] + [path for path in ROOT.iterdir() if path.is_file()]
ENDS = {
    "/".join(parts[i:])
    for path in EVERYWHERE
    for parts in [path.relative_to(ROOT).parts]
    for i in range(len(parts))
}


def prose_of(path):
    """Return line numbers and texts of comments and docstrings of a module, or the lines of a page."""
    text = path.read_text(encoding="utf-8")
    if not NAME.search(text):
        return
    if path.suffix == ".md":
        fenced = re.sub(r"(?ms)^```.*?^```", lambda code: "\n" * code[0].count("\n"), text)
        yield from enumerate(fenced.split("\n"), 1)
        return
    if COMMENTED.search(text):  # most modules name no file in a comment
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (
            words := ast.get_docstring(node)
        ):
            yield getattr(node, "lineno", 1), words


def named(text):
    """Return the files of this repository that a text seems to name."""
    for name in NAME.findall(text):
        is_pattern = re.search("[A-Z]{2}", name) and name not in ENDS  # cli/NAME.py
        if ("/" in name or name.endswith(".py")) and not is_pattern and name not in WRITTEN:
            yield name


READ = sorted(path for path in EVERYWHERE if path.suffix in (".py", ".md"))


def missing(path):
    return [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for line, text in prose_of(path)
        for name in named(text)
        if name not in ENDS and not (path.parent / name).exists()
    ]


def test_files_that_are_named_are_there():
    """Fault F19: seven comments named files that had moved."""
    assert [one for path in READ for one in missing(path)] == []
