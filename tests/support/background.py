"""Plugin that runs programs whose time does not matter, pages and examples, in the background of other tests.

    collection ends ─▶ start(jobs) ─▶ runner ─▶ a process for each job        two at a time, with a low priority
    a test ─────────▶ result(job)  ◀── JOB.json                               waits until the job is done

The tests of these programs, which use the fixture `background`, come last.  The runner is not a child of the process of
the tests, because tests count the children that machines leave behind.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from support.machines import ROOT
from support.pages import outputs_of
from support.profiles import charging

PRIORITY = 10
PATIENCE = 300.0
"""Seconds that a test waits for a job."""
LAUNCH = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:], start_new_session=True, stdout=2).pid)"


class Background:
    """Jobs, named by the paths of pages and examples from the root of the repository; a folder gets the results."""

    def __init__(self, jobs: Sequence[str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="smp-background-"))
        runner = [sys.executable, "-m", "support.background", str(self.folder), *jobs]
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
        command = [sys.executable, "-c", LAUNCH, *runner]  # a process that ends, and leaves the runner behind
        started = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, check=True)
        self._runner = int(started.stdout)

    def result(self, job: str) -> Any:
        """Return the result of a job: the outputs of a page's blocks, or the output of an example.

        Raises
        ------
        AssertionError
            If the job failed; the message has its traceback.
        """
        file, deadline = _file(self.folder, job), time.monotonic() + PATIENCE
        while not file.exists():
            assert time.monotonic() < deadline, f"{job} has not ended after {PATIENCE:.0f} s"
            time.sleep(0.02)
        failed, result = json.loads(file.read_text())
        assert not failed, result
        return result

    def stop(self) -> None:
        """End the runner and its jobs, if they have not ended, and remove the folder."""
        with contextlib.suppress(OSError):
            os.killpg(self._runner, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


_started: list[Background] = []


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of programs that run in the background to the end."""
    items.sort(key=lambda item: "background" in getattr(item, "fixturenames", ()))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the programs of the selected tests."""
    chosen = [each for each in session.items if isinstance(each, pytest.Function) and "background" in each.fixturenames]
    if chosen and not session.testsfailed and not session.config.option.collectonly:
        _started.append(Background([each.callspec.params["job"] for each in chosen]))


def pytest_sessionfinish() -> None:
    """End the programs that are still running, after Ctrl-C for example."""
    for one in _started:
        one.stop()


@pytest.fixture(scope="session")
def background() -> Background:
    """The programs that run in the background."""
    return _started[0]


def _file(folder: Path, job: str) -> Path:
    return folder / f"{quote(job, safe='')}.json"


def _run(folder: Path, job: str) -> Any:
    """Run a page in a folder of its own, or an example."""
    if job.endswith(".py"):
        done = subprocess.run([sys.executable, ROOT / job], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout
    own = folder / quote(job, safe="")
    own.mkdir()
    (own / "examples").symlink_to(ROOT / "examples")  # stored results that some pages show
    return outputs_of((ROOT / job).read_text(encoding="utf-8"), own)


def _run_and_write(folder: Path, job: str) -> None:
    try:
        result = [False, _run(folder, job)]
    except Exception as error:
        result = [True, f"{type(error).__name__}: {error}"]
    beside = folder / f"{quote(job, safe='')}.new"
    beside.write_text(json.dumps(result))
    beside.rename(_file(folder, job))


def main(folder: Path, jobs: Sequence[str]) -> None:
    """Run the jobs, with a profile of this computer in their data folder, from which intervals are predicted."""
    os.nice(PRIORITY)
    os.environ["SMP_DATA_DIR"] = str(folder / "data")
    charging().keep()
    with ThreadPoolExecutor(2) as pool:
        for job in jobs:
            pool.submit(_run_and_write, folder, job)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
