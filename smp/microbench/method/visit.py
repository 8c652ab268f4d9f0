"""One visit to a point: a number of windows taken one after the other, with the counters read around them.

    prepare | rate, stolen | warm up | window window window ... | stolen, rate

Nothing here reads a real clock: `clocks.HostClock` does, and tests pass in a clock of their own.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .result import Quote
from .windows import NO_FLAG, WINDOW, Flag, MeasurementError, Windows

SHORTEST_NS = 200_000
LONGEST_NS = 2_000_000
FEWEST, MOST = 4, 32
"""Fewest and most windows of one visit."""
MOST_REPEATS = 1 << 40
"""A point that does not fill a window with this many repeats does no work at all."""

Run = Callable[[int], tuple[int, int] | None]


class Clock(Protocol):
    """The clocks and counters that windows are judged by."""

    timer_ns: float
    """Time in ns that an empty window shows when it is timed inside compiled code."""

    def wall(self) -> int:
        """Return the time in ns."""

    def cpu(self) -> int:
        """Return the CPU time of this thread in ns."""

    def stolen(self) -> int:
        """Return the time that the hypervisor has taken from this thread's CPUs in ns."""

    def switches(self) -> int:
        """Return the number of context switches of this thread."""

    def rate(self) -> float:
        """Return the current clock rate of the processor in GHz; NaN if it is not known."""


@dataclass(frozen=True)
class Point:
    """A piece of work that is measured once in each window.

    Parameters
    ----------
    key : Hashable
        Name of the point.
    run : callable
        ``run(repeat)`` does the work `repeat` times and returns (wall, cpu) in ns. Both are read in compiled
        code. The CPU time is read outermost, since reading it may cost the thread its turn::

            cpu = thread_clock()
            wall = clock()
            ...
            wall = clock() - wall
            return wall, thread_clock() - cpu

        If it returns None instead, it is timed from outside. A walk through memory goes on where the last window
        stopped: a walk that starts again walks the same short stretch each time, and finds it in a nearer cache.
    operations : int
        Number of operations in one repeat.
    prepare : callable, optional
        Called at the start of each visit, untimed.
    quote : {"minimum", "median"}
        Statistic that stands for the point.
    beyond : bool
        True if it works on something that other CPUs use as well: a cache that they share, or memory.  Time that
        other processes take on any CPU then counts as disturbance.
    ignore : Flag
        Flags that belong to the operation itself: ``Flag.DESCHEDULED | Flag.SWITCHED`` for one that sleeps.
    """

    key: Hashable
    run: Run
    operations: int = 1
    prepare: Callable[[], None] | None = None
    quote: Quote = "minimum"
    ignore: Flag = NO_FLAG
    beyond: bool = False


def calibrate(point: Point, clock: Clock, repeat: int = 1) -> int:
    """Return a repeat count that makes a window last 0.2 to 2 ms, and warm the caches on the way.

    Parameters
    ----------
    point : Point
    clock : Clock
    repeat : int
        Count to start from, usually that of the last visit.

    Returns
    -------
    int
        Repeat count; 1 if a single repeat lasts longer than 2 ms.

    Raises
    ------
    MeasurementError
        When no number of repeats fills a window.

    Notes
    -----
    Doubling from 1 costs about three windows; a count that still fits costs two.
    """

    def look() -> int:
        wall = _timed(point.run, clock, repeat)[0]
        if wall >= SHORTEST_NS:
            # a single time may include a pause of the computer, or the first call's compilation
            wall = min(wall, _timed(point.run, clock, repeat)[0])
        return wall

    wall = look()
    while wall > LONGEST_NS and repeat > 1:
        repeat //= 2
        wall = look()
    while wall < SHORTEST_NS:
        if repeat >= MOST_REPEATS:
            raise MeasurementError(
                f"point {point.key!r}: {repeat:,} repeats take {wall:,} ns, less than a window of "
                f"{SHORTEST_NS:,} ns. The work was compiled away or does not depend on the repeat count: "
                "use its result, and loop over the count"
            )
        repeat *= 2
        wall = look()
    return repeat


def take_visit(point: Point, clock: Clock, repeat: int, share_ns: float, outside_ns: float) -> tuple[Windows, int]:
    """Take windows of one point for its share of the time; return them and the repeat count that was used."""
    start = clock.wall()
    if point.prepare is not None:
        point.prepare()
    # read the counters first and warm up after that, so that the first window finds warm caches
    before, stolen, previous = clock.rate(), clock.stolen(), clock.switches()
    repeat = calibrate(point, clock, repeat)
    windows = np.zeros(MOST, WINDOW)
    count = 0
    while count < FEWEST or (count < MOST and clock.wall() - start < share_ns):
        began = clock.switches()
        wall, cpu, inside = _timed(point.run, clock, repeat)
        window = windows[count]
        # count from the start of the window before: a switch at its very end leaves cold caches for this window
        window["switches"], previous = clock.switches() - previous, began
        window["wall_ns"], window["cpu_ns"] = wall, cpu
        window["timer_ns"] = clock.timer_ns if inside else outside_ns
        count += 1
    windows = windows[:count]
    windows["operations"] = repeat * point.operations
    windows["stolen_ns"] = clock.stolen() - stolen
    windows["before_GHz"], windows["after_GHz"] = before, clock.rate()
    windows["overlap"] = 1.0
    return windows, repeat


def cost_from_outside(clock: Clock) -> float:
    """Return the time in ns that an empty window shows when it is timed around a call."""
    return float(np.median([_timed(lambda repeat: None, clock, 1)[0] for _ in range(101)]))


def _timed(run: Run, clock: Clock, repeat: int) -> tuple[int, int, bool]:
    """Run one window; return its wall and CPU time in ns, and True if they were read inside it."""
    cpu = clock.cpu()
    wall = clock.wall()
    inside = run(repeat)
    wall = clock.wall() - wall
    cpu = clock.cpu() - cpu
    return (wall, cpu, False) if inside is None else (*inside, True)
