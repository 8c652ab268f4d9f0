"""Order keys with as little else as possible, if one look at 64 of them shows how.

    short               NumPy                               a number of keys decides
    of few values       counted, except on AMD's Zen 4      fewer than 57 of 64 keys differ
    all others          packed                              if they are few, or vectors split the words

All others take the way of `smp.kernels.sorting.functions`: keys that may be in order, or that models are asked about.
To order 100,000 keys takes about a millisecond.  A question that was not asked lately takes 10 us, and models 30 us.
"""

from __future__ import annotations

from smp import Machine

from ...in_process import streams_for
from ..fast import MOST_KEYS, may_split
from ..keys import Keys
from ..parts import Numbers, is_plain
from ..sampling import different_unless_running
from .fast import FEW_TO_COUNT, WORTH_TWO, argsort_few, counts_few, light_streams, streams_by_rule, worth_packing
from .packed import argsort_packed


def argsort_at_once(keys: Keys, threads: int | None, machine: Machine | None) -> Numbers | None:
    """Return the order of keys if it is soon clear how to find it, or None.

    Parameters
    ----------
    keys : ndarray of shape (n,) and one of `smp.kernels.sorting.keys.DTYPES`
        At least `SHORTEST_FEW` keys.
    threads, machine
        As for `smp.kernels.argsort`.
    """
    n, packs, counts = len(keys), len(keys) >= worth_packing(keys.itemsize), counts_few()
    if (packs or counts) and is_plain(keys) and (seen := different_unless_running(keys)):
        streams = threads or (streams_for(machine) if n >= WORTH_TWO else 1)
        few = seen < FEW_TO_COUNT
        if few and counts and (ordered := argsort_few(keys, streams)) is not None:
            return ordered
        if packs and n < WORTH_TWO:
            return argsort_packed(keys, 1)
        if packs and (counts or not few) and (streams == 1 or may_split(streams)) and n <= MOST_KEYS:
            several = streams_by_rule(n, streams)
            return argsort_packed(keys, several, light_streams(n, several))
    return None if packs else keys.argsort()
