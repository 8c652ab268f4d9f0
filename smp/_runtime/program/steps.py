"""Record of supersteps: what each processor did in each of them, and when.

A processor keeps one row of numbers for each superstep that it ends (`Recorder`).  The run joins the rows of all
processors into the structured array that users see (`STEP`) and into a timeline of phases (`SPAN`).

    began      in_done  in_passed     done  passed       out_done  ended        seven stamps of one clock
      ├─ copy-in ─┤ wait ├── compute ───┤ wait ├─ copy-out ─┤ wait ├
      ├──── copy_in ─────┼────── compute ──────┼───── copy_out ────┤            seconds of STEP

A phase lasts until its barrier lets the processor pass: that is the time the machine charges for it.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..memory.arrays import GlobalArray
from ..source.lines import Instruction
from .records.clock_offsets import Drift
from .records.events import PackedEvents, Recording
from .records.states import PackedStates, States

LIMIT = 1_000_000
"""Number of supersteps that a processor records in one run, at 152 bytes each; further ones are only counted."""
COPY_IN, COMPUTE, COPY_OUT, ENDED = 0, 1, 2, 3
PHASES = ("copy_in", "compute", "copy_out")

STEP = np.dtype(
    [
        ("step", np.int64),
        ("label", "U32"),
        ("rank", np.int32),
        ("reads", np.int64),
        ("writes", np.int64),
        ("bytes_read", np.int64),
        ("bytes_written", np.int64),
        ("footprint", np.int64),
        ("chain", np.int64),
        ("loop_bytes", np.int64),
        ("copy_in", np.float64),
        ("compute", np.float64),
        ("copy_out", np.float64),
        ("faults_in", np.int64),
        ("faults_out", np.int64),
        ("far_reads", np.int64),
        ("far_writes", np.int64),
        ("messages", np.int64),
        ("computed", np.bool_),
        ("counted", np.bool_),
    ]
)
SPAN = np.dtype(
    [
        ("rank", np.int32),
        ("step", np.int64),
        ("label", "U32"),
        ("phase", "U8"),
        ("start", np.float64),
        ("end", np.float64),
        ("waited", np.float64),
    ]
)
COUNTS = ("reads", "writes", "bytes_read", "bytes_written", "footprint", "chain", "loop_bytes")
FAR = ("far_reads", "far_writes", "messages")
OTHERS = ("next_reads", "next_writes", "other_reads", "other_writes")
SUMMARY = np.dtype(
    [("step", np.int64), ("label", "U32")]
    + [(name, np.int64) for name in ("hr", "hw", "m", "hr_bytes", "hw_bytes", "m_bytes")]
    + [(name, np.int64) for name in (*OTHERS, "footprint", "chain", "loop_bytes", "m_loop_bytes", *FAR, "m_far")]
    + [(name, np.float64) for name in PHASES]
    + [("uncounted", np.bool_)]
)
_COLUMNS = (
    19  # step, label, four counts, footprint, chain, bytes of loops, seven stamps, page faults of both copies, marks
)
_STAMPS = slice(9, 16)
# Marks.  FORGOTTEN: `compute` was not called; LARGE: a loop copies out to an array of WORTH_A_LOOK bytes or more.
UNCOUNTED, FORGOTTEN, LARGE = 1, 2, 4

Exchanges = list[tuple[str | None, str, int, list[float]]]
Hardware = tuple[dict[str, int], dict[str, str]]
"""Counts of events by the hardware's counters, and for other events the reason why they were not counted."""
Placement = tuple[float, float]
"""Time of a hand-off of a line to a neighbour, in ns, before and after the program; NaN if it is not known."""


class Packed(NamedTuple):
    """The record of a processor.  It is sent as a plain tuple, because a class instance unpickles more slowly."""

    rows: bytes
    labels: list[str]
    dropped: int
    exchanges: Exchanges
    seconds: float
    stated: list[int]
    cells: tuple[int, int, int]
    hardware: Hardware | None
    placement: Placement
    states: PackedStates | None
    transmissions: tuple[int, int] | None
    far: bytes
    clock_error: float
    events: PackedEvents | None


class Far:
    """Counts of copies over the border of a node, on a machine of several nodes.

    Attributes
    ----------
    reads, writes : int
        Elements of processors of other nodes that were read and written.
    messages : int
        Messages for these accesses, to processors of other nodes.  An access to elements of one processor takes one.
    """

    __slots__ = ("messages", "reads", "writes")

    def __init__(self) -> None:
        self.reads = self.writes = self.messages = 0

    def taken(self) -> tuple[int, int, int]:
        """Return the counts, in the order of `FAR`, and begin again with zeros."""
        found = self.reads, self.writes, self.messages
        self.reads = self.writes = self.messages = 0
        return found


class Begun:
    """Counts of the superstep that a processor is in."""

    __slots__ = ("_bytes_read", "_bytes_written", "_label", "_phase", "_reads", "_step", "_writes")
    _step: int
    _label: str
    _phase: int
    _reads: int
    _writes: int
    _bytes_read: int
    _bytes_written: int


class Copies(Protocol):
    """The copies of supersteps that the processors compare; see ``records.checked``."""

    def note(self, array: GlobalArray, index: Any, values: NDArray[Any], step: int, called: Instruction) -> None: ...
    def compare(self, step: int) -> None: ...


class Recorder:
    """Record of one processor in one run.

    Attributes
    ----------
    going_on : Begun or None
        The superstep that has begun and not ended.
    calm : set of (str, int)
        Labels and phases of supersteps that copied much without a page fault.  Their faults are not counted again.
    seconds : float
        Time that the program took.
    stated : list of int
        Accesses that the program has counted itself: reads, writes, and their bytes.
    cells : tuple of int
        Numbers of reads and writes of cells from Python, and of calls of loops that got cells.
    hardware : Hardware or None
        Counts by the hardware's counters, if they were requested.
    placement : Placement
    states : States or None
        The states of the processor, once the program has set one.
    events : Recording or None
        The events of the processor's streams, if they are recorded.
    copies : Copies or None
        The copies of the superstep that is going on, if they are compared with those of other processors.
    transmissions : tuple of int or None
        Numbers of packets that were transmitted, and that failed, on a network on which that may happen.
    clock_error : float
        Largest error of the clock, in seconds.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.labels: dict[str, int] = {}
        self.calm: set[tuple[str, int]] = set()
        self.dropped = 0
        self.going_on: Begun | None = None
        self.seconds = 0.0
        self.stated = [0, 0, 0, 0]
        self.cells = (0, 0, 0)
        self.hardware: Hardware | None = None
        self.placement = (math.nan, math.nan)
        self.states: States | None = None
        self.events: Recording | None = None
        self.copies: Copies | None = None
        self.transmissions: tuple[int, int] | None = None
        self.clock_error = 0.0
        self._rows = array("d")
        self._far = array("q")  # `FAR` of each row, or nothing: a superstep does not pay for zeros
        self._limit = limit * _COLUMNS
        self._exchanges: dict[tuple[str | None, str, int], list[float]] = {}

    def add(
        self,
        step: int,
        label: str,
        counts: Sequence[float],
        stamps: Sequence[float],
        seen: Sequence[int] = (0, 0, 0),
        far: Far | None = None,
    ) -> None:
        """Record one superstep: the seven counts of STEP; seven stamps; the page faults of both copies, and marks.

        On a machine of several nodes, every superstep also has counts ``far``, which are taken.
        """
        if len(self._rows) >= self._limit:
            self.dropped += 1
            return
        number = self.labels.setdefault(label, len(self.labels))
        self._rows.extend((step, number, *counts, *stamps, *seen))
        if far is not None:
            self._far.extend(far.taken())

    def exchanged(
        self, name: str, itemsize: int, bytes_read: int, bytes_written: int, seconds: float, calls: int = 1
    ) -> None:
        """Record a collective, or a part of it as 0 calls.

        Its words count where its seconds do: in a copy-in, or in a row of its own.
        """
        within = self.going_on
        if within is not None and within._phase == COPY_IN:
            within._reads += -(-bytes_read // itemsize)
            within._writes += -(-bytes_written // itemsize)
            within._bytes_read += bytes_read
            within._bytes_written += bytes_written
            return
        row = self.exchanges(None if within is None else within._label, name, itemsize)
        row[0] += calls
        row[1] += bytes_read
        row[2] += bytes_written
        row[3] += seconds

    def exchanges(self, label: str | None, name: str, itemsize: int) -> list[float]:
        """Return the row of a collective in a superstep, or outside: calls, bytes read and written, and seconds."""
        key = (label, name, itemsize)
        row = self._exchanges.get(key)
        if row is None:
            row = self._exchanges[key] = [0, 0, 0, 0.0]
        return row

    def correct(self, drift: Drift) -> None:
        """Correct all times, which were taken with the clock's offset at the start of the run."""
        self.clock_error = drift.error
        stamps = np.frombuffer(self._rows).reshape(-1, _COLUMNS)[:, _STAMPS]
        stamps[:] = drift.corrected(stamps)
        for times in (self.states, self.events):
            if times is not None:
                times.correct(drift)

    def packed(self) -> tuple[Any, ...]:
        """Return the fields of `Packed`."""
        exchanges = [(*key, row) for key, row in self._exchanges.items()]
        supersteps = self._rows.tobytes(), list(self.labels), self.dropped
        states = None if self.states is None else self.states.packed()
        counts = self.stated, self.cells, self.hardware, self.placement
        events = None if self.events is None else self.events.packed()
        further = self.transmissions, self._far.tobytes(), self.clock_error, events
        return *supersteps, exchanges, self.seconds, *counts, states, *further


ORDER = np.dtype([("step", np.int64), ("label", "U32")])


def sequence(pack: Packed) -> NDArray[np.void]:
    """Return the numbers and labels of a processor's supersteps, in order, as an ORDER array."""
    rows = np.frombuffer(pack.rows, np.float64).reshape(-1, _COLUMNS)
    found = np.zeros(len(rows), ORDER)
    found["step"], found["label"] = rows[:, 0], np.array([*pack.labels, ""])[rows[:, 1].astype(np.intp)]
    return found


def joined(packs: Sequence[Packed]) -> tuple[NDArray[np.void], NDArray[np.void], int]:
    """Join the records of all processors.

    Parameters
    ----------
    packs : sequence
        Records of processors 0, 1, ...

    Returns
    -------
    steps : STEP array
        A row for each superstep and processor, ordered by superstep, then rank.
    spans : SPAN array
        Three rows for each superstep and processor, one for each phase, in seconds of one clock.
    dropped : int
        The largest number of supersteps that a processor did not record.
    """
    steps, spans = [], []
    for rank, pack in enumerate(packs):
        rows = np.frombuffer(pack.rows, np.float64).reshape(-1, _COLUMNS)
        names = np.array([*pack.labels, ""])[rows[:, 1].astype(np.intp)]
        stamps = rows[:, _STAMPS]
        part = np.zeros(len(rows), STEP)
        part["step"], part["label"], part["rank"] = rows[:, 0], names, rank
        for k, field in enumerate(COUNTS):
            part[field] = rows[:, 2 + k]
        part["faults_in"], part["faults_out"] = rows[:, 16], rows[:, 17]
        if pack.far:
            for field, column in zip(FAR, np.frombuffer(pack.far, np.int64).reshape(-1, len(FAR)).T, strict=True):
                part[field] = column
        marks = rows[:, 18].astype(np.int64)
        part["counted"], part["computed"] = marks & UNCOUNTED == 0, marks & FORGOTTEN == 0
        for k, phase in enumerate(PHASES):
            start, done, passed = stamps[:, 2 * k], stamps[:, 2 * k + 1], stamps[:, 2 * k + 2]
            part[phase] = passed - start
            span = np.zeros(len(rows), SPAN)
            span["rank"], span["step"], span["label"], span["phase"] = rank, rows[:, 0], names, phase
            span["start"], span["end"], span["waited"] = start, passed, passed - done
            spans.append(span)
        steps.append(part)
    all_steps = np.concatenate(steps) if steps else np.zeros(0, STEP)
    all_spans = np.concatenate(spans) if spans else np.zeros(0, SPAN)
    dropped = max((pack.dropped for pack in packs), default=0)
    return (
        all_steps[np.lexsort((all_steps["rank"], all_steps["step"]))],
        all_spans[np.lexsort((all_spans["start"], all_spans["rank"]))],
        dropped,
    )


def set_others(rows: NDArray[np.void], inverse: NDArray[np.intp], words: NDArray[np.int64], name: str) -> None:
    """Set the columns ``"next_" + name`` and ``"other_" + name`` in the row of each superstep.

    They are the second largest number of words of any processor, and the sum of all but the largest.
    """
    order = np.lexsort((-words, inverse))
    step, ordered = inverse[order], words[order]
    place = np.arange(len(step)) - np.searchsorted(step, step)  # among the processors of a superstep, largest first
    rows["next_" + name][step[place == 1]] = ordered[place == 1]
    np.add.at(rows["other_" + name], step[place > 0], ordered[place > 0])


def summary(steps: NDArray[np.void], spans: NDArray[np.void]) -> NDArray[np.void]:
    """Return one row for each superstep: h_r, h_w, M in elements and bytes, and the seconds of its phases.

    A row also has the elements of the processors other than the busiest (`smp.models.supersteps.cost.Others`).
    Further columns are the footprint (the bytes of all arrays that a processor copies from or to), the chain (the
    number of reads that each wait for the one before), the bytes that loops read, and the three counts of `FAR`.  Each
    of these six is the largest value of any processor.  Two more columns have sums over all processors:
    ``m_loop_bytes`` that of the bytes of loops, and ``m_far`` that of the far reads and the far writes.

    A phase takes as long as the slowest processor works in it, plus the time of the barrier, which is the shortest
    wait of any processor.  So processors that come late to a superstep do not lengthen its copy-in.

    Parameters
    ----------
    steps : STEP array
    spans : SPAN array

    Returns
    -------
    SUMMARY array
    """
    numbers, inverse = np.unique(steps["step"], return_inverse=True)
    rows = np.zeros(len(numbers), SUMMARY)
    rows["step"] = numbers
    rows["label"][inverse] = steps["label"]
    for name, total, read, written in (
        ("", "m", "reads", "writes"),
        ("_bytes", "m_bytes", "bytes_read", "bytes_written"),
    ):
        np.maximum.at(rows["hr" + name], inverse, steps[read])
        np.maximum.at(rows["hw" + name], inverse, steps[written])
        np.add.at(rows[total], inverse, steps[read] + steps[written])
    for name in ("footprint", "chain", "loop_bytes", *FAR):
        np.maximum.at(rows[name], inverse, steps[name])
    np.add.at(rows["m_loop_bytes"], inverse, steps["loop_bytes"])
    np.add.at(rows["m_far"], inverse, steps["far_reads"] + steps["far_writes"])
    for words in ("reads", "writes"):
        set_others(rows, inverse, steps[words], words)
    np.logical_or.at(rows["uncounted"], inverse, ~steps["counted"])
    for phase in PHASES:
        own = spans[spans["phase"] == phase]
        at = np.searchsorted(numbers, own["step"])
        worked, waited = np.zeros(len(numbers)), np.full(len(numbers), np.inf)
        np.maximum.at(worked, at, own["end"] - own["start"] - own["waited"])
        np.minimum.at(waited, at, own["waited"])
        rows[phase] = worked + np.where(np.isfinite(waited), waited, 0.0)
    return rows
