"""Wrapper that opens the log of the run on each processor, and the options of `machine.run` that ask for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ...loops.places import Enclosing
from ..processor import Processor
from .log import EVENTS, Log
from .repeats import must_have
from .runtime_states import BROADCAST, COMBINE, PRINTING, RuntimeStates


class LoggedProcessor(Processor):
    """A processor in a run with a log, which records these calls as states; see `Processor`."""

    def broadcast(self, *args: Any, **kwargs: Any) -> Any:
        with self._during("broadcast", BROADCAST):
            return super().broadcast(*args, **kwargs)

    def gather(self, *args: Any, **kwargs: Any) -> Any:
        with self._during("broadcast", BROADCAST):
            return super().gather(*args, **kwargs)

    def reduce(self, *args: Any, **kwargs: Any) -> Any:
        with self._during("combine", COMBINE):
            return super().reduce(*args, **kwargs)

    def scan(self, *args: Any, **kwargs: Any) -> Any:
        with self._during("combine", COMBINE):
            return super().scan(*args, **kwargs)

    def print(self, *args: Any, **kwargs: Any) -> None:
        with self._during("print", PRINTING):
            super().print(*args, **kwargs)

    def flush(self, *args: Any, **kwargs: Any) -> int:
        with self._during("print", PRINTING):
            return super().flush(*args, **kwargs)

    def _during(self, event: str, state: str) -> AbstractContextManager[None]:
        assert self._port.log is not None
        return self._port.log.during(event, state)


class WithLog(Enclosing):
    """Opens the log for the program.  The processor closes it after the barrier at the end of the program."""

    def __init__(self, program: Callable[..., Any], path: str, events: Collection[str]) -> None:
        super().__init__(program)
        self._path, self._events = path, tuple(events)

    def __call__(self, proc: Processor, *args: Any, **kwargs: Any) -> Any:
        port = proc._port
        proc._recorder.states = states = RuntimeStates(port.clock, port.on_a_stream)
        port.log = Log(self._path, proc.rank, port.clock, self._events, states)
        proc.__class__ = LoggedProcessor
        return self.program(proc, *args, **kwargs)


def checked_log(
    program: Callable[..., Any], args: Sequence[Any], log: str | os.PathLike[str] | None, logging: Collection[str]
) -> str | None:
    """Return the absolute path of the log, or None if there is none.

    Raises
    ------
    TypeError, ValueError
        If the path or the names of events are not valid, or if they could be meant for the program.
    """
    for name, given in (("log", log is not None), ("logging", logging != ())):
        if given:
            must_have(program, args, name)
    if isinstance(logging, str) or not isinstance(logging, Collection):
        raise TypeError(f"logging must be names of events, such as ('barrier',), not {logging!r}")
    unknown = [name for name in logging if name not in EVENTS]
    if unknown:
        raise ValueError(
            f"logging={tuple(logging)!r}: the runtime has no event {unknown[0]!r}, only {', '.join(EVENTS)}"
        )
    if log is None:
        if logging:
            raise ValueError("logging= chooses what the runtime writes to the log of the run: give log=path, too")
        return None
    return os.path.abspath(os.fsdecode(log))
