"""CPUs that the machines of one user have claimed, so that machines that are open together run on different CPUs.

    $XDG_RUNTIME_DIR/smp, /run/user/UID/smp or /tmp/smp-UID       a folder that no other user can change
        cpu-3      locked by a process that has opened a machine with a processor on CPU 3
        cpu-3.1    by a second one, if it has to share that CPU with the first

A lock belongs to the open file (flock), which ends with its process, however the process ends.  So a claim never has to
be cleaned up.  The files stay, and are empty.  A forked copy of the process closes the files, because otherwise its
copy would hold the locks.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
import threading
import weakref
from pathlib import Path

_held: weakref.WeakSet[Claims] = weakref.WeakSet()
_lock = threading.Lock()  # no claims are added while they are listed


class Claims:
    """The CPUs that one machine has claimed, lowest first.

    Parameters
    ----------
    named : bool
        Whether the program has named the CPUs.  Such claims are for other processes: this one knows what it does, and
        its next machine may have the same CPUs.

    Attributes
    ----------
    cpus : list of int
    """

    def __init__(self, named: bool = False) -> None:
        self.cpus: list[int] = []
        self._named = named
        self._files: list[int] = []
        self._owner = os.getpid()
        with _lock:
            _held.add(self)

    def take(self, cpu: int, layer: int = 0) -> bool:
        """Claim a CPU, and return whether it was free.

        Parameters
        ----------
        cpu : int
        layer : int
            0 to have the CPU alone, k to be the one after k others.

        Raises
        ------
        OSError
            If this user has no folder for claims.
        """
        if not self._named:
            with _lock:
                others = list(_held)
            layer += sum(other._named and other._owner == self._owner and cpu in other.cpus for other in others)
        path = folder() / (f"cpu-{cpu}.{layer}" if layer else f"cpu-{cpu}")
        self._files.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        try:
            fcntl.flock(self._files[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._files.pop())
            return False
        self.cpus = sorted([*self.cpus, cpu])
        return True

    def release(self) -> None:
        """Give all CPUs up; in a forked copy of the process that claimed them, only close the files."""
        self.cpus = []
        while self._files:
            file = self._files.pop()
            if os.getpid() == self._owner:  # a copy that has just been forked may not have closed its file yet
                fcntl.flock(file, fcntl.LOCK_UN)
            os.close(file)

    def __del__(self) -> None:
        self.release()


def folder() -> Path:
    """Return the folder of this user's claims; make it if it is absent.

    It depends on the user and the computer alone where the system has a folder for each user, so that all sessions of
    a user have the same one.

    Raises
    ------
    OSError
        If it cannot be made, or if other users could change it.
    """
    user = os.geteuid()
    own = Path(os.getenv("XDG_RUNTIME_DIR") or f"/run/user/{user}")
    if os.getenv("XDG_RUNTIME_DIR") or os.access(own, os.W_OK):
        path = own / "smp"
    else:
        common = Path("/tmp")
        path = (common if common.is_dir() else Path(tempfile.gettempdir())) / f"smp-{user}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{path} is not a folder that only this user can write to")
    return path


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    for claims in list(_held):
        claims.release()


os.register_at_fork(after_in_child=_after_fork)
