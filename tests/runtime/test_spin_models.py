"""The SPIN models of barrier, abort word, cells, rings and inboxes hold, planted bugs are found, and checks can fail.

The tests that verify models are marked as slow and run only some of the checks; ``scripts/models`` runs them all.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from smp._runtime.protocols import cell, stream_slots, wait, waiters

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "docs" / "models"
HOLDING = (
    "barrier of 3",
    "2, killed, any, ends",
    "3, raising, two runs",
    "cell of 2, full, expiring",
    "cell of 2, killed, any",
    "cell of 3, raising, ends",
    "cell of 3, two runs",
    "ring of 3 slots",
    "2 rings of 1 slot, killed",
    "inbox, 1 sender, 2 slots",
)
FOUND = (
    "BUG_LAST_ADDS_PLAINLY",
    "BUG_WAKE_ONE",
    "BUG_ABORT_STORE",
    "BUG_ABORT_NOT_CHECKED",
    "BUG_LINK_READ_AFTER_TELLING",
    "BUG_LEAVES_UNTOLD",
    "BUG_SERVED_NOT_NUDGED",
    "BUG_TOLD_OR_WAITS_FOR_EVER",
    "BUG_GIVES_UP_ON_THE_LIVING",
    "BUG_WRITEEF_STATE_FIRST",
    "BUG_STAMP_NOT_RELEASED",
    "BUG_ONE_STAMP",
    "BUG_NO_HEAVY_FENCE",
)

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
    """Return the names of the bugs that can be planted in the models."""
    return {name for model in MODELS.glob("*.pml") for name in re.findall(r"BUG_[A-Z_]*[A-Z]", model.read_text())}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy of the script and the models that a test may spoil."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "models", tmp_path / "scripts")
    shutil.copytree(MODELS, tmp_path / "docs" / "models")
    return tmp_path


def spoil(root: Path, line: str, name: str = "barrier") -> None:
    model = root / "docs" / "models" / f"{name}.pml"
    model.write_text(f"{line}\n{model.read_text()}")


def checks() -> set[str]:
    """Return the names of all checks."""
    return set(re.findall(r'Check\(\s*"([^"]+)"', (ROOT / "scripts" / "models").read_text()))


@pytest.mark.slow
@needs_spin
def test_protocols_hold_and_planted_bugs_are_found() -> None:
    done = run(ROOT, *HOLDING, *FOUND)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in HOLDING + FOUND:
        row = re.search(rf"^{re.escape(name)}  +.*", done.stdout, re.MULTILINE)
        assert row is not None, name
        assert ("holds" in row[0]) == (name in HOLDING), row[0]


def test_every_planted_bug_has_a_check() -> None:
    assert {name for name in checks() if name.startswith("BUG_")} == planted()
    assert len(planted()) >= 60


@pytest.mark.slow
@needs_spin
def test_a_broken_protocol_is_reported_with_the_path_to_its_failure(copy: Path) -> None:
    spoil(copy, "#define BUG_ONE_WORD")
    done = run(copy, "barrier of 2")
    assert done.returncode == 1
    assert "waits for ever" in done.stdout
    assert "proc  1 (Processor" in done.stdout


@pytest.mark.slow
@needs_spin
def test_a_broken_cell_is_reported_with_the_path_to_its_failure(copy: Path) -> None:
    spoil(copy, "#define BUG_TWO_READFES", "cells")
    done = run(copy, "cell of 3, killed")
    assert done.returncode == 1
    assert "wrong state" in done.stdout
    assert "proc  1 (Stream" in done.stdout


@pytest.mark.slow
@needs_spin
def test_the_name_of_a_model_runs_its_checks() -> None:
    done = run(ROOT, "ring")
    assert done.returncode == 0, done.stdout + done.stderr
    models = re.findall(r"^.{30}(\w+) .* \d+\.\d$", done.stdout, re.MULTILINE)
    assert len(models) == 20
    assert set(models) == {"ring"}


@pytest.mark.slow
@needs_spin
def test_a_planted_bug_that_is_not_found_is_an_error(copy: Path) -> None:
    spoil(copy, "#undef BUG_ONE_WORD")
    done = run(copy, "BUG_ONE_WORD")
    assert done.returncode == 1
    assert "WRONG" in done.stdout


@pytest.mark.slow
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


def defined(model: str, name: str) -> int:
    found = re.search(rf"^#define {name} +(\d+)", (MODELS / model).read_text(), re.MULTILINE)
    assert found is not None, name
    return int(found[1])


def test_the_models_use_the_numbers_of_the_code() -> None:
    for name in ("OK", "ABORTED", "EXPIRED", "CHANGING", "RAISED", "DIED", "MISMATCHED"):
        assert defined("barrier.pml", name) == getattr(wait, name), name
    for name in ("OK", "ABORTED", "EXPIRED"):
        assert defined("cells.pml", name) == getattr(wait, name), name
    for name in ("IDLE", "WAITING", "SERVED"):
        assert defined("cells.pml", name) == getattr(waiters, name), name


def test_the_low_bits_of_the_models_state_word_match_the_code() -> None:
    text = (MODELS / "cells.pml").read_text()
    assert f"#define FULL(w)     ((w) & {cell.FULL})" in text
    assert f"#define LOCKED(w)   ((w) & {stream_slots.LOCKED})" in text
    assert f"#define A(w)        (((w) >> {cell.A_AT}) & 7)" in text


def test_the_readme_lists_every_planted_bug() -> None:
    assert planted() == set(re.findall(r"BUG_[A-Z_]*[A-Z]", (MODELS / "README.md").read_text()))


def test_the_readme_has_a_row_for_every_check_that_holds() -> None:
    text = (MODELS / "README.md").read_text()
    for name in checks():
        if name.startswith(("BUG_", "LIMIT ")):
            assert f"`{name}`" in text, name
        else:
            row = name.removesuffix(", ends") if name == "barrier of 2, ends" else name  # both are in one row
            assert re.search(rf"^\| (\*with `--full`:\* )?{row}(; and ends)? \|", text, re.MULTILINE), name
