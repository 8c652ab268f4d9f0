"""Supersteps, which count their own accesses: copy-in, compute, copy-out, each followed by a barrier.

    with proc.superstep("label") as step:
        local = step.copy_in(array, index)      copy-in    global -> local, counted as reads
        step.compute()                          ─ barrier ─
        ...                                     compute    local data only
        step.copy_out(array, index, local)      noted, not yet done
                                                ─ barrier ─   at the end of the block
                                                copy-out   local -> global, counted as writes
                                                ─ barrier ─

So no read of a superstep sees a write of the same superstep.  On several nodes, where barriers are expensive, the
processors vote at the second one on whether any of them has noted a write; if none has, the third one is left out.
Source: the SMP cost study, section 3.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from smp.errors import PhaseError

from ..memory.arrays import GlobalArray, Scalar
from ..source.lines import Instruction, users_instruction
from .port import Port
from .steps import COMPUTE, COPY_IN, COPY_OUT, ENDED, FORGOTTEN, LARGE, UNCOUNTED, Begun, Recorder

PHASES = ("copy-in", "compute", "copy-out", "ended")
WORTH_A_LOOK = 1 << 16
"""Bytes of a copy from which page faults are counted: asking the system for them takes most of a microsecond."""
Arrays = GlobalArray | tuple[GlobalArray, ...]
Reads = TypeVar("Reads", int, tuple[int, int])


class Superstep(Begun):
    """One superstep of one processor.  ``proc.superstep(label)`` makes it; use it in a ``with`` block."""

    __slots__ = (
        "_before",
        "_chain",
        "_deferred",
        "_faults_in",
        "_loop_bytes",
        "_marks",
        "_port",
        "_recorder",
        "_stamps",
        "_touched",
    )

    def __init__(self, port: Port, recorder: Recorder, step: int, label: str, counted: bool = True) -> None:
        self._port, self._recorder, self._step, self._label = port, recorder, step, label
        self._phase = COPY_IN
        self._reads = self._writes = self._bytes_read = self._bytes_written = self._faults_in = self._chain = (
            self._loop_bytes
        ) = 0
        self._before = -1  # page faults before the copies of a phase; -1 if they are not counted
        self._marks = 0 if counted else UNCOUNTED
        self._deferred: list[Callable[[], None]] = []
        self._stamps: list[float] = []
        self._touched: dict[int, int] = {}  # bytes of each array that is copied from or to

    def __enter__(self) -> Superstep:
        around = self._recorder.going_on
        if around is not None or self._stamps:
            where = "a second time" if around is None else f"inside superstep {around._step}"
            raise PhaseError(
                f"superstep {self._step} ({self._label!r}) begins {where}: supersteps must follow one another; end the "
                "one before, and make each with proc.superstep()"
            )
        self._recorder.going_on = self
        self._port.diagnosis.mark(self._step, COPY_IN, self._label)
        self._stamps.append(self._port.clock())
        return self

    def _must_be(self, allowed: int, call: str) -> None:
        if self._phase > allowed:
            raise PhaseError(
                f"step.{call} in the {PHASES[self._phase]} phase of superstep {self._step} ({self._label!r}): "
                f"it belongs to the {PHASES[allowed]} phase; move it up, or into a superstep of its own"
            )
        if allowed == COPY_IN and self._deferred:
            raise PhaseError(
                f"step.{call} comes after a step.copy_out in superstep {self._step} ({self._label!r}): first all "
                "reads, then step.compute(), then all writes; move the copy_out down"
            )

    def _end_phase(self, what: str, vote: bool = False) -> int:
        """Wait for all processors; return the number of those that voted."""
        clock = self._port.clock
        self._stamps.append(clock())
        votes = self._port.synchronise(f"{what} of superstep {self._label!r}", vote=vote)
        self._stamps.append(clock())
        self._phase += 1
        return votes

    def _faults(self) -> int:
        memory = self._port.node_memory
        return 0 if memory is None else memory.faults()

    def _look(self, phase: int, nbytes: int) -> None:
        """Begin to count the page faults of a phase, before its first copy that is large enough."""
        if nbytes >= WORTH_A_LOOK and self._before < 0 and (self._label, phase) not in self._recorder.calm:
            self._before = self._faults()

    def _looked(self, phase: int) -> int:
        """Return the page faults of a phase that has ended and in which they were counted."""
        faults, self._before = self._faults() - self._before, -1
        if not faults:
            self._recorder.calm.add((self._label, phase))
        return faults

    @overload
    def copy_in(self, array: GlobalArray[np.void], index: str | list[str]) -> NDArray[Any]: ...
    @overload
    def copy_in(
        self, array: GlobalArray[Scalar], index: Any = ..., *, out: NDArray[Scalar] | None = None
    ) -> NDArray[Scalar]: ...
    def copy_in(self, array: GlobalArray, index: Any = ..., *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Read ``array[index]`` into local memory.

        Parameters
        ----------
        array : GlobalArray
        index : anything NumPy takes
            A slice, an integer, an integer array, a tuple, a boolean mask.
        out : ndarray, optional
            Local array of the right shape and dtype to read into, so that no new one has to be made.

        Returns
        -------
        ndarray
            A local copy.  Its number of elements is counted as reads.

        Raises
        ------
        PhaseError
            After ``compute()``, or after a `copy_out` of this superstep.
        IndexError, ValueError, TypeError
            If NumPy does not accept the index, or if ``out`` does not fit.
        """
        self._must_be(COPY_IN, "copy_in")
        self._look(COPY_IN, checked_array(array).nbytes if out is None else getattr(out, "nbytes", 0))
        local = self._port.get(checked_array(array), index, out)
        self._touched[id(array)] = array.nbytes
        self._reads += local.size
        self._bytes_read += local.nbytes
        return local

    def copy_in_by(self, loop: Callable[..., Reads], array: Arrays, *args: Any) -> Reads:
        """Read with a compiled loop of your own, which may find the indices as it goes.

        Parameters
        ----------
        loop : callable
            Called as ``loop(array, *args)``, or as ``loop(array, array, ..., *args)`` for a tuple of arrays.  It gets
            them as NumPy arrays and may only read them.  It returns the number of elements that it has read, or a
            pair of that number and the chain.  The chain is the length of the longest sequence of these reads in which
            each waits for the data that the one before has brought.  Since the reads of a chain cannot overlap, an
            interval charges each of them the latency of memory.
        array : GlobalArray or tuple of GlobalArray
            The arrays to read.  The dtype of the first one sets the bytes of an element.

        Returns
        -------
        int or (int, int)
            The value that the loop returned.
        """
        self._must_be(COPY_IN, "copy_in_by")
        arrays = _several(array)
        self._look(COPY_IN, arrays[0].nbytes)
        self._touched.update((id(each), each.nbytes) for each in arrays)
        returned: Reads = self._port.call(loop, arrays, args)
        count, chain = _chained(returned)
        self._reads += count
        self._chain += chain
        self._bytes_read += count * arrays[0].dtype.itemsize
        self._loop_bytes += count * arrays[0].dtype.itemsize
        return returned

    def compute(self) -> None:
        """End copy-in: wait for all processors.  From here on, use only local data.

        Raises
        ------
        PhaseError
            If it was called before, or after a `copy_out` of this superstep.
        """
        self._must_be(COPY_IN, "compute")
        self._end_copy_in()

    def _end_copy_in(self) -> None:
        self._end_phase("copy-in")
        if self._before >= 0:
            self._faults_in = self._looked(COPY_IN)
        self._port.diagnosis.mark(self._step, COMPUTE, self._label)

    def copy_out(self, array: GlobalArray, index: Any, values: Any) -> None:
        """Write ``array[index] = values`` once all processors have ended their computation.

        The values and the index are kept by reference: do not change them before the superstep ends.  If several
        processors write different values to the same element, an emulated machine raises `RaceError`, and so does any
        other with ``machine.run(..., check=True)``.  Otherwise the value of one of them stays, and it is whole if it
        has at most 8 bytes.

        Parameters
        ----------
        array : GlobalArray
        index : anything NumPy takes
        values : array_like
            Values of a shape that NumPy can broadcast to that of the target.  The elements of the target are counted
            as writes.

        Raises
        ------
        PhaseError
            After the end of the superstep's block.
        IndexError, ValueError, TypeError
            At once, if the index or the values do not fit.
        """
        self._must_be(COMPUTE, "copy_out")
        shape, dtype = _target(checked_array(array), index)
        local = _fitting(values, shape, dtype)
        called = users_instruction(sys._getframe(1))

        self._deferred.append(partial(self._write, array, index, local, called))
        if self._recorder.copies is not None:
            self._recorder.copies.note(array, index, local, self._step, called)
        self._touched[id(array)] = array.nbytes
        size = math.prod(shape)
        self._writes += size
        self._bytes_written += size * dtype.itemsize

    def copy_out_by(self, loop: Callable[..., int], array: Arrays, *args: Any) -> None:
        """Write with a compiled loop of your own, once all processors have ended their computation.

        Parameters
        ----------
        loop : callable
            Called as the loop of `copy_in_by` is.  It may only write the global arrays, and returns the number of
            elements that it has written.
        array : GlobalArray or tuple of GlobalArray
            The arrays to write.  The dtype of the first one sets the bytes of an element.
        """
        self._must_be(COMPUTE, "copy_out_by")
        arrays = _several(array)
        if arrays[0].nbytes >= WORTH_A_LOOK:
            self._marks |= LARGE

        self._touched.update((id(each), each.nbytes) for each in arrays)
        self._deferred.append(partial(self._write_by, loop, arrays, args))

    def _write(self, array: GlobalArray, index: Any, local: NDArray[Any], called: Instruction) -> None:
        if self._port.expect is not None:
            self._port.expect(array, index, local, self._step, called)
        self._port.put(array, index, local)

    def _write_by(self, loop: Callable[..., int], arrays: Sequence[GlobalArray], args: tuple[Any, ...]) -> None:
        count = _counted(self._port.call(loop, arrays, args), "wrote")
        self._writes += count
        self._bytes_written += count * arrays[0].dtype.itemsize

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recorder.going_on = None
        deferred, self._deferred = self._deferred, []  # a write refers to this superstep, which must not refer to it
        far = self._port.far
        if kind is not None:
            if far is not None:
                far.taken()  # these accesses count in no other superstep
            return
        if self._phase == COPY_IN:
            self._marks |= FORGOTTEN
            self._end_copy_in()
        if self._bytes_written >= WORTH_A_LOOK or self._marks & LARGE:
            self._look(COPY_OUT, WORTH_A_LOOK)
        writers = self._end_phase("compute", vote=bool(deferred))
        self._port.diagnosis.mark(self._step, COPY_OUT, self._label)
        if writers or far is None:
            if writers and self._recorder.copies is not None:
                self._recorder.copies.compare(self._step)
            for write in deferred:
                write()
            self._port.fence()
            self._end_phase("copy-out")
        else:
            self._stamps += [self._port.clock()] * 2
            self._phase += 1
        self._port.diagnosis.mark(self._step, ENDED, self._label)
        footprint = sum(self._touched.values())
        moved = (self._reads, self._writes, self._bytes_read, self._bytes_written)
        counts = (*moved, footprint, self._chain, self._loop_bytes)
        seen = (self._faults_in, 0 if self._before < 0 else self._looked(COPY_OUT), self._marks)
        self._recorder.add(self._step, self._label, counts, self._stamps, seen, far)


def checked_array(array: GlobalArray[Scalar]) -> GlobalArray[Scalar]:
    """Return a global array; raise `TypeError` if it is none."""
    if not isinstance(array, GlobalArray):
        raise TypeError(
            f"the array must be a global array, not a {type(array).__name__}; make one with machine.array or proc.array"
        )
    return array


def _several(array: Arrays) -> tuple[GlobalArray, ...]:
    arrays = array if isinstance(array, tuple) else (array,)
    return tuple(checked_array(a) for a in arrays)


def _counted(count: Any, verb: str) -> int:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
        raise TypeError(f"the loop must return the number of elements that it {verb}, not {count!r}")
    return int(count)


def _chained(returned: Any) -> tuple[int, int]:
    """Return the number of elements that a loop reports as read, and how many of these wait for one another."""
    if not isinstance(returned, tuple):
        return _counted(returned, "read"), 0
    if len(returned) != 2:
        raise TypeError(
            "the loop must return the number of elements that it read, or a pair of that number and the chain, "
            f"not {returned!r}"
        )
    count, chain = (_counted(number, "read") for number in returned)
    if chain > count:
        raise ValueError(f"the loop returned a chain of {chain} reads, more than the {count} elements that it read")
    return count, chain


def _target(array: GlobalArray, index: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and dtype of ``array[index]``, or raise NumPy's errors; an integer array is not gathered."""
    if isinstance(index, np.ndarray) and index.dtype.kind in "iu" and array.ndim == 1:
        length = len(array)
        if index.size and not (-length <= index.min() and index.max() < length):
            raise IndexError(f"index {_stray(index, length)} is out of bounds for {length} elements")
        return index.shape, array.dtype
    part = array.stand_in()[index]
    return np.shape(part), part.dtype if isinstance(part, np.ndarray) else array.dtype


def _fitting(values: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the values as an array that can be assigned to a part of the given shape and dtype."""
    local = np.asarray(values)
    plain = not hasattr(values, "dtype")
    if plain and (dtype.names or (dtype.kind == "u" and local.dtype.kind == "i")):
        local = np.asarray(values, dtype)  # Python numbers have no fixed sign or size
    if local.dtype.kind == "O" or not np.can_cast(local.dtype, dtype, "same_kind"):
        raise TypeError(f"copy_out of {local.dtype} into a global array of {dtype}: convert with astype first")
    extra = max(0, local.ndim - len(shape))  # as in NumPy, extra axes in front are dropped if they are 1 long
    fits = local.shape[:extra] == (1,) * extra and all(
        n in (1, m) for n, m in zip(local.shape[extra:][::-1], shape[::-1], strict=False)
    )
    if local.shape != shape and not fits:
        raise ValueError(
            f"copy_out of values of shape {local.shape} into {math.prod(shape)} elements of shape {shape}: the shapes "
            "do not fit"
        )
    return local


def _stray(index: NDArray[Any], length: int) -> int:
    return int(index[(index < -length) | (index >= length)][0])
