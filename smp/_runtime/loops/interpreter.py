"""The interpreter of this thread's programs if they are not compiled: an emulated machine, while it runs.

primitive called from Python     -> interpreter.step(meaning, args)       one step of one stream
loop made by ``stream``          -> its Python source, primitive by primitive; or interpreter.machine_code(function)
loop made by ``local``           -> interpreter.run_local(loop, args, options), which runs it and advances virtual time
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

INTERPRETED = object()
"""Stands for the result of a loop that did not run, because its source has to be interpreted."""


class Interpreter(Protocol):
    """The operations of an emulated machine on the primitives and the loops of its programs."""

    def step(self, meaning: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Carry out one primitive when it is this stream's turn."""

    def run_local(self, loop: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Run a loop over local data, and advance virtual time by its price; return its result."""

    def machine_code(self, function: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return machine code of a loop that makes the same steps; None if its source is interpreted.

        The machine code returns `INTERPRETED` if its arguments have to be interpreted.
        """

    def spawn(
        self, rank: int, function: Callable[[], object], at: int | None = None, number: int | None = None
    ) -> object:
        """Add a stream to a processor, which begins at a virtual time, in ps; by default now.

        Of several streams at the same time, the one with the least number goes first; by default a stream has a larger
        number than those before it.
        """

    def time(self) -> int:
        """Return the virtual time of the running stream, in ns."""

    def pass_time(self, nanoseconds: int) -> None:
        """Advance the virtual time of the running stream."""

    def picoseconds(self) -> int:
        """Return the virtual time of the running stream, in ps."""

    def pass_picoseconds(self, picoseconds: int) -> None:
        """Advance the virtual time of the running stream."""


class _Here(threading.local):
    interpreter: Interpreter | None = None

    def __reduce__(self) -> str:  # by name: Numba pickles loops that refer to it
        return "here"


here = _Here()
"""``here.interpreter`` is the interpreter of the calling thread; None if its programs are compiled."""
