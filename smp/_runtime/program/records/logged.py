"""Wrapper that opens the log of the run on each processor, and the options of `machine.run` that ask for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ...loops.places import Enclosing
from ..processor import Processor
from .log import EVENTS, Log
from .repeats import must_have


class WithLog(Enclosing):
    """Opens the log for the program.  The processor closes it after the barrier at the end of the program."""

    def __init__(self, program: Callable[..., Any], path: str, events: Collection[str]) -> None:
        super().__init__(program)
        self._path, self._events = path, tuple(events)

    def __call__(self, proc: Processor, *args: Any, **kwargs: Any) -> Any:
        proc._port.log = Log(self._path, proc.rank, proc._port.clock, self._events)
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
