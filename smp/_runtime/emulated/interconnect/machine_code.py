"""Machine code of the networks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...loops.object_files import ObjectFiles
from ...loops.python_calls import Form, builtin, name_of
from . import events

_CALLED = (
    (events.smp_advance, 2),
    (events.smp_woken, 1),
    (events.smp_next_event, 1),
    (events.smp_inject, 7),
    (events.smp_take, 4),
    (events.smp_first, 3),
    (events.smp_waiting, 4),
    (events.smp_arrival, 3),
    (events.smp_crossing, 5),
    (events.smp_watch, 4),
    (events.smp_begin, 3),
    (events.smp_done, 2),
)
"""The functions, with the number of their arguments."""


class Core:
    """The functions of `events` as machine code, and the addresses by which other machine code calls them."""

    smp_advance: Callable[[int, int], int]
    smp_woken: Callable[[int], int]
    smp_next_event: Callable[[int], int]
    smp_inject: Callable[[int, int, int, int, int, int, int], int]
    smp_take: Callable[[int, int, int, int], int]
    smp_first: Callable[[int, int, int], int]
    smp_waiting: Callable[[int, int, int, int], int]
    smp_arrival: Callable[[int, int, int], int]
    smp_crossing: Callable[[int, int, int, int, int], int]
    smp_watch: Callable[[int, int, int, int], int]
    smp_begin: Callable[[int, int, int], int]
    smp_done: Callable[[int, int], int]

    def __init__(self, engine: Any) -> None:
        self._engine = engine  # owns the machine code
        self._definitions = []
        self.addresses = {}
        for function, _ in _CALLED:
            name = function.__name__
            made, definition = builtin(name, engine.get_function_address(name_of(name)))
            self._definitions.append(definition)
            self.addresses[name] = engine.get_function_address(name)
            setattr(self, name, made)


@functools.cache
def core() -> Core:
    """Return the functions; compile them if no machine code of this version was kept."""
    return Core(ObjectFiles("networks", _CALLED, form=Form.LOCKED).engine())
