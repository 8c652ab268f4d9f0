"""Machine code of the turns, of the hooks, and of the entry points whose primitives are steps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...loops.object_files import ObjectFiles
from ...loops.python_calls import Form, builtin, name_of
from ...loops.stepped.text import HOOKS, key_of_thread
from ...protocols.entry_points import Core
from . import hooks

_CALLED = (
    (hooks.step, 2),
    (hooks.made, 2),
    (hooks.touch, 3),
    (hooks.copy_on, 1),
    (hooks.pause, 1),
    (hooks.wait, 3),
    (hooks.wake, 3),
    (hooks.wake_all, 1),
    (hooks.begin, 2),
    (hooks.end, 2),
    (hooks.first, 1),
)
"""Functions that Python calls, with the number of their arguments."""
_HOOKS = tuple((getattr(hooks, name), count) for name, count in HOOKS.items())


class Turns:
    """The functions of `hooks` that Python calls, as machine code."""

    step: Callable[[int, int], int]
    made: Callable[[int, int], int]
    touch: Callable[[int, int, int], int]
    copy_on: Callable[[int], int]
    pause: Callable[[int], int]
    wait: Callable[[int, int, int], int]
    wake: Callable[[int, int, int], int]
    wake_all: Callable[[int], int]
    begin: Callable[[int, int], int]
    end: Callable[[int, int], int]
    first: Callable[[int], int]

    def __init__(self, engine: Any) -> None:
        self._engine = engine  # owns the machine code
        self._definitions = []
        for function, _ in _CALLED:
            made, definition = builtin(function.__name__, engine.get_function_address(name_of(function.__name__)))
            self._definitions.append(definition)
            setattr(self, function.__name__, made)


@functools.cache
def turns() -> Turns:
    """Return the turns; from then on, the hooks are there for the code of loops."""
    from llvmlite.binding import add_symbol

    key_of_thread()
    engine = ObjectFiles("turns", (*_CALLED, *_HOOKS), form=Form.LOCKED).engine()
    for name in HOOKS:
        add_symbol(name, engine.get_function_address(name))
    return Turns(engine)


@functools.cache
def entry_points() -> Core:
    """Return the runtime's entry points whose primitives are steps."""
    turns()
    return Core(ObjectFiles("stepped", Core._entries, form=Form.STEPPED).engine(), of_python=False)
