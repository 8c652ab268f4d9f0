"""The bursts of collectives: barriers and votes, combinations of vectors, statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._runtime.program.collectives.segments import ELEMENT, NONE
from smp._runtime.program.collectives.stage import LEAST
from smp._runtime.program.processor import Processor
from smp._runtime.protocols.barriers import OPEN
from smp._runtime.shared_memory.slots import ROOM

from .primitive import Burst, Primitive, repeated

WORDS = {"length": "1..1e5 x 12"}
UNTIMED = 4
"""Time of starts and waits together, in times of the starts."""
STAGED = (f"(length * (p - 1) >= {LEAST // 8})",)
"""Term for long vectors, which processors combine by parts, through memory for that; see ``collectives.stage``."""
IN_A_BLOCK = (f"(length > {ROOM // 8})",)
"""Term for vectors that do not fit into the slot of a processor."""
COMBINED = "110.1 + 47.5 * length (figure 6-6)"


def barrier(proc: Processor) -> Burst:
    return repeated(proc, proc.barrier)


def start(proc: Processor) -> Burst:
    """Time the starts of as many barriers as may be open; the waits are not timed."""
    begin = proc.split.barrier

    def burst(calls: int) -> float:
        groups, seconds = math.ceil(calls / OPEN / UNTIMED), 0.0
        for _ in range(groups):
            began = proc.clock()
            tickets = begin(), begin(), begin()
            seconds += proc.elapsed(began)
            for ticket in tickets:
                ticket.wait()
        return seconds / groups / OPEN

    return burst


def done(proc: Processor) -> Burst:
    """Time questions after a barrier that is open until the wait."""

    def burst(calls: int) -> float:
        ticket = proc.split.barrier()
        while not ticket.done():
            pass
        seconds = repeated(proc, ticket.done)(calls)
        ticket.wait()
        return seconds

    return burst


def any_(proc: Processor) -> Burst:
    return repeated(proc, proc.any, False)


def any_flag(proc: Processor) -> Burst:
    return repeated(proc, proc.any_flag)


def flag(proc: Processor) -> Burst:
    """Time changes: a call that changes nothing is quicker."""

    def change() -> None:
        proc.flag(False)
        proc.flag(True)

    pairs = repeated(proc, change)
    return lambda calls: pairs(calls) / 2


def reduce(proc: Processor, length: int) -> Burst:
    mine, out = _vectors(length)
    return repeated(proc, lambda: proc.reduce(mine, out=out))


def scan(proc: Processor, length: int) -> Burst:
    mine, out = _vectors(length)
    return repeated(proc, lambda: proc.scan(mine, out=out))


def exclusive_scan(proc: Processor, length: int) -> Burst:
    mine, out = _vectors(length)
    return repeated(proc, lambda: proc.scan(mine, exclusive=True, out=out))


def segmented_scan(proc: Processor, length: int) -> Burst:
    """Time scans of two segments: a boundary is before the processor in the middle."""
    mine, out = _vectors(length)
    edge = ELEMENT if proc.rank == (proc.size + 1) // 2 else NONE
    return repeated(proc, lambda: proc.scan(mine, segments=edge, out=out))


def scan_along(proc: Processor, length: int) -> Burst:
    mine, out = _vectors(length)
    return repeated(proc, lambda: proc.scan(mine, along=True, out=out))


def broadcast(proc: Processor, length: int) -> Burst:
    """Time the processors that receive: the root may go on before the others have received."""
    mine, out = _vectors(length)
    root = proc.size - 1
    if proc.rank != root or proc.size == 1:
        return repeated(proc, lambda: proc.broadcast(mine, root, out=out))
    sending = repeated(proc, lambda: proc.broadcast(mine, root))

    def burst(calls: int) -> float:
        sending(calls)
        return math.nan

    return burst


def mean(proc: Processor) -> Burst:
    return repeated(proc, proc.mean, float(proc.rank))


def variance(proc: Processor) -> Burst:
    return repeated(proc, proc.variance, float(proc.rank))


def median(proc: Processor) -> Burst:
    return repeated(proc, proc.median, float(proc.rank))


def _vectors(length: int) -> NDArray[Any]:
    """Return a vector of this processor, and one for the result."""
    return np.ones((2, length))


PRIMITIVES = (
    Primitive("barrier", barrier, {}, published="140 (table 1)"),
    Primitive("start of a barrier", start, {}),
    Primitive("done", done, {}),
    Primitive("any", any_, {}),
    Primitive("any_flag", any_flag, {}),
    Primitive("flag", flag, {}),
    Primitive("reduce", reduce, WORDS, "words", STAGED, COMBINED),
    Primitive("scan", scan, WORDS, "words", STAGED, COMBINED),
    Primitive("exclusive scan", exclusive_scan, WORDS, "words", STAGED, COMBINED),
    Primitive("segmented scan", segmented_scan, WORDS, "words", STAGED, COMBINED),
    Primitive("scan along", scan_along, WORDS, "words"),
    Primitive("broadcast", broadcast, WORDS, "words", IN_A_BLOCK, "90 for a word; 49 a word of a vector (table 1)"),
    Primitive("mean", mean, {}),
    Primitive("variance", variance, {}),
    Primitive("median", median, {}),
)
