"""Measure what an event of a recorded run costs, and what a wait costs if nothing is recorded.

    python benchmarks/recording.py [--rounds 200] [--events 1000]

Prints the ns of an event in machine code, over those of a look at the clock, which every event contains.  Both are
medians of windows that alternate in one run on one processor.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import smp
from smp._runtime.loops.atomics import Words, stamp
from smp._runtime.protocols.event_rings import RING_WORDS, WAITS, note
from smp._runtime.protocols.waiters import RECORD, RING
from smp.compiled import clock

BAR = 60.0
"""Most ns of an event."""


@smp.stream
def events(own: Words, n: int, out: Words, r: int) -> None:
    """Time n events."""
    start = clock()
    for k in range(n):
        note(own, WAITS, k, 1)
    out[r] = clock() - start


@smp.stream
def stamps(n: int, found: Words, out: Words, r: int) -> None:
    """Time n looks at the clock of events."""
    start = clock()
    for k in range(n):
        found[k % 8] = stamp()
    out[r] = clock() - start


def program(proc: smp.Processor, rounds: int, n: int) -> NDArray[Any]:
    """Return the ns of an event while recording, of an event while not, and of a look at the clock, for each round."""
    ring = np.zeros(RING_WORDS, np.int64)
    on, off, found = np.zeros(RECORD, np.int64), np.zeros(RECORD, np.int64), np.zeros(8, np.int64)
    on[RING] = ring.ctypes.data
    out = np.zeros((3, rounds), np.int64)
    for r in range(rounds):
        events(on, n, out[0], r)
        events(off, n, out[1], r)
        stamps(n, found, out[2], r)
    return out / n


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="cost of an event of a recorded run")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--events", type=int, default=1000)
    options = parser.parse_args()
    with smp.host(1) as machine:
        found = machine.run(program, options.rounds, options.events, warmup=1).results[0]
    on, off, looks = np.median(found, axis=1)
    print(f"an event {on:.1f} ns (bar {BAR:.0f}), a look at its clock {looks:.1f} ns, ratio {on / looks:.2f}")
    print(f"the same while nothing is recorded {off:.2f} ns")
    print(f"medians of {options.rounds} windows of {options.events} each, which alternate; 1 processor")


if __name__ == "__main__":
    main()
