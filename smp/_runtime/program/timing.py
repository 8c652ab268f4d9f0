"""The clock of a processor, which all processors share, measurements with it, and work that the program states.

    start = proc.clock()      ...      proc.elapsed(start)
            └─ looks at the clock ─────── looks again ┘         less the time between two looks with nothing between

    proc.work(cycles=100)     virtual time advances; on machines in real time, the work itself takes time

    proc.reset_clock()        each processor looks at the clock and arrives at a barrier; the latest look becomes 0

The clock of a processor is that of its machine, `Port.clock`, less the origin that `reset_clock` has set.
"""

from __future__ import annotations

import math

import numpy as np

from .connected import Connected

_SAMPLES = 101


class TimingCalls(Connected):
    """The calls of a processor that measure time, or state it."""

    _origin = 0.0  # the time on the machine's clock at which this processor's clock is 0
    _cost: float | None = None  # seconds between the looks of `clock` and `elapsed` if nothing is between them

    def clock(self) -> float:
        """Return the seconds of a clock that all processors share and that never goes back.

        Notes
        -----
        Until `reset_clock`, this is the clock of ``run.timeline()`` and ``run.states``, and that of
        `smp.compiled.clock`, which returns nanoseconds in loops of `smp.stream`.  On an emulated machine it is virtual
        time, and the clocks of several processors agree only under ``schedule="clock"``.  A call takes about 0.1 us.

        On a machine of several nodes, it is the clock of processor 0 to within ``run.clock_error``, and
        `smp.compiled.clock` is that of the node itself.

        Examples
        --------
        >>> import smp
        >>> def program(proc):
        ...     start = proc.clock()
        ...     proc.barrier()
        ...     return proc.elapsed(start) > 0
        >>> with smp.host(2) as machine:
        ...     machine.run(program).results
        [True, True]
        """
        return self._port.clock() - self._origin

    def elapsed(self, start: float) -> float:
        """Return the seconds since ``start``, which `clock` has returned, less the cost of both calls; 0 or more.

        The cost is measured once for each run, when this is first called.  So the time of nothing is 0, to within the
        time of one call.
        """
        now = self.clock()
        if self._cost is None:
            self._cost = 0.0
            self._cost = float(np.median([self.elapsed(self.clock()) for _ in range(_SAMPLES)]))
        return max(0.0, now - start - self._cost)

    def reset_clock(self) -> None:
        """Let the clocks of all processors count from the same moment: the last arrival at the barrier of this call.

        All processors make this call.  At that moment all have begun it, and none has returned from it.  A time that
        `clock` returned before cannot be compared with later ones.
        """
        self._tickets.settle()
        looks = self._port.exchange("reset_clock", np.float64(self._port.clock()).tobytes())
        self._origin = float(np.frombuffer(b"".join(looks)).max())

    def work(self, *, cycles: float | None = None, seconds: float | None = None) -> None:
        """State the time of work that the machine does not see: code in plain Python, or work that is left out.

        On an emulated machine, the processor's virtual time advances by this time. On machines in real time, the call
        does nothing, because the work itself takes its time there: it neither waits nor computes.

        Parameters
        ----------
        cycles : float, optional
            Cycles of the machine's clock, 0 or more. One of the two is given.
        seconds : float, optional
            Seconds, 0 or more.

        Raises
        ------
        TypeError, ValueError
            If none or both are given, or if it is not a number, 0 or more.

        Examples
        --------
        >>> import smp
        >>> def program(proc):
        ...     table = sorted(range(100), reverse=True)
        ...     proc.work(cycles=12_000)
        ...     return table[0]
        >>> with smp.host(2) as machine:
        ...     machine.run(program).results
        [99, 99]
        """
        if (cycles is None) == (seconds is None):
            given = "both" if cycles is not None else "neither"
            raise TypeError(f"proc.work needs either cycles or seconds, not {given}: proc.work(cycles=1000)")
        name, value = ("cycles", cycles) if cycles is not None else ("seconds", seconds)
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise TypeError(f"{name} must be a number, 0 or more, not {value!r}")
        if not 0 <= value < math.inf:
            raise ValueError(f"{name} must be a number, 0 or more, not {value}")
        self._port.work(float(cycles or 0), float(seconds or 0))
