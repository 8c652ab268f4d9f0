"""Hypercube: each link changes one bit of the node's number, and a packet corrects the lowest wrong bit first."""

from __future__ import annotations

from ....loops.atomics import Words
from ....loops.compiler import inline
from ..layout import SWITCH, WAYS, switches_of
from .laying import Laying

ENTRY, LINKS_OUT, PLACE = range(3)
"""Of a switch: the link to its node, the first of its other links, and the number of the node."""


def lay(laying: Laying) -> None:
    """Lay out a switch for each node, and a link for each bit."""
    bits = (laying.nodes - 1).bit_length()
    numbers = [
        laying.add_switch(f"the switch of node {node}", laying.into + node, 0, node) for node in range(laying.nodes)
    ]
    laying.add_entries()
    for node in range(laying.nodes):
        laying.add_exit(laying.add_links([numbers[node]]))
        laying.switches[node][LINKS_OUT] = laying.add_links([numbers[node ^ (1 << bit)] for bit in range(bits)])


@inline
def way(header: Words, switch: int, destination: int) -> int:
    """Return the ways of a packet from a switch."""
    switches, row = switches_of(header), switch * SWITCH
    wrong = switches[row + PLACE] ^ destination
    if wrong == 0:
        return int(switches[row + ENTRY] * WAYS + 1)
    bit = 0
    while (wrong >> bit) & 1 == 0:
        bit += 1
    return int((switches[row + LINKS_OUT] + bit) * WAYS + 1)
