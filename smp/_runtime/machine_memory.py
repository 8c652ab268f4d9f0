"""The arrays and cells that the parent makes on a machine."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .memory.arrays import DtypeOf, GlobalArray, Scalar, Shape, checked
from .memory.cells import Cells, checked_place
from .program.port import Processors


class MachineMemory:
    """The calls of a machine that make global arrays and cells."""

    _processors: Processors

    def _touch(self, array: GlobalArray) -> None:
        """Have the processors touch their pages of a large array, if this determines where the pages lie."""
        raise NotImplementedError

    @overload
    def empty(self, shape: Shape) -> GlobalArray[np.float64]: ...
    @overload
    def empty(self, shape: Shape, dtype: DtypeOf[Scalar]) -> GlobalArray[Scalar]: ...
    @overload
    def empty(self, shape: Shape, dtype: DTypeLike) -> GlobalArray: ...
    def empty(self, shape: Shape, dtype: DTypeLike = np.float64) -> GlobalArray:
        """Make a global array; see `zeros`."""
        array = self._processors.array(*checked(shape, dtype))
        self._touch(array)
        return array

    @overload
    def zeros(self, shape: Shape) -> GlobalArray[np.float64]: ...
    @overload
    def zeros(self, shape: Shape, dtype: DtypeOf[Scalar]) -> GlobalArray[Scalar]: ...
    @overload
    def zeros(self, shape: Shape, dtype: DTypeLike) -> GlobalArray: ...
    def zeros(self, shape: Shape, dtype: DTypeLike = np.float64) -> GlobalArray:
        """Make a global array of zeros.

        Parameters
        ----------
        shape : int or sequence of int
        dtype : dtype_like
            Any NumPy dtype without Python objects.

        Returns
        -------
        GlobalArray
            On the host, each processor first touches its own pages of a large array, so that they lie in nearby memory.

        Raises
        ------
        OutOfSharedMemory
            If the array does not fit into the memory that is left.
        """
        return self.empty(shape, dtype)  # the memory of a new block is zero

    def cells(
        self,
        n: int,
        dtype: DTypeLike = np.int64,
        full: bool = False,
        padded: bool = False,
        retries: int | None = None,
        at: int | None = None,
    ) -> Cells:
        """Make cells: words with a full/empty bit each, on which threads of all processors wait (see `smp.Cells`).

        Parameters
        ----------
        n : int
            Number of cells.
        dtype : dtype_like
            Integers of 8, 32 or 64 bits, bool, float32 or float64.
        full : bool
            Whether the cells begin full.  Their value is 0 in any case.
        padded : bool
            Whether each cell has a cache line of its own, 64 bytes instead of 16.
        retries : int, optional
            Further looks before a thread sleeps (traps); by default 1024, 16 for streams sharing CPUs, 2 if emulated.
        at : int, optional
            A processor on whose node the cells live.  By default, they are dealt to the nodes as the elements of an
            array are.  It only matters on several nodes.

        Returns
        -------
        Cells

        Raises
        ------
        TypeError, ValueError
            If no cells can be made from the arguments.
        Unsupported
            On a machine without shared memory.
        """
        return self._processors.cells(n, dtype, full, padded, retries, checked_place(at, self._processors.size))

    @overload
    def full(self, shape: Shape, value: Scalar, dtype: None = None) -> GlobalArray[Scalar]: ...
    @overload
    def full(self, shape: Shape, value: Any, dtype: DtypeOf[Scalar]) -> GlobalArray[Scalar]: ...
    @overload
    def full(self, shape: Shape, value: Any, dtype: DTypeLike | None = None) -> GlobalArray: ...
    def full(self, shape: Shape, value: Any, dtype: DTypeLike | None = None) -> GlobalArray:
        """Make a global array filled with one value; its dtype is by default that of the value; see `zeros`."""
        array = self.empty(shape, np.asarray(value).dtype if dtype is None else dtype)
        array._elements.write(..., value)
        return array

    @overload
    def array(self, data: NDArray[Scalar]) -> GlobalArray[Scalar]: ...
    @overload
    def array(self, data: ArrayLike) -> GlobalArray: ...
    def array(self, data: ArrayLike) -> GlobalArray:
        """Make a global array with a copy of ``data``; see `zeros`."""
        local = np.asarray(data)
        array = self.empty(local.shape, local.dtype)
        array._elements.write(..., local)
        return array
