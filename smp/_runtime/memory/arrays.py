"""Global arrays: a shape, a dtype and a name for elements that all processors of a machine can access.

A program reads and writes a global array in supersteps, where the accesses are counted.  Indexing it directly on a
processor is refused, because such accesses would be neither counted nor ordered.  The kind of machine determines
where the elements are (`Elements`); an array knows its shape and dtype without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smp.errors import PhaseError, Unsupported

if TYPE_CHECKING:
    from typing_extensions import TypeVar as WithDefault  # type checkers know it without the package

    Element = WithDefault("Element", bound=np.generic, covariant=True, default=Any)
else:
    Element = TypeVar("Element", covariant=True)

Scalar = TypeVar("Scalar", bound=np.generic)
Shape = int | Sequence[int]
DtypeOf = type[Scalar] | np.dtype[Scalar]
"""A dtype from which type checkers know the type of the elements."""


class Elements(Protocol):
    """Access to the elements of one global array, for one process."""

    @property
    def rank(self) -> int | None:
        """Rank of the processor that uses the array here; None in the parent."""

    @property
    def view(self) -> NDArray[Any]:
        """The array itself, without a copy.

        Raises
        ------
        Unsupported
            If no process has all of it.
        """

    def read(self, index: Any) -> Any:
        """Return ``array[index]``, in the parent: the elements themselves or a copy."""

    def write(self, index: Any, values: Any) -> None:
        """Set ``array[index]``, in the parent."""

    def pickled(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Callable[..., GlobalArray], Any]:
        """Return a function and its arguments, with which the process that receives the array makes it again."""


def _no_operator(symbol: str) -> Callable[..., NoReturn]:
    def refuse(array: GlobalArray, *_: object) -> NoReturn:
        raise TypeError(
            f"a global array has no operator {symbol}: on a processor, compute with the local array that step.copy_in "
            "returns; in the parent, compute with array[:]"
        )

    return refuse


class GlobalArray(Generic[Element]):
    """An array that all processors share. It is made by a machine or, collectively, by its processors.

    For type checkers, the type of the elements is a parameter, as in ``GlobalArray[np.float64]``.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype

    Examples
    --------
    >>> import numpy as np, smp
    >>> with smp.host(2) as machine:
    ...     squares = machine.array(np.arange(5) ** 2)
    ...     squares[1:3] = 0
    ...     print(squares[:], squares.dtype)
    [ 0  0  0  9 16] int64
    """

    __slots__ = ("__weakref__", "_elements", "_stand_in", "dtype", "shape")
    __smp_instead__ = (
        "give it the local array that step.copy_in returns, or array.view, through which accesses are not counted; "
        "or let step.copy_in_by call it"
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

    def __init__(self, elements: Elements, shape: tuple[int, ...], dtype: np.dtype[Element]) -> None:
        self._elements, self.shape, self.dtype = elements, shape, dtype
        self._stand_in: NDArray[Element] | None = None

    @property
    def view(self) -> NDArray[Element]:
        """The array itself, in this process, without a copy; accesses through it are not counted.

        Raises
        ------
        Unsupported
            On a machine without shared memory.
        """
        return self._elements.view

    @property
    def has_view(self) -> bool:
        """True if the array has a `view`, because all processors of its machine share one memory."""
        try:
            return self.view is not None
        except Unsupported:
            return False

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        return self.size * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a global array without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"GlobalArray(shape={self.shape}, dtype={self.dtype})"

    def stand_in(self) -> NDArray[Element]:
        """Return an array of this shape and dtype to check indices on; it takes no memory and is never written."""
        if self._stand_in is None:
            self._stand_in = np.broadcast_to(np.zeros((), self.dtype), self.shape)
        return self._stand_in

    def _in_parent(self) -> Elements:
        rank = self._elements.rank
        if rank is not None:
            raise PhaseError(
                f"processor {rank} accesses a global array outside a superstep; use step.copy_in and step.copy_out, "
                "which are counted, or array.view, which is not"
            )
        return self._elements

    @overload
    def __getitem__(self, index: slice | EllipsisType) -> NDArray[Element]: ...
    @overload
    def __getitem__(self, index: Any) -> Any: ...
    def __getitem__(self, index: Any) -> Any:
        return self._in_parent().read(index)

    def __setitem__(self, index: Any, values: Any) -> None:
        self._in_parent().write(index, values)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._in_parent().read(...), dtype=dtype, copy=copy)

    def __copy__(self) -> NoReturn:
        raise TypeError(
            "a copy by the copy module would be the same memory: in the parent, copy the elements with "
            "machine.array(array[:]); on a processor, with step.copy_in"
        )

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__copy__()

    def __reduce__(self) -> tuple[Callable[..., GlobalArray], Any]:
        return self._elements.pickled(self.shape, self.dtype)


def checked(shape: Shape, dtype: DTypeLike, what: str = "a global array") -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the dtype in standard form; raise an error if no array can have them."""
    made = np.dtype(dtype)
    if made.hasobject:
        raise TypeError(f"{what} cannot hold Python objects (dtype {made}): they exist in one process only")
    if made.itemsize == 0:
        raise TypeError(f"{what} needs a dtype with a size, not {made!r}; give the length, as in 'U16'")
    try:
        sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    except TypeError:
        raise TypeError(f"the shape of {what} must be made of integers, not {shape!r}") from None
    for n in sizes:
        if isinstance(n, bool) or not isinstance(n, int | np.integer):
            raise TypeError(f"the shape of {what} must be made of integers, not of {n!r}")
        if n < 0:
            raise ValueError(f"the shape of {what} must not have a negative length: {shape!r}")
    return tuple(int(n) for n in sizes) + made.shape, made.base  # if the dtype is itself an array
