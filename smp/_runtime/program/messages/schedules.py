"""Schedules of a transpose that sends each part as a block to a port; see `Processor.transpose`.

    in rounds      barrier · round 1: each processor sends to one and receives from one
                             round 2: the same with other pairs
                             ... and a barrier after every few rounds
    interleaved    barrier · queue the blocks for all others, in a random order · send parts of them in turn

In both, a processor then waits until all parts for it have landed, and copies them out of its port.  The barrier at the
beginning separates two transposes.  No processor comes to it before it has copied the parts of the last one, so no
block lands on a part that is still needed.  The port is kept for the next transposes, and a longer one is made when
parts do not fit.

Without barriers, a processor that is slow for a while meets others at its receiver from then on, because they are
already in the next round.  A barrier brings the rounds together again.

Source: E. A. Brewer, Portable High-Performance Supercomputing, sections 7.3 and 7.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..collectives.relay import octets
from .block_calls import BlockCalls
from .ports import BlockPort

APART = 512
"""Bytes from one barrier to the next; after longer blocks there is a barrier each time (Brewer, figure 7-6)."""
LEAST = 4096
"""Bytes of the shortest port."""
Octets = NDArray[np.uint8]


class Schedule(Protocol):
    """A way to send blocks to all other processors, all to one port."""

    def __call__(
        self, description: str, port: BlockPort, parts: Sequence[Octets], places: Sequence[int], longest: int
    ) -> None:
        """Send all blocks; when this returns, they may be changed.

        Parameters
        ----------
        description : str
            What the processors must agree on.
        port : BlockPort
        parts : sequence of uint8 ndarray
            The blocks, by receiver.
        places : sequence of int
            Place of each block in the port of its receiver.
        longest : int
            Bytes of the longest block of all processors.
        """


class InRounds:
    """Rounds of permutations, with a barrier after every few of them.

    Parameters
    ----------
    targets : sequence of int
        Receiver of this processor in each round.
    barriers : int, optional
        Rounds between two barriers; 0 for no barrier.  By default, as few as have `APART` bytes of the longest blocks.
    """

    def __init__(self, proc: BlockCalls, targets: Sequence[int], barriers: int | None) -> None:
        self._proc, self._targets, self._barriers = proc, targets, barriers

    def __call__(
        self, description: str, port: BlockPort, parts: Sequence[Octets], places: Sequence[int], longest: int
    ) -> None:
        proc, every = self._proc, self._barriers
        if every is None:
            every = math.ceil(APART / longest) if longest else 0
        for done, to in enumerate(self._targets):
            if every and done and done % every == 0:
                proc._port.synchronise(description)
            proc.send_block(to, port, parts[to], places[to])


class Interleaved:
    """All blocks are queued in a random order, and parts of them are sent in turn."""

    def __init__(self, proc: BlockCalls) -> None:
        self._proc = proc

    def __call__(
        self, description: str, port: BlockPort, parts: Sequence[Octets], places: Sequence[int], longest: int
    ) -> None:
        proc = self._proc
        for to in range(proc.size):
            if to != proc.rank:
                proc.start_block(to, port, parts[to], places[to])
        proc.serve_blocks()


class ByBlocks:
    """Parts on their way as blocks; the methods are those of `Relay`."""

    def __init__(self, proc: BlockCalls, schedule: Schedule, landing: Landing) -> None:
        self._proc, self._schedule, self._landing = proc, schedule, landing

    def equal(self, description: str, data: NDArray[Any], out: NDArray[Any]) -> None:
        """Pass on parts of one length; see `Relay.equal`."""
        proc, rank, size = self._proc, self._proc.rank, self._proc.size
        mine, theirs = (octets(array).reshape(size, -1) for array in (data, out))
        length = mine.shape[1]
        proc._port.synchronise(description)
        landed = self._sent(description, list(mine), [rank * length] * size, length, (size - 1) * length, data.nbytes)
        rows = landed[: data.nbytes].reshape(size, length)
        theirs[rank] = mine[rank]
        for others in (slice(0, rank), slice(rank + 1, size)):
            theirs[others] = rows[others]

    def unequal(self, description: str, parts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Pass on parts of different lengths; see `Relay.unequal`."""
        rank, dtype, shape = self._proc.rank, parts[0].dtype, parts[0].shape[1:]
        lengths = np.array([len(part) for part in parts], np.int64)
        blocks = self._proc._port.exchange(description, octets(lengths).data)
        table = np.array([np.frombuffer(block, np.int64) for block in blocks])  # row i: what processor i sends
        nbytes = table * (math.prod(shape) * dtype.itemsize)
        np.fill_diagonal(nbytes, 0)
        ends = np.cumsum(nbytes, axis=0)  # column j: where the parts end in the port of processor j
        starts = ends - nbytes
        coming, room = int(ends[-1, rank]), int(ends[-1].max())
        longest = int(nbytes.max())
        landed = self._sent(description, [octets(each) for each in parts], starts[rank].tolist(), longest, coming, room)
        received = [np.empty((length, *shape), dtype) for length in table[:, rank]]
        for source, each in enumerate(received):
            if source == rank:
                each[...] = parts[rank]
            else:
                octets(each)[...] = landed[starts[source, rank] : ends[source, rank]]
        return received

    def _sent(
        self, description: str, parts: Sequence[Octets], places: Sequence[int], longest: int, coming: int, room: int
    ) -> Octets:
        """Send the parts, wait for ``coming`` bytes, and return the port's memory, of at least ``room`` bytes."""
        port = self._landing.port(room)
        port.expect(coming)
        self._schedule(description, port, parts, places, longest)
        port.wait()
        landed: Octets = port.data
        return landed


class Landing:
    """The port at which the parts of transposes land."""

    def __init__(self, proc: BlockCalls) -> None:
        self._proc = proc
        self._port: BlockPort | None = None

    def port(self, room: int) -> BlockPort:
        """Return the port; if it is shorter than ``room`` bytes, all processors make a new one, at least twice as long.

        Thus all ports together have less than four times the bytes of the longest transpose.
        """
        before = 0 if self._port is None else self._port.data.size
        if self._port is None or before < room:
            self._port = self._proc.port(max(room, 2 * before, LEAST), np.uint8)
        return self._port
