"""Global arrays in parts, as the parent and the processors of a machine have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..memory.arrays import GlobalArray
from ..memory.indices import selected, without_field
from ..program.port import without_memory
from .holders import Holder, attached_array
from .messages import Name
from .parts import Dtype


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
        return attached_array, (self._holder.key, self.name, shape, dtype)


def in_parts(holder: Holder, name: Name, shape: tuple[int, ...], dtype: Dtype) -> GlobalArray:
    """Return a global array in parts."""
    return GlobalArray(ElementsInParts(holder, name, shape, dtype), shape, dtype)


def elements_of(array: GlobalArray) -> ElementsInParts:
    """Return the elements of an array in parts."""
    elements = array._elements
    assert isinstance(elements, ElementsInParts), "an array of another kind of machine"
    return elements
