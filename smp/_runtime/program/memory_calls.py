"""The calls by which a program makes global arrays and cells: all processors make them in the same order."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..memory.arrays import DtypeOf, GlobalArray, Scalar, Shape, checked
from ..memory.cells import Cells, checked_cells, checked_place
from .connected import Connected
from .superstep import checked_array


class MemoryCalls(Connected):
    """The calls of a processor that make global arrays and cells."""

    @overload
    def empty(self, shape: Shape) -> GlobalArray[np.float64]: ...
    @overload
    def empty(self, shape: Shape, dtype: DtypeOf[Scalar]) -> GlobalArray[Scalar]: ...
    @overload
    def empty(self, shape: Shape, dtype: DTypeLike) -> GlobalArray: ...
    def empty(self, shape: Shape, dtype: DTypeLike = np.float64) -> GlobalArray:
        """Make a global array.  All processors make the same call and get the same array.

        The array lives until the run ends, or longer if the program returns it.
        """
        made = checked(shape, dtype)
        self._tickets.settle()
        array = self._port.allocate(*made)
        self._touch(array)
        self._port.synchronise("end of allocation")
        return array

    def cells(
        self,
        n: int,
        dtype: DTypeLike = np.int64,
        full: bool = False,
        padded: bool = False,
        retries: int | None = None,
        at: int | None = None,
    ) -> Cells:
        """Make cells.  All processors make the same call and get the same cells.  See `Machine.cells`."""
        count, made, words, limit = checked_cells(n, dtype, padded, retries)
        place = checked_place(at, self.size)
        self._tickets.settle()
        cells = self._port.cells(count, made, words, limit, place, full)
        if full:
            self._port.synchronise("end of fill")
        return cells

    def counters(self) -> NDArray[np.void]:
        """Return the numbers of retries and traps of this processor's streams; see `Cells.counters`."""
        return self._port.diagnosis.counters()

    @overload
    def zeros(self, shape: Shape) -> GlobalArray[np.float64]: ...
    @overload
    def zeros(self, shape: Shape, dtype: DtypeOf[Scalar]) -> GlobalArray[Scalar]: ...
    @overload
    def zeros(self, shape: Shape, dtype: DTypeLike) -> GlobalArray: ...
    def zeros(self, shape: Shape, dtype: DTypeLike = np.float64) -> GlobalArray:
        """Make a global array of zeros; see `empty`."""
        return self.empty(shape, dtype)  # the memory of a new block is zero

    @overload
    def full(self, shape: Shape, value: Scalar, dtype: None = None) -> GlobalArray[Scalar]: ...
    @overload
    def full(self, shape: Shape, value: Any, dtype: DtypeOf[Scalar]) -> GlobalArray[Scalar]: ...
    @overload
    def full(self, shape: Shape, value: Any, dtype: DTypeLike | None = None) -> GlobalArray: ...
    def full(self, shape: Shape, value: Any, dtype: DTypeLike | None = None) -> GlobalArray:
        """Make a global array filled with one value; see `empty`."""
        values = np.asarray(value)
        return self._filled(self.empty(shape, values.dtype if dtype is None else dtype), values)

    @overload
    def array(self, data: NDArray[Scalar]) -> GlobalArray[Scalar]: ...
    @overload
    def array(self, data: ArrayLike) -> GlobalArray: ...
    def array(self, data: ArrayLike) -> GlobalArray:
        """Make a global array with a copy of ``data``, which must be the same on all processors; see `empty`."""
        local = np.asarray(data)
        return self._filled(self.empty(local.shape, local.dtype), local)

    def node_block(self, array: GlobalArray[Scalar]) -> tuple[int, NDArray[Scalar]]:
        """Return the elements of a global array that are in the memory of this processor's node, without a copy.

        Accesses through them are not counted, as those through ``array.view``.  Compiled loops may be called with
        them.

        Returns
        -------
        start : int
            Number of the first of these elements in the flat array.
        elements : ndarray of shape (n,)
            All elements, if the machine has one node.  On several nodes, each has a part of the flat array.

        Raises
        ------
        Unsupported
            On a machine whose processors share no memory.
        """
        return self._port.node_block(checked_array(array))

    def _filled(self, array: GlobalArray, values: NDArray[Any]) -> GlobalArray:
        self._port.fill(array, values)
        self._port.synchronise("end of fill")
        return array

    def _touch(self, array: GlobalArray) -> None:
        """Touch this processor's share of a new array, if the processors share memory."""
        memory = self._port.memory
        if memory is not None:
            memory.touch(array)
