"""The peak of a process's memory, from a moment on."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

_CLEAR, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def begin() -> None:
    """Measure from here on, where the system lets a process do so; else since the process began."""
    with contextlib.suppress(OSError):
        _CLEAR.write_text("5")


def peak() -> float:
    """Return the most bytes that this process has had in memory at a time."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = _STATUS.read_text()
        return 1024.0 * int(text.split("VmHWM:")[1].split()[0])
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
