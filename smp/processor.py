"""What an SPMD program holds: its rank, its supersteps, its collectives, its compiled loops' words."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import collectives
from ._port import Port
from ._segments import PAGE
from .arrays import GlobalArray, Shape, checked
from .collectives import Operator
from .errors import NotPicklable
from .steps import Recorder
from .superstep import Superstep


class Processor:
    """One processor of a machine, given to the program as its first argument.

    Attributes
    ----------
    rank, size : int
        Which processor this is, of how many.
    sync : int64 array
        The machine's shared words, to be passed to compiled loops that call `smp.compiled.barrier`.
    """

    def __init__(self, port: Port, recorder: Recorder) -> None:
        self._port, self._recorder = port, recorder
        self.rank, self.size, self.sync = port.rank, port.size, port.sync
        self._steps = 0

    def __repr__(self) -> str:
        return f"<processor {self.rank} of {self.size}>"

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(f"processor {self.rank} stays in its process; send what is needed of it, such as its rank")

    def block(self, n: int) -> slice:
        """Return this processor's share of ``range(n)``: even, in order, the first ones longer by one.

        Raises
        ------
        TypeError, ValueError
            When ``n`` is not a whole number from 0.

        Examples
        --------
        >>> import smp
        >>> with smp.host(2) as machine:
        ...     machine.run(lambda proc: proc.block(5)).results
        [slice(0, 3, None), slice(3, 5, None)]
        """
        if operator.index(n) < 0:
            raise ValueError(f"there is no share of {n} elements")
        return share(operator.index(n), self.rank, self.size)

    def superstep(self, label: str = "") -> Superstep:
        """Begin a superstep: copy-in, compute, copy-out, with a barrier after each (see `smp.superstep`).

        Parameters
        ----------
        label : str
            Its name in ``run.steps``; the same on all processors, at most 32 characters are kept.
        """
        self._steps += 1
        return Superstep(self._port, self._recorder, self._steps - 1, str(label))

    def barrier(self, timeout: float | None = None) -> None:
        """Wait until every processor is here.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most.

        Raises
        ------
        WaitTimeout
            When the others have not come in time.  A program that catches it stays counted in at this barrier: its
            next ``barrier`` goes on waiting there, and it must call that before any other collective.
        """
        self._port.synchronise("barrier", timeout)

    def broadcast(self, value: Any, root: int = 0) -> Any:
        """Return processor ``root``'s value on all; anything that can be pickled."""
        return collectives.broadcast(self._port, value, root)

    def reduce(self, value: Any, op: Operator = np.add) -> Any:
        """Return ``value`` combined over all processors, in rank order, on all.

        Parameters
        ----------
        value : number or ndarray
            Of the same dtype and shape on all processors.
        op : NumPy ufunc or callable of two arguments
            Associative.  Integers wrap around as NumPy's do.

        Returns
        -------
        number or ndarray
            The same bits on every processor and every repeat.
        """
        return collectives.reduce(self._port, value, op)

    def scan(self, value: Any, op: Operator = np.add) -> Any:
        """Return ``value`` combined over processors 0 to this one; see `reduce`."""
        return collectives.scan(self._port, value, op)

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processors, by rank, on all; anything that can be pickled."""
        return collectives.gather(self._port, value)

    def empty(self, shape: Shape, dtype: DTypeLike = np.float64) -> GlobalArray:
        """Make a global array; all processors call it alike and get the same one.

        It lives until the run ends, or longer where the program returns it.
        """
        lengths, made, nbytes = checked(shape, dtype)
        array = self._port.allocate(lengths, made, nbytes)
        touch(array, self.rank, self.size)
        self._port.synchronise("end of allocation")
        return array

    def zeros(self, shape: Shape, dtype: DTypeLike = np.float64) -> GlobalArray:
        """Make a global array of zeros; see `empty`."""
        return self.empty(shape, dtype)  # the memory of a new block is zero

    def full(self, shape: Shape, value: Any, dtype: DTypeLike | None = None) -> GlobalArray:
        """Make a global array filled with one value; see `empty`."""
        array = self.empty(shape, np.asarray(value).dtype if dtype is None else dtype)
        if np.ndim(value):
            value = np.broadcast_to(value, array.shape)
        if array.ndim == 0:
            array.view[...] = value
        else:
            mine = share(len(array), self.rank, self.size)
            array.view[mine] = value[mine] if np.ndim(value) else value
        self._port.synchronise("end of fill")
        return array

    def array(self, data: ArrayLike) -> GlobalArray:
        """Make a global array with a copy of ``data``, which is the same on all processors; see `empty`."""
        local = np.asarray(data)
        array = self.empty(local.shape, local.dtype)
        mine = share(local.size, self.rank, self.size)
        array.view.reshape(-1)[mine] = local.reshape(-1)[mine]
        self._port.synchronise("end of fill")
        return array


def share(n: int, rank: int, size: int) -> slice:
    """The part of ``range(n)`` that is processor ``rank``'s."""
    each, rest = divmod(n, size)
    start = rank * each + min(rank, rest)
    return slice(start, start + each + (rank < rest))


def touch(array: GlobalArray, rank: int, size: int) -> None:
    """Touch this processor's share of the pages, so that they lie in its own memory.  They stay zero."""
    octets: NDArray[np.uint8] = np.asarray(array._block)
    mine = share(octets.size, rank, size)
    octets[mine][::PAGE] = 0
