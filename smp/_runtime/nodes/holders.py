"""The processes of this computer's machines of several nodes that hold arrays and cells, by the keys of their machines.

An array or a set of cells is sent to another process as the key of its machine and its own name.
"""

from __future__ import annotations

import weakref
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smp.errors import MachineError

from ..memory.arrays import GlobalArray
from ..memory.cells import Cells
from ..memory.indices import Selected
from .messages import About, Name, Request


class Holder(Protocol):
    """The parent or a processor of a machine, which accesses the elements of its arrays, and its cells.

    Attributes
    ----------
    key : str
        Name of the machine, the same in all its processes.
    """

    key: str

    @property
    def rank(self) -> int | None:
        """Rank of the processor; None for the parent."""

    def attached(self, name: Name, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        """Return the array of a name."""

    def attached_cells(self, about: About) -> Cells:
        """Return the cells of a description."""

    def read(self, name: Name, shape: tuple[int, ...], found: Selected, into: NDArray[Any]) -> None:
        """Read the selected elements into a contiguous array."""

    def write(self, name: Name, shape: tuple[int, ...], found: Selected, values: NDArray[Any], field: Any) -> None:
        """Write contiguous values to the selected elements, or to a field of them."""

    def cell(self, node: int, request: Request) -> tuple[int, int]:
        """Have a request for an operation on a cell carried out on a node; return the status and the bits."""


holders: weakref.WeakValueDictionary[str, Holder] = weakref.WeakValueDictionary()
"""The holders in this process, by the keys of their machines."""


def attached_array(key: str, name: Name, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
    """Return an array that came from another process of its machine."""
    return _holder(key, "a global array", "it").attached(name, shape, dtype)


def attached_cells(key: str, about: About) -> Cells:
    """Return cells that came from another process of their machine."""
    return _holder(key, "cells", "them").attached_cells(about)


def _holder(key: str, what: str, it: str) -> Holder:
    if key not in holders:
        raise MachineError(f"{what} of another machine came here: only the machine that made {it} can use {it}")
    return holders[key]
