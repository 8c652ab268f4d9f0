"""One visit of the messages probe: bursts of an operation and of its floor, in turn.

    barrier   floor   barrier   operation   barrier   floor   barrier   operation   ...      until the time is over
              └────── a pair ───────────┘             └────── a pair ───────────┘

An operation's time differs from moment to moment with the placement of the CPUs, and that of its floor differs alike.
The ratio of neighbouring bursts does not.

    operation                                                                            floor
    trip, one way, both ways, receive   packets of 32 bytes in compiled loops            line there and back
    poll                                poll in vain of the rings of some senders        atomic addition
    compiled barrier                                                                     line there and back
    request                             request and reply, from Python                   trip
    message                             one-way message with its handler, from Python    one way
    barrier                             from Python                                      compiled barrier
    any, vectors of up to SHORT words   from Python                                      barrier
    vectors of more words               from Python                                      private copy of as many bytes
    block, block both ways              from Python, until the last one is counted       private copy of as many bytes

The cost of receiving is measured as its source does: the time of polls with and without waiting packets, over their
number.  Long vectors are visited together, in one run, because a run maps its buffers at their first use.  So are
blocks, in another run, because barriers take longer in a run that has ports.

Source of the method of receiving: E. A. Brewer, Portable High-Performance Supercomputing, section 6.1.3.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp._computer.system import affinity, stolen_ns
from smp._runtime.machine import Machine
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.processor import Processor
from smp._runtime.protocols.rings import ring_words, slots_for
from smp._runtime.shared_memory.layout import SETS
from smp.microbench.method.overlaps import SPAN, together
from smp.microbench.method.windows import NO_FLAG, Flag, Limits, Windows
from smp.microbench.sections.synchronisation.loops import SHARED_WORDS as FLOOR_WORDS

from .bursts import BLOCKS, VECTORS, Bursts
from .rows import Floor

SHORT = 1000
"""Largest number of words of a vector whose floor is a barrier."""
FLOORS: dict[str, Floor] = {
    "trip": "line",
    "one way": "line",
    "both ways": "line",
    "receive": "line",
    "poll": "addition",
    "compiled barrier": "line",
    "request": "trip",
    "message": "one way",
    "barrier": "compiled barrier",
    "any": "barrier",
}
"""Floors of the operations without vectors."""
FEWEST_PAIRS = 2
"""Smallest number of pairs of a visit that count."""
OVER, SHARED_WORDS = FLOOR_WORDS, FLOOR_WORDS + 8
"""Index of the shared word that ends a visit, and number of the shared words, which begin with those of the floors."""
ASLEEP = Flag.DESCHEDULED | Flag.SWITCHED | Flag.APART
LIMITS = Limits(overlap=0.75, spread=1.5)
"""Limits of the bursts; a processor may end before the others, whose packets are still on their way."""


@dataclass(frozen=True)
class Task:
    """One operation, and the words of its vector or block or the senders of its rings; 0 if it has neither."""

    what: str
    size: int = 0

    @property
    def floor(self) -> Floor:
        """Name of the operation's floor."""
        if self.what in BLOCKS:
            return "copy"
        if self.what in VECTORS:
            return "copy" if self.size > SHORT else "barrier"
        return FLOORS[self.what]

    @property
    def left_out(self) -> int:
        """Number of the first pairs that do not count: buffers are mapped at first use, and a broadcast has several."""
        return 1 + SETS if self.what == "broadcast" and self.floor == "copy" else 1

    @property
    def ignored(self) -> Flag:
        """Flags that are no disturbance, because a processor sleeps while it waits for room or for a long vector."""
        return ASLEEP if self.what == "message" or self.floor == "copy" else NO_FLAG


class Shared(NamedTuple):
    """Shared words of the floors, and of two networks of rings."""

    words: GlobalArray
    rings: GlobalArray


def shared_of(machine: Machine, p: int) -> Shared:
    """Return the shared words for visits on a machine of p processors."""
    return Shared(machine.zeros(SHARED_WORDS, np.int64), machine.zeros(2 * ring_words(p, slots_for(p)), np.int64))


def visits_of(tasks: Iterable[Task]) -> list[tuple[Task, ...]]:
    """Return the tasks of each visit: long vectors together, blocks together, and each of the others alone."""
    every = list(tasks)
    blocks = tuple(task for task in every if task.what in BLOCKS)
    long = tuple(task for task in every if task.floor == "copy" and task not in blocks)
    return [*((task,) for task in every if task not in long + blocks), *(group for group in (long, blocks) if group)]


def visit(
    machine: Machine, shared: Shared, tasks: Sequence[Task], seconds: float, timer_ns: float, turn: int
) -> dict[Task, tuple[Windows, Windows]]:
    """Visit tasks once, each for some seconds, in one run.

    Returns
    -------
    dict of Task to (ndarray, ndarray)
        Processor 0's windows of the operation and, pair by pair, of the floor.
    """
    shared.words.view[:], shared.rings.view[:] = 0, 0
    before = stolen_ns(affinity()) or 0
    run = machine.run(_program, shared, tasks, seconds)
    stolen = (stolen_ns(affinity()) or 0) - before
    found = {}
    for task, stamps in zip(tasks, zip(*run.results, strict=True), strict=True):
        operation, floor = (windows_of(side, timer_ns, turn, stolen) for side in zip(*stamps, strict=True))
        for windows in (operation, floor):
            windows["placed_before_ns"], windows["placed_after_ns"] = run.placement
        found[task] = operation, floor
    return found


def windows_of(stamps: Any, timer_ns: float, turn: int, stolen: int) -> Windows:
    """Return the windows of processor 0 from the stamps of all, flagged if they did not run at the same time."""
    spans = [one.view(SPAN)[:, 0] for one in stamps if one[:, 3].any()]  # the others have only waited
    windows = together(spans, timer_ns, turn, stolen, LIMITS)
    first: Windows = windows[windows["rank"] == 0]
    return first


def _program(proc: Processor, shared: Shared, tasks: Sequence[Task], seconds: float) -> list[NDArray[np.int64]]:
    """Return the stamps of the pairs of each task, those of the operation first."""
    return [_pairs(proc, shared, task, seconds) for task in tasks]


def _pairs(proc: Processor, shared: Shared, task: Task, seconds: float) -> NDArray[np.int64]:
    """Take pairs of bursts until the time is over on processor 0; return the stamps of all but the first ones."""
    words, found = shared.words.view, list[Any]()
    bursts = Bursts(proc, words, shared.rings.view, task.size)
    order = bursts(task.floor), bursts(task.what)
    fewest = task.left_out + FEWEST_PAIRS
    deadline = time.monotonic_ns() + int(seconds * 1e9)
    while not words[OVER]:
        pair = np.zeros((2, 4), np.int64)
        for burst, stamp in zip(order, pair, strict=True):
            proc.barrier()
            if proc.rank == 0:
                words[:OVER] = 0
            proc.barrier()
            burst(stamp)
        found.append(pair)
        proc.barrier()
        if proc.rank == 0 and len(found) >= fewest and time.monotonic_ns() > deadline:
            words[OVER] = 1
        proc.barrier()
    proc.barrier()
    words[OVER] = 0
    return np.stack(found[task.left_out :], 1)[::-1].copy()
