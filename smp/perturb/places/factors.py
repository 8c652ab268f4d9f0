"""Factors: named places of a program, in Python and in compiled loops, and their treatments.

    with factor("swap"):        a piece of Python; treated as it is entered
    @factor("push")             a function; treated likewise
    delay("pop")                a point, in Python or in a compiled loop (`smp.compiled.delay`)

    with treated({"swap": Busy(1000)}):      treats the places with these names, in all threads of this process and in
        ...                                  compiled loops; in a machine's programs through `carried`
    with counted() as met:                   counts how often each place is passed, and the time inside
        ...

A place may be passed any number of times, from anywhere. Several places with the same name are one factor. Without
treatments a place costs less than 0.2 us in Python, and less than a nanosecond in a compiled loop.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from smp._runtime.loops.compiler import loop_name
from smp._runtime.loops.places import PLACES, delay

from .counting import Counter, Met
from .settings import Layer, begin, end
from .treatments import Treatment, check_name, checked

P = ParamSpec("P")
R = TypeVar("R")
_actions = PLACES.actions  # saves one look-up at each place
__all__ = ["Factor", "counted", "delay", "factor", "treated"]


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
            if (timer := PLACES.timer) is not None:  # another thread may end the counting
                timer.enter(self.name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if _actions and (timer := PLACES.timer) is not None:
            timer.leave(self.name)

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


@contextlib.contextmanager
def treated(treatments: Mapping[str, Treatment | str | None]) -> Iterator[None]:
    """Treat places of this process during the block.

    Parameters
    ----------
    treatments : mapping of str to (Treatment, str or None)
        Treatments by factor. Treatments that other blocks set for other factors remain; None removes the treatment of
        a factor. If blocks of several threads, or of processors of an emulated machine, set the same factor, the block
        entered last decides.

    Raises
    ------
    TypeError, ValueError
        If a value is not a treatment, or a key is not a valid name.

    Notes
    -----
    If places are being counted (see `counted`), those that are passed during the block are treated and not counted.

    Examples
    --------
    >>> from smp.perturb import Work, factor, treated
    >>> with treated({"swap": Work(10), "push": "10us"}):
    ...     with factor("swap"):
    ...         pass
    """
    layer: Layer = {**dict.fromkeys(treatments), **checked(treatments)}
    for one in layer.values():
        if one is not None:
            one.order(None)  # raises if the treatment cannot be set
    with PLACES.setting:
        counter = PLACES.timer if any(layer.values()) else None
        if isinstance(counter, Counter):
            counter.pause()
        begin(layer, _carried)
    try:
        yield
    finally:
        with PLACES.setting:
            end(layer)
            if isinstance(counter, Counter):
                counter.resume()


def _carried(program: Any, machine: Any) -> Any:
    from .carrying import carried

    return carried(program, machine)


@contextlib.contextmanager
def counted() -> Iterator[dict[str, Met]]:
    """Count how often each place is passed during the block, in this process and by programs run on its machines.

    Treatments that are set before have no effect meanwhile.

    Yields
    ------
    dict of str to Met
        Filled when the block ends. ``passes`` and ``inside`` are added up over all threads and processors: ``inside``
        is the seconds between entering and leaving, 0 for the points of `delay`. ``by`` is the number of processors
        that passed the place. Places that were not passed are absent.

    Notes
    -----
    Blocks may overlap: each counts what is passed while it lasts.  While a block of `treated` inside it sets a
    treatment, nothing is counted.
    """
    counter = Counter()
    met: dict[str, Met] = {}
    counter.start()
    try:
        yield met
    finally:
        met.update(counter.stop())
