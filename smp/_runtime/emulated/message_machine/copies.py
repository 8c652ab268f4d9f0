"""Copies between global arrays and local memory on a message machine: block transfers from and to the owners.

    read     reader     request to each owner ─┐                        ┌─ receive each block
             owner                             └ receive, send a block ─┘
    write    writer     a block to each owner ─┐
             owner                             └ receive

The owner of an element is the processor whose ``proc.block`` has its place in the flat array.  It serves one request
or block after another, in the order in which the others make their copies.  What it has served is a debt, which it
pays when it next comes to a copy or a barrier; while it waits at a barrier, serving takes no time of its own.  Where
handlers run on a processor of their own, it has no debts.

The values themselves are copied at once: a superstep reads nothing that is written in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...memory.arrays import GlobalArray
from ...memory.indices import Selected, selected, without_field
from ...program.processor import share
from .software import Software
from .times import Times


class Copies:
    """The copies of all processors.

    Parameters
    ----------
    software : Software
    times : Times
        Times on the wires.

    Attributes
    ----------
    debts : list of int
        For each processor, the work for others that it has not paid for yet, in ps.
    """

    def __init__(self, size: int, software: Software, times: Times) -> None:
        self._size, self._software, self._times = size, software, times
        self._bounds: dict[int, Any] = {}
        self.clear()

    def clear(self) -> None:
        """Begin a new run."""
        self.debts = [0] * self._size
        self._busy = [0] * self._size  # until when each processor serves

    def read(self, rank: int, array: GlobalArray, index: Any, now: int) -> int:
        """Return when a copy-in that a processor begins now has ended; charge the owners."""
        software, times, size = self._software, self._times, array.dtype.itemsize
        receiving, came = 0, now
        for owner, count, strided in self._owners(array, index):
            nbytes = count * size
            if owner == rank:
                receiving += round(nbytes * software.copy_byte)
                continue
            now += software.request
            serving = software.receiving(1) + software.sending_block(nbytes) + strided * software.strided
            served = self.serve(owner, now + times.message(rank, owner, 0), serving)
            came = max(came, served + times.block(owner, rank, nbytes))
            receiving += software.receiving_block(nbytes)
        return max(now, came) + receiving

    def write(self, rank: int, array: GlobalArray, index: Any, now: int) -> tuple[int, int]:
        """Return when a copy-out that a processor begins now is sent, and when all has landed; charge the owners."""
        software, times, size = self._software, self._times, array.dtype.itemsize
        landed = now
        for owner, count, strided in self._owners(array, index):
            nbytes = count * size
            if owner == rank:
                now += round(nbytes * software.copy_byte)
                continue
            now += software.sending_block(nbytes) + strided * software.strided
            arrival = now + times.block(rank, owner, nbytes)
            landed = max(landed, self.serve(owner, arrival, software.receiving_block(nbytes)))
        return now, landed

    def serve(self, owner: int, arrival: int, work: int) -> int:
        """Return when an owner has done some work for another processor, which arrives at a time."""
        if not self._software.own_processor:
            self.debts[owner] += work
        self._busy[owner] = max(arrival, self._busy[owner]) + work
        return self._busy[owner]

    def _owners(self, array: GlobalArray, index: Any) -> list[tuple[int, int, int]]:
        """Return the owners of selected elements: rank, number of elements, and how many do not follow others."""
        found = selected(array.shape, without_field(index)[1])
        bounds = self._bounds.get(array.size)
        if bounds is None:
            starts = [share(array.size, rank, self._size).start for rank in range(self._size)]
            bounds = self._bounds[array.size] = np.array([*starts, array.size])
        if found.positions is None:
            return _of_a_run(found, bounds)
        holders = np.searchsorted(bounds, found.positions, side="right") - 1
        counts = np.bincount(holders, minlength=self._size)
        return [(int(owner), int(counts[owner]), int(counts[owner])) for owner in np.flatnonzero(counts)]


def _of_a_run(found: Selected, bounds: Any) -> list[tuple[int, int, int]]:
    first, end = found.start, found.start + found.size
    if first == end:
        return []
    low, high = int(bounds.searchsorted(first, "right")) - 1, int(bounds.searchsorted(end - 1, "right")) - 1
    parts = ((k, min(end, int(bounds[k + 1])) - max(first, int(bounds[k]))) for k in range(low, high + 1))
    return [(owner, count, 0) for owner, count in parts if count]
