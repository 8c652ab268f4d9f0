"""The barrier of a control network: some time after the last processor has entered, all may go on."""

from __future__ import annotations

from ...loops.atomics import Words
from ...loops.compiler import inline
from .layout import ASLEEP, BARRIER, ENTERED, FREED, MODE, PARTIES, PROCESSORS, node_of
from .sleeping import FOR_RELEASE, wake

MEETING = 4  # of MODE


@inline
def enter(header: Words, node: int, now: int) -> None:
    """Let a processor enter; the last one sets the time at which all may go on."""
    header[ENTERED] += 1
    if header[ENTERED] < header[PARTIES]:
        return
    header[ENTERED] = 0
    released = now + header[BARRIER]
    for other in range(header[PROCESSORS]):
        row = node_of(header, other)
        if row[MODE] == MEETING:
            row[FREED] = released
            if row[ASLEEP] & FOR_RELEASE != 0:
                wake(header, other, released)
