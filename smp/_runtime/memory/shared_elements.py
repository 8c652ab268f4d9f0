"""Elements of global arrays in a segment, with a name that every process of the machine understands.

The name is (segment, offset, bytes); each process accesses the elements through its own mapping of the segment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.errors import MachineError

from .arrays import GlobalArray
from .segment import Block, segment_of


class SharedElements:
    """The elements of an array on a block of a segment; see `Elements`.

    Attributes
    ----------
    block : Block
        Bytes of the segment that hold the elements.
    all : numpy.ndarray
        The array itself.
    """

    __slots__ = ("all", "block", "view")

    def __init__(self, block: Block, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.block = block
        self.all: NDArray[Any] = (
            np.asarray(block).view(dtype).reshape(shape) if block.nbytes else np.empty(shape, dtype)
        )
        witness = block.segment.witness
        self.view: NDArray[Any] = self.all if witness is None else witness.shown(self.all)

    @property
    def rank(self) -> int | None:
        return self.block.segment.rank

    def read(self, index: Any) -> Any:
        return self.all[index]

    def write(self, index: Any, values: Any) -> None:
        self.all[index] = values

    def pickled(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Callable[..., GlobalArray], Any]:
        block = self.block
        return _attached, (block.segment.id, block.offset, block.nbytes, shape, dtype)


def _attached(segment_id: int, offset: int, nbytes: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
    segment = segment_of(segment_id)
    if segment is None:
        raise MachineError(
            "a global array of another machine was sent here; an array can be used only by the machine that made it"
        )
    return array_on(segment.block(offset, nbytes), shape, dtype)


def array_on(block: Block, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
    """Return the global array on a block."""
    return GlobalArray(SharedElements(block, shape, dtype), shape, dtype)


def elements_of(array: GlobalArray) -> SharedElements:
    """Return the elements of an array of a machine with shared memory."""
    elements = array._elements
    assert isinstance(elements, SharedElements), "an array of another kind of machine"
    return elements
