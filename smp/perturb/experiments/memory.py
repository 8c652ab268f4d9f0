"""Peak of the memory of this process, measured from a given moment on."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

_CLEAR, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def begin() -> None:
    """Start measuring the peak, if the system allows this; otherwise the peak is that since the process started."""
    with contextlib.suppress(OSError):
        _CLEAR.write_text("5")


def peak() -> float:
    """Return the largest number of bytes that this process has had in memory at one time."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = _STATUS.read_text()
        return 1024.0 * int(text.split("VmHWM:")[1].split()[0])
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
