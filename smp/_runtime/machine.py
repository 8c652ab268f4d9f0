"""Machines, which run programs.  Their kinds are in ``kinds``."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Collection
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar, TypeVarTuple, overload

from .._computer.interrupt import HeldBack
from ..errors import MachineError, NotPicklable, ProgramError, WaitTimeout
from .loops.places import carried, received
from .machine_memory import MachineMemory
from .memory.arrays import GlobalArray
from .program.pickling import dump_call, load_result
from .program.port import Processors
from .program.processor import Processor, checked_number
from .program.records.log import last_lines
from .program.records.logged import WithLog, checked_log
from .program.records.repeats import prepared, repeated, seeded
from .program.run import Run
from .protocols.wait import deadline_after

Parameters = ParamSpec("Parameters")
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")
_TOUCH = 1 << 20  # bytes; the processors themselves first touch a new array of at least this size
_entered: ContextVar[tuple[tuple[int, Machine], ...]] = ContextVar("_entered", default=())
"""The machines whose ``with`` blocks the calling thread is in, each with the process that entered it."""


class Machine(MachineMemory):
    """An open machine, whose processors wait for programs to run.

    `host` and `emulated` open a machine.  Call `close`, or leave its ``with`` block, to close it.

    Attributes
    ----------
    size : int
        Number of processors.
    nodes : list of int
        Node of each processor, from 0.  The processors of a node share memory; only a machine of MPI may have several.
    """

    def __init__(self, processors: Processors, streams: int = 1, seed: int | None = None) -> None:
        self._processors, self._streams, self._seed = processors, streams, seed
        self.size, self.nodes = processors.size, list(processors.nodes)
        self._busy = threading.Lock()
        self._runner = 0  # identifier of the thread that waits for a program; 0 if none does
        self._finalizer = weakref.finalize(self, _drop, processors)

    def __enter__(self) -> Machine:
        _entered.set((*_entered.get(), (os.getpid(), self)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _entered.set(tuple(entered for entered in _entered.get() if entered[1] is not self))
        self.close()

    def close(self) -> None:
        """End the processors, even while a program runs.  Arrays keep their values while something refers to them."""
        if self._runner not in (0, threading.get_ident()):  # another thread waits for a program
            self._processors.stop()
        self._processors.close("close() was called or its with block has ended")
        self._finalizer.detach()

    def restart(self) -> None:
        """Start new processors in place of the old ones, also after a run has lost some of them.

        Arrays and cells of this machine keep their values, and can be used as before.  Cells stay full or empty.  Call
        it if the machine was closed because a processor was killed or did not stop in time, or to begin with fresh
        processes.  It takes as long as to open a machine.

        Raises
        ------
        MachineClosed
            If the machine was closed by `close` or by the end of its ``with`` block.
        MachineError
            If the machine is running a program, or if the processors do not start.
        Unsupported
            On a machine of MPI.

        Examples
        --------
        >>> import os, smp
        >>> machine = smp.host(2)
        >>> squares = machine.array([1, 4, 9])
        >>> try:
        ...     machine.run(lambda proc: os._exit(3))
        ... except smp.ProcessorDied:
        ...     machine.restart()
        >>> machine.run(lambda proc, array: int(array.view.sum()), squares).results
        [14, 14]
        >>> machine.close()
        """
        if not self._busy.acquire(blocking=False):
            raise MachineError("this machine is running a program: end it before you restart the machine")
        try:
            self._processors.restart()
        finally:
            self._busy.release()

    def __repr__(self) -> str:
        state = f"closed: {self._processors.closed}" if self._processors.closed else "ready"
        pages = ", memory in the system's pool of huge pages" if self._processors.pages == "pool" else ""
        processors = f"{self.size} processor{'s' * (self.size > 1)}"
        return f"<{self._processors.kind} machine of {processors}{pages}, {state}>"

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("a machine cannot be sent to another process; open one inside the program instead")

    @overload
    def run(
        self,
        program: Callable[Concatenate[Processor, Parameters], Result],
        /,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Run[Result]: ...
    @overload
    def run(
        self,
        program: Callable[[Processor, *Arguments], Result],
        /,
        *args: *Arguments,
        streams: int | None = None,
        timeout: float | None = None,
        helpers: bool | None = None,
        warmup: int = 0,
        repeat: int = 1,
        counters: bool = False,
        record: bool = False,
        check: bool = False,
        seed: int | None = None,
        log: str | os.PathLike[str] | None = None,
        logging: Collection[str] = (),
    ) -> Run[Result]: ...
    def run(  # type: ignore[misc]  # its options are not among the program's own keywords
        self,
        program: Callable[..., Any],
        /,
        *args: Any,
        streams: int | None = None,
        timeout: float | None = None,
        helpers: bool | None = None,
        warmup: int = 0,
        repeat: int = 1,
        counters: bool = False,
        record: bool = False,
        check: bool = False,
        seed: int | None = None,
        log: str | os.PathLike[str] | None = None,
        logging: Collection[str] = (),
        **kwargs: Any,
    ) -> Run[Any]:
        """Run a program on all processors and wait for it.

        Parameters
        ----------
        program : callable
            Called as ``program(proc, *args, **kwargs)`` on each processor, with its own `Processor`.  It may be a
            lambda, a closure, or a function typed in a notebook.
        *args, **kwargs
            Arguments of the program.  Global arrays and cells are shared; everything else is copied to each
            processor.  If the program has a parameter with one of the names below, pass its argument by position.
        streams : int, optional
            Number of streams of each processor's team, ``proc.team``; by default the machine's own number.
        timeout : float, optional
            Seconds after which the run ends with `WaitTimeout`; by default there is no limit.
        helpers : bool, optional
            Whether threads of this process, or processes forked from it or from a processor, may still change a cell
            when no processor can go on.  True: no deadlock is reported.  False: a deadlock is reported at once.  By
            default, the run goes on if such a thread or process is seen to hold cells of this machine.  Other threads
            of this process have a second to change a cell before the run ends with `DeadlockError`.
        warmup : int
            Number of unrecorded runs at the start, which touch memory and compile loops, as any first run has to.
        repeat : int
            Number of recorded runs.  Each finds the arrays as the previous run has left them.
        counters : bool
            Whether to count instructions and cache misses with the hardware's counters, if the system allows it.
        record : bool
            Whether to record what the streams do: their waits at cells, who served whom, their threads, and the
            messages.  ``run.events`` then has these events, and `Run.write_trace` writes them.  An event takes some
            10 ns in machine code, and no virtual time.  A stream keeps its last 65,536 events, which take 2 MiB.
        check : bool
            Whether to look for copies of a superstep that write different values to the same element.  The run then
            ends with `RaceError`, which names both lines and the elements.  Writes of ``copy_out_by`` are not seen.
            Emulated machines always look; on other machines, each superstep that writes takes one more exchange.
        seed : int, optional
            Seed of ``proc.random``, for ``run.seed``; by default a fresh one, or that of an emulated machine.  If the
            program has a parameter ``seed``, it gets the same number.
        log : path_like, optional
            File that receives the log: the entries of ``proc.log``, from all repeats.  It replaces an older file.
            An entry is in the file as soon as it was made, which takes some microseconds (see `smp.last_entries`).
        logging : collection of {"barrier", "broadcast", "combine", "message", "print"}
            Events of the runtime that are logged as well: the begin and the end of each wait in a barrier, vote or
            phase of a superstep; of each broadcast or gather; of each reduce or scan; each message that is sent, and
            each that is handled; and what is printed with ``proc.print``.  This slows down the program.  ``run.states``
            then has states of these calls as well (see `Processor.state`).

        Returns
        -------
        Run
            Results, one per processor, and the record of the supersteps.  With several repeats, the results are those
            of the last one, and times that are printed or used in intervals are medians; ``run.repeats`` has all.

        Raises
        ------
        TypeError, ValueError, NotPicklable, MachineError, Unsupported
            Before any work: if an option is not valid, if the program or an argument cannot be sent (the message names
            it), if the machine is busy or closed, or if ``helpers`` is True on an emulated machine.
        ProcessorRaised, ProcessorDied, CollectiveMismatch, DeadlockError, LivelockError
            If the program fails.  All values that it has written to global arrays stay there.
        ProgramError
            If the supersteps of a repeat are not those of the first.  The message shows where they differ.
        WaitTimeout
            If the run has not ended in time.  The message shows what each stream does.  The machine can be used again
            if all processors stop.  A processor that does not stop within half a second, for example in a long call
            of NumPy, is killed, and the machine is closed.
        KeyboardInterrupt
            On Ctrl-C, after the processors have stopped.

        Examples
        --------
        >>> import smp
        >>> with smp.host(2) as machine:
        ...     machine.run(lambda proc, x: proc.reduce(x * proc.rank), 21).results
        [21, 21]
        """
        __tracebackhide__ = True  # pytest then shows the caller's line
        team = self._streams if streams is None else checked_number("streams", streams)
        deadline_after(timeout, 0)  # checked before any work
        chosen = prepared(program, args, warmup, repeat, counters, record, check)
        path = checked_log(program, args, log, logging) if log is not None or logging else None
        sent = carried(chosen if path is None else WithLog(chosen, path, logging), self)
        number, named = seeded(program, args, kwargs, seed, self._seed)
        call = dump_call(sent, args, named, number)
        with HeldBack() as ctrl_c:
            if not self._busy.acquire(blocking=False):
                raise MachineError("this machine is already running a program; open another one for a second thread")
            try:
                self._runner = threading.get_ident()
                if path is not None:
                    open(path, "wb").close()
                once = partial(self._processors.call, call, team, ctrl_c, timeout, helpers)
                answers, arrays, records = repeated(once, warmup, repeat)
            except (ProgramError, WaitTimeout) as error:  # without the runtime's frames and their objects
                if path is not None:
                    error.add_note(last_lines(path, self.size))
                raise error.with_traceback(None) from error.__cause__
            finally:
                self._runner = 0
                self._busy.release()
        account = self._processors.account
        results = received(sent, [load_result(rank, answer.result) for rank, answer in enumerate(answers)])
        del arrays  # arrays made by processors end here, unless a result refers to them
        return Run(results, records, self._processors.kind, warmup, number, self.nodes, account)

    @property
    def trace(self) -> list[tuple[int, int, str, str]]:
        """The steps of the last run, in order: (processor, stream, primitive, source line).

        Raises
        ------
        Unsupported, MachineError
            Unsupported on the host, whose processors run at the same time; MachineError if no steps were kept.
        """
        return list(self._processors.trace())

    def _touch(self, array: GlobalArray) -> None:
        if self._processors.first_touch and array.nbytes >= _TOUCH:
            self.run(Processor._touch, array)


def current_machine() -> Machine | None:
    """Return the machine of the innermost ``with`` block that the calling thread is in; None outside of any.

    Examples
    --------
    >>> import smp
    >>> with smp.host(1) as machine:
    ...     smp.current_machine() is machine
    True
    """
    entered = _entered.get()
    if not entered:
        return None
    inside = [machine for pid, machine in entered if pid == os.getpid() and not machine._processors.closed]
    return inside[-1] if inside else None


def _drop(processors: Processors) -> None:
    with HeldBack(finalizing=True):
        processors.close("it was dropped")
