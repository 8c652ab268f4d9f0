"""Who interprets this thread's programs, where they are not compiled: an emulated machine, while it runs.

primitive called from Python     -> interpreter.step(meaning, args)       one step of one stream
loop made by ``stream``          -> its Python source, primitive by primitive
loop made by ``local``           -> compiled as everywhere, and interpreter.charge(loop, args, options)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol


class Interpreter(Protocol):
    """What an emulated machine does with the primitives and the loops of its programs."""

    def step(self, meaning: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Carry out one primitive, once this stream's turn comes."""

    def charge(
        self, loop: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Let the virtual time pass that a loop over local data takes; return the arguments for its machine code."""


class _Here(threading.local):
    interpreter: Interpreter | None = None

    def __reduce__(self) -> str:  # by name: Numba pickles loops that look at it
        return "here"


here = _Here()
"""``here.interpreter`` is this thread's; None where programs are compiled."""
