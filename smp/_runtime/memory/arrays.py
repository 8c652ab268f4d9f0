"""Global arrays: NumPy arrays in the memory that all processors of a machine share.

A global array is a name that every process of the machine understands: (segment, offset, shape, dtype).  Host
code works on it through its NumPy view.  A program reads and writes it in supersteps, where the accesses are
counted; indexing it directly on a processor is refused, because nothing would count it or order it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smp.errors import MachineError, PhaseError

from .segment import Block, Segment, segment_of

Shape = int | Sequence[int]


def _no_operator(symbol: str) -> Callable[..., NoReturn]:
    def refuse(array: GlobalArray, *_: object) -> NoReturn:
        raise TypeError(
            f"a global array has no operator {symbol}: on a processor compute with the local array that step.copy_in "
            "returns, in the parent with array[:]"
        )

    return refuse


class GlobalArray:
    """An array in shared memory, made by a machine or, collectively, by its processors.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    view : numpy.ndarray
        The array itself, in this process, without copy.  Accesses through it are not counted.

    Examples
    --------
    >>> import numpy as np, smp
    >>> with smp.host(2) as machine:
    ...     squares = machine.array(np.arange(5) ** 2)
    ...     squares[1:3] = 0
    ...     print(squares[:], squares.dtype)
    [ 0  0  0  9 16] int64
    """

    __slots__ = ("__weakref__", "_block", "_elements", "dtype", "shape", "view")
    __smp_instead__ = (
        "give it the local array that step.copy_in returns, or array.view, through which accesses are not counted; "
        "or have step.copy_in_by call it"
    )
    __add__ = __radd__ = _no_operator("+")
    __sub__ = __rsub__ = __neg__ = _no_operator("-")
    __mul__ = __rmul__ = _no_operator("*")
    __truediv__ = __rtruediv__ = _no_operator("/")
    __floordiv__ = __rfloordiv__ = _no_operator("//")
    __mod__ = __rmod__ = _no_operator("%")
    __pow__ = __rpow__ = _no_operator("**")
    __matmul__ = __rmatmul__ = _no_operator("@")
    __and__ = __rand__ = _no_operator("&")
    __or__ = __ror__ = _no_operator("|")
    __xor__ = __rxor__ = _no_operator("^")
    __lt__, __le__, __gt__, __ge__ = map(_no_operator, ("<", "<=", ">", ">="))

    def __init__(self, block: Block, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._block, self.shape, self.dtype = block, shape, dtype
        self._elements: NDArray[Any] = (
            np.asarray(block).view(dtype).reshape(shape) if block.nbytes else np.empty(shape, dtype)
        )
        witness = block.segment.witness
        self.view: NDArray[Any] = self._elements if witness is None else witness.shown(self._elements, "array.view")

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._elements.size

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        return self._elements.nbytes

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._elements.ndim

    def __len__(self) -> int:
        return len(self._elements)

    def __repr__(self) -> str:
        return f"GlobalArray(shape={self.shape}, dtype={self.dtype})"

    def _on_host(self) -> NDArray[Any]:
        rank = self._block.segment.rank
        if rank is not None:
            raise PhaseError(
                f"processor {rank} accesses a global array outside a superstep; use step.copy_in and step.copy_out, "
                "which are counted, or array.view, which is not"
            )
        return self._elements

    def __getitem__(self, index: Any) -> Any:
        return self._on_host()[index]

    def __setitem__(self, index: Any, values: Any) -> None:
        self._on_host()[index] = values

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._on_host(), dtype=dtype, copy=copy)

    def __reduce__(self) -> tuple[Callable[..., GlobalArray], tuple[Any, ...]]:
        block = self._block
        return _attach, (block.segment.id, block.offset, block.nbytes, self.shape, self.dtype)


def _attach(segment_id: int, offset: int, nbytes: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
    segment = segment_of(segment_id)
    if segment is None:
        raise MachineError(
            "a global array of another machine was sent here; an array can be used only by the machine that made it"
        )
    return GlobalArray(segment.block(offset, nbytes), shape, dtype)


def checked(shape: Shape, dtype: DTypeLike) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return a clean (shape, dtype, bytes), or refuse at the border what no array can be."""
    made = np.dtype(dtype)
    if made.hasobject:
        raise TypeError(f"a global array cannot hold Python objects (dtype {made}): they live in one process only")
    if made.itemsize == 0:
        raise TypeError(f"a global array needs a dtype with a size, not {made!r}; give the length, as in 'U16'")
    try:
        sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    except TypeError:
        raise TypeError(f"the shape of a global array is made of integers, not {shape!r}") from None
    for n in sizes:
        if isinstance(n, bool) or not isinstance(n, int | np.integer):
            raise TypeError(f"the shape of a global array is made of integers, not of {n!r}")
        if n < 0:
            raise ValueError(f"the shape of a global array has a negative length: {shape!r}")
    lengths = tuple(int(n) for n in sizes) + made.shape  # of a dtype that is itself an array
    made = made.base
    return lengths, made, math.prod(lengths) * made.itemsize


def attach(segment: Segment, offset: int, nbytes: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
    """The global array at an offset of this process's segment."""
    return _attach(segment.id, offset, nbytes, shape, dtype)
