"""Loops as machine code that makes the steps of an emulated machine, and those whose source is interpreted instead.

A loop is interpreted if its steps would be others in machine code, or cost another virtual time:

    it calls a loop over local data             its charge depends on the arguments of the call
    it calls a Numba function of the user       the interpreter runs it as one piece
    an argument is ``interpreted``              such as the networks of a processor, which are objects of Python
    Numba cannot compile it                     for these types of arguments
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from ...source.lines import wraps_users
from .. import machine_code
from ..compiler import is_stream, loop_name, numba
from ..interpreter import INTERPRETED
from ..keys import codes
from .text import POSSIBLE

BY_PYTHON = "__smp_by_python__"
"""Attribute of a class whose objects only Python can work on, on an emulated machine."""


class SteppedLoop:
    """A loop, called with its arguments; it returns `INTERPRETED` if its source has to be interpreted."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = function.__name__
        self._dispatcher = machine_code.dispatcher(function, stepped=True)

    @wraps_users
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(hasattr(type(value), BY_PYTHON) for value in args):
            return INTERPRETED
        from numba.core.errors import NumbaError

        try:
            return self._dispatcher(*args, **kwargs)
        except NumbaError:
            return INTERPRETED


_loops: weakref.WeakKeyDictionary[Callable[..., Any], SteppedLoop | None] = weakref.WeakKeyDictionary()


def stepped_loop(function: Callable[..., Any]) -> SteppedLoop | None:
    """Return a loop as machine code that makes steps; None if it has to be interpreted."""
    if function not in _loops:
        numba()
        one_piece = not POSSIBLE or any(_is_one_piece(value) for value in reached(function, set()))
        _loops[function] = None if one_piece else SteppedLoop(function)
    return _loops[function]


def _is_one_piece(value: Any) -> bool:
    """Return True if the interpreter runs a function as machine code, without steps."""
    return hasattr(value, "py_func") or (bool(loop_name(value)) and not is_stream(value))


def reached(function: Any, seen: set[int]) -> Iterator[Any]:
    """Yield the functions that a loop may call, directly or through others."""
    if not isinstance(function, FunctionType) or id(function) in seen:
        return
    seen.add(id(function))
    names = [name for code in codes(function.__code__) for name in code.co_names]
    values = [function.__globals__.get(name) for name in names]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not assigned yet
            values.append(cell.cell_contents)
    for value in values:
        found = [vars(value).get(name) for name in names] if isinstance(value, ModuleType) else [value]
        for one in found:
            if hasattr(one, "meaning"):  # a primitive
                continue
            yield one
            yield from reached(vars(one).get("__wrapped__", one) if isinstance(one, FunctionType) else one, seen)
