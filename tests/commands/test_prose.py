"""The prose of the package and its pages avoids certain words, and first lines are sentences or name a thing."""

import ast
import functools
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.machines import ROOT

AVOID = {
    r"so many": "a number of, n, the given number of",
    r"nobody|somebody|anybody": "no processor, another thread",
    r"(?:by|in) turns": "in turn, alternately",
    r"besides?": "next to, in addition",
    r"anew": "again, rebuilt",
    r"without a word": "silently",
    r"foretold": "predicted",
    r"tells?|told": "report, return, show",
    r"(?<!there )is no (?:number|profile|list|function|processor|array)": "is not a",
    r"crew|nursery|laboratory|roster": "workers, fork server",
}
"""Words to avoid, with better ones."""
WORDS = re.compile(rf"\b(?:{'|'.join(AVOID)})\b", re.IGNORECASE)
QUESTION = re.compile(r"(?:What|Who|Whether|How|Where)\b(?!.*\?)")
"""First lines that are neither a sentence nor the name of a thing. Real questions are allowed."""
QUOTED = re.compile(r"``.*?``|`[^`]*`|\"[^\"]*\"", re.DOTALL)
NAMED = re.compile(r"^\s*\w+(?:, \w+)* : .*$|^\s*>>>.*(?:\n\s*(?!>>>)\S.*)*", re.MULTILINE)
"""Lines that name parameters, and doctests, both of which are code."""
STAY = {
    "smp/microbench/sections/outstanding/": "Crew is the name of a class, which its docstring explains",
    "smp/microbench/sections/polling/probe.py": "beside is the label of a case in profiles",
    "smp/models/supersteps/locality.py": "the verdict 'too small to tell' is stored in profiles",
    "smp/_runtime/memory/witness.py": "to tell one thing from another is English",
}
"""Files in which a word stays, with the reason."""
SOURCES = sorted((ROOT / "smp").rglob("*.py"))
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def comments(source: Path) -> Iterator[tuple[int, str]]:
    """Yield the line number and the text of each comment of a module that has a word to avoid somewhere."""
    text = source.read_text(encoding="utf-8")
    if not WORDS.search(text):
        return
    readline = io.StringIO(text).readline
    for token in tokenize.generate_tokens(readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


@functools.cache
def docstrings(source: Path) -> list[tuple[int, str]]:
    """Return the line number and the text of each docstring of a module, including those of attributes."""
    found = []
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        for one in getattr(node, "body", []) if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
                found.append((one.lineno, one.value.value))
    return found


def found_in(text: str) -> list[str]:
    return WORDS.findall(QUOTED.sub("", NAMED.sub("", text)))


def test_docstrings_and_comments_avoid_these_words() -> None:
    found = {
        f"{source.relative_to(ROOT)}:{line}": words
        for source in SOURCES
        if not str(source.relative_to(ROOT)).startswith(tuple(STAY))
        for line, text in (*comments(source), *docstrings(source))
        if (words := found_in(text))
    }
    assert found == {}


def test_first_lines_are_sentences_or_name_a_thing() -> None:
    found = [
        f"{source.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for source in SOURCES
        for line, text in docstrings(source)
        if QUESTION.match(text)
    ]
    assert found == []


def test_names_of_tests_avoid_these_words() -> None:
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    names = [name for test in tests for name in re.findall(r"^def (test_\w+)", test.read_text("utf-8"), re.MULTILINE)]
    assert len(names) > 1500
    assert [
        name for name in names if WORDS.search(name.replace("_", " ")) or re.match(r"test_(?:what|who)_", name)
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_avoid_these_words(page: Path) -> None:
    prose = re.sub(r"^(?:    .*|```.*?^```)$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert found_in(prose) == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.name)
def test_notebooks_avoid_these_words(notebook: Path) -> None:
    """Code, in cells of its own or indented in the text, is left out, except for its comments."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    prose = re.sub(r"^    .*$", "", "\n\n".join(texts), flags=re.MULTILINE)
    code = "\n".join(line for cell in cells if cell["cell_type"] == "code" for line in cell["source"])
    assert found_in("\n".join([prose, *re.findall("#.*", code)])) == []
