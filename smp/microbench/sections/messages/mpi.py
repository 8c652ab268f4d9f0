"""Runs MPI's messages and collectives under ``mpiexec``, if mpi4py is installed; smp does not depend on it."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from smp.errors import SmpError
from smp.microbench.method.windows import Windows

from .bursts import BLOCKS, CALLS, REQUESTS, SENDS, VECTORS, calls_of
from .tasks import Task, windows_of

PROGRAM = Path(__file__).with_name("under_mpiexec.py")
COUNTS = {"request": REQUESTS, "message": SENDS, "barrier": CALLS, "any": CALLS}
"""Operations in a burst of the operations that MPI has, too; next to those of vectors and blocks."""
START_SECONDS = 1.0
"""Seconds that MPI's processes take to start and to end."""
LONGEST, GRACE = 10.0, 2.0
"""Seconds that a run may take in addition to its bursts, and seconds to end once it is asked to."""


class NoMpiError(SmpError):
    """Raised if MPI cannot be measured; the message says why, and is not shown as an error."""


def mpiexec() -> str:
    """Return the path of ``mpiexec``: the one next to this Python if there is one.

    Raises
    ------
    NoMpiError
        If mpi4py or ``mpiexec`` is not installed.
    """
    if importlib.util.find_spec("mpi4py") is None:
        raise NoMpiError("mpi4py is not installed")
    found = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if found is None:
        raise NoMpiError("mpi4py is installed, but there is no mpiexec in the path")
    return found


def by_mpi(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks that MPI has, too."""
    return [task for task in tasks if task.what in VECTORS + BLOCKS or task.what in COUNTS]


def visit_by_mpi(
    tasks: Sequence[Task], cpus: Sequence[int], seconds: float, timer_ns: float, turn: int
) -> tuple[dict[Task, Windows], str]:
    """Visit tasks by MPI, with a process on each of the given CPUs.

    Returns
    -------
    dict of Task to ndarray
        Windows of process 0.
    str
        Name and version of the library.

    Raises
    ------
    NoMpiError
        If MPI does not run.
    """
    counts = [COUNTS.get(task.what) or calls_of(task.what, task.size) for task in tasks]
    listed = [(task.what, task.size, count) for task, count in zip(tasks, counts, strict=True)]
    job = json.dumps({"cpus": list(cpus), "seconds": seconds, "tasks": listed})
    command = [mpiexec(), "-n", str(len(cpus)), sys.executable, "-P", str(PROGRAM), job]
    answer = _run(command, LONGEST + 2 * seconds * len(tasks))
    stamps = [[np.array(one, np.int64) for one in each] for each in answer["stamps"]]
    return {task: windows_of(each, timer_ns, turn, 0) for task, each in zip(tasks, stamps, strict=True)}, str(
        answer["library"]
    )


def _run(command: list[str], longest: float) -> Any:
    """Run a command that prints JSON, and return it; end the command if it takes too long."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            printed, errors = process.communicate(timeout=longest)
        except BaseException as cause:  # Ctrl-C as well: mpiexec ends its processes when it is asked to end
            process.terminate()
            try:
                process.communicate(timeout=GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
            if isinstance(cause, subprocess.TimeoutExpired):
                raise NoMpiError(f"MPI did not end within {longest:.0f} s") from None
            raise
    if process.returncode:
        said = [line for line in errors.splitlines() + printed.splitlines() if line.strip()]
        raise NoMpiError(f"mpiexec failed with status {process.returncode}: {(said or ['no message'])[-1].strip()}")
    try:
        return json.loads(printed)
    except ValueError:
        raise NoMpiError(f"mpiexec printed no numbers: {printed[:80]!r}") from None
