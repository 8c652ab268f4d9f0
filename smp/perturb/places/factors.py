"""Factors: named places of a program, in Python and in compiled loops.

    with factor("swap"):        a piece of Python; treated as it is entered
    @factor("push")             a function; treated likewise
    delay("pop")                a point, in Python or in a compiled loop (`smp.compiled.delay`)

A place may be passed any number of times, from anywhere. Several places with the same name are one factor. Without
treatments a place costs less than 0.2 us in Python, and less than a nanosecond in a compiled loop.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, TypeVar

from smp._runtime.loops.compiler import loop_name
from smp._runtime.loops.places import PLACES, delay

from ..designs.words import named

P = ParamSpec("P")
R = TypeVar("R")
_actions, _ends = PLACES.actions, PLACES.ends  # saves one look-up at each place
__all__ = ["Factor", "check_name", "delay", "factor"]


class Factor:
    """A named place: a context manager, or a decorator of a function.  Made by `factor`.

    Attributes
    ----------
    name : str
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        check_name(name)
        self.name = name

    def __enter__(self) -> None:
        if _actions:
            PLACES.enter(self.name)
            if (follower := PLACES.timer or _ends.get(self.name)) is not None:  # another thread may end the counting
                follower.enter(self.name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if _actions and (follower := PLACES.timer or _ends.get(self.name)) is not None:
            follower.leave(self.name)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        if loop_name(function):
            raise TypeError(
                f"{function.__name__} is a compiled loop, which other loops call without Python: "
                f"write delay({self.name!r}) as its first line instead"
            )
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise TypeError(
                f"{function.__name__} does not run when it is called: use `with factor({self.name!r}):` inside"
            )

        @functools.wraps(function)
        def placed(*args: P.args, **kwargs: P.kwargs) -> R:
            if not _actions:
                return function(*args, **kwargs)
            with self:
                return function(*args, **kwargs)

        return placed

    def __repr__(self) -> str:
        return f"factor({self.name!r})"

    def __reduce__(self) -> tuple[Callable[[str], Factor], tuple[str]]:
        return factor, (self.name,)


@functools.cache
def factor(name: str) -> Factor:
    """Name a place of a program. A place has no effect until a treatment is set for its name.

    Parameters
    ----------
    name : str
        Name of the factor. Spaces, commas, semicolons, ``&``, ``=``, ``+`` and a minus in front are not allowed.

    Examples
    --------
    >>> from smp.perturb import Busy, counted, factor, treated
    >>> @factor("push")
    ... def push(stack, x):
    ...     with factor("grow"):
    ...         stack.append(x)
    >>> with treated({"push": Busy(ns=1000)}):
    ...     push([], 1)
    >>> with counted() as met:
    ...     push([], 1)
    >>> {name: found.passes for name, found in met.items()}
    {'push': 1, 'grow': 1}
    """
    return Factor(name)


def check_name(name: object) -> None:
    """Raise an error if this is not a valid name of a factor."""
    if not isinstance(name, str):
        raise TypeError(f"a factor's name must be a string, not {name!r}")
    named([name])
