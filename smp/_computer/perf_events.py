"""Reads hardware counters of the calling thread and of the threads that it starts, through Linux's perf_event_open.

    instructions    cache misses (of the last level)    cycles

The system may refuse them because of its setting ``perf_event_paranoid``, in a container, or because a hypervisor
provides none.  `Counters` then has the reason for each event that is refused, and counts the others.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import platform
import struct
from collections.abc import Callable
from pathlib import Path

from .limits import ROOT, number

EVENTS = {"cycles": 0, "instructions": 1, "cache misses": 3}
"""Events of the type PERF_TYPE_HARDWARE, which mean the same on all processors."""
_CALLS = {"x86_64": 298, "aarch64": 241, "ppc64le": 319, "riscv64": 241, "s390x": 331}
"""Number of the system call on each architecture."""
_SIZE = 64  # bytes of the first version of struct perf_event_attr, which all kernels accept
_DISABLED, _INHERIT, _NO_KERNEL, _NO_HYPERVISOR = 1 << 0, 1 << 1, 1 << 5, 1 << 6
_TIMES = 0b11  # each count comes with the time it was enabled and the time a counter was free for it
_CLOSE_ON_EXEC = 8
_ENABLE, _DISABLE = 0x2400, 0x2401
_REFUSED = (errno.EACCES, errno.EPERM)

Open = Callable[[bytes], int]
"""Takes a struct perf_event_attr; returns a file descriptor, or raises OSError."""


def attributes(event: int) -> bytes:
    """Return the struct perf_event_attr of an event: type, size, event, no sampling, read format, flags."""
    flags = _DISABLED | _INHERIT | _NO_KERNEL | _NO_HYPERVISOR
    return struct.pack("=IIQQQQQ", 0, _SIZE, event, 0, 0, _TIMES, flags).ljust(_SIZE, b"\0")


def open_event(attr: bytes) -> int:
    """Open a counter for the calling thread, on any CPU.

    Raises
    ------
    OSError
        The system's error; ENOSYS if the number of the call is not known.
    """
    call = _CALLS.get(platform.machine()) if platform.system() == "Linux" else None
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.syscall(ctypes.c_long(call), ctypes.c_char_p(attr), 0, -1, -1, ctypes.c_ulong(_CLOSE_ON_EXEC))
    if made < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(made)


def why_not(error: OSError, root: Path = ROOT) -> str:
    """Return a text that says why the system does not count an event."""
    if error.errno in _REFUSED:
        setting = number(root / "proc/sys/kernel/perf_event_paranoid")
        return f"not allowed: perf_event_paranoid ({setting}) is above 2, or a container forbids the counters"
    if error.errno in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP):
        return "not available: this processor, or its hypervisor, provides no such counter"
    if error.errno == errno.ENOSYS:
        return f"not available: there is no perf_event_open on {platform.system()} {platform.machine()}"
    return f"not counted: {error.strerror}"


class Counters:
    """Counts events from `start` to `stop`.

    Attributes
    ----------
    missing : dict of str to str
        The events that are not counted, and the reason for each.
    """

    def __init__(self, opened: Open = open_event, root: Path = ROOT) -> None:
        self.missing: dict[str, str] = {}
        self._files: dict[str, int] = {}
        for name, event in EVENTS.items():
            try:
                self._files[name] = opened(attributes(event))
            except OSError as error:
                self.missing[name] = why_not(error, root)

    def start(self) -> None:
        """Start counting."""
        for file in self._files.values():
            fcntl.ioctl(file, _ENABLE)

    def stop(self) -> dict[str, int]:
        """Stop counting, and return the count of each event.

        The count is an estimate if there were not enough counters for all events all the time.
        """
        found = {}
        for name, file in self._files.items():
            fcntl.ioctl(file, _DISABLE)
            count, wanted, counted = struct.unpack("=QQQ", os.read(file, 24))
            if counted:
                found[name] = round(count * wanted / counted)
            else:
                self.missing[name] = "not counted: all counters of this processor are in use"
        return found

    def close(self) -> None:
        """Close the counters."""
        for file in self._files.values():
            with contextlib.suppress(OSError):
                os.close(file)
        self._files.clear()
