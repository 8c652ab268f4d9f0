"""The collectives of a processor: all processors call them in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..connected import Connected
from ..port import Port
from ..steps import Recorder
from . import exchange as collectives
from .exchange import Exchange
from .stage import Operator
from .tickets import Split, truth


class CollectiveCalls(Connected):
    """The collectives of a processor."""

    def __init__(self, port: Port, recorder: Recorder) -> None:
        super().__init__(port, recorder)
        self._exchange = Exchange(port, recorder, self._tickets.settle)
        self._split = Split(self._tickets, port.size)
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
        vote = truth(what, x)
        self._tickets.settle(timeout)
        return self._port.count(what, vote, timeout)

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

    def broadcast(self, value: Any, root: int = 0) -> Any:
        """Return processor ``root``'s value on all processors; the value may be anything that can be pickled."""
        return collectives.broadcast(self._exchange, value, root)

    def reduce(self, value: Any, op: Operator = np.add, *, out: NDArray[Any] | None = None) -> Any:
        """Return the values of all processors, combined in rank order, on every processor.

        Parameters
        ----------
        value : number or ndarray
            This processor's value, of the same dtype and shape on all processors.
        op : NumPy ufunc or callable of two arguments
            Associative operator.  Integers wrap around as NumPy's do.
        out : ndarray, optional
            Receives the result; an array like ``value``, which may be ``value`` itself.  It saves a new array, whose
            pages the system would have to map and clear.

        Returns
        -------
        number or ndarray
            The combined value, with the same bits on every processor and in every repeat; ``out`` if it was given.

        Raises
        ------
        TypeError, ValueError
            If the value is not a number or an array of numbers, or ``out`` does not fit.

        Notes
        -----
        Processors that share memory combine long arrays by parts, if ``op`` is a ufunc: each moves its array about
        three times, whatever their number.
        """
        return collectives.reduce(self._exchange, value, op, out)

    def scan(self, value: Any, op: Operator = np.add, *, out: NDArray[Any] | None = None) -> Any:
        """Return the values of processors 0 to this one, combined in rank order; see `reduce`."""
        return collectives.scan(self._exchange, value, op, out)

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processors, by rank, on all; the values may be anything that can be pickled."""
        return collectives.gather(self._exchange, value)
