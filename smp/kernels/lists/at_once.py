"""Rank a list of middle length in one call of compiled code, which first looks at a few links.

    most stay near     the serial loop                  see `smp.kernels.lists.serial`
    enough go far      sublists, on one stream          see `smp.kernels.lists.fast`

A call from Python for the look alone takes 2 us, and 20 us if the list and the code are in no cache: as long as several
thousand nodes in memory order.
"""

from __future__ import annotations

import numpy as np

from smp import local

from .fast import CURSORS, NODES_A_SUBLIST, rank_alone
from .lists import Nodes
from .sampling import go_far
from .serial import find_head_and_walk


@local
def rank_at_once(successor: Nodes, sign: int, ranks: Nodes) -> bool:
    """Rank a list of `NODES_A_SUBLIST` nodes or more, as `find_head_and_walk` does; return True if it is one."""
    if not go_far(successor):
        return find_head_and_walk(successor, sign, ranks)
    n = len(successor)
    words = ranks.view(np.int32)[-n:]  # the ranks, or the second half of wide ones: see `finish`
    return rank_alone(successor, words, ranks, -1 if sign > 0 else n - 1, 0, n // NODES_A_SUBLIST, CURSORS)
