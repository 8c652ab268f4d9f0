"""The models of the barrier and the abort word: they hold, the planted bugs are found, and the check can fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from smp import _wait

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "docs" / "models"

needs_spin = pytest.mark.skipif(
    shutil.which("spin") is None or shutil.which("gcc") is None,
    reason="the models are verified by SPIN and gcc, and one of them is not installed",
)


def run(root: Path, *names: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ if path is None else {**os.environ, "PATH": path}
    return subprocess.run(
        [sys.executable, str(root / "scripts" / "models"), *names],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )


def planted() -> set[str]:
    """The bugs that the models can be given."""
    return {name for model in MODELS.glob("*.pml") for name in re.findall(r"BUG_[A-Z_]*[A-Z]", model.read_text())}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The script and the models, to be spoilt."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "models", tmp_path / "scripts")
    shutil.copytree(MODELS, tmp_path / "docs" / "models")
    return tmp_path


def spoil(root: Path, line: str) -> None:
    model = root / "docs" / "models" / "barrier.pml"
    model.write_text(f"{line}\n{model.read_text()}")


@needs_spin
def test_the_protocols_hold_and_every_planted_bug_is_found() -> None:
    done = run(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {line.split()[0] for line in done.stdout.splitlines() if line.startswith("BUG_")} == planted()
    assert len(planted()) >= 15


@needs_spin
def test_a_broken_protocol_is_told_with_the_way_to_its_failure(copy: Path) -> None:
    spoil(copy, "#define BUG_ONE_WORD")
    done = run(copy, "barrier of 2")
    assert done.returncode == 1
    assert "waits for ever" in done.stdout
    assert "proc  1 (Processor" in done.stdout


@needs_spin
def test_a_planted_bug_that_is_not_found_is_an_error(copy: Path) -> None:
    spoil(copy, "#undef BUG_ONE_WORD")
    done = run(copy, "BUG_ONE_WORD")
    assert done.returncode == 1
    assert "WRONG" in done.stdout


@needs_spin
def test_a_model_that_does_not_compile_is_an_error(copy: Path) -> None:
    spoil(copy, "nonsense")
    done = run(copy, "barrier of 2")
    assert done.returncode == 1
    assert "no result" in done.stdout


def test_without_spin_the_script_says_so_and_passes(tmp_path: Path) -> None:
    done = run(ROOT, path=str(tmp_path))
    assert done.returncode == 0
    assert done.stdout == "skipped: spin is not installed\n"


def test_the_models_use_the_numbers_of_the_code() -> None:
    text = (MODELS / "barrier.pml").read_text()
    for name in ("OK", "ABORTED", "EXPIRED", "CHANGING", "RAISED", "DIED", "MISMATCHED"):
        found = re.search(rf"^#define {name} +(\d+)", text, re.MULTILINE)
        assert found is not None, name
        assert int(found[1]) == getattr(_wait, name), name


def test_the_readme_tells_every_planted_bug() -> None:
    assert planted() == set(re.findall(r"BUG_[A-Z_]*[A-Z]", (MODELS / "README.md").read_text()))
