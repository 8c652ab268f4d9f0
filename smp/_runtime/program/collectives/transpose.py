"""The transpose: every processor has a part for each processor, and gets the parts that all have for it.

                    parts that it has                            parts that it gets
    processor 0     a0  a1  a2                  processor 0      a0  b0  c0
    processor 1     b0  b1  b2                  processor 1      a1  b1  c1
    processor 2     c0  c1  c2                  processor 2      a2  b2  c2

Unless the caller names a schedule, processors that share memory pass the parts on as `relay` describes.  On other
machines every processor gets the parts of all, by the port's ``exchange``; a table of their lengths comes before parts
of different lengths.  The schedules that send blocks are in `messages.schedules`.

Source: MPI, A Message-Passing Interface Standard, section "All-to-All Scatter/Gather", for the operations.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp.errors import Unsupported

from ..messages.block_calls import BlockCalls
from ..messages.schedules import ByBlocks, InRounds, Interleaved, Landing
from ..port import Port
from ..steps import Recorder
from .combination import check_out
from .patterns import rounds
from .relay import Relay, octets

SCHEDULES = ("copies", "rounds", "interleaved")


class TransposeCalls(BlockCalls):
    """The transpose of a processor."""

    def __init__(self, port: Port, recorder: Recorder) -> None:
        super().__init__(port, recorder)
        self._passing = ByExchange(port) if port.memory is None else Relay(port, port.memory)

    def transpose(
        self,
        data: ArrayLike | Sequence[NDArray[Any]],
        out: NDArray[Any] | None = None,
        *,
        schedule: Literal["copies", "rounds", "interleaved"] | None = None,
        barriers: int | None = None,
    ) -> Any:
        """Send part j of ``data`` to processor j, and return the parts from all processors, by rank.

        Parameters
        ----------
        data : ndarray (size, ...) or list of ndarray
            A part for each processor: an array of the same dtype and shape on all processors, or a list of ``size``
            arrays (n, ...).  The arrays of a list differ only in n, which may be 0; the dtype and the rest of the shape
            are the same on all processors.
        out : ndarray, optional
            Receives the result; an array like ``data``, which may be ``data`` itself.  It saves a new array, whose
            pages the system would have to map and clear.  It cannot be given with a list.
        schedule : {"copies", "rounds", "interleaved"}, optional
            The way of the parts, the same on all processors.  With "copies", each processor copies its parts out of
            shared memory.  With "rounds", blocks are sent in rounds, in each of which every processor sends to one and
            receives from one.  With "interleaved", a processor sends parts of the blocks for all others in turn.
            By default, processors that share memory take "copies", and on other machines each gets the parts of all.
        barriers : int, optional
            With "rounds", the number of rounds between two barriers, the same on all processors; 0 for no barrier.  By
            default, it is 512 divided by the bytes of the longest part, rounded up.

        Returns
        -------
        ndarray (size, ...) or list of ndarray
            Part i came from processor i.  A list comes back for a list, an array for an array: ``out`` if it was given.

        Raises
        ------
        TypeError, ValueError
            If there is not one part for each processor, the parts hold Python objects or differ in more than n, or
            ``out`` does not fit; if there is no such schedule, or ``barriers`` is not for it.
        Unsupported
            If the schedule is "copies" and the processors share no memory.
        CollectiveMismatch
            Ends the run, if the processors name different schedules.

        Notes
        -----
        This is an all-to-all exchange, MPI's Alltoall, and Alltoallv for a list.  Processors that share memory copy
        what goes to others twice, through rows that stay in the caches.  They need one barrier for up to 32 KiB, and
        otherwise one for about every 512 KiB that a processor sends.  On other machines, every processor receives the
        parts of all.

        "rounds" and "interleaved" poll, so handlers may run, and begin with one barrier.  The parts land in a port that
        has room for all parts of a processor and lasts until the run ends.  "interleaved" also sends the blocks that
        `start_block` has queued.

        Examples
        --------
        >>> import numpy as np, smp
        >>> with smp.emulated(2) as machine:
        ...     machine.run(lambda proc: proc.transpose(np.array([0, 1]) + 10 * proc.rank).tolist()).results
        [[0, 10], [1, 11]]
        """
        name, passing = self._passing_by(schedule, barriers)
        if isinstance(data, list | tuple):
            return self._unequal(data, out, name, passing)
        mine = np.asarray(data)
        _check(mine)
        if mine.ndim == 0 or len(mine) != self.size:
            raise ValueError(
                f"transpose on {self.size} processors needs an array of shape ({self.size}, ...), with a part for each "
                f"processor, not {mine.dtype}{list(mine.shape)}"
            )
        if out is not None:
            check_out("transpose", mine, out)
        return self._equal(np.ascontiguousarray(mine), out, name, passing)

    def _passing_by(self, schedule: str | None, barriers: int | None) -> tuple[str, Passing]:
        """Return the name of a transpose by a schedule, on which all must agree, and the way of its parts."""
        if schedule is not None and schedule not in SCHEDULES:
            raise ValueError(f"schedule must be one of {', '.join(map(repr, SCHEDULES))}, or None, not {schedule!r}")
        if barriers is not None and (schedule != "rounds" or operator.index(barriers) < 0):
            raise ValueError(
                f"barriers={barriers!r} with schedule={schedule!r}: barriers is the number of rounds between two "
                'barriers, 0 or more, of schedule="rounds"'
            )
        if schedule is None or schedule == "copies":
            if schedule is not None and self._port.memory is None:
                raise Unsupported(
                    'schedule="copies" needs memory that all processors share, and those of this machine do not: '
                    'take "rounds" or "interleaved", or name no schedule'
                )
            return "transpose", self._passing
        self._ready("proc.transpose")
        if schedule == "rounds":
            in_turn = InRounds(self, self._targets, barriers)
            said = "" if barriers is None else f", barriers={barriers}"
            return f"transpose(schedule='rounds'{said})", ByBlocks(self, in_turn, self._landing)
        return "transpose(schedule='interleaved')", ByBlocks(self, Interleaved(self), self._landing)

    @functools.cached_property
    def _landing(self) -> Landing:
        return Landing(self)

    @functools.cached_property
    def _targets(self) -> list[int]:
        """Receiver of this processor in each round."""
        return [int(targets[self.rank]) for targets in rounds(self.size)[1:]]

    def _equal(self, mine: NDArray[Any], out: NDArray[Any] | None, name: str, passing: Passing) -> NDArray[Any]:
        received = np.empty(mine.shape, mine.dtype) if out is None or not out.flags.c_contiguous else out
        if np.may_share_memory(mine, received) and mine.ctypes.data != received.ctypes.data:
            mine = mine.copy()
        began = self._exchange.begin()
        passing.equal(self._exchange.agreed(name, mine), mine, received)
        others = mine.nbytes - mine.nbytes // self.size
        self._exchange.record("transpose", mine.itemsize, others, others, began)
        if out is None or out is received:
            return received
        out[...] = received
        return out

    def _unequal(self, data: Sequence[Any], out: object, name: str, passing: Passing) -> list[NDArray[Any]]:
        if out is not None:
            raise TypeError("out= of transpose goes with an array; for a list it returns a list of new arrays")
        if len(data) != self.size:
            raise ValueError(
                f"transpose on {self.size} processors needs a list of {self.size} arrays, one for each processor, not "
                f"of {len(data)}"
            )
        parts = [np.asarray(part) for part in data]
        first = parts[0]
        for target, part in enumerate(parts):
            _check(part)
            if part.ndim == 0 or (part.dtype, part.shape[1:]) != (first.dtype, first.shape[1:]):
                raise ValueError(
                    "arrays in a list for transpose have one dtype, and shapes that differ only in the first length; "
                    f"the part for processor {target} is {part.dtype}{list(part.shape)}, and that for processor 0 "
                    f"{first.dtype}{list(first.shape)}"
                )
        began = self._exchange.begin()
        description = f"{name} of parts of {first.dtype}{list(first.shape[1:])}"
        received = passing.unequal(description, [np.ascontiguousarray(part) for part in parts])
        read, written = (sum(part.nbytes for part in each) - parts[self.rank].nbytes for each in (received, parts))
        self._exchange.record("transpose", first.itemsize, read, written, began)
        return received


class ByExchange:
    """Parts on their way between processors that share no memory: each receives the parts for all."""

    def __init__(self, port: Port) -> None:
        self._port = port

    def equal(self, description: str, data: NDArray[Any], out: NDArray[Any]) -> None:
        """Pass on parts of one length; see `Relay.equal`."""
        for source, block in enumerate(self._port.exchange(description, octets(data).data)):
            out[source] = np.frombuffer(block, data.dtype).reshape(data.shape)[self._port.rank]

    def unequal(self, description: str, parts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Pass on parts of different lengths; see `Relay.unequal`."""
        dtype, shape, rank = parts[0].dtype, parts[0].shape[1:], self._port.rank
        row = math.prod(shape) * dtype.itemsize
        lengths = np.array([len(part) for part in parts], np.int64)
        received = []
        for block in self._port.exchange(description, *(octets(each).data for each in (lengths, *parts))):
            theirs = np.frombuffer(block, np.int64, len(parts))
            start = lengths.nbytes + int(theirs[:rank].sum()) * row
            mine = block[start : start + int(theirs[rank]) * row]
            received.append(np.frombuffer(mine, dtype).reshape(theirs[rank], *shape).copy())
        return received


Passing = Relay | ByExchange | ByBlocks


def _check(array: NDArray[Any]) -> None:
    """Raise an error for an array whose elements have no bytes that can be passed on."""
    if array.dtype.hasobject or array.dtype.itemsize == 0:
        raise TypeError(f"transpose works on arrays of numbers, records or text, not on an array of {array.dtype}")
