"""Record of a program: that of one repeat, and that of several repeats with their medians."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..steps import PHASES, Hardware, Packed, joined, summary
from .events import joined_events
from .exchanges import joined_exchanges
from .states import joined_states

COMMUNICATION, WHOLE = "communication", "superstep"
SPREAD = np.dtype(
    [("step", np.int64), ("label", "U32"), ("phase", "U16")]
    + [(name, np.float64) for name in ("median", "low", "high")]
)

SOURCES = ("supersteps", "collectives", "cells", "stated")
COUNTS = ["reads", "writes", "bytes_read", "bytes_written"]
NETWORK = np.dtype([("rank", np.int32), ("attempts", np.int64), ("failures", np.int64)])
ACCESSES = np.dtype([("rank", np.int32), ("source", "U12")] + [(name, np.int64) for name in COUNTS])


class Repeat:
    """Record of one repeat of a program.

    Attributes
    ----------
    size : int
        Number of processors.
    wall : float
        Seconds from the call to the last answer.
    steps : structured array
        A row for each superstep and processor: ``step, label, rank, reads, writes, bytes_read, bytes_written``.
        ``footprint`` is the bytes of all arrays that the processor copies from or to.  ``chain`` is the number of
        reads by loops that each wait for the one before (`Superstep.copy_in_by`), and ``loop_bytes`` the bytes that
        loops read.  ``copy_in, compute, copy_out`` are seconds, each with its barrier.  ``faults_in, faults_out`` are
        the page faults of copies of 64 KiB and more.  ``far_reads, far_writes`` are the elements of processors of other
        nodes that copies have read and written, and ``messages`` is the number of messages that the processor has sent
        to those processors for these copies: one for each copy and owner.  Collectives do not count in these three,
        and on a machine of one node they are zero.  ``computed`` is True if the program called ``compute()``, and
        ``counted`` is True if all accesses were counted.
    collectives : structured array
        A row for each collective and processor: ``phase`` ("compute", or "outside" of supersteps), the superstep's
        ``label``, ``name, rank, times``, the same counts, and ``seconds``.  A collective in a copy-in has no row
        here, since its words and its seconds count in the superstep.
    seconds : ndarray (size,)
        Time that the program took on each processor.
    accesses : structured array
        A row for each processor and ``source`` of counts, "supersteps", "collectives", "cells" (operations from
        Python) and "stated" (by ``proc.count_accesses``): ``rank, source, reads, writes, bytes_read, bytes_written``.
    loops_with_cells : int
        Number of calls of compiled loops that got cells.  The loops' operations on the cells are not counted.
    placement : tuple of 2 float
        Placement of the CPUs before and after the program: the ns in which a cache line passes from one processor's
        CPU to the next one's, for the slowest pair.  NaN if it is not known: with one processor, with more
        processors than CPUs, or in virtual time.
    hardware : list
        For each processor, the events that ``counters=True`` has counted, and why others were not; None without it.
    dropped : int
        Number of supersteps beyond `LIMIT`, which were not recorded.
    states : structured array
        A row for each state of each processor (`Processor.state`), in order: ``rank, state, start, end``, in seconds of
        the clock of `timeline`, which ``proc.reset_clock`` does not change.  Empty if the program has set no state.
    dropped_states : int
        Largest number of changes of state of a processor that were not recorded.
    events : structured array
        The events of a run with ``record=True``, in order of time; see `Run`.
    dropped_events : int
        Number of earlier events that these have replaced.
    network : structured array
        A row for each processor on a network on which the transmission of a packet may fail: ``rank, attempts,
        failures`` (see `Processor.transmissions`).  Empty for every other network, and if no processor
        has used messages.
    clock_error : float
        Largest difference in seconds between the clock of a processor and that of processor 0: of ``proc.clock()``,
        the log, `timeline` and ``states``.  It is 0 if all processors read the same clock.  Of two events on
        different nodes, one is surely the earlier if their times differ by more than this, or by more than twice this
        if processor 0 is on neither node.
    """

    def __init__(self, packs: Sequence[tuple[Any, ...]], wall: float) -> None:
        self.size, self.wall, self.packs = len(packs), wall, [Packed(*pack) for pack in packs]

    @cached_property
    def _joined(self) -> tuple[NDArray[np.void], NDArray[np.void], int]:
        return joined(self.packs)

    @property
    def steps(self) -> NDArray[np.void]:
        return self._joined[0]

    @property
    def _spans(self) -> NDArray[np.void]:
        return self._joined[1]

    @property
    def dropped(self) -> int:
        return self._joined[2]

    @property
    def states(self) -> NDArray[np.void]:
        return self._joined_states[0]

    @property
    def dropped_states(self) -> int:
        return self._joined_states[1]

    @cached_property
    def _joined_states(self) -> tuple[NDArray[np.void], int]:
        return joined_states([pack.states for pack in self.packs])

    @property
    def events(self) -> NDArray[np.void]:
        return self._joined_events[0]

    @property
    def dropped_events(self) -> int:
        return self._joined_events[1]

    @cached_property
    def _joined_events(self) -> tuple[NDArray[np.void], int]:
        return joined_events([pack.events for pack in self.packs])

    @property
    def network(self) -> NDArray[np.void]:
        counts = [pack.transmissions for pack in self.packs]
        counted = any(count is not None for count in counts)
        rows = [(rank, *(count or (0, 0))) for rank, count in enumerate(counts)] if counted else []
        return np.array(rows, NETWORK)

    @property
    def collectives(self) -> NDArray[np.void]:
        return joined_exchanges(self.packs)

    @property
    def seconds(self) -> NDArray[np.float64]:
        return np.array([pack.seconds for pack in self.packs])

    @property
    def hardware(self) -> list[Hardware | None]:
        return [pack.hardware for pack in self.packs]

    @property
    def placement(self) -> tuple[float, float]:
        before, after = np.array([pack.placement for pack in self.packs]).max(axis=0)  # NaN stays
        return float(before), float(after)

    @property
    def clock_error(self) -> float:
        return max(pack.clock_error for pack in self.packs)

    @property
    def loops_with_cells(self) -> int:
        return sum(pack.cells[2] for pack in self.packs)

    @cached_property
    def accesses(self) -> NDArray[np.void]:
        found = np.zeros((self.size, len(SOURCES)), ACCESSES)
        found["rank"], found["source"] = np.arange(self.size)[:, None], SOURCES
        for k, rows in enumerate((self.steps, self.collectives)):
            for name in COUNTS:
                np.add.at(found[name][:, k], rows["rank"], rows[name])
        for rank, pack in enumerate(self.packs):
            reads, writes, _ = pack.cells
            found[rank, 2] = rank, "cells", reads, writes, 8 * reads, 8 * writes
            found[rank, 3] = rank, "stated", *pack.stated
        return found.reshape(-1)

    def timeline(self) -> NDArray[np.void]:
        """Return the timeline: the phases of all supersteps on all processors.

        Returns
        -------
        structured array
            A row for each phase of each superstep on each processor: ``rank, step, label, phase, start, end`` in
            seconds of one clock, to within ``clock_error``, and ``waited``, the part of these seconds spent at the
            barrier.
        """
        return self._spans.copy()

    def summary(self) -> NDArray[np.void]:
        """Return one row for each superstep: h_r, h_w, M in elements and bytes, and the seconds of its phases.

        The columns ``far_reads``, ``far_writes`` and ``messages`` have the largest value of any processor, as h_r and
        h_w do, and ``m_far`` has the sum of the far reads and far writes of all.

        A phase takes as long as its slowest processor works, plus the time of the barrier, which is the shortest wait
        of any processor.
        """
        return summary(self.steps, self._spans)


class Repeated(Repeat):
    """Record of several repeats: the rows are those of the last repeat, and the summary has the medians of all.

    Attributes
    ----------
    warmup : int
        Number of runs without a record before the first repeat.
    repeats : list of Repeat
        All repeats as they were recorded, including the last one.
    """

    def __init__(self, repeats: Sequence[Repeat], warmup: int = 0) -> None:
        super().__init__(repeats[-1].packs, repeats[-1].wall)
        self.repeats, self.warmup = list(repeats), warmup

    @property
    def _joined(self) -> tuple[NDArray[np.void], NDArray[np.void], int]:
        return self.repeats[-1]._joined

    def summary(self) -> NDArray[np.void]:
        """Return one row for each superstep: h_r, h_w, M in elements and bytes, and the seconds of its phases.

        The columns ``far_reads``, ``far_writes`` and ``messages`` have the largest value of any processor, as h_r and
        h_w do, and ``m_far`` has the sum of the far reads and far writes of all.

        A phase takes as long as its slowest processor works, plus the time of the barrier, which is the shortest wait
        of any processor.  If the program was repeated, the seconds are medians, and the counts are those of the last
        repeat.
        """
        rows = super().summary()
        if len(self.repeats) > 1:
            for phase in PHASES:
                rows[phase] = np.median(self.seconds_of(phase), axis=0)
        return rows

    def spread(self) -> NDArray[np.void]:
        """Return how the times of each superstep spread over the repeats.

        Returns
        -------
        structured array
            A row for each superstep and ``phase``: "copy_in", "compute", "copy_out"; "communication", which is both
            copies; "superstep", which is all three.  The columns are ``step, label, phase``, and in seconds the
            ``median`` and the quartiles ``low`` and ``high``.
        """
        rows = super().summary()
        phases = (*PHASES, COMMUNICATION, WHOLE)
        found = np.zeros((len(rows), len(phases)), SPREAD)
        found["step"], found["label"] = rows["step"][:, None], rows["label"][:, None]
        for k, phase in enumerate(phases):
            found["phase"][:, k] = phase
            quartiles = np.quantile(self.seconds_of(phase), (0.25, 0.5, 0.75), axis=0)
            found["low"][:, k], found["median"][:, k], found["high"][:, k] = quartiles
        return found.reshape(-1)

    def seconds_of(self, phase: str) -> NDArray[np.float64]:
        """Return the seconds of a phase (named as in `spread`): a row for each repeat, a column for each superstep."""
        parts = {COMMUNICATION: ("copy_in", "copy_out"), WHOLE: PHASES}.get(phase, (phase,))
        return np.array([sum(rows[part] for part in parts) for rows in self.summaries])

    @cached_property
    def summaries(self) -> list[NDArray[np.void]]:
        """The summaries of all repeats."""
        return [repeat.summary() for repeat in self.repeats]
