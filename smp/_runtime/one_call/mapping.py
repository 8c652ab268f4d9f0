"""Call a function for many items, on a machine that is opened for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import usable_cpus
from smp.errors import NotPicklable, ProgramError

from ..kinds import host
from ..machine import Machine
from ..program.pickling import loads, refused
from ..program.processor import checked_number
from .chunks import pickled, starts_of
from .taking import COLUMNS, DONE, ITEM, NONE, Offer, take
from .watching import watched

Item = TypeVar("Item")
Result = TypeVar("Result")


def map(function: Callable[[Item], Result], items: Iterable[Item], processors: int | None = None) -> list[Result]:
    """Call a function for each item, on several processors at the same time.

    Each processor takes the next items when it is done with its own, so slow and fast items may be in any order.  On a
    terminal, a call that takes long shows its progress.

    Parameters
    ----------
    function : callable
        Called as ``function(item)``.  It may be a lambda, a closure, or a function typed in a notebook.  It is copied
        to each processor once.
    items : iterable
        All items are taken from it first.  They and the results are copied.
    processors : int, optional
        Number of processors; by default one for each CPU that this process may use.

    Returns
    -------
    list
        The results, in the order of the items.

    Raises
    ------
    TypeError, ValueError, MachineError
        If the number of processors is not valid, or if they do not start.
    NotPicklable
        If the function, an item or a result cannot be sent; the message names it.
    ProcessorRaised, ProcessorDied
        If the function raises an exception, or ends its process.  The message names the item.  The exception of the
        function is the ``__cause__``, and its traceback is a note.  No results are kept.
    KeyboardInterrupt
        On Ctrl-C, after the processors have stopped.

    Notes
    -----
    To open the machine takes about 20 ms, and longer the first time.  An item costs some microseconds, and the time to
    copy it and its result.  A function that changes its item, or a global variable, changes a copy.

    Examples
    --------
    >>> import smp
    >>> smp.map(lambda x: x * x, range(5), 2)
    [0, 1, 4, 9, 16]
    """
    __tracebackhide__ = True  # pytest then shows the caller's line
    if not callable(function):
        raise TypeError(f"smp.map needs a function of an item, not a {type(function).__name__}: smp.map(f, items)")
    limit = len(usable_cpus()) if processors is None else checked_number("processors", processors)
    given = list(items)
    if not given:
        return []
    size = min(limit, len(given))
    starts = starts_of(len(given), size)
    chunks = pickled(given, starts)
    count = len(given)
    del given
    with host(size) as machine:
        offer = _offered(machine, chunks, starts)
        del chunks
        taken = _called(machine, function, offer, count)
    results: list[Result] = []
    for _, data in sorted(taken):
        results += _unpickled(data, len(results))
    return results


def _offered(machine: Machine, chunks: Sequence[bytes], starts: NDArray[np.int64]) -> Offer:
    ends = np.cumsum([len(chunk) for chunk in chunks])
    data = machine.empty(int(ends[-1]), np.uint8)
    for chunk, end in zip(chunks, ends, strict=True):
        data.view[end - len(chunk) : end] = np.frombuffer(chunk, np.uint8)
    states = machine.zeros((machine.size, COLUMNS), np.int64)
    states.view[:, ITEM] = NONE
    return Offer(machine.cells(1, full=True), data, machine.array(ends), machine.array(starts), states)


def _unpickled(data: bytes, start: int) -> Any:
    try:
        return loads(data)
    except Exception as error:
        raise NotPicklable(
            f"the results from items[{start}] on cannot be unpickled: {error}; return plain data"
        ) from error


def _called(machine: Machine, function: Callable[[Any], Any], offer: Offer, count: int) -> list[tuple[int, bytes]]:
    __tracebackhide__ = True
    states, name = offer.states.view, getattr(function, "__name__", type(function).__name__)
    try:
        with watched(name, count, lambda: int(states[:, DONE].sum())):
            run = machine.run(take, function, offer)
    except NotPicklable as error:
        raise refused(function, (), {}, error, "function") from error.__cause__
    except ProgramError as error:
        item = NONE if error.rank is None else int(states[error.rank, ITEM])
        if item == NONE and isinstance(error.__cause__, NotPicklable):  # a result, which the message names
            raise error.__cause__ from None
        if item != NONE:
            error.args = (f"items[{item}] of {count}: {error}",)
        raise
    return [one for result in run.results for one in result]
