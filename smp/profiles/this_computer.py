"""A machine made from the profile of this computer, with another number of processors: what its parts take.

    figure                   from the section      up to the measured processors     with more processors
    barrier, superstep       synchronisation       as measured                       a hand-over of a line for each more
    hand-over of a line      synchronisation       median over the pairs of CPUs     the same
    atomic operation         synchronisation       alone, after a hand-over          the same
    bytes per second         bandwidth             as measured                       optimistic: in proportion
                                                                                     pessimistic: as measured here
    copies                   access                the cost functions Good, Random   those of the most processors
    load, clock              latency               the first level; the timer        the same
    falling asleep           threads               a sleep is a spin: nothing        pessimistic: as measured

A number of processors between two measured ones is interpolated.  The bounds are two machines: no program is faster on
a computer of more such processors than the optimistic one says, as far as the memory and the waits go, and the
pessimistic one has the memory of this computer however many processors share it.  They agree where this computer was
measured, but for sleeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..errors import ProfileError
from .profile import MEASURE, Profile

Family = Literal["good", "random"]
BOUNDS = ("optimistic", "pessimistic")
SECTIONS = ("synchronisation", "access", "bandwidth")
"""Sections of a profile that the machine needs."""
KERNEL = "copy"
"""Kernel of the section ``bandwidth`` whose rate is that of copies: the bytes that it reads and writes."""
NANO, MICRO = 1e-9, 1e-6


@dataclass(frozen=True, eq=False)
class ThisComputer:
    """This computer with any number of processors, for `smp.emulated`.

    Parameters
    ----------
    profile : Profile
        Profile of a host, with the sections synchronisation, access and bandwidth.
    bounds : {"optimistic", "pessimistic"}
        Assumption about what was not measured: with more processors than this computer has, the bandwidth of all
        grows with their number, or stays what it is here.
    python : bool
        Whether the Python and NumPy code of programs, and of the runtime around it, takes the time that it takes on
        this computer.  It is measured while the program runs, with copies and loops as they come.  Without it, plain
        Python costs nothing; copies take what the profile says, and loops over local data what `smp.emulated` has
        measured of each once.
    times : mapping, optional
        Times of an earlier run, ``run.times``.  A run of the same program then takes them instead of the clock, and
        repeats exactly; what is not among them is measured.

    Raises
    ------
    TypeError, ValueError
        If an argument is not valid.
    ProfileError
        If the profile is not that of a host, or if a section is missing; the message has the command that measures it.
    """

    profile: Profile
    bounds: str = "optimistic"
    python: bool = True
    times: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.profile, Profile):
            raise TypeError(f"the profile must be a smp.Profile, not a {type(self.profile).__name__}")
        if self.bounds not in BOUNDS:
            raise ValueError(f"bounds must be {' or '.join(map(repr, BOUNDS))}, not {self.bounds!r}")
        if self.profile.kind != "host":
            raise ProfileError(
                f"{self.profile!r} is of the kind {self.profile.kind!r}: a machine is made from the profile of a host, "
                "whose processors share memory"
            )
        missing = [name for name in SECTIONS if not self.profile.data.get(name)]
        if missing:
            raise ProfileError(
                f"{self.profile!r} has no section {' and no section '.join(missing)}, from which the machine is made; "
                f"{MEASURE} measures all of them"
            )

    @property
    def optimistic(self) -> bool:
        """True if the bounds are the optimistic ones."""
        return self.bounds == BOUNDS[0]

    @cached_property
    def measured(self) -> int:
        """Largest number of processors that was measured with a CPU for each."""
        cpus = int((self.profile.data.get("machine") or {}).get("cpus") or 1)
        known = [p for p in self.profile.processors if p <= cpus]
        return max(known, default=1)

    @property
    def hz(self) -> float:
        """Cycles in a second, in which work is stated; 1e9 if the profile has no clock rate."""
        return 1e9 * float((self.profile.data.get("machine") or {}).get("clock_GHz") or 1.0)

    def name(self, p: int) -> str:
        """Return the name of the machine with p processors, which says so if it was not measured with that many."""
        if p <= self.measured:
            return "this computer"
        return f"this computer, {self.bounds} bound, from {self.measured} to {p} processors"

    def unknown(self, p: int) -> tuple[str, ...]:
        """Return what is not known of the machine with p processors, and what was assumed; empty if it was measured."""
        if p <= self.measured:
            return ()
        rate = "grows in proportion" if self.optimistic else "stays the same"
        return (
            f"channels of memory: the bandwidth of all processors {rate} from {self.measured} to {p} processors",
            f"caches that more processors share: each of {p} has the share that it has here",
            "more sockets: the hand-over of a line takes as long between all pairs of processors",
            "barriers: for each further processor, "
            + ("one hand-over of the line" if self.optimistic else "two hand-overs of the line"),
            "clock rates under the load of all processors: those of this computer",
        )

    # What the parts take, in seconds.

    @cached_property
    def handover(self) -> float:
        """Time in which a line passes from one processor to another that changes it; 0 with a single CPU."""
        return NANO * float(self._synchronisation.get("handoff_exchange_ns") or 0.0)

    def barrier(self, p: int) -> float:
        """Return the time of a barrier from Python."""
        us = self._synchronisation.get("barrier_us") or {}
        return self._with_more({int(q): MICRO * (row.get("python") or 0.0) for q, row in us.items()}, p)

    def superstep(self, p: int) -> float:
        """Return the time of an empty superstep, with the code of the runtime and three barriers."""
        us = self._synchronisation.get("superstep_us") or {}
        return self._with_more({int(q): MICRO * value for q, value in us.items()}, p)

    @cached_property
    def atomic(self) -> float:
        """Time of an atomic operation on a line that the processor has."""
        return NANO * float((self._synchronisation.get("fetch_add_ns") or {}).get("alone") or 0.0)

    @cached_property
    def load(self) -> float:
        """Time of a load from the first cache: the latency of the smallest array."""
        rows = (self.profile.data.get("latency") or {}).get("random") or []
        return NANO * min((float(row["ns"]) for row in rows), default=0.0)

    @cached_property
    def clock(self) -> float:
        """Time of reading the clock."""
        return NANO * float((self.profile.data.get("latency") or {}).get("timer_ns") or 0.0)

    @cached_property
    def pause(self) -> float:
        """Time from one look at a word to the next, of a processor that waits."""
        return NANO * float((self.profile.data.get("retries") or {}).get("look_ns") or 0.0) or self.load

    @cached_property
    def waking(self) -> tuple[float, float]:
        """Times of a sleep: that of the system's call that wakes another thread, and that until it runs again.

        The optimistic machine has a CPU for each processor, which spins until the line comes.
        """
        parts = (self.profile.data.get("threads") or {}).get("parts") or []
        if self.optimistic:
            return 0.0, 0.0  # the hand-over of the line is charged to the look that finds it
        wake = next((NANO * float(row["ns"]) for row in parts if row["what"] == "wake"), 0.0)
        whole = ((self.profile.data.get("threads") or {}).get("whole") or {}).get("ns") or 0.0
        return wake, max(self.handover, NANO * float(whole) - wake)

    def slowdown(self, p: int) -> float:
        """Return the factor by which computation is slower if several CPUs compute, which may share a core."""
        rows = (self.profile.data.get("placement") or {}).get("rows") or []
        found = {row["p"]: row.get("together") or 1.0 for row in rows if row["p"] <= self.measured}
        return 1.0 if p == 1 or not found else max(1.0, float(found[max(found)]))

    # Memory.

    @cached_property
    def private_bytes(self) -> float:
        """Bytes that a processor finds in a cache of its own."""
        return float(self.profile.access.get("private_words") or 0) * self.word_bytes

    @property
    def word_bytes(self) -> int:
        """Bytes of a word of the cost functions."""
        return int(self.profile.access["word_bytes"])

    @property
    def line_bytes(self) -> int:
        """Bytes of a cache line."""
        return int((self.profile.data.get("machine") or {}).get("line_bytes") or 64)

    def bandwidth(self, p: int) -> float:
        """Return the bytes per second, read and written, that the memory has for p processors together."""
        rows = [row for row in self.profile.data["bandwidth"].get("stream") or [] if row["kernel"] == KERNEL]
        known = {int(row["processors"]): 1e9 * float(row["GBps"]) for row in rows}
        rates = {q: rate for q, rate in known.items() if q <= self.measured}
        if not rates:
            return np.inf
        most = max(rates)
        if p > most:
            return rates[most] * (p / most if self.optimistic else 1.0)
        return float(np.interp(p, sorted(rates), [rates[q] for q in sorted(rates)]))

    def copy(self, p: int, family: Family, reads: float, writes: float, footprint: float) -> float:
        """Return the time in which each of p processors reads and writes words at the same time.

        Parameters
        ----------
        p : int
            Number of processors; of more than were measured, each takes as long as with those.
        family : {"good", "random"}
            Words one after another, or scattered ones.
        reads, writes : float
            Words of `word_bytes` of one processor.
        footprint : float
            Words over which they are scattered.
        """
        q = min(p, self.measured)
        found = self.profile.predict(family, q, reads, writes, q * (reads + writes), footprint=footprint)
        return float(np.nan_to_num(found)[0])

    @property
    def _synchronisation(self) -> Mapping[str, Any]:
        return self.profile.data["synchronisation"] or {}

    def _with_more(self, known: Mapping[int, float], p: int) -> float:
        """Return a time for p processors: measured, interpolated, or with hand-overs for the processors beyond."""
        measured = {q: value for q, value in known.items() if q <= self.measured}
        if not measured:
            return 0.0
        least = float(np.interp(p, sorted(measured), [measured[q] for q in sorted(measured)]))
        return least + max(0, p - max(measured)) * self.handover * (1 if self.optimistic else 2)
