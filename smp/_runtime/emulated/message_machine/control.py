"""The time of barriers and collectives, in ps: the table ``[control]`` of a machine file.

    a network of its own    barrier, combine.start + combine.per_word * words + ..., the same for a broadcast
    none                    messages up and down a tree: 2 * levels * (send + wire + receive), if the file has no
                            formula for it; a barrier is such a walk or a combination of no words, the quicker one

All processors have the result this long after the last of them has begun.  Messages of the program do not disturb
it, and it does not disturb them.

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 6.1.1, figure 6-6 and Strata manual, table 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from smp.machines import MachineFile
from smp.machines.layout.communication import Vector

from ..virtual_time import picoseconds
from .software import WORD, Software

BROADCASTS = ("broadcast", "gather")
"""Names of the collectives that only pass values on."""


@dataclass(frozen=True)
class Control:
    """Times of collectives on a number of processors, in ps.

    Parameters
    ----------
    barrier : int
    combine, broadcast : callable
        The time for a number of words.
    """

    barrier: int
    combine: tuple[float, float]
    broadcast: tuple[float, float]

    @classmethod
    def of(cls, file: MachineFile, size: int, wire: int) -> Control:
        """Return the times of a machine on ``size`` processors, between which a short message takes ``wire`` ps."""
        control = file.control
        assert control is not None
        software = Software.of(file)
        levels = math.log2(size) if size > 1 else 0.0
        tree = math.ceil(math.log(size, control.fan_out)) if size > 1 and control.fan_out and control.fan_out > 1 else 0
        step = software.sending(WORD, request=False) + wire + software.receiving(1)
        walk = (2.0 * tree * step, 2.0 * tree * (software.inject + software.receive) * WORD / software.payload)

        def priced(vector: Vector | None) -> tuple[float, float]:
            if vector is None:
                return walk
            start = vector.start + vector.per_level * levels
            word = vector.per_word + vector.per_word_level * levels
            return start * 1e12 / file.clock.hz, word * 1e12 / file.clock.hz

        combine = priced(control.combine)
        quickest = round(min(walk[0], combine[0]))
        barrier = quickest if control.barrier is None else picoseconds(control.barrier, file.clock.hz)
        return cls(barrier, combine, priced(control.broadcast or control.combine))

    def time(self, name: str, nbytes: int) -> int:
        """Return the time of a collective on values of the given number of bytes."""
        start, word = self.broadcast if name.startswith(BROADCASTS) else self.combine
        return round(start + word * -(-nbytes // WORD))
