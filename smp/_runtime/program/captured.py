"""NumPy arrays that a program captures: those of its closure, and of the script or notebook that it is part of.

    parent        scale = np.ones(3)          machine.run(program)
    processors    scale[0] = 2                a copy of ``scale``, so the change would be lost: an error

A processor gets copies of what a program captures.  They are read-only, so that a program that writes to one, and
expects to see it in the parent, fails at once.  Arguments are copies, too, but a program may use them as it likes.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from ..loops.places import Enclosing

_HOLD = (np.ndarray, list, tuple, dict, FunctionType, functools.partial, Enclosing)
_HINT = (
    "; a program has a read-only copy of each NumPy array that it captures, since what it wrote there would be lost. "
    "Pass a global array (machine.array) and write by step.copy_out or array.view, or write to a copy (array.copy())"
)


def protect(program: Any) -> None:
    """Make the arrays read-only that a program, and the functions that it uses, have captured."""
    todo, seen = [program], {id(program)}
    while todo:
        for part in _parts(todo.pop()):
            if isinstance(part, _HOLD) and id(part) not in seen:
                seen.add(id(part))
                todo.append(part)


def _parts(thing: Any) -> Iterable[Any]:
    """Return what a thing holds; make it read-only if it is an array."""
    if isinstance(thing, np.ndarray):
        thing.flags.writeable = False
    elif isinstance(thing, functools.partial):
        return (thing.func,)
    elif isinstance(thing, Enclosing):
        return (thing.program,)
    elif isinstance(thing, dict):
        return thing.values()
    elif isinstance(thing, FunctionType):
        return _captured(thing)
    return thing if isinstance(thing, list | tuple) else ()


def _captured(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # the cell is empty
            yield cell.cell_contents
    if _was_sent(function):
        names = function.__globals__
        yield from (names[name] for name in function.__code__.co_names if name in names)


def _was_sent(function: FunctionType) -> bool:
    """Return True if a function came with its globals, rather than with the name of a module that has them."""
    module = sys.modules.get(function.__module__ or "")
    return module is None or vars(module) is not function.__globals__


def hint(text: str) -> str:
    """Return what to add to the text of an error if it says that an array is read-only; otherwise nothing."""
    return _HINT if "read-only" in text or "readonly" in text else ""
