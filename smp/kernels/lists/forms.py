"""Table of the forms of list ranking that are SPMD programs, and a function that ranks a list with one of them.

All code that needs to know the forms reads this table.  `functions` finds in it the algorithms that a user can name,
`choice` those that models choose from.  The microbenchmarks and the predictions read it too.
"""

from __future__ import annotations

from typing import Any

from smp import GlobalArray, Machine
from smp.errors import InvalidList, ProcessorRaised

from ..costs import longest_block
from ..form import Form
from . import helman_jaja, reid_miller, wyllie
from .lists import Nodes
from .serial import rank_serial
from .terms import MISSES_SHARED, ROUNDS, SIZES, WAITS

WORTH_SUBLISTS = 8_000
"""Number of nodes from which "auto" may be the fast form; the serial loop finds shorter lists in the nearest cache."""
GLANCED = 200_000
"""Number of nodes below which a glance decides, and no models are asked: that takes about as long as they may save."""
WORTH_STREAMS, WORTH_FAST = 400_000, 1_000_000
"""Numbers of nodes from which the fast form uses all streams by rule, because with fewer they wait for one another's
caches; and from which it is taken for lists in any order."""
MOST_IN_ROUNDS = 100_000
"""Number of nodes up to which Wyllie's algorithm is tried; on longer lists, rounds over the whole list never pay."""


def _jumps(n: int, p: int) -> float:
    return longest_block(n, p) * max(n - 1, 0).bit_length()


FORMS = {
    "serial": Form("serial", rank_serial, terms=(*SIZES, *WAITS)),
    "wyllie": Form(
        "Wyllie",
        wyllie.rank_wyllie,
        cost=wyllie.cost,
        work=_jumps,
        element_bytes=4,
        longest=1_000_000,
        terms=tuple(ROUNDS),
        when=f"n <= {MOST_IN_ROUNDS}",
    ),
    "reid-miller": Form(
        "Reid-Miller",
        reid_miller.rank_reid_miller,
        cost=reid_miller.cost,
        element_bytes=4,
        terms=("log2(n)", *SIZES, *MISSES_SHARED),
    ),
    "helman-jaja": Form(
        "Helman-JaJa",
        helman_jaja.rank_helman_jaja,
        cost=helman_jaja.cost,
        element_bytes=4,
        terms=("n", "n * width", *MISSES_SHARED, "sublists", "n * (1 + far * max(0, span - 12)) / sublists"),
        when="sublists <= n / 8",
        # Each sublist costs a start and a link; too few leave cursors idle, for longer if links go far.
        parameter={
            "name": "sublists",
            "text": "powers 8..8192",
            "bottom": 3,
            "top": lambda n, *_: min(13, max(3, int(n).bit_length() - 4)),
            "value": lambda step, *_: 1 << step,
        },
    ),
    "wyllie-cells": Form("Wyllie-Cells", "smp.kernels.lists.wyllie_cells:rank_wyllie_cells"),
    "wyllie-streams": Form("Wyllie-Streams", "smp.kernels.lists.on_streams:rank_wyllie_streams"),
    "reid-miller-streams": Form("Reid-Miller-Streams", "smp.kernels.lists.on_streams:rank_reid_miller_streams"),
}
"""Forms by the name that `rank_list` takes as its ``algorithm``."""


def in_shared_memory(
    machine: Machine, nodes: Nodes, from_tail: bool = False, *, algorithm: str, **parameter: Any
) -> GlobalArray:
    """Rank a list with an SPMD program and return the ranks; ``parameter`` holds the program's own parameter."""
    ranks = machine.empty(len(nodes), nodes.dtype)
    program = FORMS[algorithm].loaded()
    try:
        machine.run(program, machine.array(nodes), ranks, from_tail=from_tail, **parameter)
    except ProcessorRaised as error:
        if isinstance(error.__cause__, InvalidList):
            raise error.__cause__ from None
        raise
    return ranks
