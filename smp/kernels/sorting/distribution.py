"""Deal keys out into parts: find the part of each key, count the keys of each part, and move every key to its place.

    keys     6 2 9 4 8 1
    parts    1 0 2 1 2 0      parts 0, 1 and 2 take the keys from 0, from 3 and from 7 on
    dealt    2 1 6 4 9 8      the parts begin at the places 0, 2 and 4

Radix sort deals by a digit, sample sort by size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp import GlobalArray, local
from smp._runtime.loops.atomics import prefetch_write
from smp._runtime.program.superstep import Superstep

from .keys import Images, Keys, unsigned

Parts = NDArray[np.uint16]  # the part of every key
Numbers = NDArray[np.int64]  # one for each part

_AHEAD = 16  # keys between the prefetch of a part's line and the write; pays if parts outnumber open lines


def by_digit(images: Images, shift: int, width: int) -> Parts:
    """Return each key's digit of ``width`` bits, at most 16, from bit ``shift`` on.

    Parameters
    ----------
    images : uint32 or uint64 array of shape (n,)
    shift, width : int

    Returns
    -------
    uint16 array of shape (n,)
    """
    parts = np.empty(len(images), np.uint16)
    _digits(images, np.uint64(shift), np.uint64((1 << width) - 1), parts)
    return parts


def by_floors(images: Images, floors: Images) -> Parts:
    """Return the part that each key belongs to by its size.

    Parameters
    ----------
    images : uint32 or uint64 array of shape (n,)
    floors : array of the same type, shape (m,), 1 <= m <= 65,536
        Ascending floors of the parts.  Part k has the keys from ``floors[k]`` to ``floors[k + 1]``; the first part also
        has all smaller ones.

    Returns
    -------
    uint16 array of shape (n,)

    Notes
    -----
    A key that equals a floor may belong to the part above or below.  Such keys go in turn to all parts that they may
    belong to.  So equal keys that are frequent enough to be several floors are spread evenly.  The cost is O(n log m).
    """
    parts = np.empty(len(images), np.uint16)
    splitters = floors[1:]
    _count_up_to(images, splitters, parts)
    _take_turns(images, floors, np.searchsorted(splitters, floors).astype(np.uint64), parts)
    return parts


def tally(parts: Parts, m: int) -> Numbers:
    """Return the number of keys in each of m parts."""
    counts = np.zeros(m, np.int64)
    _tally(parts, counts)
    return counts


def deal_out(step: Superstep, target: GlobalArray, keys: Keys, parts: Parts, places: Numbers) -> None:
    """Have every key written to the next place of its part, in order, when the superstep copies out.

    A loop writes the keys if the machine has one memory.  Otherwise, they are copied out to a list of places.

    Parameters
    ----------
    step : Superstep
    target : GlobalArray of shape (m,)
    keys, parts, places
        As for `deal`.
    """
    if target.has_view:
        step.copy_out_by(deal, target, keys, parts, places)
        return
    into = np.empty(len(keys), np.int64)
    _list_places(parts, places, into)
    step.copy_out(target, into, keys)


def deal(target: Keys, keys: Keys, parts: Parts, places: Numbers) -> int:
    """Write every key to the next place of its part, in order; return the number of keys.

    Parameters
    ----------
    target : array of shape (m,)
    keys : array of shape (n,), of the same dtype
    parts : uint16 array of shape (n,)
    places : int64 array
        Place for the first key of each part; advanced past the keys that are written.
    """
    bits = unsigned(target.dtype)
    return _deal(target.view(bits), keys.view(bits), parts, places)


@local
def _digits(images: Images, shift: np.uint64, mask: np.uint64, parts: Parts) -> None:
    for i in range(len(images)):
        parts[i] = (np.uint64(images[i]) >> shift) & mask


@local
def _count_up_to(images: Images, splitters: Images, parts: Parts) -> None:
    """Count the splitters up to each key by bisection; each halving is done for all keys, so it needs no branch."""
    parts[:] = 0
    left = np.uint64(len(splitters))
    while left > 0:
        half = (left + np.uint64(1)) >> np.uint64(1)
        left -= half
        for i in range(len(images)):
            middle = np.uint64(parts[i]) + half
            parts[i] = middle if splitters[middle - np.uint64(1)] <= images[i] else middle - half


@local
def _take_turns(images: Images, floors: Images, least: NDArray[np.uint64], parts: Parts) -> None:
    """Spread the keys that equal the floor of their part over the parts from ``least`` of that part up to it."""
    turns = np.zeros(len(floors), np.uint64)
    for i in range(len(images)):
        part = np.uint64(parts[i])
        if floors[part] == images[i]:
            parts[i] = least[part] + turns[part] % (part - least[part] + np.uint64(1))
            turns[part] += np.uint64(1)


@local
def _tally(parts: Parts, counts: Numbers) -> None:
    for i in range(len(parts)):
        counts[parts[i]] += 1


@local
def _list_places(parts: Parts, places: Numbers, into: Numbers) -> None:
    for i in range(len(parts)):
        into[i] = places[parts[i]]
        places[parts[i]] += 1


@local
def _deal(target: Images, keys: Images, parts: Parts, places: Numbers) -> int:
    for i in range(len(keys)):
        part = parts[i]
        place = np.uint64(places[part])
        prefetch_write(target, place + np.uint64(_AHEAD))
        target[place] = keys[i]
        places[part] += 1
    return len(keys)
