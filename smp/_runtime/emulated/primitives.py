"""The primitives of an emulated machine, which it identifies by their Python bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ..loops import atomics
from ..loops.atomics import Primitive
from .networks import delays, queues

PRIMITIVES = (
    "load",
    "store_release",
    "store",
    "exchange",
    "compare_exchange",
    "compare_exchange_pair",
    "fetch_add",
    "pause",
    "futex_wait",
    "futex_wake",
)
"""Primitives that touch shared words. There is a scheduling point before each of them."""


def meaning_of(primitive: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python body of a primitive."""
    return cast("Primitive", primitive).meaning


def read() -> None:
    """Stand for an access of plain Python to elements of an array, where such accesses are steps."""


def write() -> None:
    """Stand for an access of plain Python that writes."""


ACCESSES = (read, write)
"""By the numbers of ``memory.races``."""
STAMP = meaning_of(atomics.stamp)
CLOCKS = {meaning_of(atomics.clock), meaning_of(atomics.thread_clock)}
_load, _exchange = meaning_of(atomics.load), meaning_of(atomics.exchange)
_compare_exchange = meaning_of(atomics.compare_exchange)
_compare_exchange_pair = meaning_of(atomics.compare_exchange_pair)


def changed(meaning: Callable[..., Any], args: tuple[Any, ...], result: Any) -> bool:
    """Return True if a primitive changed a word, or may have changed one."""
    if meaning in (queues.poll, queues.poll_for_loop):
        return result is not None
    if meaning is delays.deliver:
        return bool(result)
    if meaning is _exchange:
        return bool(result != args[2])
    if meaning is _compare_exchange:
        return bool(result == args[2])
    if meaning is _compare_exchange_pair:
        return bool(result)
    return meaning not in (_load, queues.look, queues.room_for)
