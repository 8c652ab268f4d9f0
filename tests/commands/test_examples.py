"""Every example prints the contents of its text file, and every benchmark can be started."""

import subprocess
import sys

import pytest
from support.machines import ROOT
from support.pages import output_of

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


LONG = ("perturb_mesh", "perturb_quicksort", "perturb_ring")
"""Examples that take a quarter of a minute each. They have tests of their own."""


@pytest.mark.docs
@pytest.mark.parametrize(
    "job",
    [
        pytest.param(str(path.relative_to(ROOT)), marks=[pytest.mark.slow] * (path.stem in LONG), id=path.stem)
        for path in EXAMPLES
    ],
)
def test_each_example_prints_the_contents_of_its_text_file(job: str, profiled: None) -> None:
    assert output_of(ROOT / job) == (ROOT / job).with_suffix(".txt").read_text()


def test_every_benchmark_can_be_imported_and_finds_its_libraries() -> None:
    """Benchmarks run for minutes, so they are only imported here, all in one process."""
    code = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
for path in sys.argv[2:]:
    names = runpy.run_path(path, run_name="imported")
    if "chosen_libraries" in names:
        assert list(names["chosen_libraries"](list(names["SECTIONS"])))
"""
    scripts = sorted((ROOT / "benchmarks").glob("*.py"))
    command = [sys.executable, "-c", code, str(ROOT / "benchmarks"), *map(str, scripts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
