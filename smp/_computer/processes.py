"""Ends of processes: one ends together with its parent, and the status of one that is not a child is found."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import struct

_PR_SET_PDEATHSIG = 1
_LENGTH, _MASK_AT, _STATUS_AT = 64, 0, 60  # of the kernel's ``struct pidfd_info``
_EXIT = 1 << 3  # bit of the mask
_PIDFD_GET_INFO = 3 << 30 | _LENGTH << 16 | 0xFF << 8 | 11


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent, whose id was ``parent``, dies."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent died before the call
        os._exit(1)


def exit_status(pidfd: int) -> int | None:
    """Return the exit status of a process, negative for a signal.

    Returns
    -------
    int or None
        None if the process goes on, if its parent has not waited for it yet, or before Linux 6.15.
    """
    info = bytearray(_LENGTH)
    struct.pack_into("Q", info, _MASK_AT, _EXIT)
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info)
    except OSError:
        return None
    (mask,), (status,) = struct.unpack_from("Q", info, _MASK_AT), struct.unpack_from("i", info, _STATUS_AT)
    return os.waitstatus_to_exitcode(status) if mask & _EXIT else None
