"""Last words of launchers, which name the ends of the ranks of a job.

MPICH        =   BAD TERMINATION ... PID 71 RUNNING AT node1    =   EXIT CODE: 9        ... (signal 9)
Open MPI     ... PID 71 on node node1 exited on signal 9
Intel MPI    =   RANK 2 PID 71 RUNNING AT node1    =   KILLED BY SIGNAL: 9              for each rank; no statuses
"""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

MASKED = 255
"""Status of MPICH's launcher if a signal has ended a rank on one of several nodes; its number is the exit code then."""
_DEADLY = {getattr(signal, f"SIG{name}") for name in ("ABRT", "BUS", "FPE", "ILL", "KILL", "SEGV", "TERM")}
_MPICH = re.compile(r"PID (?P<pid>\d+) RUNNING AT .*?EXIT CODE: (?P<code>\d+)(?:.*?\(signal (?P<signal>\d+)\))?", re.S)
_OPEN_MPI = re.compile(r"PID (?P<pid>\d+) on node \S+ exited on\s+signal (?P<signal>\d+)")
_INTEL = r"RANK {number} PID (?P<pid>\d+) RUNNING AT \S+\s+=\s+KILLED BY SIGNAL: (?P<signal>\d+)"


def may_be_a_signal(status: int) -> bool:
    """Return whether a launcher's status may be due to a signal that ended a rank, or by which it ended other ranks."""
    return status in (0, MASKED) or status % 128 in _DEADLY


def status_in(words: str, number: int, pids: Sequence[int], launcher: int | None) -> int | None:
    """Return the exit status of a rank, negative for a signal; None if the words do not have it.

    The words of MPICH may be about a rank that the launcher has ended itself.

    Parameters
    ----------
    words : str
        Last words of the launcher.
    number : int
        Rank in the launcher's job.
    pids : sequence of int
        Process of each rank in the launcher's job.  A launcher that starts ranks by a script knows other processes.
    launcher : int or None
        Status of the launcher, None if it has not ended.
    """
    found = _MPICH.search(words) or _OPEN_MPI.search(words) or re.search(_INTEL.format(number=number), words)
    if found is None or (int(found["pid"]) != pids[number] and int(found["pid"]) in pids):
        return None
    if found["signal"]:
        return -int(found["signal"])
    code = int(found["code"])
    if launcher == MASKED:
        return -code if code in set(signal.Signals) else None
    return None if may_be_a_signal(code) else code
