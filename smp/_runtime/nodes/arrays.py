"""Global arrays in parts, as the parent and the processors of a machine have them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smp.errors import MachineError

from ..memory.arrays import GlobalArray
from ..memory.cells import Cells
from ..program.port import without_memory
from .cells import About
from .indices import Selected, selected, without_field
from .parts import Dtype, Name


class Holder(Protocol):
    """The parent or a processor of a machine, which accesses the elements of its arrays.

    Attributes
    ----------
    key : str
        Name of the machine, the same in all its processes.
    rank : int or None
        Rank of the processor; None for the parent.
    """

    key: str
    rank: int | None

    def attached(self, name: Name, shape: tuple[int, ...], dtype: Dtype) -> GlobalArray:
        """Return the array of a name that came from another process."""

    def attached_cells(self, about: About) -> Cells:
        """Return cells that came from another process."""

    def read(self, name: Name, shape: tuple[int, ...], found: Selected, into: NDArray[Any]) -> None:
        """Read the selected elements into a contiguous array."""

    def write(self, name: Name, shape: tuple[int, ...], found: Selected, values: NDArray[Any], field: Any) -> None:
        """Write contiguous values to the selected elements, or to a field of them."""


holders: weakref.WeakValueDictionary[str, Holder] = weakref.WeakValueDictionary()
"""The holders in this process, by the keys of their machines."""


class ElementsInParts:
    """The elements of one array; see `Elements`."""

    __slots__ = ("__weakref__", "_dtype", "_holder", "_shape", "name")

    def __init__(self, holder: Holder, name: Name, shape: tuple[int, ...], dtype: Dtype) -> None:
        self._holder, self.name, self._shape, self._dtype = holder, name, shape, dtype

    @property
    def rank(self) -> int | None:
        return self._holder.rank

    @property
    def view(self) -> NDArray[Any]:
        raise without_memory("array.view")

    def read(self, index: Any, out: NDArray[Any] | None = None) -> Any:
        """Return ``array[index]``, in the array ``out`` if that is given, of the right shape and dtype."""
        field, index = without_field(index)
        found = selected(self._shape, index)
        straight = out is not None and field is None and out.flags.c_contiguous
        came = out if straight and out is not None else np.empty(found.shape, self._dtype)
        self._holder.read(self.name, self._shape, found, came)
        came = came if field is None else came[field]
        if out is None:
            return came if field is None else came.copy()
        if not straight:
            out[...] = came
        return out

    def write(self, index: Any, values: Any) -> None:
        """Set ``array[index]``."""
        field, index = without_field(index)
        found = selected(self._shape, index)
        dtype = self._dtype if field is None else np.empty(0, self._dtype)[field].dtype
        given = np.asarray(values)
        if given.shape != found.shape or given.dtype != dtype or not given.flags.c_contiguous:
            given = np.empty(found.shape, dtype)
            given[...] = values
        self._holder.write(self.name, self._shape, found, given, field)

    def pickled(self, shape: tuple[int, ...], dtype: Dtype) -> tuple[Callable[..., GlobalArray], Any]:
        return _attached, (self._holder.key, self.name, shape, dtype)


def in_parts(holder: Holder, name: Name, shape: tuple[int, ...], dtype: Dtype) -> GlobalArray:
    """Return a global array in parts."""
    return GlobalArray(ElementsInParts(holder, name, shape, dtype), shape, dtype)


def elements_of(array: GlobalArray) -> ElementsInParts:
    """Return the elements of an array in parts."""
    elements = array._elements
    assert isinstance(elements, ElementsInParts), "an array of another kind of machine"
    return elements


def _attached(key: str, name: Name, shape: tuple[int, ...], dtype: Dtype) -> GlobalArray:
    if key not in holders:
        raise MachineError(
            "a global array of another machine was sent here; an array can be used only by the machine that made it"
        )
    return holders[key].attached(name, shape, dtype)


def attached_cells(key: str, about: About) -> Cells:
    """Return the cells that came from another process of a machine."""
    if key not in holders:
        raise MachineError("cells of another machine were sent here; only the machine that made them can use them")
    return holders[key].attached_cells(about)
