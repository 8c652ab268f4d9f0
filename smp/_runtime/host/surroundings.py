"""Properties of the parent's process that a worker takes over: modules, folder, environment, CPUs, outputs."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from smp._computer.limits import allowed_cpus


def specification(rank: int, size: int, retries: int, cpu: int | None) -> dict[str, Any]:
    """Return the first message to a worker; ``cpu`` is None if the worker may move."""
    return {
        "rank": rank,
        "size": size,
        "retries": retries,
        "cpus": allowed_cpus() if cpu is None else [cpu],
        "path": [entry for entry in sys.path if isinstance(entry, str)],
        "cwd": _folder(),
        "environment": dict(os.environ),
    }


def output(number: int) -> io.FileIO:
    """Return a copy of standard output or error output, or of the null device if that is closed."""
    try:
        return io.FileIO(os.dup(number), "w")
    except OSError:
        return io.FileIO(os.devnull, "w")


def _folder() -> str | None:
    """Return the working folder, or None if it does not exist any more."""
    try:
        return os.getcwd()
    except OSError:
        return None
