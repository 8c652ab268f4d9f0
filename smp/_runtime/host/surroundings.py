"""Properties of the parent's process that a worker takes over: modules, folder, environment, CPUs, outputs."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
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


@contextlib.contextmanager
def outputs_taken() -> Iterator[None]:
    """Keep the numbers of standard input and of the outputs from other files that are opened in the with block.

    A program may run with closed outputs.  A socket of the machine that got the number 1 would be the standard output
    of its workers.
    """
    lent = []
    try:
        while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
            lent.append(fd)
        os.close(fd)
        yield
    finally:
        for fd in lent:
            os.close(fd)


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
