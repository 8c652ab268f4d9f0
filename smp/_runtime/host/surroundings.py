"""What a worker is given of the parent's process: its modules, folder, environment, CPUs, outputs."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from smp._computer.limits import allowed_cpus


def specification(rank: int, size: int, retries: int, cpu: int | None) -> dict[str, Any]:
    """Return what a worker is sent first; its CPU is None where it may move."""
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
    """Return a copy of standard output, or of error output; of nothing where it is closed."""
    try:
        return io.FileIO(os.dup(number), "w")
    except OSError:
        return io.FileIO(os.devnull, "w")


def _folder() -> str | None:
    """The working folder, where it still exists."""
    try:
        return os.getcwd()
    except OSError:
        return None
