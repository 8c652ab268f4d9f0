"""Programs as a type checker sees them: which calls it refuses, and which types the results have."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "support" / "typed_programs.py"
CONFIGURATION = """
[mypy]
strict = true
[mypy-smp.machines.*,smp.microbench.*,smp.models.*,smp.perturb.*,smp.profiles.*,smp.selection.*,smp._output.*]
follow_imports = skip
[mypy-smp._runtime.emulated.*,smp._runtime.host.*,smp._runtime.mpi.*,smp._runtime.nodes.*]
follow_imports = skip
[mypy-cloudpickle.*,greenlet.*,llvmlite.*,mpi4py.*,numba.*,psutil.*,pydantic.*,scipy.*]
ignore_missing_imports = true
follow_imports = skip
"""
"""Only the modules whose types the programs need are checked, which takes a few seconds instead of a minute."""
IGNORED = "  # type: ignore"


@pytest.mark.slow  # scripts/check does the same, next to all other modules
def test_a_type_checker_finds_the_errors_of_programs_and_no_others(tmp_path: Path) -> None:
    lines = PROGRAMS.read_text(encoding="utf-8").splitlines()
    (tmp_path / PROGRAMS.name).write_text("\n".join(line.removesuffix(IGNORED) for line in lines) + "\n")
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    options = ["--config-file", tmp_path / "mypy.ini", "--cache-dir", tmp_path / "cache", "--no-error-summary"]
    command = [sys.executable, "-m", "mypy", *options, "--hide-error-context", PROGRAMS.name]
    found_there = {**os.environ, "MYPYPATH": str(ROOT)}  # mypy does not follow an editable installation
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=found_there)
    assert done.returncode == 1, done.stdout + done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith(PROGRAMS.name) and ": error: " in line]
    found = {int(line.split(":")[1]) for line in said}
    expected = {number for number, line in enumerate(lines, 1) if line.endswith(IGNORED)}
    assert len(expected) > 20
    assert found == expected, done.stdout
