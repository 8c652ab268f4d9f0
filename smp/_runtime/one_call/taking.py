"""The program of `map`: each processor takes the next chunk of items until none is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..memory.arrays import GlobalArray
from ..memory.cells import Cells
from ..program.pickling import loads
from ..program.processor import Processor
from .chunks import results_as_bytes

DONE, ITEM = 0, 1
"""Columns of the state of a processor: the items that are done, and the number of the item at hand."""
NONE = -1
"""The number of an item if there is none at hand."""
COLUMNS = 8
"""Words of the state: it has a cache line of its own."""


@dataclass(frozen=True)
class Offer:
    """The items that processors take, and how far they are."""

    next: Cells
    """Number of the next chunk."""
    data: GlobalArray[np.uint8]
    ends: GlobalArray[np.int64]
    """End of each chunk in the data."""
    starts: GlobalArray[np.int64]
    """Number of the first item of each chunk."""
    states: GlobalArray[np.int64]
    """A row for each processor, which alone stores there; the parent loads DONE for a bar, and ITEM after a failure."""


def take(proc: Processor, function: Callable[[Any], Any], offer: Offer) -> list[tuple[int, bytes]]:
    """Call the function for the items of one chunk after another; return the chunks with their results as bytes."""
    data, ends, starts, state = offer.data.view, offer.ends.view, offer.starts.view, offer.states.view[proc.rank]
    taken = []
    while (chunk := int(offer.next.fetch_add(0, 1))) < len(ends):
        start = int(starts[chunk])
        items = loads(data[ends[chunk - 1] if chunk else 0 : ends[chunk]].data)
        results = []
        for number, item in enumerate(items, start):
            state[ITEM] = number
            results.append(function(item))
            state[DONE] += 1
        state[ITEM] = NONE
        taken.append((chunk, results_as_bytes(results, start)))
    return taken
