"""Broadcasts in shared memory: the root writes its value into its slot, and after one barrier the others read it.

The bytes are those of ``values``.  The kind of a slot with an array of numbers is the number of bytes in front of its
elements.  A processor keeps what it knows of an array that it has sent or received, so that of a further one of the
same dtype and shape only the elements are copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..port import Port
from ..shared import Buffer, SharedMemory
from .values import filled, front_of, packed, read_front, unpacked

KEPT = 1000
"""Arrays that are kept: of different dtype or shape, root, or set of slots."""


class InSlots:
    """Broadcasts of one processor."""

    def __init__(self, port: Port, memory: SharedMemory) -> None:
        self._port, self._slots, self._room = port, memory.slots, memory.slots.sets[0].octets.shape[1]
        self._sent: dict[tuple[np.dtype[Any], tuple[int, ...]], tuple[bytes, int, list[NDArray[Any]]]] = {}
        self._received: dict[tuple[int, int, bytes], NDArray[Any]] = {}

    def send(self, name: str, value: Any) -> int:
        """Broadcast a value; return its length in bytes."""
        length = self._write(value)
        self._port.synchronise(name)
        return length

    def receive(self, name: str, root: int, out: NDArray[Any] | None) -> tuple[Any, int]:
        """Return the value of processor ``root``, in ``out`` if it is given, and its length in bytes."""
        turn = self._slots.turn()
        self._port.synchronise(name)
        front, block = self._slots.of(turn, root)
        length = len(block)
        if front == 0 or length > self._room:
            return unpacked(block, out), length
        key = turn, root, bytes(block[:front])
        array = self._received.get(key)
        if array is None:
            array = self._read(key, block)
        return (array.copy() if out is None else filled(out, array)), length

    def _write(self, value: Any) -> int:
        """Write a value into the own slot; return its length."""
        front = b""
        if type(value) is np.ndarray and value.dtype.kind in "biufc":
            front, length, places = self._sent.get((value.dtype, value.shape)) or self._places(value)
            if places:
                turn = self._slots.turn()
                self._slots.announce(turn, front, length)
                places[turn][...] = value
                return length
        parts = packed(value)
        self._slots.put(parts, len(front))
        return sum(map(len, parts))

    def _places(self, value: NDArray[Any]) -> tuple[bytes, int, list[NDArray[Any]]]:
        """Return what precedes the elements, the length, and the places of the elements if they fit into a slot."""
        front = front_of(value.dtype, value.shape)
        length, places = len(front) + value.nbytes, []
        if length <= self._room:
            slots = [each.octets[self._port.rank, len(front) : length] for each in self._slots.sets]
            places = [slot.view(value.dtype).reshape(value.shape)[...] for slot in slots]
        if len(self._sent) == KEPT:
            self._sent.clear()
        self._sent[value.dtype, value.shape] = front, length, places
        return front, length, places

    def _read(self, key: tuple[int, int, bytes], block: Buffer) -> NDArray[Any]:
        """Return the array in a slot, as a view that stays right for as long as the same bytes precede it."""
        dtype, shape = read_front(key[2])
        array = np.frombuffer(memoryview(block)[len(key[2]) :], dtype).reshape(shape)
        if len(self._received) == KEPT:
            self._received.clear()
        self._received[key] = array
        return array
