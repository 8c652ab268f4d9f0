"""Three-dimensional torus: rings in each dimension, which a packet goes along one after the other, the shorter way.

A ring of full queues would wait for itself for ever. So each wire fills two queues: a packet begins in the first, and
changes to the second on the wire that closes the ring. Neither kind of queue waits for itself around the ring.
"""

from __future__ import annotations

from ....loops.atomics import Words
from ....loops.compiler import inline
from ..layout import SIZES, SWITCH, WAYS, switches_of
from .laying import Laying

ENTRY, LINKS_OUT, FIRST_PAIR, AFTER_PAIRS, PLACE = range(5)
"""Of a switch: the link to its node, its first pair of links, the first pair of all and the end of all, its place."""
DIRECTIONS, NOT_ON_A_RING = 6, -1


def lay(laying: Laying, sizes: tuple[int, ...]) -> None:
    """Lay out a switch for each node, and a pair of links in each direction along each ring."""
    first = laying.more
    after = first + laying.nodes * 2 * DIRECTIONS
    numbers = [
        laying.add_switch(
            f"the switch of node {node}", laying.into + node, first + node * 2 * DIRECTIONS, first, after, node
        )
        for node in range(laying.nodes)
    ]
    laying.add_entries()
    strides = (sizes[1] * sizes[2], sizes[2], 1)
    for node in range(laying.nodes):
        for size, stride in zip(sizes, strides, strict=True):
            place = node // stride % size
            for step in (1, -1):
                laying.add_pair(numbers[node + ((place + step) % size - place) * stride])
    for node in range(laying.nodes):
        laying.add_exit(laying.add_links([numbers[node]]))


@inline
def way(header: Words, link: int, switch: int, destination: int) -> int:
    """Return the ways of a packet from a switch to which a link has brought it."""
    switches, row = switches_of(header), switch * SWITCH
    here, stride = switches[row + PLACE], header[SIZES + 1] * header[SIZES + 2]
    for dimension in range(3):
        size = header[SIZES + dimension]
        place, to = here // stride % size, destination // stride % size
        if place != to:
            forward = (to - place) % size
            direction = 2 * dimension + (0 if 2 * forward <= size else 1)
            closes = place == (size - 1 if direction % 2 == 0 else 0)
            along, second = NOT_ON_A_RING, 0
            if switches[row + FIRST_PAIR] <= link < switches[row + AFTER_PAIRS]:
                port = (link - switches[row + FIRST_PAIR]) % (2 * DIRECTIONS)
                along, second = port // 2, port % 2
            port = 2 * direction + (1 if closes or (along == direction and second == 1) else 0)
            return int((switches[row + LINKS_OUT] + port) * WAYS + 1)
        stride = stride // header[SIZES + dimension + 1] if dimension < 2 else 1
    return int(switches[row + ENTRY] * WAYS + 1)
