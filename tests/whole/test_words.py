"""One word for one thing: words that were replaced do not come back."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What was replaced, as a regular expression, and what stands there now.
WORDS = {
    "contestants?": "baseline",
    "InputType": "NumberType",
    "can_be_missing": "has_missing_state",
    "(may|can)_miss": "accepts_missing",
    "from_layout|layout_": "feature_map",
}
# The same, in what is not the product: there `learn.h` has a rival too, the class that nearly won.
OF_OTHERS = {"\\w*rivals?": "baseline", "rooms": "package, or layer"}
# Names of variables and arguments that do not say what they hold.
NAMES = {"own", "found", "rival", "rivals", "room", "rooms"}
# A gap also spans the end of a line, of a comment or of a string: in the code a sentence goes on after it.
GAP = r'(?:[\s#*/"]|f")+'
PHRASES = {
    f"(?<!there )(is|are){GAP}no(?={GAP})(?!{GAP}(longer|more))": "is not a",
    f"told{GAP}apart": "distinguish, or what makes the difference",
    f"gone{GAP}on{GAP}with": "continue",
    f"broken{GAP}off": "interrupted",
}


def matches_of(text: str, pattern: str) -> list[tuple[int, str]]:
    """Lines in which a pattern begins, with what matched."""
    matches = re.finditer(rf"(?<!\w)({pattern})(?!\w)", text, re.IGNORECASE)
    return [(text.count("\n", 0, match.start()) + 1, match.group()) for match in matches]


def places(paths: list[Path], pattern: str) -> list[str]:
    """Where a pattern is, as `path:line: text`."""
    return [
        f"{path.relative_to(ROOT)}:{line}: {text!r}"
        for path in paths
        for line, text in matches_of(path.read_text(encoding="utf-8"), pattern)
    ]


def files(*patterns: str) -> list[Path]:
    """Files of the source tree by patterns."""
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


ENDINGS = ("py", "pyi", "cpp", "hpp", "c", "h", "in", "js", "mjs", "html", "md")
SOURCES = files(*(f"src/**/*.{ending}" for ending in ENDINGS))
DOCUMENTS = files("*.md", "docs/**/*.md", "lab/*/*.md", "examples/*.md")
PYTHON = files(*(f"{folder}/**/*.py" for folder in ("tests", "tools", "lab", "examples", "src")))
PRODUCT = ROOT / "src" / "ethereal"
LEARNS = "reference_learning.py"  # says what learn.h says, in its words
SKIPPED = (LEARNS, Path(__file__).name)
OTHERS = [path for path in PYTHON if path.name not in SKIPPED and PRODUCT not in path.parents] + DOCUMENTS


@pytest.mark.parametrize("word", WORDS)
def test_replaced_words_do_not_come_back(word):
    assert len(SOURCES) > 150
    left = places(SOURCES + DOCUMENTS, word)
    assert not left, "\n".join([f"say {WORDS[word]!r}:", *left])


@pytest.mark.parametrize("word", OF_OTHERS)
def test_words_of_tests_studies_and_documents(word):
    left = places(OTHERS, word)
    assert not left, "\n".join([f"say {OF_OTHERS[word]!r}:", *left])


def test_variables_say_what_they_hold():
    left = []
    for path in (path for path in PYTHON if path.name != LEARNS):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_bound = isinstance(node, ast.arg) or isinstance(getattr(node, "ctx", None), ast.Store)
            name = getattr(node, "arg", getattr(node, "id", "")) if is_bound else getattr(node, "name", "")
            if name in NAMES:
                left.append(f"{path.relative_to(ROOT)}:{node.lineno}: {name}")
    assert not left, "\n".join(left)


@pytest.mark.parametrize("phrase", PHRASES)
def test_phrases_that_must_be_read_twice_do_not_come_back(phrase):
    """Neither in docstrings, comments and messages nor in documents."""
    left = places(SOURCES + DOCUMENTS, phrase)
    assert not left, "\n".join([f"say {PHRASES[phrase]!r}:", *left])


@pytest.mark.parametrize(
    "text, is_found",
    [
        ("# it is no number", True),
        ('f"{x} is no "\n    f"number"', True),
        ("# it is\n# no number", True),
        ("there is no number", False),
        ("it is no longer so", False),
        ("this is not a number", False),
    ],
)
def test_a_phrase_is_found_across_the_end_of_a_line(text, is_found):
    assert bool(matches_of(text, next(iter(PHRASES)))) == is_found
