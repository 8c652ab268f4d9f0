"""Every example prints what stands beside it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from smp.microbench.sections import SECTIONS

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


LONG = ("perturb_mesh", "perturb_quicksort", "perturb_ring")
"""They take a quarter of a minute each, and have tests of their own."""


@pytest.mark.parametrize(
    "example",
    [pytest.param(path, marks=[pytest.mark.slow] * (path.stem in LONG)) for path in EXAMPLES],
    ids=lambda path: path.stem,
)
def test_example_prints_what_is_written(example: Path) -> None:
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == example.with_suffix(".txt").read_text()


def test_the_programme_of_the_readme_is_an_example() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    program = readme.split("```python")[1].split("```")[0]
    shared = (Path(__file__).parents[2] / "examples/count.py").read_text()
    for line in program.splitlines():
        if line and not line.startswith("print"):
            assert line in shared, line


def test_the_table_of_the_readme_has_the_sections_in_their_order() -> None:
    table = (Path(__file__).parents[2] / "README.md").read_text().split("| section | what |")[1].split("\n\n")[0]
    assert re.findall(r"^\| (\w+) \|", table, re.MULTILINE) == list(SECTIONS)
