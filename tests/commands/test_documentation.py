"""The programs in the documentation run and print the outputs shown, links resolve, and names can be imported."""

import importlib
import re
from functools import reduce
from pathlib import Path

import pytest
from support.machines import ROOT
from support.pages import blocks_of, run_page

from smp.microbench.sections import SECTIONS

PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
PROGRAMS = [str(page.relative_to(ROOT)) for page in PAGES if blocks_of(page.read_text(encoding="utf-8"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAME = re.compile(r"`(smp(?:\.\w+)+)(?:\([^`]*\))?`")
FILE = re.compile(r"`((?:benchmarks|docs|examples|scripts|smp|tests)/[\w./-]+)`")
OLD = {"docs/decisions"}  # records of decisions use the names that files and functions had at the time


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """Return the headings of a page in the form in which links name them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_resolves(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{target} does not exist"
        assert not anchor or anchor in anchors(file), f"{target}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_name_can_be_imported_and_every_file_exists(page: Path) -> None:
    if str(page.parent.relative_to(ROOT)) in OLD:
        return
    text = page.read_text(encoding="utf-8")
    for name in NAME.findall(text):
        assert resolved(name), f"{name} cannot be imported"
    for file in FILE.findall(text):
        assert list(ROOT.glob(file)), f"{file} does not exist"


def resolved(name: str) -> bool:
    """Return True if a dotted name is a module or an attribute of one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        try:
            reduce(getattr, parts[count:], module)
        except AttributeError:
            return False
        return True
    return False


@pytest.mark.parametrize(
    "job", [pytest.param(job, marks=[pytest.mark.docs] * (job != "README.md")) for job in PROGRAMS], ids=PROGRAMS
)
def test_every_program_runs_and_prints_what_the_page_shows(job: str, profiled: None, tmp_path: Path) -> None:
    """Of the output of a measurement only the columns and labels are compared."""
    shown = re.split(r"^```python\n", (ROOT / job).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    for block, output in zip(shown, run_page(ROOT / job, tmp_path), strict=True):
        if found := re.search(r"<!-- output(.*) -->\n\n((?:    .*\n|\n(?=    ))+)", block):
            printed_there = "".join(line.removeprefix("    ") + "\n" for line in found[2].rstrip().splitlines())
            compared = columns_of if found[1] else str.rstrip
            assert compared(output) == compared(printed_there), block


def columns_of(output: str) -> list[list[str]]:
    """Return the column heads and row labels of the tables in an output: the parts that are not measured."""
    rows = [line.split() for line in output.splitlines()]
    return [row[:2] if row[0].isdigit() else row for row in rows if row and (row[0].isdigit() or row[0] == "step")]


def test_the_readme_is_short_and_shows_the_first_measurement_and_how_to_run_the_tests() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    assert any(line.endswith("python -m smp.microbench --quick") for line in lines)
    assert any("python -m pytest" in line for line in lines)


def test_the_page_on_microbenchmarks_lists_the_sections_in_order() -> None:
    page = (ROOT / "docs/microbenchmarks.md").read_text(encoding="utf-8")
    table = page.split("| section | question |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(SECTIONS)


def test_the_index_leads_to_every_page() -> None:
    targets = LINK.findall((ROOT / "docs/index.md").read_text(encoding="utf-8"))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    notebooks = {f"notebooks/{path.name}" for path in (ROOT / "docs/notebooks").glob("*.ipynb")}
    assert pages | notebooks <= set(targets)


def test_the_page_on_installation_lists_every_dependency() -> None:
    import tomllib

    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    page = (ROOT / "docs/installation.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| (\w+) \| ([\d.]+) \|", page, re.MULTILINE))
    assert table == dict(one.split(">=") for one in wanted)
