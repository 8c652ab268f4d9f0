"""Machines: where programs run.  This is the only module that names a kind of machine.

with smp.host(4) as machine:
    numbers = machine.array(np.arange(1000))
    run = machine.run(program, numbers)
"""

from __future__ import annotations

import operator
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ._crew import Crew
from ._interrupt import HeldBack
from ._launch import PATIENCE
from ._limits import usable_cpus
from ._pickling import dump_call, loads
from .arrays import GlobalArray, Shape, checked
from .errors import MachineError, NotPicklable, ProgramError, Unsupported
from .processor import Processor, touch
from .run import Run

MOST = 1024  # processors of one machine
_TOUCH = 1 << 20  # bytes from which the processors touch a new array themselves


class Machine:
    """A machine that is up: its processors wait for programs.  Made by `host`, closed by ``with`` or `close`.

    Attributes
    ----------
    size : int
        Number of processors.
    """

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self.size = crew.size
        self._busy = threading.Lock()
        self._runner = 0  # the thread that waits for a program
        self._finalizer = weakref.finalize(self, _drop, crew)

    def __enter__(self) -> Machine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processors, also under a program that runs.  Arrays keep their values while something holds them."""
        elsewhere = self._runner not in (0, threading.get_ident())
        if elsewhere:  # another thread waits for a program: that ends, and leaves the crew to this one
            self._crew.stop()
            elsewhere = self._busy.acquire(timeout=PATIENCE)
        try:
            self._crew.close("close() was called or its with block has ended")
            self._finalizer.detach()
        finally:
            if elsewhere:
                self._busy.release()

    def __repr__(self) -> str:
        state = f"closed: {self._crew.closed}" if self._crew.closed else "ready"
        return f"<host machine of {self.size} processors, {state}>"

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("a machine stays in the process that opened it; a program may open one of its own")

    def run(self, program: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Run:
        """Run a program on all processors and wait for it.

        Parameters
        ----------
        program : callable
            Called as ``program(proc, *args, **kwargs)`` on each processor, with its own `Processor`.  It may be a
            lambda, a closure, or typed in a notebook.
        *args, **kwargs
            Global arrays are shared; everything else is copied to each processor.

        Returns
        -------
        Run
            Results, one per processor, and the record of the supersteps.

        Raises
        ------
        NotPicklable
            Before any work, when the program or an argument cannot be sent; names which.
        ProcessorRaised, ProcessorDied, CollectiveMismatch
            When the program fails; what it wrote to global arrays stays.
        KeyboardInterrupt
            On Ctrl-C, after the processors have stopped.

        Examples
        --------
        >>> import smp
        >>> with smp.host(2) as machine:
        ...     machine.run(lambda proc, x: proc.reduce(x * proc.rank), 21).results
        [21, 21]
        """
        if not callable(program):
            raise TypeError(f"a program is a function of a processor, not a {type(program).__name__}")
        call = dump_call(program, args, kwargs)
        with HeldBack() as ctrl_c:
            if not self._busy.acquire(blocking=False):
                raise MachineError("this machine is running a program already; open another one for a second thread")
            try:
                self._runner = threading.get_ident()
                start = time.perf_counter()
                answers, blocks = self._crew.call(call, ctrl_c)
                wall = time.perf_counter() - start
            except ProgramError as error:  # without the frames of the runtime, and what they hold
                raise error.with_traceback(None) from error.__cause__
            finally:
                self._runner = 0
                self._busy.release()
        results = [loads(answer[1]) for answer in answers]
        del blocks  # arrays made by processors end here, unless a result holds them
        return Run(results, [answer[2] for answer in answers], wall)

    def empty(self, shape: Shape, dtype: DTypeLike = np.float64) -> GlobalArray:
        """Make a global array; see `zeros`."""
        lengths, made, nbytes = checked(shape, dtype)
        array = GlobalArray(self._crew.allocate(nbytes), lengths, made)
        if nbytes >= _TOUCH:
            self.run(_touch, array)
        return array

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
            Each processor has touched its own share of the pages first, so that they lie in its memory.

        Raises
        ------
        OutOfSharedMemory
            When it does not fit into the memory that is left.
        """
        return self.empty(shape, dtype)  # the memory of a new block is zero

    def full(self, shape: Shape, value: Any, dtype: DTypeLike | None = None) -> GlobalArray:
        """Make a global array filled with one value, by default of the value's dtype; see `zeros`."""
        array = self.empty(shape, np.asarray(value).dtype if dtype is None else dtype)
        array.view[...] = value
        return array

    def array(self, data: ArrayLike) -> GlobalArray:
        """Make a global array with a copy of ``data``; see `zeros`."""
        local = np.asarray(data)
        array = self.empty(local.shape, local.dtype)
        array.view[...] = local
        return array


def _drop(crew: Crew) -> None:
    with HeldBack(finalizing=True):
        crew.close("it was dropped")


def _touch(proc: Processor, array: GlobalArray) -> None:
    block = array._block
    block.segment.ask_for_huge_pages(block.offset, block.nbytes)
    touch(array, proc.rank, proc.size)


def host(
    processors: int | None = None,
    streams: int = 1,
    *,
    start: str | None = None,
    pin: bool | Sequence[int] | None = None,
) -> Machine:
    """Open this computer as a shared-memory machine: processes as processors.

    Parameters
    ----------
    processors : int, optional
        By default as many as CPUs that this process may use.  More are allowed: they take turns.
    streams : int
        Streams of each processor; the host has one.
    start : {"forkserver", "spawn", "fork"}, optional
        How the worker processes come to be.  ``forkserver``, the default, forks them from a fresh process that has
        imported what they need: safe with threads, about 20 ms a machine after the first.  ``spawn`` makes each a
        fresh interpreter.  ``fork`` copies this process as it is, its modules included: unsafe while other threads
        run.
    pin : bool or sequence of int, optional
        Whether each processor stays on a CPU of its own; by default when there are enough.  A sequence names the CPUs.

    Returns
    -------
    Machine
        To be used in a ``with`` block, or closed.

    Raises
    ------
    TypeError, ValueError
        Numbers of processors that make no sense.
    MachineError
        When the processors do not come up.

    Examples
    --------
    >>> import smp
    >>> with smp.host(2) as machine:
    ...     machine.run(lambda proc: (proc.rank, proc.size)).results
    [(0, 2), (1, 2)]
    """
    cpus = usable_cpus()
    size = len(cpus) if processors is None else _count("processors", processors)
    if _count("streams", streams) != 1:
        raise Unsupported(f"{streams} streams a processor: a processor of the host has one; use more processors")
    places: list[int | None] = [None] * size
    if pin is True or (pin is None and size <= len(cpus)):
        if size > len(cpus):
            raise ValueError(f"cannot pin {size} processors: this process may use {len(cpus)} CPUs")
        places = list(cpus[:size])
    elif pin is not None and pin is not False:
        try:
            named = [operator.index(cpu) for cpu in pin]
        except TypeError:
            raise TypeError(f"pin is True, False or a sequence of CPUs, not {pin!r}") from None
        if len(named) < size or not set(named) <= set(cpus):
            raise ValueError(f"pin={named} must name {size} of the CPUs {cpus}")
        places = list(named[:size])
    roomy = size <= len(cpus) and len(set(places)) in (1 if places[0] is None else size, size)
    return Machine(Crew(places, "forkserver" if start is None else start, spin=roomy))


def _count(what: str, number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise TypeError(f"{what} must be a whole number, not {number!r}")
    if not 1 <= number <= MOST:
        raise ValueError(f"{what} must be from 1 to {MOST}, not {number}")
    return int(number)
