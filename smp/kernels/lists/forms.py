"""The forms of list ranking as SPMD programs: the one table of them, and how one ranks a list.

Every other module of the folder that needs to know them reads this table: `functions` what a user names, `choice` what
models choose from; so do the microbenchmarks and the predictions.
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

WORTH_SUBLISTS = 50_000
"""Nodes from which "auto" is the fast form by rule: below, the serial loop finds its nodes in the caches."""
WORTH_STREAMS = 1_000_000
"""Nodes from which the fast form uses all streams by rule: below, they would wait for one another's caches."""
MOST_IN_ROUNDS = 100_000
"""Nodes up to which Wyllie's algorithm is tried: beyond, the rounds over the whole list never pay."""


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
        # Many sublists cost their starts and links, few leave cursors idle, longer where links go far.
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
"""By the name that `rank_list` takes as its algorithm."""


def in_shared_memory(
    machine: Machine, nodes: Nodes, from_tail: bool = False, *, algorithm: str, **parameter: Any
) -> GlobalArray:
    """Rank a list by an SPMD program, its parameter among the keywords, and return the ranks."""
    ranks = machine.empty(len(nodes), nodes.dtype)
    program = FORMS[algorithm].loaded()
    try:
        machine.run(program, machine.array(nodes), ranks, from_tail=from_tail, **parameter)
    except ProcessorRaised as error:
        if isinstance(error.__cause__, InvalidList):
            raise error.__cause__ from None
        raise
    return ranks
