"""Local work that takes as long as on this computer: each loop is timed once for each size, and the table is kept.

    (loop, types of the arguments, size class) ─▶ nanoseconds of the thread, the shortest of some repeats

Numbers are of the same size class if they have the same four leading bits: 8, 9, ..., 15, 16-17, 18-19, ..., 30-31.
A run that is given the table of another charges the same times: only what is not in the table is measured.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..loops.compiler import run
from .local_work import Loop, LoopWork, name_of

_BITS = 4  # leading bits of a size that make its class


class Measured(LoopWork):
    """The time of each loop on this computer.

    Parameters
    ----------
    hz : float
        Cycles in a second of the emulated machine.
    table : mapping of str to int, optional
        Table of an earlier run, from `table`.
    repeats : int
        Calls that are timed, of which the shortest counts.  They work on copies of the arrays.
    speed : float
        How many times as fast as this computer the processors of the machine are.

    Raises
    ------
    ValueError
        If a number is not positive.
    """

    def __init__(self, hz: float, table: Mapping[str, int] | None = None, repeats: int = 5, speed: float = 1.0) -> None:
        super().__init__()
        for what, value in (("hz", hz), ("repeats", repeats), ("speed", speed)):
            if not 0 < value < np.inf:
                raise ValueError(f"{what} must be more than 0, not {value}")
        self._hz, self._repeats, self._speed = hz, repeats, speed
        self._table = dict(table or {})

    def table(self) -> dict[str, int]:
        """Return the nanoseconds of each loop, by loop, types and size class; it can be written as JSON."""
        return dict(self._table)

    def _run(self, loop: Loop, args: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Any, float, str]:
        key = _key(loop, args, options)
        if key not in self._table:
            self._table[key] = self._time(loop, args, options)
        return run(loop, args, options), self._table[key] * 1e-9 * self._hz / self._speed, "measured"

    def _time(self, loop: Loop, args: tuple[Any, ...], options: Mapping[str, Any]) -> int:
        """Return the shortest time of some calls on copies of the arguments, in nanoseconds of this thread."""
        times = []
        for again in range(-1, self._repeats):  # the first call compiles the loop
            given = copy.deepcopy((args, dict(options)))
            start = time.thread_time_ns()
            run(loop, *given)
            if again >= 0:
                times.append(time.thread_time_ns() - start)
        return min(times)


def _key(loop: Loop, args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    given = [(str(k), value) for k, value in enumerate(args)] + sorted(options.items())
    return f"{name_of(loop)}({', '.join(f'{name}: {_class(value)}' for name, value in given)})"


def kinds_of(args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    """Return the types of arguments, for each combination of which a loop is compiled once."""
    return ", ".join(_kind(value) for value in (*args, *(options[name] for name in sorted(options))))


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}{value.ndim}{_layout(value)}{value.flags.writeable}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_kind, value))})"
    return type(value).__name__


def _layout(array: np.ndarray[Any, Any]) -> str:
    return "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"


def _class(value: Any) -> str:
    """Return the type and the size class of an argument."""
    if isinstance(value, np.ndarray):
        layout = "C" if value.flags.c_contiguous else "A"
        return f"{value.dtype.str}{layout}[{','.join(str(size_class(length)) for length in value.shape)}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_class, value))})"
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return f"{type(value).__name__} {size_class(int(value))}"
    return type(value).__name__


def size_class(size: int) -> int:
    """Return the least number of the class of a size.

    Examples
    --------
    >>> from smp._runtime.emulated.measured_work import size_class
    >>> [size_class(n) for n in (0, 7, 15, 17, 31, 33, 1000)]
    [0, 7, 15, 16, 30, 32, 960]
    """
    shift = max(0, abs(size).bit_length() - _BITS)
    return (abs(size) >> shift << shift) * (1 if size >= 0 else -1)
