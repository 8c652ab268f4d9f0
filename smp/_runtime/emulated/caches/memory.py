"""The caches of a machine as Python uses them: made from a machine file, with what they have counted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp.machines import MachineFile

from ...memory.segment import Segment
from ..virtual_time import SECOND, picoseconds
from . import layout


class Copy(NamedTuple):
    """A copy between shared memory and a processor's local memory.

    Attributes
    ----------
    writes : bool
        Whether shared memory is written.
    base, item : int
        Offset of the array in the segment, and the bytes of an element.
    positions : array of intp or None
        Positions of the elements; None for one element, which is ``base``.
    bytes : bool
        Whether each byte takes time of the processor, too.
    """

    writes: bool
    base: int
    item: int
    positions: NDArray[np.intp] | None = None
    bytes: bool = True


class Caches:
    """The caches of all processors; at first they are empty.

    Parameters
    ----------
    file : MachineFile
        A machine whose memory is shared on a bus or by a directory.
    size : int
        Number of processors.
    segment : Segment
        The memory.
    first : int
        Offset of the first byte of the segment that goes through the caches.
    """

    def __init__(self, file: MachineFile, size: int, segment: Segment, first: int = 0) -> None:
        words = self._words = np.zeros(layout.MEMORY, np.int64)
        self._read, self._written = _bytes(file)
        sets, ways, self.line = _shape(file)
        self._entries = np.zeros((sets, size, ways), np.int64)
        self._copies, self._order = np.zeros((size, layout.COPY), np.int64), np.zeros(size, np.int64)
        words[[layout.SIZE, layout.WAYS, layout.SETS, layout.LINE]] = size, ways, sets, self.line
        words[[layout.SEGMENT, layout.FIRST, layout.END]] = segment.address, first, segment.size
        arrays = (self._entries, self._copies, self._order)
        words[[layout.ENTRIES, layout.COPIES, layout.ORDER]] = [array.ctypes.data for array in arrays]
        for word, time in _times(file).items():
            words[word] = time
        self.address = words.ctypes.data

    def clear(self) -> None:
        """Empty the caches, and forget what they have counted."""
        if self._words[layout.MISSES]:
            self._entries.fill(0)
        self._words[[layout.COPYING, layout.FREE, *layout.COUNTS.values()]] = 0

    def counts(self) -> dict[str, int]:
        """Return how many accesses to lines were of each kind, and how many lines were invalidated or written back."""
        return {name: int(self._words[word]) for name, word in layout.COUNTS.items()}

    def states(self, line: int) -> list[int]:
        """Return the state of a line in each cache: 0 if it is not there, `SHARED` or `MODIFIED`."""
        entries = self._entries[line % len(self._entries)]
        return [int(max((entry & 3 for entry in row if entry >> 2 == line + 1), default=0)) for row in entries]

    def time_of_bytes(self, writes: bool, nbytes: int) -> int:
        """Return the time of the processor for a number of bytes that it copies, in ps."""
        return nbytes * (self._written if writes else self._read) // layout.PARTS

    # Copies.

    def begin(self, rank: int, copy: Copy, now: int) -> None:
        """Let a processor begin a copy."""
        positions, of_byte = copy.positions, self._written if copy.writes else self._read
        row = self._copies[rank]
        row[[layout.NOW, layout.WRITES, layout.BASE, layout.ITEM]] = now, copy.writes, copy.base, copy.item
        row[[layout.POSITIONS, layout.NEXT, layout.PART]] = 0 if positions is None else positions.ctypes.data, 0, 0
        row[[layout.COUNT, layout.BYTE]] = 1 if positions is None else len(positions), of_byte if copy.bytes else 0
        copying = self._words[layout.COPYING]
        self._order[copying] = rank
        self._words[layout.COPYING] = copying + 1

    def now(self, rank: int) -> int:
        """Return the time at which the last copy of a processor goes on, or has ended."""
        return int(self._copies[rank, layout.NOW])

    def earliest(self) -> int:
        """Return the processor whose copy goes on next; there is a copy."""
        going_on = self._order[: self._words[layout.COPYING]]
        return int(min(going_on, key=lambda rank: (self._copies[rank, layout.NOW], rank)))

    @property
    def copying(self) -> int:
        """Number of copies that go on."""
        return int(self._words[layout.COPYING])

    def word_of(self, rank: int) -> int:
        """Return the address of a word of a processor's own, on which it can sleep."""
        return int(self._copies[rank].ctypes.data)


def _shape(file: MachineFile) -> tuple[int, int, int]:
    """Return the number of sets of a cache, the places in each, and the bytes of a line."""
    memory = file.memory
    assert memory is not None
    assert memory.line
    assert memory.cache
    ways = memory.ways or 1
    return memory.cache // (memory.line * ways), ways, memory.line


def _bytes(file: MachineFile) -> tuple[int, int]:
    """Return the time of a byte that a copy reads, and that of one that it writes, in parts of a ps."""
    memory = file.memory
    assert memory is not None
    both = 0.0 if file.processor is None else file.processor.copy_per_byte
    found = (both if byte is None else byte for byte in (memory.read_per_byte, memory.write_per_byte))
    read, written = (picoseconds(byte * layout.PARTS, file.clock.hz) for byte in found)
    return read, written


def _times(file: MachineFile) -> dict[int, int]:
    memory, network, hz = file.memory, file.network, file.clock.hz
    assert memory is not None
    assert memory.line

    def time(cycles: float | None) -> int:
        return picoseconds(cycles or 0, hz)

    miss = time(memory.local_miss)
    if memory.shared == "bus":
        assert network is not None
        per_line = network.link_cycles_per_packet
        bandwidth = network.link_bandwidth[0] if network.link_bandwidth else 0.0
        transfer = time(per_line) if per_line is not None else round(memory.line * SECOND / bandwidth)
        return {
            layout.KIND: layout.BUS,
            layout.TRANSFER: transfer,
            layout.MISS: max(miss, transfer),
            layout.UPGRADE: max(miss - transfer, 0),
        }
    pointers = memory.directory_pointers
    return {
        layout.HIT: 0 if file.processor is None else time(file.processor.ops.load),
        layout.KIND: layout.DIRECTORY,
        layout.MISS: miss,
        layout.REMOTE_CLEAN: time(memory.remote_clean),
        layout.REMOTE_DIRTY2: time(memory.remote_dirty2),
        layout.REMOTE_DIRTY3: time(memory.remote_dirty3),
        layout.POINTERS: layout.MANY if pointers is None else pointers,
        layout.TRAP: time(memory.software_trap),
    }
