"""Ports: memory of a processor in which blocks land, with a count of the elements that are still to come.

    proc.port(shape, dtype)    all processors       each gets memory of its own under the same number
    port.expect(n)             the receiver         missing += n      ┐
    proc.expect_at(to, ...)    a sender             missing += n      ├ an expectation is fulfilled when it has been
    a block of n elements      lands at the         missing -= n      ┘ stated and nothing is missing
                               receiver

Data may come before it is expected, so ``missing`` may be negative while no expectation is open.  While one is open, it
may not.  The handler of an expectation runs once, in the poll that fulfils it.  If the data have come before, that is
the next poll.

All messages about blocks go on one network.  Therefore what one sender sends to one receiver comes in order.

The processors make ports together and wait for each other at the end, so a block never comes to a port that does not
exist yet.

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 6.1.3 and Strata manual, for ports and counts.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.errors import WaitTimeout

from ...memory.shared_elements import elements_of
from ..port import Port
from .handlers import SAME, Handler, HandlerMismatch
from .messenger import Messenger
from .networks import BOTH, ONCE

LINE = 64
PORTS = 1 << 16
"""Largest number of ports."""
_EXPECTATION = struct.Struct("=qqq")  # number of the port, bytes, head of the handler or -1
_UNNUMBERED = -1


class BlockPort:
    """A port, as `Processor.port` returns it; a program may set further attributes of its own.

    Attributes
    ----------
    number : int
        Number of the port, the same on all processors.
    data : ndarray
        The memory of this processor in which blocks land.  Where processors share memory, it lies there.
    done : bool
        Whether the expectation that was stated last is fulfilled; False before the first one.
    """

    def __init__(
        self, ports: Ports, number: int, data: NDArray[Any], rows: NDArray[np.uint8] | None, then: Handler | None
    ) -> None:
        self.number, self.data, self.done = number, data, False
        self._ports, self._then = ports, then
        self._rows = rows  # the memory of all processors, as bytes and as elements, where they share memory
        self._places = None if rows is None else rows.view(data.dtype)
        self._handlers = len(ports.messenger.handlers)
        self._missing = 0  # bytes; negative if they came before they were expected
        self._expected: int | None = None  # bytes of the expectation that is open
        self._runs: Handler | None = None  # handler of that expectation
        self._last = ports.machine.rank  # processor from which data came last
        self._awaited = f"blocks at {self!r}"

    def expect(self, n: int) -> None:
        """State how many elements are to come.  When they are all there, the port's ``then`` runs, in a poll.

        This call does not poll.  Handlers may make it, also the ``then`` of this port.

        Parameters
        ----------
        n : int
            Number of elements, 0 or more; those that have come since the last expectation count.

        Raises
        ------
        ValueError
            If the last expectation is not fulfilled yet, or more than ``n`` elements have come since then.
        """
        count = operator.index(n)
        if count < 0:
            raise ValueError(f"the number of elements must be 0 or more, not {n}")
        self._state(count * self.data.itemsize, self._then, "the program")

    def wait(self, timeout: float | None = None) -> None:
        """Poll until the expectation that was stated last is fulfilled, or the first one if none was stated.

        Parameters
        ----------
        timeout : float, optional
            Longest time to wait, in seconds.

        Raises
        ------
        WaitTimeout
            If the elements have not come in time.
        HandlerError
            If it is called in a handler, or on another stream than the program's.
        """
        ports = self._ports
        messenger, deadline = ports.ready("port.wait"), ports.machine.deadline(timeout)
        messenger.poll(BOTH, ONCE)  # runs handlers of expectations that were fulfilled when they were stated
        if not messenger.wait(self._awaited, lambda: self.done, deadline):
            raise WaitTimeout(f"processor {ports.machine.rank} waited {timeout} s at {self!r}: {self._progress()}")

    def _progress(self) -> str:
        if self._expected is None:
            return "no expectation has been stated"
        return f"{self._elements(self._missing)} of {self._elements(self._expected)} expected elements are missing"

    def _elements(self, nbytes: int) -> str:
        """Return a number of elements, rounded up, for messages."""
        return f"{-(-nbytes // self.data.itemsize):,}"

    def _state(self, nbytes: int, runs: Handler | None, by: str) -> None:
        """Open an expectation."""
        if self._expected is not None:
            self._check_closed(f"{by} expects {self._elements(nbytes)} elements at")
        self._expected, self._runs, self.done = nbytes, runs, False
        self._missing += nbytes
        self._check()

    def _check_closed(self, what: str) -> None:
        """Raise an error if an expectation is open."""
        if self._expected is not None:
            raise ValueError(
                f"{what} {self!r} of processor {self._ports.machine.rank}, where an expectation is open: "
                f"{self._progress()}; wait until they have come"
            )

    def _came(self, source: int, nbytes: int) -> None:
        """Count bytes that have come from a processor."""
        self._last = source
        self._missing -= nbytes
        if self._missing <= 0:
            self._check()

    def _check(self) -> None:
        """Close the expectation that is open if it is fulfilled."""
        if self._expected is None or self._missing > 0:
            return
        if self._missing < 0:
            raise ValueError(
                f"{self._elements(self._expected - self._missing)} elements have come to {self!r} of processor "
                f"{self._ports.machine.rank}, where {self._elements(self._expected)} were expected; the last ones came "
                f"from processor {self._last}.  Those that came before they were expected count, too"
            )
        self._expected, self.done = None, True
        if self._runs is not None:
            self._ports.messenger.later(self._runs, self._last, self)

    def __repr__(self) -> str:
        return f"port {self.number} of {self.data.dtype}{list(self.data.shape)}"


class Ports:
    """The ports of one processor.

    Parameters
    ----------
    machine : Port
        The processor's connection to its machine.
    messenger : Messenger
        The messages of the processor.
    ready : callable
        ``ready(call)`` returns the messenger, or raises an error if the program may not make that call now.

    Attributes
    ----------
    known : list of BlockPort
        The ports by their numbers.
    """

    def __init__(self, machine: Port, messenger: Messenger, ready: Callable[[str], Messenger]) -> None:
        self.machine, self.messenger, self.ready = machine, messenger, ready
        self.known: list[BlockPort] = []
        self._expectation = messenger.handlers.reserve("expectation", self._stated)

    def make(self, shape: tuple[int, ...], dtype: np.dtype[Any], then: Callable[..., object] | None) -> BlockPort:
        """Make a port, together with all other processors; see `Processor.port`."""
        number, machine, memory = len(self.known), self.machine, self.machine.memory
        if number == PORTS:
            raise ValueError(f"a program can make at most {PORTS:,} ports")
        handler = None if then is None else Handler(_UNNUMBERED, then, replies=False)
        machine.synchronise(f"port of {dtype}{list(shape)}")
        if memory is None:
            data, rows = np.zeros(shape, dtype), None
        else:
            nbytes = math.prod(shape) * dtype.itemsize
            array = machine.allocate((machine.size, -(-nbytes // LINE) * LINE), np.dtype(np.uint8))
            memory.touch(array)
            rows = elements_of(array).all[:, :nbytes]
            data = rows[machine.rank].view(dtype).reshape(shape)
        self.known.append(BlockPort(self, number, data, rows, handler))
        machine.synchronise("end of allocation")
        return self.known[number]

    def expect_at(self, to: int, port: BlockPort, n: int, then: Handler | None) -> None:
        """Send an expectation; see `Processor.expect_at`."""
        words = _EXPECTATION.pack(port.number, n * port.data.itemsize, -1 if then is None else then.head)
        self.messenger.send_words(to, self._expectation, words)

    def _stated(self, source: int, number: int, nbytes: int, head: int) -> None:
        port = self.known[number]
        runs = port._then if head < 0 else self.messenger.handlers.named(head, source)
        if runs is None and head >= 0:
            raise HandlerMismatch(
                f"processor {source} states an expectation at {port!r} with a handler that is not registered on "
                f"processor {self.machine.rank}: {SAME}, before the port"
            )
        port._state(nbytes, runs, f"processor {source}")
