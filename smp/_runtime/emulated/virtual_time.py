"""Virtual time, which an emulated machine counts in picoseconds.

    streams, heaps, prices             picoseconds    a cycle of 260 MHz is 3,846 of them
    deadlines, clocks of programs      nanoseconds    as on the host
    run.steps, proc.clock()            seconds

A cycle of a published machine is no whole number of nanoseconds, so sums of cycles counted in nanoseconds would be off
by some percent.
"""

from __future__ import annotations

NANOSECOND = 1_000
"""Picoseconds of a nanosecond."""
SECOND = 1_000 * 1_000 * 1_000 * NANOSECOND
"""Picoseconds of a second."""
FOREVER = 1 << 52
"""Nanoseconds, some 52 days: a sleep of this length or more has no deadline."""


def picoseconds(cycles: float, hz: float) -> int:
    """Return the picoseconds of a number of cycles, to the nearest one."""
    return round(cycles * SECOND / hz)
