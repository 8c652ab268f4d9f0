"""The collectives of a processor: all processors call them in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..connected import Connected
from ..port import Port
from ..steps import Recorder
from .combine import Combining
from .exchange import Exchange
from .operators import Operator
from .segments import Boundary, checked_boundary
from .split import Split
from .tickets import truth
from .transport import Transport


class CollectiveCalls(Connected):
    """The collectives of a processor."""

    def __init__(self, port: Port, recorder: Recorder) -> None:
        super().__init__(port, recorder)
        self._exchange = Exchange(port, recorder, self._tickets)
        self._transport = Transport(self._exchange)
        self._combining = Combining(self._exchange, self._tickets)
        self._split = Split(self._tickets, port.size, self._combining, self._transport)
        self._flag = True  # whether this processor's flag is up

    @property
    def split(self) -> Split:
        """Collectives that this processor begins now and waits for later; see `Ticket`."""
        return self._split

    def barrier(self, timeout: float | None = None) -> None:
        """Wait until every processor has arrived here.

        Parameters
        ----------
        timeout : float, optional
            Longest time to wait, in seconds.

        Raises
        ------
        WaitTimeout
            If the other processors have not arrived in time.  This processor's arrival still counts, so a program
            that catches the error must call ``barrier`` again, which goes on waiting here, before any other
            collective.
        """
        if self._tickets.open:
            self._tickets.settle(timeout)
        self._port.synchronise("barrier", timeout)

    def any(self, x: bool, timeout: float | None = None) -> bool:
        """Return True on every processor if ``x`` is true on at least one, after one barrier.

        Parameters
        ----------
        x : bool
            This processor's truth value.
        timeout : float, optional
            Longest time to wait, in seconds; see `barrier`.

        Raises
        ------
        ValueError
            If ``x`` is an array of several elements, which has no truth value.
        WaitTimeout
            As for `barrier`.
        """
        return self._count("any", x, timeout) > 0

    def all(self, x: bool, timeout: float | None = None) -> bool:
        """Return True on every processor if ``x`` is true on all; see `any`."""
        return self._count("all", x, timeout) == self.size

    def count(self, x: bool, timeout: float | None = None) -> int:
        """Return the number of processors on which ``x`` is true; see `any`."""
        return self._count("count", x, timeout)

    def _count(self, what: str, x: bool, timeout: float | None) -> int:
        vote = x if x is True or x is False else truth(what, x)
        if self._tickets.open:
            self._tickets.settle(timeout)
        return self._port.synchronise(what, timeout, vote)

    def flag(self, up: bool) -> bool:
        """Raise or lower this processor's flag without waiting; return True if it was up before.

        All flags are up when a program starts.  Processors can thus agree that no work is left without stopping at a
        barrier: each lowers its flag when it is idle, and stops when `any_flag` is false.
        """
        memory, before = self._shared_memory("a flag"), self._flag
        if truth("flag", up) != before:
            self._flag = not before
            memory.raise_flag(self._flag)
        return before

    def any_flag(self) -> bool:
        """Return True if the flag of at least one processor is up, at one moment during the call; do not wait."""
        return self._shared_memory("a flag").any_flag()

    def broadcast(self, value: Any, root: int = 0, *, out: NDArray[Any] | None = None) -> Any:
        """Return processor ``root``'s value on all processors.

        Parameters
        ----------
        value : object
            The value, on processor ``root``: anything that can be pickled; numbers in arrays are not pickled.
        root : int
            Processor that gives the value.
        out : ndarray, optional
            Receives the value, which must be an array of the same dtype and shape.

        Raises
        ------
        ValueError
            If there is no processor ``root``, or the value does not fit ``out``.

        Notes
        -----
        Processor ``root`` may change its value when this returns, which may be before the others have received it.
        """
        return self._transport.broadcast(False, value, root, out)

    def reduce(
        self,
        value: Any,
        op: Operator = np.add,
        *,
        segments: Boundary | None = None,
        out: NDArray[Any] | None = None,
    ) -> Any:
        """Return the values of all processors, combined in rank order, on every processor.

        Parameters
        ----------
        value : number or ndarray
            This processor's value, of the same dtype and shape on all processors.
        op : NumPy ufunc or callable of two arguments
            Associative operator.  Integers of NumPy wrap around.  Logical operators combine truth values.
        segments : Boundary, optional
            Boundary between the processor before this one and this one, ``smp.ELEMENT`` or ``smp.ARRAY``; by default
            ``smp.NONE``.  Every processor gets the result of its own segment.
        out : ndarray, optional
            Receives the result; an array like ``value``, which may be ``value`` itself.  It saves a new array, whose
            pages the system would have to map and clear.

        Returns
        -------
        number or ndarray
            The combined value, with the same bits on every processor of the segment and in every repeat; ``out`` if it
            was given.

        Raises
        ------
        TypeError, ValueError
            If the value is not a number or an array of numbers, or an argument does not fit.
        OverflowError
            If a Python integer, or a sum or product of Python integers, does not fit into 64 bits with a sign.

        Notes
        -----
        Processors that share memory combine long arrays by parts, if ``op`` is a ufunc: each moves its array two to
        three times, whatever their number.
        """
        return self._combining.reduce(False, value, op, segments, out)

    def scan(
        self,
        value: Any,
        op: Operator = np.add,
        *,
        exclusive: bool = False,
        reverse: bool = False,
        segments: Any = None,
        identity: Any = None,
        along: bool = False,
        out: NDArray[Any] | None = None,
    ) -> Any:
        """Return the values of processors 0 to this one, combined in rank order.

        Parameters
        ----------
        value, op, out
            As for `reduce`.
        exclusive : bool
            Whether to leave out this processor's own value.  Processor 0 then gets the identity of the operator.
        reverse : bool
            Whether to scan from the last processor down to this one.
        segments : Boundary or bool array, optional
            Boundary between the previous processor and this one, which the scan does not cross: ``smp.NONE``,
            ``smp.ELEMENT`` or ``smp.ARRAY``.  By default, it is what `segment` has set.  With ``along``, a boolean
            array of the length of the part, true where a segment begins.
        identity : number, optional
            Number that the operator combines with x into x.  Exclusive scans need it if ``op`` is not a ufunc whose
            identity is known.
        along : bool
            Whether the values are parts of one long vector, which is scanned as a whole.  The parts may differ in
            length, and be empty.

        Returns
        -------
        number or ndarray
            The combined value, of the dtype and shape of ``value``.

        Raises
        ------
        TypeError, ValueError
            As for `reduce`; also if an exclusive scan needs ``identity``.
        OverflowError
            As for `reduce`.

        Examples
        --------
        >>> import smp
        >>> def program(proc):
        ...     return proc.scan(1), proc.scan(1, exclusive=True), proc.scan(1, reverse=True)
        >>> with smp.host(3) as machine:
        ...     machine.run(program).results
        [(1, 0, 3), (2, 1, 2), (3, 2, 1)]

        Notes
        -----
        Source: E. A. Brewer, Portable High-Performance Supercomputing, Strata manual, section 4.
        """
        return self._combining.scan(False, value, op, exclusive, reverse, segments, identity, along, out)

    def segment(self, kind: Boundary | None = None) -> Boundary:
        """Return the boundary before this processor that scans take by default; set it first if ``kind`` is given.

        Parameters
        ----------
        kind : Boundary, optional
            ``smp.NONE``, ``smp.ELEMENT`` or ``smp.ARRAY``; see `smp.Boundary`.
        """
        if kind is not None:
            self._combining.boundary = checked_boundary("segment", kind)
        return self._combining.boundary

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processors, by rank, on all; the values may be anything that can be pickled."""
        return self._transport.gather(value)
