"""Blocks in which places are treated, or counted.

with treated({"swap": Busy(1000)}):      treats the places with these names, in all threads of this process and in
    ...                                  compiled loops; in a machine's programs through `carried`
with counted() as met:                   counts how often each place is passed, and the time inside
    ...
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from smp._runtime.loops.places import PLACES

from .counting import Counter, Met
from .settings import Layer, begin, end
from .treatments import Treatment, checked


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
