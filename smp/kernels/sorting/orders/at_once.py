"""Order keys with as little else as possible, if one look at 64 of them shows how.

    short             NumPy                          a number of keys decides
    of few values     counted                        fewer than 57 of 64 keys differ; not on AMD's Zen 4
    all others        packed                         if they are few, or vectors split the words
                      what the models choose         elsewhere, if there are models

Keys that may be in order, keys that are not plain, and on Zen 4 long arrays of few values take the way of
`smp.kernels.sorting.functions`.  To order 100,000 keys takes about a millisecond.  A question that was not asked lately
takes 10 us, and models take 30 us.
"""

from __future__ import annotations

from smp import Machine

from ...in_process import streams_for
from ..choice import Request, by_models, models_of_order
from ..fast import may_split
from ..keys import Keys
from ..parts import Numbers, is_plain
from ..sampling import ALL_DIFFER, Variety, different_unless_running
from .fast import FEW_TO_COUNT, argsort_fast, argsort_few, counts_few, streams_by_rule, worth_packing, worth_two
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
    if not ((packs or counts) and is_plain(keys) and (seen := different_unless_running(keys))):
        return None if packs else keys.argsort()
    many, few = n >= worth_two(), seen < FEW_TO_COUNT
    streams = threads or (streams_for(machine) if many else 1)
    if few and counts and (ordered := argsort_few(keys, streams, seen)) is not None:
        return ordered
    if not many:
        return argsort_packed(keys, 1) if packs else keys.argsort()
    if few and not counts:
        return None
    if streams == 1 or may_split(streams):
        return argsort_fast(keys, streams_by_rule(n, streams), "packed")
    if (asked := models_of_order(keys, streams)) is None:
        return argsort_fast(keys, streams)
    # the models take NumPy to be faster than it is for too many values to be counted
    order: Numbers = by_models(asked, Request(keys), Variety(ALL_DIFFER, 0))
    return order
