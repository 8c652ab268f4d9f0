"""What launchers say at the end of a job about the ends of its ranks.

MPICH        =   BAD TERMINATION ... PID 71 RUNNING AT node1    =   EXIT CODE: 9        ... (signal 9)
Open MPI     ... PID 71 on node node1 exited on signal 9
Intel MPI    =   RANK 2 PID 71 RUNNING AT node1    =   KILLED BY SIGNAL: 9              for each rank; no statuses
"""

from __future__ import annotations

import re

MASKED = 255
"""Status of MPICH's launcher if a signal has ended a rank on one of several nodes; its number is the exit code then."""
_MPICH = re.compile(r"PID \d+ RUNNING AT .*?EXIT CODE: (?P<code>\d+)(?:.*?\(signal (?P<signal>\d+)\))?", re.S)
_OPEN_MPI = re.compile(r"PID \d+ on node \S+ exited on\s+signal (?P<signal>\d+)")
_INTEL = r"RANK {number} PID \d+ RUNNING AT \S+\s+=\s+KILLED BY SIGNAL: (?P<signal>\d+)"


def status_in(words: str, number: int, launcher: int | None) -> int | None:
    """Return the exit status of a rank, negative for a signal; None if the words do not have it.

    Parameters
    ----------
    words : str
        Last words of the launcher.
    number : int
        Rank in the launcher's job.
    launcher : int or None
        Status of the launcher, None if it has not ended.
    """
    if found := _MPICH.search(words):
        if found["signal"]:
            return -int(found["signal"])
        return -int(found["code"]) if launcher == MASKED else int(found["code"])
    if found := _OPEN_MPI.search(words) or re.search(_INTEL.format(number=number), words):
        return -int(found["signal"])
    return None
