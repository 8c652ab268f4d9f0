"""The items of `map` as bytes, in chunks that become smaller towards the end.

A processor that takes many items at a time loses little time with taking.  But if it has just taken many slow ones when
the others have nothing left, they wait for it.  So a chunk has a small share of the items that are left, and the last
chunks have one item each.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.errors import NotPicklable

from ..program.pickling import dumps

SHARE = 32
"""A chunk is this part of a processor's share of the items that are left: one in 32."""
MOST = 256
"""Most items of a chunk."""


def starts_of(count: int, processors: int) -> NDArray[np.int64]:
    """Return the number of the first item of each chunk, and the number of items at the end."""
    starts = [0]
    while starts[-1] < count:
        left = count - starts[-1]
        starts.append(starts[-1] + min(MOST, max(1, left // (SHARE * processors))))
    return np.array(starts)


def pickled(items: Sequence[Any], starts: NDArray[np.int64]) -> list[bytes]:
    """Return the items of each chunk as bytes.

    Raises
    ------
    NotPicklable
        If an item cannot be sent; the message names it.
    """
    return [
        _pickled(items[start:end], int(start), "be sent to the processors") for start, end in itertools.pairwise(starts)
    ]


def results_as_bytes(results: Sequence[Any], start: int) -> bytes:
    """Return the results of a chunk as bytes; see `pickled`."""
    return _pickled(results, start, "be sent back", "the result of ")


def _pickled(values: Sequence[Any], start: int, verb: str, whose: str = "") -> bytes:
    try:
        return dumps(values)
    except Exception as error:
        for number, value in enumerate(values, start):
            try:
                dumps(value)
            except Exception as why:
                raise NotPicklable(f"{whose}items[{number}] cannot {verb}: {why}; use plain data") from why
        raise NotPicklable(f"{whose}items[{start}] and its neighbours cannot {verb}: {error}") from error
