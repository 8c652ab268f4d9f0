"""A module that names no place: functions, methods and other objects whose calls may be made places by their names."""

import functools
import math
from collections.abc import Iterator
from typing import Any

import smp


def push(stack: list[int], x: int = 3, *, twice: bool = False) -> list[int]:
    """Push a number, and all below it."""
    stack.append(x)
    return push(stack, x - 1) if x else stack


class Stack:
    """A stack whose methods are of every kind."""

    def __init__(self) -> None:
        super().__init__()
        self.items: list[int] = []

    def push(self, x: int) -> type:
        self.items.append(x)
        return __class__  # type: ignore[name-defined, no-any-return]  # a cell of the method

    @staticmethod
    def doubled(x: int) -> int:
        return 2 * x

    @classmethod
    def made(cls) -> "Stack":
        return cls()

    @property
    def height(self) -> int:
        return len(self.items)

    @functools.cached_property
    def first(self) -> int:
        return self.items[0]


class Tower(Stack):
    """A stack that inherits everything."""


def numbers() -> Iterator[int]:
    """Yield nothing."""
    yield from ()


@smp.local
def in_a_loop(x: Any) -> float:
    """Return the first number."""
    return float(x[0])


@smp.inline
def for_loops(x: int) -> int:
    """Return the next number."""
    return x + 1


cached = functools.lru_cache(push)
root = math.sqrt
table = {"push": push}


def program(proc: Any, times: int) -> int:
    """Push on every processor."""
    stack = Stack.made()
    for _ in range(times):
        stack.push(proc.rank)
        push([], 1)
    proc.barrier()
    return stack.height
