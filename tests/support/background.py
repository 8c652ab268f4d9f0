"""Runs programs whose time does not matter, pages and examples, in the background while other tests run.

    collection ends ─▶ start(jobs) ─▶ runner ─▶ a process for each job        two at a time, with a low priority
    a test ─────────▶ result(job)  ◀── JOB.json                               waits until the job is done

The runner is not a child of the process of the tests, because tests count the children that machines leave behind.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

from support.machines import ROOT
from support.pages import outputs_of
from support.profiles import charging

PRIORITY = 10
PATIENCE = 300.0
"""Seconds that a test waits for a job."""
LAUNCH = "import subprocess, sys; subprocess.Popen(sys.argv[1:], start_new_session=True, stdin=subprocess.DEVNULL)"


class Background:
    """Jobs, named by the paths of pages and examples from the root of the repository; a folder gets the results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, jobs: Sequence[str]) -> None:
        """Start the runner, which outlives the process that starts it."""
        command = [sys.executable, "-m", "support.background", str(self.folder), *jobs]
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
        subprocess.run([sys.executable, "-c", LAUNCH, *command], env={**os.environ, "PYTHONPATH": path}, check=True)

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
        with contextlib.suppress(OSError, ValueError):
            os.killpg(int((self.folder / "runner").read_text()), signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


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
    (folder / "runner").write_text(str(os.getpid()))
    os.nice(PRIORITY)
    os.environ["SMP_DATA_DIR"] = str(folder / "data")
    charging().keep()
    with ThreadPoolExecutor(2) as pool:
        for job in jobs:
            pool.submit(_run_and_write, folder, job)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
